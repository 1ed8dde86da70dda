//! The builders themselves: trees that are laid out as a kernel lays them out.

mod common;

use common::hosts;
use common::inspect::content;

#[test]
fn every_host_can_be_built_and_no_link_dangles() {
    for (name, make) in hosts::ALL {
        let tree = make();
        for line in content(tree.path()) {
            let Some((link, target)) = line.split_once(" -> ") else { continue };
            let at = tree.path().join(link);
            assert!(at.exists(), "{name}: {link} -> {target} leads nowhere");
        }
    }
}

#[test]
fn a_gpu_is_found_from_its_bus_link_and_its_driver_and_its_group() {
    let tree = hosts::z890();
    let real = |path: &str| std::fs::canonicalize(tree.path().join(path)).unwrap();
    let home = real("sys/bus/pci/devices/0000:02:00.0");
    assert!(home.ends_with("sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0"));
    assert_eq!(home, real("sys/bus/pci/drivers/nvidia/0000:02:00.0"));
    assert!(real("sys/bus/pci/devices/0000:02:00.0/driver").ends_with("bus/pci/drivers/nvidia"));
    assert!(
        std::fs::canonicalize(
            hosts::turin_tuned().path().join("sys/kernel/iommu_groups/9/devices/0000:21:00.0")
        )
        .is_ok()
    );
    let group = real("sys/bus/pci/devices/0000:02:00.0/iommu_group");
    assert_eq!(std::fs::read_to_string(group.join("type")).unwrap(), "DMA-FQ\n");
    assert_eq!(home, std::fs::canonicalize(group.join("devices/0000:02:00.0")).unwrap());
}

#[test]
fn the_small_bar_leaves_a_small_window_above_it() {
    let tree = hosts::turin_one_small_bar();
    let window = |port: &str| {
        let text = tree.read(&format!("sys/bus/pci/devices/{port}/resource"));
        let line = text.lines().nth(15).unwrap().to_owned();
        let number = |n: usize| u64::from_str_radix(&line.split(' ').nth(n).unwrap()[2..], 16).unwrap();
        number(1) - number(0) + 1
    };
    assert_eq!(window("0000:80:01.1"), (256 + 32) << 20);
    assert_eq!(window("0000:60:01.1"), (128 << 30) + (32 << 20));
}

#[test]
fn the_x99_host_needs_46_bits_and_the_low_one_44() {
    let end = |tree: &common::Tree| {
        let mut most = 0;
        for (bdf, _) in hosts::X99_GPUS {
            let text = tree.read(&format!("sys/bus/pci/devices/{bdf}/resource"));
            let end = text.split(' ').nth(1).unwrap().to_owned();
            most = most.max(u64::from_str_radix(&end[2..], 16).unwrap());
        }
        u64::BITS - most.leading_zeros()
    };
    assert_eq!(end(&hosts::x99()), 46);
    assert_eq!(end(&hosts::x99_low_aperture()), 44);
}

#[test]
fn the_large_host_has_three_hundred_functions() {
    let tree = hosts::large();
    let devices = std::fs::read_dir(tree.path().join("sys/bus/pci/devices")).unwrap().count();
    assert_eq!(devices, hosts::LARGE_FUNCTIONS);
}

#[test]
fn the_acs_word_and_the_port_type_stand_in_config_space() {
    let tree = hosts::z890();
    let space = std::fs::read(tree.path().join("sys/bus/pci/devices/0000:00:01.0/config")).unwrap();
    assert_eq!(space.len(), 4096);
    assert_eq!(space[0x62] >> 4, 4, "root port");
    let acs = 0x100 + 0x48;
    assert_eq!(u16::from_le_bytes([space[acs], space[acs + 1]]), 0x000d);
    assert_eq!(u16::from_le_bytes([space[acs + 6], space[acs + 7]]), 0x001d);
}
