//! Two RTX 2080 Ti with an NVLink bridge, active and not.

mod common;

use common::contract::audit;
use common::hosts;

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
