//! Captures that hold only what a person bothered to copy: judged as far as they go, and no further.

mod common;

use common::contract::audit;
use common::{Tree, hosts};

const GIB: u64 = 1 << 30;

/// A function as a plain directory, without links and without most of its files.
fn function(tree: Tree, bdf: &str, vendor: u16, device: u16, class: u32) -> Tree {
    let file = |name: &str| format!("sys/bus/pci/devices/{bdf}/{name}");
    tree.file(&file("vendor"), format!("{vendor:#06x}\n"))
        .file(&file("device"), format!("{device:#06x}\n"))
        .file(&file("class"), format!("{class:#08x}\n"))
}

/// A bridge with the 64 bytes that everybody may read.
fn bridge(tree: Tree, bdf: &str, secondary: u8) -> Tree {
    let mut header = [0_u8; 64];
    (header[0x0e], header[0x18], header[0x19], header[0x1a]) = (1, 0, secondary, secondary);
    function(tree, bdf, 0x8086, 0x460d, 0x0006_0400)
        .file(&format!("sys/bus/pci/devices/{bdf}/config"), header)
}

/// An RTX PRO card with the few lines of `resource` that matter.
fn card(tree: Tree, bdf: &str, device: u16, start: u64, size: u64) -> Tree {
    let resource = format!(
        "0x00000000a0000000 0x00000000a3ffffff 0x0000000000040200\n{start:#018x} {:#018x} 0x000000000014220c\n",
        start + size - 1
    );
    function(tree, bdf, 0x10de, device, 0x0003_0000)
        .file(&format!("sys/bus/pci/devices/{bdf}/resource"), resource)
        .link(&format!("sys/bus/pci/devices/{bdf}/driver"), "../../../../bus/pci/drivers/nvidia")
}

fn host() -> Tree {
    Tree::new()
        .file("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 198\n")
        .file("proc/cmdline", "quiet\n")
        .file("proc/sys/kernel/osrelease", "6.14.0-37-generic\n")
}

fn two_cards() -> Tree {
    let tree = bridge(bridge(host(), "0000:00:01.0", 2), "0000:00:06.0", 3);
    let tree = card(tree, "0000:02:00.0", 0x2bb3, 0x60_0000_0000, 64 * GIB);
    card(tree, "0000:03:00.0", 0x2bb3, 0x80_0000_0000, 64 * GIB)
}

#[test]
fn bus_numbers_of_bridges_stand_for_lost_links() {
    let audit = audit(&two_cards());
    audit.pair("0000:02:00.0", "0000:03:00.0").is_routed("PHB");
}

#[test]
fn a_bridge_without_bus_numbers_leaves_the_path_open() {
    let tree = function(two_cards(), "0000:00:07.0", 0x8086, 0x460d, 0x0006_0400);
    let tree = card(tree, "0000:04:00.0", 0x2bb3, 0xa0_0000_0000, 64 * GIB);
    let audit = audit(&tree);
    audit.pair("0000:02:00.0", "0000:03:00.0").is_routed("PHB");
    audit.pair("0000:02:00.0", "0000:04:00.0").is_routed("?");
}

#[test]
fn bridges_in_a_circle_end() {
    let tree = bridge(bridge(two_cards(), "0000:05:00.0", 6), "0000:06:00.0", 5);
    let tree = card(tree, "0000:06:01.0", 0x2bb3, 0xa0_0000_0000, 64 * GIB);
    audit(&tree).pair("0000:02:00.0", "0000:06:01.0").is_routed("?");
}

#[test]
fn what_cannot_be_identified_is_not_counted_out() {
    for file in ["class", "vendor"] {
        let tree = two_cards().without(&format!("sys/bus/pci/devices/0000:03:00.0/{file}"));
        let audit = audit(&tree);
        audit.finding("host/single-gpu").is("unknown").names("0000:03:00.0");
        for rule in ["bar/bar1-too-small", "gpu/peer-unsupported", "nvidia/uvm-hmm", "isolation/in-use"] {
            audit.finding(rule).is("unknown");
        }
    }
}

#[test]
fn a_third_function_in_doubt_does_not_hide_the_pair() {
    let tree = function(two_cards(), "0000:04:00.0", 0x10de, 0x2bb3, 0)
        .without("sys/bus/pci/devices/0000:04:00.0/class");
    let audit = audit(&tree);
    audit.finding("host/single-gpu").is("unknown").names("0000:04:00.0");
    audit.pair("0000:02:00.0", "0000:03:00.0").is_routed("PHB");
}

#[test]
fn text_that_is_no_kernel_log_is_no_quiet_log() {
    for text in ["-1\n", "999999999999\n", "<html>\nnot a log\n", "\0\u{1}\u{2}\n"] {
        audit(&two_cards().file("captured/dmesg.txt", text)).finding("iommu/faults").is("unknown");
    }
    let bare = "DMAR: Host address width 42\niommu: Default domain type: Translated \n";
    audit(&two_cards().file("captured/dmesg.txt", bare)).finding("iommu/faults").is("pass");
}

#[test]
fn a_host_without_boot_configuration_still_has_its_command_line_judged() {
    let tree = two_cards().dir("etc/modprobe.d").dir("boot");
    audit(&tree).finding("iommu/ineffective-option").is("pass");
}

#[test]
fn errors_that_were_counted_stand_without_the_other_two_files() {
    let at = "sys/bus/pci/devices/0000:00:06.0/aer_dev_correctable";
    let counted = "RxErr 0\nBadTLP 812\nBadDLLP 3\nRollover 0\nTimeout 0\nTOTAL_ERR_COR 815\n";
    let audit = audit(&two_cards().file(at, counted));
    audit.finding("pcie/aer-errors").fires().names("0000:03:00.0").says("BadTLP 812").quotes(at);
}

#[test]
fn isolation_that_is_half_known_is_said_in_whole_words() {
    let tree = function(two_cards(), "0000:05:00.0", 0x8086, 0x1533, 0x0002_0000)
        .link("sys/bus/pci/devices/0000:05:00.0/driver", "../../../../bus/pci/drivers/vfio-pci");
    audit(&tree).finding("isolation/in-use").fires().says("VFIO has 0000:05:00.0. Changes");
}

#[test]
fn translation_is_offered_where_the_kernel_config_was_not_captured() {
    let tree = hosts::x99().leaving_out(&["config-7.1.4-76070104-generic", "config.gz"]);
    let audit = audit(&tree);
    audit.finding("iommu/needs-translation").fires();
    let change = audit.change_adding("intel_iommu=on");
    assert_eq!(change.adds(), ["intel_iommu=on"]);
}

#[test]
fn links_of_processors_are_not_needed_to_judge_the_gpus() {
    let nodes = "sys/class/kfd/kfd/topology/nodes";
    let tree = hosts::x99().without(&format!("{nodes}/0/io_links"));
    audit(&tree).finding("kfd/no-peer-link").is("fail");
}

#[test]
fn a_display_card_is_known_by_its_id_alone() {
    let tree = bridge(two_cards(), "0000:00:1c.0", 4);
    let tree = card(tree, "0000:04:00.0", 0x1d01, 0xc000_0000, GIB / 4);
    let audit = audit(&tree);
    assert_eq!(audit.json["pairs"].as_array().unwrap().len(), 1);
    audit.finding("bar/bar1-too-small").does_not_fire();
}

#[test]
fn half_the_lanes_are_a_fault_between_peers_and_a_remark_for_one_card() {
    let narrow = |tree: Tree, bdf: &str| {
        let file = |name: &str| format!("sys/bus/pci/devices/{bdf}/{name}");
        tree.file(&file("current_link_speed"), "16.0 GT/s PCIe\n")
            .file(&file("current_link_width"), "8\n")
            .file(&file("max_link_speed"), "16.0 GT/s PCIe\n")
            .file(&file("max_link_width"), "16\n")
    };
    let one = card(bridge(host(), "0000:00:01.0", 2), "0000:02:00.0", 0x2860, 0x60_0000_0000, 8 * GIB);
    let one = narrow(narrow(one, "0000:00:01.0"), "0000:02:00.0");
    audit(&one).finding("pcie/link-degraded").is("pass").says("x8");
    let two = narrow(narrow(two_cards(), "0000:00:01.0"), "0000:02:00.0");
    audit(&two).finding("pcie/link-degraded").is("fail").names("0000:02:00.0").says("x8");
}
