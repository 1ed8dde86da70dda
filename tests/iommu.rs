//! IOMMU units and what the boot log says about them.

mod common;

use common::Tree;
use peerfix::host::iommu::Iommu;
use peerfix::host::log::{KernelLog, LogLine};
use peerfix::root::{Evidence, Fact, Root, Why};

fn log(complete: bool, lines: &[&str]) -> KernelLog {
    KernelLog {
        available: Fact::known("captured/dmesg.txt".to_owned(), Evidence::new("captured/dmesg.txt", "")),
        complete: Fact::known(complete, Evidence::new("captured/dmesg.txt", "")),
        lines: lines
            .iter()
            .zip(1..)
            .map(|(text, number)| LogLine { number, seconds: None, text: (*text).to_owned() })
            .collect(),
    }
}

fn read(tree: &Tree, log: &KernelLog) -> Iommu {
    Iommu::read(&Root::open(tree.path()).unwrap(), log)
}

fn words(lines: &[&str]) -> Iommu {
    read(&Tree::new().dir("sys"), &log(true, lines))
}

#[test]
fn an_empty_class_means_that_nothing_is_active() {
    let iommu = read(&Tree::new().dir("sys/class/iommu"), &KernelLog::default());
    assert_eq!(iommu.units.value().unwrap().len(), 0);
    assert_eq!(iommu.active.value(), Some(&false));
}

#[test]
fn an_uncaptured_class_means_nothing() {
    let iommu = read(&Tree::new().dir("sys"), &KernelLog::default());
    assert_eq!(iommu.units.reason().unwrap().why, Why::NotCaptured);
    assert_eq!(iommu.active.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn vtd_units_say_whether_they_pass_through() {
    let tree = Tree::new()
        .file("sys/class/iommu/dmar10/intel-iommu/ecap", "f000f0f0da\n")
        .file("sys/class/iommu/dmar9/intel-iommu/ecap", "c00000000000009e\n")
        .dir("sys/class/iommu/dmar11");
    let units = read(&tree, &KernelLog::default()).units;
    let units = units.value().unwrap();
    assert_eq!(units.iter().map(|u| u.name.as_str()).collect::<Vec<_>>(), ["dmar9", "dmar10", "dmar11"]);
    assert_eq!(units[0].passthrough.value(), Some(&false), "a register with its highest bit set");
    assert_eq!(units[1].passthrough.value(), Some(&true));
    assert_eq!(units[2].passthrough.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn units_of_other_vendors_have_no_pass_through_bit() {
    let tree = Tree::new()
        .file("sys/class/iommu/ivhd0/amd-iommu/cap", "0\n")
        .dir("sys/class/iommu/smmu3.0x000000002b400000")
        .dir("sys/class/iommu/virtio3");
    let iommu = read(&tree, &KernelLog::default());
    let vendors: Vec<&str> = iommu.units.value().unwrap().iter().map(|u| u.vendor.as_str()).collect();
    assert_eq!(vendors, ["amd", "other", "arm"]);
    assert!(iommu.units.value().unwrap().iter().all(|u| u.passthrough.is_absent()));
    assert_eq!(iommu.active.value(), Some(&true));
}

#[test]
fn a_register_that_is_no_number_is_malformed() {
    let tree = Tree::new().file("sys/class/iommu/dmar0/intel-iommu/ecap", "none\n");
    let iommu = read(&tree, &KernelLog::default());
    assert_eq!(iommu.units.value().unwrap()[0].passthrough.reason().unwrap().why, Why::Malformed);
    assert_eq!(iommu.active.value(), Some(&true));
}

#[test]
fn a_group_is_proof_of_an_active_iommu() {
    let tree = Tree::new().file("sys/kernel/iommu_groups/4/type", "DMA\n");
    assert_eq!(read(&tree, &KernelLog::default()).active.value(), Some(&true));
    let tree =
        Tree::new().link("sys/bus/pci/devices/0000:01:00.0/iommu_group", "../../../../kernel/iommu_groups/4");
    assert_eq!(read(&tree, &KernelLog::default()).active.value(), Some(&true));
}

#[test]
fn the_default_domain_is_a_word_of_the_log() {
    let iommu = words(&["iommu: Default domain type: Passthrough (set via kernel command line)"]);
    assert_eq!(iommu.default_domain.value().unwrap(), "Passthrough");
    assert_eq!(iommu.default_domain.evidence()[0].line, Some(1));
    assert_eq!(
        words(&["iommu: Default domain type: Translated "]).default_domain.value().unwrap(),
        "Translated"
    );
}

#[test]
fn lines_that_only_look_alike_are_no_evidence() {
    let iommu = words(&[
        "DMAR: Host address width 46",
        "DMAR: IOMMU enabled",
        "DMAR-IR: Enabled IRQ remapping in x2apic mode",
    ]);
    assert!(iommu.default_domain.is_absent());
    assert_eq!(iommu.platform_opt_in.value(), Some(&false));
    assert_eq!(iommu.unknown_options.value().unwrap().len(), 0);
}

#[test]
fn options_that_the_kernel_does_not_know_are_named_as_words() {
    let iommu = words(&[
        "DMAR: Unknown option - 'pt'",
        "AMD-Vi: Unknown option - 'on'",
        "AMD-Vi: Unknown option - 'on'",
    ]);
    assert_eq!(iommu.unknown_options.value().unwrap(), &["intel_iommu=pt", "amd_iommu=on"]);
    assert_eq!(iommu.unknown_options.evidence()[1].line, Some(2));
}

#[test]
fn opt_in_and_acs_override_are_found() {
    let iommu = words(&[
        "DMAR: Intel-IOMMU force enabled due to platform opt in",
        "Warning: PCIe ACS overrides enabled; This may allow non-IOMMU protected peer-to-peer DMA",
    ]);
    assert_eq!(
        (iommu.platform_opt_in.value(), iommu.acs_override_active.value()),
        (Some(&true), Some(&true))
    );
}

#[test]
fn silence_counts_only_in_a_whole_log() {
    let tree = Tree::new().dir("sys");
    let part = read(&tree, &log(false, &["usb 1-1: new device", "DMAR: Unknown option - 'pt'"]));
    assert_eq!(part.platform_opt_in.reason().unwrap().why, Why::NotCaptured);
    assert!(part.default_domain.is_unknown());
    assert_eq!(part.unknown_options.value().unwrap().len(), 1, "what is there still counts");
    let none = read(&tree, &KernelLog::default());
    assert!(
        none.platform_opt_in.is_unknown()
            && none.default_domain.is_unknown()
            && none.unknown_options.is_unknown()
    );
}
