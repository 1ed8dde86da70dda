//! The PCI tree: enumeration, topology, identity, BARs, links, AER, power, IOMMU groups.

mod common;

use common::Tree;
use peerfix::host::pci::{self, Aer, PciDevice};
use peerfix::root::{Fact, Root, Why};
use std::fmt::Write;

fn read(tree: &Tree) -> Vec<PciDevice> {
    match pci::read(&Root::open(tree.path()).unwrap()) {
        Fact::Known { value, .. } => value,
        other => panic!("{other:?}"),
    }
}

fn one(tree: &Tree, bdf: &str) -> PciDevice {
    read(tree).into_iter().find(|d| d.bdf == bdf).unwrap()
}

/// A function at its real place, with the link that the bus directory has to it.
fn function(tree: Tree, place: &str, files: &[(&str, &str)]) -> Tree {
    let bdf = place.rsplit('/').next().unwrap();
    let tree = tree.link(&format!("sys/bus/pci/devices/{bdf}"), &format!("../../../devices/{place}"));
    files.iter().fold(tree.dir(&format!("sys/devices/{place}")), |tree, (name, text)| {
        tree.file(&format!("sys/devices/{place}/{name}"), text)
    })
}

const GPU: &str = "pci0000:00/0000:00:06.0/0000:02:00.0";
const PORT: &str = "pci0000:00/0000:00:06.0";

const GPU_RESOURCE: &str = "\
0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200
0x0000004000000000 0x00000043ffffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000004400000000 0x0000004401ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000003000 0x000000000000307f 0x0000000000040101
0x00000000a1000000 0x00000000a107ffff 0x0000000000046200
";

fn gpu() -> Tree {
    function(
        function(
            Tree::new(),
            PORT,
            &[("class", "0x060400\n"), ("vendor", "0x8086\n"), ("device", "0x7ecc\n")],
        ),
        GPU,
        &[
            ("class", "0x030000\n"),
            ("vendor", "0x10de\n"),
            ("device", "0x2bb3\n"),
            ("subsystem_vendor", "0x10de\n"),
            ("subsystem_device", "0x204b\n"),
            ("numa_node", "-1\n"),
            ("dma_mask_bits", "52\n"),
            ("resource", GPU_RESOURCE),
            ("current_link_speed", "2.5 GT/s PCIe\n"),
            ("max_link_speed", "32.0 GT/s PCIe\n"),
            ("current_link_width", "8\n"),
            ("max_link_width", "16\n"),
            ("power/control", "auto\n"),
            ("power/runtime_status", "active\n"),
            ("boot_vga", "1\n"),
        ],
    )
}

fn resource_lines(lines: &[(u64, u64, u64)]) -> String {
    lines.iter().fold(String::new(), |mut text, (start, end, flags)| {
        writeln!(text, "{start:#018x} {end:#018x} {flags:#018x}").unwrap();
        text
    })
}

#[test]
fn a_gpu_has_its_place_and_its_identity() {
    let device = one(&gpu(), "0000:02:00.0");
    assert_eq!(device.root_bus.value().unwrap(), "0000:00");
    assert_eq!(device.upstream, ["0000:00:06.0"]);
    assert_eq!(device.class.value(), Some(&0x03_0000));
    assert_eq!((device.vendor.value(), device.device.value()), (Some(&0x10de), Some(&0x2bb3)));
    assert_eq!(device.subsystem.value(), Some(&0x10de_204b));
    assert_eq!((device.numa_node.value(), device.dma_mask_bits.value()), (Some(&-1), Some(&52)));
    assert_eq!(device.power_control.value().unwrap(), "auto");
    assert_eq!(device.runtime_status.value().unwrap(), "active");
    assert_eq!(device.boot_vga.value(), Some(&true));
    assert_eq!(device.class.evidence()[0].source, "sys/bus/pci/devices/0000:02:00.0/class");
}

#[test]
fn a_bridge_on_a_root_bus_is_like_a_root_port() {
    let devices = read(&gpu());
    assert!(devices[0].is_bridge() && devices[0].is_root_port_like());
    assert!(!devices[1].is_bridge() && !devices[1].is_root_port_like());
}

#[test]
fn functions_are_sorted_by_number_and_odd_domains_are_kept() {
    let mut tree = Tree::new();
    for place in [
        "pci10000:e0/10000:e0:06.0/10000:e1:00.0",
        "platform/b0000000.pcie/pci000d:00/000d:00:00.0/000d:01:00.0",
        "pci0000:00/0000:00:1f.0",
        "pci0000:00/0000:00:02.0",
    ] {
        tree = function(tree, place, &[("class", "0x010802\n")]);
    }
    let devices = read(&tree);
    let names: Vec<&str> = devices.iter().map(|d| d.bdf.as_str()).collect();
    // Below sys/devices/pci*, bridges are found without an entry of their own; below a platform device only
    // what the bus directory names.
    assert_eq!(names, ["0000:00:02.0", "0000:00:1f.0", "000d:01:00.0", "10000:e0:06.0", "10000:e1:00.0"]);
    let arm = &devices[2];
    assert_eq!(
        (arm.root_bus.value().unwrap().as_str(), &arm.upstream[..]),
        ("000d:00", &["000d:00:00.0".to_owned()][..])
    );
}

#[test]
fn behind_a_vmd_the_second_root_bus_counts() {
    let tree = function(
        Tree::new(),
        "pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0",
        &[("class", "0x010802\n")],
    );
    let device = one(&tree, "10000:e1:00.0");
    assert_eq!(device.root_bus.value().unwrap(), "10000:e0");
    assert_eq!(device.upstream, ["10000:e0:06.0"]);
}

#[test]
fn functions_found_only_below_sys_devices_count() {
    let tree = Tree::new().file("sys/devices/pci0000:16/0000:16:00.0/class", "0x088000\n");
    let device = one(&tree, "0000:16:00.0");
    assert_eq!(device.root_bus.value().unwrap(), "0000:16");
    assert!(device.upstream.is_empty());
}

#[test]
fn a_capture_that_followed_links_has_no_topology() {
    let tree = Tree::new().file("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(device.root_bus.reason().unwrap().why, Why::NotCaptured);
    assert_eq!(device.class.value(), Some(&0x03_0000));
    assert_eq!(device.driver.reason().unwrap().why, Why::NotCaptured, "its links are gone");
    assert_eq!(device.iommu_group.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn a_plain_copy_takes_its_place_from_sys_devices() {
    let tree = Tree::new()
        .file("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n")
        .file("sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n")
        .dir("sys/devices/pci0000:00/0000:00:01.0/0000:02:00.0");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(device.upstream, ["0000:00:01.0"]);
    assert_eq!(device.vendor.value(), Some(&0x10de));
}

#[test]
fn a_dangling_link_still_tells_the_place() {
    let tree = Tree::new()
        .link("sys/bus/pci/devices/0000:02:00.0", "../../../devices/pci0000:00/0000:00:01.0/0000:02:00.0");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(device.root_bus.value().unwrap(), "0000:00");
    assert_eq!(device.upstream, ["0000:00:01.0"]);
    assert_eq!(device.class.reason().unwrap().why, Why::NotCaptured);
    assert_eq!(device.link.width.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn no_tree_is_not_captured_and_an_empty_one_is_no_pci() {
    let root = |tree: &Tree| pci::read(&Root::open(tree.path()).unwrap());
    assert_eq!(root(&Tree::new().dir("proc")).reason().unwrap().why, Why::NotCaptured);
    assert_eq!(root(&Tree::new().dir("sys/bus/pci/devices")).value().unwrap().len(), 0);
}

#[test]
fn names_that_are_no_functions_are_passed_over() {
    let tree = gpu()
        .file("sys/bus/pci/devices/README", "x")
        .dir("sys/bus/pci/devices/0000:02:00.0.bak")
        .dir("sys/devices/pci0000:00/pci_bus")
        .dir("sys/devices/pci0000:00/0000:00:06.0:pcie002");
    assert_eq!(read(&tree).len(), 2);
}

#[test]
fn loops_of_links_are_passed() {
    let tree = gpu()
        .link("sys/devices/pci0000:00/0000:00:06.0/0000:09:00.0", "..")
        .link("sys/bus/pci/devices/0000:0a:00.0", "0000:0b:00.0")
        .link("sys/bus/pci/devices/0000:0b:00.0", "0000:0a:00.0");
    let devices = read(&tree);
    assert_eq!(devices.len(), 4);
    assert_eq!(one(&tree, "0000:0a:00.0").class.reason().unwrap().why, Why::Unreadable);
}

#[test]
fn a_driver_is_a_link_or_a_line_of_uevent() {
    let bound = gpu().link(&format!("sys/devices/{GPU}/driver"), "../../../../bus/pci/drivers/nvidia");
    assert_eq!(one(&bound, "0000:02:00.0").driver.value().unwrap(), "nvidia");
    assert!(one(&gpu(), "0000:02:00.0").driver.is_absent(), "the bus directory kept its links");
    let copied = |text: &str| {
        let tree = Tree::new().file("sys/bus/pci/devices/0000:02:00.0/uevent", text);
        one(&tree, "0000:02:00.0").driver
    };
    assert_eq!(copied("PCI_CLASS=30000\nDRIVER=nouveau\n").value().unwrap(), "nouveau");
    assert!(copied("PCI_CLASS=30000\n").is_absent());
}

#[test]
fn bars_are_the_lines_that_are_set() {
    let device = one(&gpu(), "0000:02:00.0");
    let bars = device.bars.value().unwrap();
    assert_eq!(bars.iter().map(|b| b.index).collect::<Vec<_>>(), [0, 1, 3, 5]);
    let aperture = &bars[1];
    assert_eq!((aperture.start, aperture.size), (0x40_0000_0000, 16 << 30));
    assert!(aperture.prefetch && aperture.mem64 && !aperture.unassigned);
    assert!(!bars[0].prefetch && !bars[0].mem64);
    assert_eq!(device.bars.evidence()[1].line, Some(2));
    assert!(device.window.is_absent(), "not a bridge");
}

#[test]
fn a_bar_without_an_address_is_unassigned_and_has_no_size() {
    let text = resource_lines(&[
        (0xa000_0000, 0xa0ff_ffff, 0x40200),
        (0, 0x3_ffff_ffff, 0x2014_220c),
        (0, 0, 0),
        (0, 0x1ff_ffff, 0x14_220c),
        (0, 0, 0),
        (0, 0, 0),
        (0, 0, 0),
    ]);
    let tree = gpu().file(&format!("sys/devices/{GPU}/resource"), text);
    let device = one(&tree, "0000:02:00.0");
    let bars = device.bars.value().unwrap();
    assert_eq!(
        bars.iter().map(|b| (b.index, b.unassigned, b.size == 0)).collect::<Vec<_>>(),
        [(0, false, false), (1, true, true), (3, true, true)]
    );
}

#[test]
fn the_window_of_a_bridge_comes_after_rom_and_sriov_lines() {
    let bridge = |with_sriov: bool| {
        let mut lines = vec![(0, 0, 0); 7];
        if with_sriov {
            lines.extend([(0x50_0000_0000, 0x50_0fff_ffff, 0x14_220c); 6]);
        }
        lines.extend([
            (0x3000, 0x3fff, 0x101),
            (0xa000_0000, 0xa1ff_ffff, 0x200),
            (0x40_0000_0000, 0x44_0fff_ffff, 0x10_2201),
            (0, 0, 0),
        ]);
        let tree = gpu().file(&format!("sys/devices/{PORT}/resource"), resource_lines(&lines));
        one(&tree, "0000:00:06.0")
    };
    for (with_sriov, index) in [(false, 9), (true, 15)] {
        let port = bridge(with_sriov);
        let window = port.window.value().unwrap();
        assert_eq!((window.index, window.size), (index, 0x4_1000_0000));
        assert_eq!(port.bars.value().unwrap().len(), 0);
    }
}

#[test]
fn a_bridge_without_a_prefetchable_window_has_none() {
    let tree = gpu().file(&format!("sys/devices/{PORT}/resource"), resource_lines(&[(0, 0, 0); 17]));
    assert!(one(&tree, "0000:00:06.0").window.is_absent());
    let tree = gpu().file(&format!("sys/devices/{PORT}/resource"), resource_lines(&[(0, 0, 0); 7]));
    assert_eq!(one(&tree, "0000:00:06.0").window.reason().unwrap().why, Why::Malformed);
}

#[test]
fn cut_and_broken_resource_files_are_malformed_with_their_line() {
    let mut cut = GPU_RESOURCE.to_owned();
    cut.truncate(cut.len() - 3);
    let two: String = GPU_RESOURCE.lines().take(2).flat_map(|l| [l, "\n"]).collect();
    let huge = resource_lines(&[(1 << 63, u64::MAX, 0x14_220c); 7]);
    for (text, line) in [(cut, 7), (two, 3), (huge, 1), ("garbage\n".to_owned(), 1), ("x".repeat(900_000), 1)]
    {
        let tree = gpu().file(&format!("sys/devices/{GPU}/resource"), text);
        let reason = one(&tree, "0000:02:00.0").bars.reason().unwrap().clone();
        assert_eq!((reason.why, reason.line), (Why::Malformed, Some(line)));
        assert!(reason.detail.len() < 300, "an error stays readable");
    }
}

#[test]
fn both_spellings_of_speeds_are_read() {
    for (text, generation) in [
        ("2.5 GT/s PCIe", 1),
        ("2.5 GT/s", 1),
        ("5 GT/s", 2),
        ("5.0 GT/s PCIe", 2),
        ("8 GT/s", 3),
        ("16 GT/s", 4),
        ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6),
    ] {
        let tree = gpu().file(&format!("sys/devices/{GPU}/current_link_speed"), text);
        assert_eq!(one(&tree, "0000:02:00.0").link.generation.value(), Some(&generation), "{text}");
    }
}

#[test]
fn a_link_that_the_kernel_cannot_read_is_unknown() {
    let tree = gpu()
        .file(&format!("sys/devices/{GPU}/current_link_speed"), "Unknown\n")
        .file(&format!("sys/devices/{GPU}/max_link_speed"), "Unknown speed\n")
        .file(&format!("sys/devices/{GPU}/current_link_width"), "0\n")
        .file(&format!("sys/devices/{GPU}/max_link_width"), "255\n");
    let link = one(&tree, "0000:02:00.0").link;
    for fact in [&link.generation, &link.max_generation, &link.width, &link.max_width] {
        assert_eq!(fact.reason().unwrap().why, Why::Unreadable);
    }
    let link = one(&gpu(), "0000:00:06.0").link;
    assert!(link.width.is_absent() && link.generation.is_absent(), "no such files: no PCI Express link");
    let tree = gpu().file(&format!("sys/devices/{GPU}/current_link_speed"), "fast\n");
    assert_eq!(one(&tree, "0000:02:00.0").link.generation.reason().unwrap().why, Why::Malformed);
}

fn aer(correctable: &str, nonfatal: &str, fatal: &str) -> Fact<Aer> {
    let tree = gpu()
        .file(&format!("sys/devices/{GPU}/aer_dev_correctable"), correctable)
        .file(&format!("sys/devices/{GPU}/aer_dev_nonfatal"), nonfatal)
        .file(&format!("sys/devices/{GPU}/aer_dev_fatal"), fatal);
    one(&tree, "0000:02:00.0").aer
}

#[test]
fn aer_counters_are_split_from_the_right() {
    let fact = aer(
        "RxErr 3\nBadTLP 6655\nBadDLLP 0\nRollover 1\nTimeout 2\nNonFatalErr 0\nTOTAL_ERR_COR 6661\n",
        "Undefined 0\nSDES 1\nUnsupReq 4\nTOTAL_ERR_NONFATAL 5\n",
        "SDES 2\nTOTAL_ERR_FATAL 2\n",
    );
    let expected = Aer {
        rx_err: 3,
        bad_tlp: 6655,
        bad_dllp: 0,
        rollover: 1,
        timeout: 2,
        surprise_down: 3,
        correctable: 6661,
        nonfatal: 5,
        fatal: 2,
    };
    assert_eq!(fact.value(), Some(&expected));
    assert!(fact.evidence().iter().any(|e| e.text == "BadTLP 6655" && e.line == Some(2)));
    let old = aer(
        "Receiver Error 0\nBad TLP 7\nReplay Timer Timeout 2\nTOTAL_ERR_COR 9\n",
        "Surprise Down Error 1\nTOTAL_ERR_NONFATAL 1\n",
        "TOTAL_ERR_FATAL 0\n",
    );
    let old = old.value().unwrap();
    assert_eq!((old.bad_tlp, old.timeout, old.surprise_down), (7, 2, 1));
}

#[test]
fn no_aer_files_are_absent_and_cut_ones_malformed() {
    assert!(one(&gpu(), "0000:02:00.0").aer.is_absent());
    let cut = aer("RxErr 3\n", "TOTAL_ERR_NONFATAL 0\n", "TOTAL_ERR_FATAL 0\n");
    assert_eq!(cut.reason().unwrap().why, Why::Malformed);
    let negative = aer("RxErr -3\nTOTAL_ERR_COR 0\n", "TOTAL_ERR_NONFATAL 0\n", "TOTAL_ERR_FATAL 0\n");
    assert_eq!(negative.reason().unwrap().line, Some(1));
    let beyond =
        aer("RxErr 18446744073709551615\nTOTAL_ERR_COR 0\n", "TOTAL_ERR_NONFATAL 0\n", "TOTAL_ERR_FATAL 0\n");
    assert!(beyond.is_unknown());
    let tree = gpu().file(&format!("sys/devices/{GPU}/aer_dev_fatal"), "TOTAL_ERR_FATAL 0\n");
    assert_eq!(one(&tree, "0000:02:00.0").aer.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn the_domain_type_is_that_of_the_group() {
    let tree = gpu()
        .link(&format!("sys/devices/{GPU}/iommu_group"), "../../../../kernel/iommu_groups/14")
        .file("sys/kernel/iommu_groups/14/type", "DMA-FQ\n");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(device.iommu_group.value().unwrap(), "14");
    assert_eq!(device.domain_type.value().unwrap(), "DMA-FQ");
    assert_eq!(device.domain_type.evidence()[0].source, "sys/kernel/iommu_groups/14/type");
    let port = one(&tree, "0000:00:06.0");
    assert!(port.iommu_group.is_absent() && port.domain_type.is_absent());
}

#[test]
fn a_group_whose_type_was_not_captured_is_no_missing_group() {
    let tree = gpu().link(&format!("sys/devices/{GPU}/iommu_group"), "../../../../kernel/iommu_groups/14");
    assert_eq!(one(&tree, "0000:02:00.0").domain_type.reason().unwrap().why, Why::NotCaptured);
    let tree = gpu().link(&format!("sys/devices/{GPU}/iommu_group"), "../../elsewhere");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(device.iommu_group.reason().unwrap().why, Why::Malformed);
    assert_eq!(device.domain_type.reason().unwrap().why, Why::Derived);
}

#[test]
fn groups_name_their_members_where_links_were_lost() {
    let tree = Tree::new()
        .file("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n")
        .file("sys/bus/pci/devices/0000:03:00.0/class", "0x030000\n")
        .file("sys/kernel/iommu_groups/14/type", "identity\n")
        .dir("sys/kernel/iommu_groups/14/devices/0000:02:00.0");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(
        (device.iommu_group.value().unwrap().as_str(), device.domain_type.value().unwrap().as_str()),
        ("14", "identity")
    );
    assert!(one(&tree, "0000:03:00.0").iommu_group.is_absent());
}

#[test]
fn external_and_odd_attributes() {
    let with = |name: &str, text: &[u8]| {
        one(&gpu().file(&format!("sys/devices/{GPU}/{name}"), text), "0000:02:00.0")
    };
    assert_eq!(with("removable", b"removable\n").external.value(), Some(&true));
    assert_eq!(with("removable", b"fixed\n").external.value(), Some(&false));
    assert_eq!(with("removable", b"unknown\n").external.reason().unwrap().why, Why::Unreadable);
    assert!(one(&gpu(), "0000:02:00.0").external.is_absent());
    assert_eq!(with("class", b"0x03\xff\n").class.reason().unwrap().why, Why::Malformed);
    assert_eq!(with("class", b"\n").class.reason().unwrap().why, Why::Malformed);
    assert_eq!(with("numa_node", b"99999999999999999999\n").numa_node.reason().unwrap().why, Why::Malformed);
    assert_eq!(with("vendor", &vec![b'1'; 10 << 20]).vendor.reason().unwrap().why, Why::TooLarge);
    assert_eq!(one(&gpu(), "0000:00:06.0").dma_mask_bits.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn an_attribute_that_is_a_link_is_followed_inside_the_tree_only() {
    let tree = gpu()
        .without(&format!("sys/devices/{GPU}/vendor"))
        .link(&format!("sys/devices/{GPU}/vendor"), "/etc/vendor-copy")
        .file("etc/vendor-copy", "0x1002\n")
        .without(&format!("sys/devices/{GPU}/device"))
        .link(&format!("sys/devices/{GPU}/device"), "/proc/version");
    let device = one(&tree, "0000:02:00.0");
    assert_eq!(device.vendor.value(), Some(&0x1002));
    assert!(device.device.is_unknown());
}

#[test]
fn only_what_can_stand_on_a_gpu_path_is_looked_at_closely() {
    let nic = "pci0000:00/0000:00:1d.0/0000:05:00.0";
    let files = [
        ("class", "0x020000\n"),
        ("numa_node", "0\n"),
        ("dma_mask_bits", "32\n"),
        ("resource", GPU_RESOURCE),
    ];
    let device = one(&function(gpu(), nic, &files), "0000:05:00.0");
    assert_eq!(device.numa_node.reason().unwrap().why, Why::Derived);
    assert!(device.numa_node.reason().unwrap().detail.starts_with("not read"));
    assert_eq!(device.dma_mask_bits.value(), Some(&32), "isolation asks this of every function");
    assert_eq!(device.bars.value().unwrap().len(), 4, "and faults these");
    let first = "pci0000:80/0000:80:00.0";
    let device = one(&function(gpu(), first, &files), "0000:80:00.0");
    assert_eq!(device.numa_node.value(), Some(&0), "it stands for its host bridge");
    let accelerator = [("class", "0x120000\n"), ("numa_node", "1\n")];
    assert_eq!(one(&function(gpu(), nic, &accelerator), "0000:05:00.0").numa_node.value(), Some(&1));
}
