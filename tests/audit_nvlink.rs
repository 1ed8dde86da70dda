//! Two RTX 2080 Ti with an NVLink bridge, active and not.

mod common;

use common::contract::audit;
use common::hosts;
use common::nvidia_smi::nvlink;

#[test]
fn an_active_bridge_is_clean() {
    let audit = audit(&hosts::x570_2080ti(true));
    audit.is_quiet(&[]).no_changes();
    audit.finding("nvlink/bridge-inactive").is("pass");
    audit.pair("0000:0b:00.0", "0000:0c:00.0").is_routed("NV2").rung("driver-grant", "pass");
}

#[test]
fn a_small_bar1_is_all_this_card_can_do() {
    for active in [true, false] {
        audit(&hosts::x570_2080ti(active)).finding("bar/bar1-too-small").does_not_fire();
    }
}

#[test]
fn eight_lanes_are_what_the_slots_have() {
    audit(&hosts::x570_2080ti(true)).finding("pcie/link-degraded").does_not_fire();
}

#[test]
fn an_inactive_bridge_is_found_and_is_hardware() {
    let audit = audit(&hosts::x570_2080ti(false));
    let finding = audit.finding("nvlink/bridge-inactive").fires();
    finding.names("0000:0b:00.0").names("0000:0c:00.0").quotes("captured/nvidia-smi-nvlink-s.txt");
    let ladder = finding.ladder();
    assert!(!ladder.is_empty() && ladder.iter().all(|c| c.kind() == "hardware"), "{ladder:#?}");
    ladder[0].says("bridge");
}

#[test]
fn keys_that_would_switch_nvlink_off_are_never_proposed() {
    for active in [true, false] {
        let audit = audit(&hosts::x570_2080ti(active));
        for change in audit.changes() {
            assert!(!change.adds().iter().any(|w| w.contains("RMForceP2PType")), "{change:#?}");
        }
    }
}

#[test]
fn such_a_key_in_force_is_found() {
    let keys = "ForceP2P=0x11;RMForceP2PType=1";
    let tree = hosts::x570_2080ti(true)
        .replace("proc/driver/nvidia/params", "RegistryDwords: \"\"", &format!("RegistryDwords: \"{keys}\""))
        .file("etc/modprobe.d/p2p.conf", format!("options nvidia NVreg_RegistryDwords=\"{keys}\"\n"));
    audit(&tree).finding("nvidia/forcep2p").fires().says("NVLink").says("RMForceP2PType");
}

#[test]
fn one_card_with_a_connector_has_nobody_to_be_bridged_to() {
    let text = nvlink("NVIDIA GeForce RTX 2080 Ti", 1, 2, None);
    let tree = hosts::single_gpu().file("captured/nvidia-smi-nvlink-s.txt", text);
    audit(&tree).finding("nvlink/bridge-inactive").is("not-applicable");
}

#[test]
fn link_lines_that_say_neither_speed_nor_inactive_prove_nothing() {
    let unread = nvlink("NVIDIA GeForce RTX 2080 Ti", 2, 2, Some("25.781")).replace("25.781 GB/s", "N/A");
    let none = nvlink("NVIDIA GeForce RTX 2080 Ti", 2, 0, None);
    for text in [unread, none] {
        let tree = hosts::x570_2080ti(true).file("captured/nvidia-smi-nvlink-s.txt", text);
        audit(&tree).finding("nvlink/bridge-inactive").is("unknown");
    }
}

#[test]
fn lost_keys_are_not_put_back_where_they_would_switch_nvlink_off() {
    let tree = hosts::x570_2080ti(true)
        .file(
            "etc/modprobe.d/a.conf",
            "options nvidia NVreg_RegistryDwords=\"ForceP2P=0x11;RMForceP2PType=1\"\n",
        )
        .file("etc/modprobe.d/b.conf", "options nvidia NVreg_RegistryDwords=\"PowerMizerEnable=0x1\"\n");
    let audit = audit(&tree);
    audit.finding("nvidia/forcep2p").fires();
    assert!(audit.changes().iter().all(|c| !c.adds().iter().any(|w| w.contains("RMForceP2PType"))));
}
