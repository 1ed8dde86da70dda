//! Eight RTX PRO 6000 on an EPYC: untuned, tuned, one small BAR1, words that do nothing.

mod common;

use common::contract::{Audit, Change, audit};
use common::hosts::{self, SMALL, TURIN_GPUS};

/// The registry string that a change of this audit would set, if one does.
fn registry(audit: &Audit) -> Option<String> {
    let words = audit.changes().into_iter().flat_map(|c| c.adds());
    words.into_iter().find_map(|w| w.strip_prefix("nvidia.NVreg_RegistryDwords=").map(str::to_owned))
}

#[test]
fn hmm_is_proposed_off_with_what_it_costs() {
    let audit = audit(&hosts::turin_stock());
    audit.finding("nvidia/uvm-hmm").is("warn");
    let change = audit.change_adding("nvidia_uvm.uvm_disable_hmm=1");
    assert_eq!(change.kind(), "modprobe");
    assert!(change.is_free(), "{change:#?}");
    change.says("pageable");
    assert!(change.0["edits"][0]["path"].as_str().unwrap().starts_with("/etc/modprobe.d/"), "{change:#?}");
    assert!(change.0["edits"][0]["diff"].as_str().unwrap().contains("+options nvidia_uvm uvm_disable_hmm=1"));
}

#[test]
fn registry_keys_are_a_conditional_proposal() {
    for tree in [hosts::turin_stock(), hosts::turin_stock_on("580.95.05")] {
        let audit = audit(&tree);
        let keys = registry(&audit).expect("a proposal of registry keys");
        assert!(keys.contains("ForceP2P=0x11") && keys.contains("RMForceP2PType=1"), "{keys}");
        assert!(keys.contains("RMPcieP2PType="), "{keys}");
        let ladder = audit.finding("nvidia/forcep2p").ladder();
        assert!(ladder.iter().any(Change::is_conditional), "{ladder:#?}");
        assert!(ladder.iter().all(|c| !c.is_free()), "{ladder:#?}");
    }
}

#[test]
fn keys_follow_the_numbering_of_the_running_branch() {
    // Up to 570, type 1 is the mailbox and RMPcieP2PType is not known.
    let audit = audit(&hosts::turin_stock_on("570.172.08"));
    if let Some(keys) = registry(&audit) {
        assert!(!keys.contains("RMPcieP2PType") && !keys.contains("RMForceP2PType=1"), "{keys}");
    }
}

#[test]
fn unsafe_values_are_never_proposed() {
    for tree in
        [hosts::turin_stock(), hosts::turin_stock_on("580.95.05"), hosts::turin_stock_on("570.172.08")]
    {
        let keys = registry(&audit(&tree)).unwrap_or_default();
        for bad in ["ForceP2P=0x111", "ForceP2P=0x22", "ForceP2P=0x211"] {
            assert!(!keys.contains(bad), "{keys}");
        }
    }
}

#[test]
fn ports_that_may_suspend_and_firmware_aspm_are_a_risk() {
    let audit = audit(&hosts::turin_stock());
    let finding = audit.finding("pcie/aspm-port-pm").is("warn");
    let words = finding.ladder_words();
    assert!(words.iter().any(|w| w == "pcie_port_pm=off"), "{words:?}");
    // `pcie_aspm=off` would leave what firmware set up.
    audit.no_change_adding("pcie_aspm=off");
}

#[test]
fn link_trouble_in_the_counters_makes_it_a_fault() {
    let counters = "Undefined 0\nDLP 0\nSDES 3\nTLP 0\nTOTAL_ERR_FATAL 3\n";
    let tree = hosts::turin_stock().file("sys/bus/pci/devices/0000:40:01.1/aer_dev_fatal", counters);
    audit(&tree).finding("pcie/aspm-port-pm").is("fail").names("0000:41:00.0");
}

#[test]
fn translation_is_a_risk_and_passthrough_the_remedy() {
    let audit = audit(&hosts::turin_stock());
    audit.finding("iommu/faults").is("pass");
    let finding = audit.finding("iommu/translated-peer").is("warn");
    assert_eq!(finding.ladder_words().first().map(String::as_str), Some("iommu=pt"));
    no_free_way_off(&audit);
}

/// `amd_iommu=off` is never free, and blocked here: APIC ids go beyond 254.
fn no_free_way_off(audit: &Audit) {
    audit.no_change_adding("iommu=off");
    for change in audit.changes().iter().filter(|c| c.adds().iter().any(|w| w == "amd_iommu=off")) {
        assert!(change.needs_consent() && change.is_blocked(), "{change:#?}");
    }
}

#[test]
fn the_allow_list_is_not_consulted() {
    for tree in [hosts::turin_stock(), hosts::turin_tuned()] {
        let audit = audit(&tree);
        audit.finding("p2pdma/bridge-not-allowed").does_not_fire();
        audit.finding("pcie/link-degraded").does_not_fire();
    }
}

#[test]
fn the_tuned_host_is_clean() {
    let audit = audit(&hosts::turin_tuned());
    audit.is_quiet(&[]).no_changes();
    audit.finding("nvidia/uvm-hmm").is("pass");
    audit.finding("nvidia/forcep2p").is("pass");
    audit.finding("nvidia/params-not-loaded").is("pass");
    audit.finding("pcie/aspm-port-pm").is("pass");
    assert_eq!(audit.json["pairs"].as_array().unwrap().len(), 28);
}

#[test]
fn the_card_with_a_small_bar_is_the_only_one_named() {
    let audit = audit(&hosts::turin_one_small_bar());
    let mut finding = audit.finding("bar/bar1-too-small").is("fail").names_first(TURIN_GPUS[SMALL]);
    for (index, bdf) in TURIN_GPUS.iter().enumerate() {
        if index != SMALL {
            finding = finding.does_not_name(bdf);
        }
    }
    let ladder = finding.ladder();
    let firmware = ladder.iter().find(|c| c.kind() == "firmware").expect("a change in firmware");
    assert!(firmware.is_manual(), "{firmware:#?}");
    firmware.says("Above 4G").says("Resizable BAR").says("display mode");
    assert!(ladder.iter().all(|c| c.kind() != "kernel-cmdline" || !c.is_free()), "{ladder:#?}");
}

#[test]
fn words_that_do_nothing_are_named_and_not_taken_for_state() {
    let audit = audit(&hosts::turin_noop_tokens());
    let finding = audit.finding("iommu/ineffective-option").is("warn");
    finding.names("amd_iommu=on").names("amd_iommu=pt");
    assert_eq!(finding.json["severity"], "info");
    // The domains translate, whatever the words say.
    audit.finding("iommu/translated-peer").is("warn");
    no_free_way_off(&audit);
    for change in audit.changes() {
        let only_noise =
            change.adds().is_empty() && change.removes().iter().any(|w| w.starts_with("amd_iommu="));
        assert!(!only_noise, "a word that does nothing is no reason for a reboot: {change:#?}");
    }
}

#[test]
fn what_is_written_and_not_loaded_is_found() {
    let tree = hosts::turin_tuned().replace(
        "proc/driver/nvidia/params",
        "RegistryDwords: \"ForceP2P=0x11;RMForceP2PType=1;RMPcieP2PType=2\"",
        "RegistryDwords: \"\"",
    );
    let audit = audit(&tree);
    audit.finding("nvidia/params-not-loaded").fires().says("p2p.conf").quotes("proc/driver/nvidia/params");
}

#[test]
fn of_two_registry_lines_the_lost_one_is_named() {
    let tree = hosts::turin_tuned()
        .file("etc/modprobe.d/a-first.conf", "options nvidia NVreg_RegistryDwords=\"RMForceStaticBar1=1\"\n");
    let audit = audit(&tree);
    audit.finding("modprobe/shadowed-option").fires().says("a-first.conf");
}

#[test]
fn a_library_of_another_release_is_a_mismatch() {
    let tree = hosts::turin_tuned().replace(
        "captured/nvidia-smi-q.txt",
        "Driver Version                            : 595.71.05",
        "Driver Version                            : 595.80",
    );
    let tree = tree
        .without("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")
        .without("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.595.71.05")
        .file("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.595.80", "\x7fELF")
        .link("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "libnvidia-ml.so.595.80");
    audit(&tree).finding("nvidia/version-mismatch").is("fail").says("595.71.05").says("595.80");
}

#[test]
fn keys_that_skip_the_drivers_checks_need_consent() {
    let audit = audit(&hosts::turin_stock());
    let ladder = audit.finding("nvidia/forcep2p").fires().ladder();
    assert!(!ladder.is_empty());
    for change in ladder {
        assert!(change.is_conditional() && change.needs_consent(), "{change:#?}");
        change.risks("unsafe-registry-key");
    }
}
