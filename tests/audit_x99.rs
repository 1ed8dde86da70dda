//! Four Radeon AI PRO R9700 on a two-socket X99 board: an allow-list, a DMA mask, two bad links.

mod common;

use common::contract::{Change, audit};
use common::hosts;

const A: &str = "0000:04:00.0";
const B: &str = "0000:08:00.0";
const C: &str = "0000:84:00.0";
const D: &str = "0000:88:00.0";

#[test]
fn the_bridge_of_each_root_bus_is_looked_up_and_refused() {
    let audit = audit(&hosts::x99());
    assert_eq!(audit.code, 1);
    let finding = audit.finding("p2pdma/bridge-not-allowed").is("fail");
    finding.says("8086:6f00");
    // Socket 1 has no function 00.0: its first root port stands for the bus.
    finding.says("8086:6f04").says("0000:80:02.0");
}

#[test]
fn a_kernel_patch_is_proposed_with_the_flag_and_with_consent() {
    let audit = audit(&hosts::x99());
    let ladder = audit.finding("p2pdma/bridge-not-allowed").ladder();
    let patch = ladder.iter().find(|c| c.kind() == "kernel-patch").expect("a kernel patch");
    assert!(patch.needs_consent(), "{patch:#?}");
    patch.risks("kernel-patch").says("REQ_SAME_HOST_BRIDGE").says("6f00");
    assert!(ladder.iter().all(|c| c.kind() != "kernel-cmdline"), "no boot option changes the list");
}

#[test]
fn translation_is_asked_for_because_the_mask_does_not_reach_the_aperture() {
    let audit = audit(&hosts::x99());
    let finding = audit.finding("iommu/needs-translation").is("fail");
    finding.names(A).names(B).names(C).names(D).says("44").says("46");
    let change = audit.change_adding("intel_iommu=on");
    assert!(change.is_free(), "{change:#?}");
    let mut removed = change.removes();
    removed.sort();
    assert_eq!(removed, ["amd_iommu=pt", "iommu=pt"]);
    audit.no_change_adding("iommu=pt").no_change_adding("intel_iommu=off");
    for change in audit.changes() {
        assert!(!change.says_mask(), "a larger DMA mask is never the cure: {change:#?}");
    }
}

/// Proposals that would widen a mask.
trait Mask {
    fn says_mask(&self) -> bool;
}

impl Mask for Change<'_> {
    fn says_mask(&self) -> bool {
        self.adds().iter().any(|w| w.contains("dma_mask") || w.contains("dma_bits"))
    }
}

#[test]
fn the_edit_goes_where_pop_os_keeps_its_options() {
    let audit = audit(&hosts::x99());
    let change = audit.change_adding("intel_iommu=on").0;
    assert_eq!(change["edits"][0]["path"], "/etc/kernelstub/configuration");
    let line = change["effective_cmdline"].as_str().unwrap();
    assert!(line.contains("intel_iommu=on") && !line.contains("iommu=pt"), "{line}");
}

#[test]
fn the_word_for_another_vendor_is_named_and_only_informs() {
    let audit = audit(&hosts::x99());
    let finding = audit.finding("iommu/ineffective-option").is("warn").names("amd_iommu=pt");
    assert_eq!(finding.json["severity"], "info");
    assert!(!finding.subjects().iter().any(|s| s == "iommu=pt"), "iommu=pt does something");
}

#[test]
fn kfd_links_lead_to_processors_only() {
    let audit = audit(&hosts::x99());
    audit.finding("kfd/no-peer-link").is("fail").names(A).names(D).quotes("properties");
}

#[test]
fn links_are_judged_at_the_topmost_port_of_the_card() {
    let audit = audit(&hosts::x99());
    let finding = audit.finding("pcie/link-degraded").fires();
    finding.names(B).names(D).does_not_name(A).does_not_name(C);
    let ladder = finding.ladder();
    assert!(!ladder.is_empty() && ladder.iter().all(|c| c.kind() == "hardware"), "{ladder:#?}");
    ladder[0].says("reseat");
}

#[test]
fn bad_packets_are_counted_at_the_root_port() {
    let audit = audit(&hosts::x99());
    let finding = audit.finding("pcie/aer-errors").fires();
    finding.counts(6655).says("BadTLP").quotes("0000:00:03.0/aer_dev_correctable");
    finding.does_not_name(A).does_not_name(C).does_not_name(D);
    audit.no_change_adding("pci=noaer");
}

#[test]
fn pairs_of_two_sockets_are_explained() {
    let audit = audit(&hosts::x99());
    audit.finding("topology/cross-socket").says("stag");
    for (a, b) in [(A, C), (A, D), (B, C), (B, D)] {
        audit.pair(a, b).is_routed("SYS").rung("kernel-permission", "fail");
    }
    for (a, b) in [(A, B), (C, D)] {
        audit.pair(a, b).rung("kernel-permission", "fail");
    }
}

#[test]
fn the_kernel_configuration_is_in_order_and_nvidia_rules_do_not_apply() {
    let audit = audit(&hosts::x99());
    audit.finding("p2pdma/kernel-config").is("pass");
    for rule in ["nvidia/uvm-hmm", "nvidia/forcep2p", "nvidia/driver-absent", "iommu/translated-peer"] {
        audit.finding(rule).does_not_fire();
    }
}

#[test]
fn a_kernel_without_the_option_is_named_before_the_list() {
    let release = hosts::x99().read("proc/sys/kernel/osrelease");
    let config = format!("boot/config-{}", release.trim());
    let tree = hosts::x99()
        .replace(&config, "CONFIG_HSA_AMD_P2P=y", "# CONFIG_HSA_AMD_P2P is not set")
        .replace(&config, "CONFIG_PCI_P2PDMA=y", "# CONFIG_PCI_P2PDMA is not set");
    let audit = audit(&tree);
    audit.finding("p2pdma/kernel-config").is("fail").says("CONFIG_PCI_P2PDMA");
}

#[test]
fn haswell_is_on_the_list_for_pairs_of_one_socket() {
    let audit = audit(&hosts::x99_haswell());
    audit.finding("p2pdma/bridge-not-allowed").does_not_fire();
    audit.finding("iommu/needs-translation").is("fail");
    assert!(audit.changes().iter().all(|c| c.kind() != "kernel-patch"), "{:#?}", audit.json["changes"]);
    for (a, b) in [(A, B), (C, D)] {
        audit.pair(a, b).rung("kernel-permission", "pass").rung("driver-grant", "fail");
    }
    audit.pair(A, C).rung("kernel-permission", "fail");
}

#[test]
fn an_aperture_below_the_mask_needs_no_translation() {
    let audit = audit(&hosts::x99_low_aperture());
    audit.finding("iommu/needs-translation").is("pass");
    audit.finding("p2pdma/bridge-not-allowed").is("fail");
    audit.no_change_adding("intel_iommu=on");
}

#[test]
fn with_translation_only_the_list_is_left() {
    let audit = audit(&hosts::x99_translated());
    audit.finding("iommu/needs-translation").is("pass");
    audit.finding("p2pdma/bridge-not-allowed").is("fail");
    audit.finding("iommu/ineffective-option").does_not_fire();
    audit.no_change_adding("intel_iommu=on").no_change_adding("iommu=pt");
}

#[test]
fn a_kernel_without_p2pdma_has_no_list_to_be_on() {
    let tree = hosts::x99();
    let config = format!("boot/config-{}", tree.read("proc/sys/kernel/osrelease").trim());
    let tree = tree.replace(&config, "CONFIG_PCI_P2PDMA=y", "# CONFIG_PCI_P2PDMA is not set");
    let audit = audit(&tree);
    audit.finding("p2pdma/kernel-config").is("fail");
    audit.finding("p2pdma/bridge-not-allowed").is("not-applicable");
    assert!(audit.changes().iter().all(|c| c.kind() != "kernel-patch"));
}

#[test]
fn a_row_that_newer_kernels_have_needs_no_patch() {
    let tree = hosts::x99();
    let release = tree.read("proc/sys/kernel/osrelease");
    let config = tree.read(&format!("boot/config-{}", release.trim()));
    let tree = tree
        .file("proc/sys/kernel/osrelease", "5.15.0-94-generic\n")
        .file("boot/config-5.15.0-94-generic", config)
        .replace("sys/devices/pci0000:00/0000:00:00.0/device", "0x6f00", "0x2020")
        .replace("sys/devices/pci0000:80/0000:80:02.0/device", "0x6f04", "0x2030");
    let audit = audit(&tree);
    let ladder = audit.finding("p2pdma/bridge-not-allowed").is("fail").says("5.19").ladder();
    ladder[0].says("5.19");
    assert!(ladder.iter().all(|c| c.kind() != "kernel-patch"), "{ladder:#?}");
}
