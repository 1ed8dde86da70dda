//! Hosts with nothing to fix, each holding something that others took for a fault.

mod common;

use common::contract::{audit, audits};
use common::hosts;

#[test]
fn a_laptop_with_two_kinds_of_graphics_is_left_alone() {
    let audit = audit(&hosts::laptop_igpu_dgpu());
    audit.is_quiet(&["host/"]).no_changes();
    audit.finding("pcie/link-degraded").does_not_fire();
    audit.finding("iommu/translated-peer").does_not_fire();
    assert_eq!(audit.json["pairs"].as_array().unwrap().len(), 0);
}

#[test]
fn one_gpu_has_no_peer() {
    let audit = audit(&hosts::single_gpu());
    audit.is_quiet(&["host/"]).no_changes();
    for rule in ["p2pdma/bridge-not-allowed", "nvidia/forcep2p", "nvidia/uvm-hmm", "bar/bar1-too-small"] {
        audit.finding(rule).does_not_fire();
    }
    assert_ne!(audit.finding("host/single-gpu").status(), "not-applicable");
}

#[test]
fn a_guest_is_judged_on_its_host() {
    let audit = audit(&hosts::guest_passthrough());
    audit.is_quiet(&["host/"]).no_changes();
    for rule in ["bar/bar1-too-small", "pcie/aer-not-owned", "pcie/aer-errors", "p2pdma/bridge-not-allowed"] {
        audit.finding(rule).does_not_fire();
    }
    assert!(!audit.json["host"]["virtual"].is_null());
    // Silence of a guest is no proof either.
    for rule in ["bar/bar1-too-small", "pcie/aer-errors"] {
        assert_ne!(audit.finding(rule).status(), "pass", "{rule} cannot be judged from a guest");
    }
}

#[test]
fn wsl_is_windows_business() {
    let audit = audit(&hosts::wsl());
    audit.is_quiet(&["host/"]).no_changes();
    assert_eq!(audit.json["host"]["virtual"], "wsl");
    assert_ne!(audit.finding("host/wsl").status(), "not-applicable");
    audit.finding("nvidia/driver-absent").does_not_fire();
}

#[test]
fn a_display_card_may_be_small() {
    let audit = audit(&hosts::display_only_card());
    audit.is_quiet(&["host/"]).no_changes();
    audit.finding("bar/bar1-too-small").does_not_fire();
    audit.finding("gpu/peer-unsupported").does_not_fire();
    assert_eq!(audit.json["pairs"].as_array().unwrap().len(), 1, "the display card is nobody's peer");
}

#[test]
fn a_policy_line_is_no_translation() {
    let audit = audit(&hosts::translated_policy_without_groups());
    audit.is_quiet(&["host/", "topology/"]).no_changes();
    audit.finding("iommu/translated-peer").does_not_fire();
    audit.finding("iommu/faults").is("pass");
    audit.pair("0000:1a:00.0", "0000:1b:00.0").is_routed("PIX");
    audit.pair("0000:1a:00.0", "0000:88:00.0").is_routed("SYS");
}

#[test]
fn nothing_that_weakens_the_host_is_ever_proposed() {
    let never = [
        "mitigations=",
        "pci=noaer",
        "pci=nommconf",
        "iommu=off",
        "iommu=soft",
        "nokaslr",
        "pcie_acs_override",
        "spectre_v2=",
        "retbleed=",
        "mds=",
        "l1tf=",
        "noibrs",
        "nopti",
        "amdgpu.dma",
        "pci=noacs",
        "pcie_aspm=force",
    ];
    for (name, audit) in audits() {
        for change in audit.changes() {
            for word in change.adds() {
                assert!(!never.iter().any(|n| word.starts_with(n)), "{name}: {word} in {change:#?}");
            }
        }
    }
}

#[test]
fn no_option_is_pulled_in_two_directions() {
    for (name, audit) in audits() {
        let free: Vec<_> = audit.changes().into_iter().filter(|c| c.is_free() && c.rung() == 1).collect();
        for change in &free {
            for word in change.adds() {
                let removed = free.iter().any(|other| other.removes().contains(&word));
                assert!(!removed, "{name}: {word} is added by one change and removed by another");
            }
        }
        let adds: Vec<String> = free.iter().flat_map(common::contract::Change::adds).collect();
        let both = ["iommu=pt", "intel_iommu=on"].iter().all(|w| adds.iter().any(|a| a == w));
        assert!(!both, "{name}: translation is wanted and not wanted");
    }
}
