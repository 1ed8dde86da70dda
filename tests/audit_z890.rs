//! Two RTX PRO 5000 on a Z890 board: rejected peer writes, and the remedies that this host can take.

mod common;

use common::contract::{Audit, Change, audit};
use common::hosts;

const FIRST: &str = "0000:02:00.0";
const SECOND: &str = "0000:03:00.0";

#[test]
fn faults_fail_and_name_the_first_card_with_the_census() {
    let audit = audit(&hosts::z890());
    assert_eq!(audit.code, 1);
    audit
        .finding("iommu/faults")
        .is("fail")
        .names_first(FIRST)
        .says("0x71")
        .counts(37)
        .counts(3_175_441)
        .quotes("captured/dmesg.txt");
}

#[test]
fn the_fault_addresses_are_placed_in_the_peers_bar() {
    let audit = audit(&hosts::z890());
    audit.finding("iommu/faults").says("peer").says(SECOND);
}

#[test]
fn the_ladder_is_passthrough_then_off_with_consent() {
    let audit = audit(&hosts::z890());
    let ladder = audit.finding("iommu/faults").ladder();
    let words: Vec<Vec<String>> = ladder.iter().map(Change::adds).collect();
    assert_eq!(words, [["iommu=pt"], ["intel_iommu=off"]]);
    assert_eq!(ladder.iter().map(Change::rung).collect::<Vec<_>>(), [1, 2]);
    assert!(ladder[0].is_free(), "{:#?}", ladder[0]);
    ladder[0].risks("dma-isolation");
    assert!(ladder[1].needs_consent() && !ladder[1].is_blocked(), "{:#?}", ladder[1]);
    ladder[1].risks("dma-isolation");
    audit.no_change_adding("iommu=off");
}

#[test]
fn passthrough_comes_with_its_diff_its_commands_and_the_way_back() {
    let audit = audit(&hosts::z890());
    let change = audit.change_adding("iommu=pt").0;
    assert_eq!(change["kind"], "kernel-cmdline");
    assert_eq!(change["name"], "iommu-pt");
    assert_eq!(change["pending"], false);
    assert_eq!(change["edits"].as_array().unwrap().len(), 1);
    assert_eq!(change["edits"][0]["path"], "/etc/default/grub");
    let diff = change["edits"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("-GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\n"), "{diff}");
    assert!(diff.contains("+GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash iommu=pt\"\n"), "{diff}");
    assert!(change["commands"].to_string().contains("update-grub"));
    assert!(change["effective_cmdline"].as_str().unwrap().contains("iommu=pt"));
    assert!(!change["loses"].as_array().unwrap().is_empty());
    assert!(!change["revert"].as_array().unwrap().is_empty());
}

#[test]
fn nothing_else_is_wrong_with_this_host() {
    let audit = audit(&hosts::z890());
    let rules: Vec<&str> = audit.wrong().iter().map(common::contract::Finding::rule).collect();
    let allowed = ["iommu/faults", "iommu/translated-peer"];
    assert!(rules.iter().all(|rule| allowed.contains(rule)), "{rules:?}");
    for rule in ["p2pdma/bridge-not-allowed", "p2pdma/kernel-config"] {
        audit.finding(rule).does_not_fire();
    }
    audit.finding("pcie/link-degraded").does_not_fire();
    assert!(audit.changes().iter().all(|c| c.kind() != "kernel-patch"), "{:#?}", audit.json["changes"]);
}

#[test]
fn cards_of_one_device_id_and_two_sizes_are_not_held_against_each_other() {
    audit(&hosts::z890()).finding("bar/bar1-too-small").does_not_fire();
}

#[test]
fn the_pair_is_granted_and_its_data_unproven() {
    let audit = audit(&hosts::z890());
    let pair = audit.pair(FIRST, SECOND).is_routed("PHB");
    pair.rung("kernel-permission", "not-applicable").rung("driver-grant", "pass");
    let (there, back) = pair.outcomes("copy-engine-data");
    assert!(there != "pass" && back != "pass", "{pair:#?}");
}

fn starts_with_off(audit: &Audit) {
    audit.finding("iommu/faults").is("fail").names_first(FIRST);
    audit.no_change_adding("iommu=pt").no_change_adding("iommu=off");
    let ladder = audit.finding("iommu/faults").ladder();
    assert_eq!(ladder[0].adds(), ["intel_iommu=off"]);
    assert!(ladder[0].needs_consent());
}

#[test]
fn passthrough_is_skipped_where_the_units_do_not_have_it() {
    starts_with_off(&audit(&hosts::z890_pt_without_passthrough_support()));
}

#[test]
fn passthrough_is_skipped_where_it_is_running_and_the_domain_translates_all_the_same() {
    let audit = audit(&hosts::z890_pt_but_translated());
    starts_with_off(&audit);
    audit.finding("iommu/untrusted-port-translated").does_not_fire();
}

#[test]
fn a_platform_opt_in_explains_why_passthrough_does_not_reach_an_external_card() {
    let tree = hosts::z890_pt_but_translated();
    let log = tree.read("captured/dmesg.txt");
    let opt_in = "[    0.405500] DMAR: Intel-IOMMU force enabled due to platform opt in\n";
    let tree = tree
        .file("captured/dmesg.txt", log.replacen("[    0.406000]", &format!("{opt_in}[    0.406000]"), 1))
        .file("sys/bus/pci/devices/0000:02:00.0/removable", "removable\n");
    audit(&tree).finding("iommu/untrusted-port-translated").fires().names(FIRST);
}

#[test]
fn off_is_blocked_while_a_vfio_device_is_in_use() {
    let audit = audit(&hosts::z890_vfio());
    let off = audit.change_adding("intel_iommu=off");
    assert!(off.is_blocked(), "{off:#?}");
    assert!(off.0["blocked_by"].to_string().contains("0000:04:00.0"), "{off:#?}");
    audit.finding("isolation/in-use").names("0000:04:00.0").says("vfio");
    audit.no_change_adding("iommu=off");
}

#[test]
fn off_is_blocked_while_a_thunderbolt_device_is_attached() {
    let audit = audit(&hosts::z890_thunderbolt());
    let off = audit.change_adding("intel_iommu=off");
    assert!(off.is_blocked(), "{off:#?}");
    assert!(off.0["blocked_by"].to_string().to_lowercase().contains("thunderbolt"), "{off:#?}");
    audit.finding("isolation/in-use").says("TS4");
}

#[test]
fn an_existing_iommu_off_is_reported_with_the_devices_that_need_bounce_buffers() {
    let audit = audit(&hosts::z890_iommu_off_with_32bit_devices());
    let wrong = audit.wrong();
    let found = wrong.iter().find(|f| f.subjects().iter().any(|s| s == "0000:05:00.0"));
    let found = found.unwrap_or_else(|| panic!("nothing names 0000:05:00.0: {:#?}", audit.json["findings"]));
    assert!(found.rule().starts_with("iommu/"), "{}", found.rule());
    found.says("iommu=off").does_not_name(FIRST).does_not_name("0000:04:00.0");
    audit.no_change_adding("iommu=off");
}

#[test]
fn the_same_host_without_translation_is_clean() {
    let audit = audit(&hosts::z890_clean());
    audit.is_quiet(&[]).no_changes();
    audit.finding("iommu/faults").is("pass");
    audit.finding("iommu/translated-peer").does_not_fire();
    audit.finding("boot/cmdline-drift").is("pass");
}

#[test]
fn a_stray_write_that_was_blocked_is_not_let_through_without_consent() {
    let audit = audit(&hosts::z890_stray_writes());
    let finding = audit.finding("iommu/faults").is("fail").names_first(FIRST);
    for change in finding.ladder().into_iter().filter(|c| !c.is_manual()) {
        assert!(change.needs_consent(), "{change:#?}");
        change.risks("stray-dma");
    }
}

#[test]
fn faults_of_the_network_card_are_told_apart_and_change_nothing() {
    let audit = audit(&hosts::z890_nic_faults());
    audit.finding("iommu/faults").names("0000:04:00.0").does_not_name(FIRST).does_not_name(SECOND);
    for word in ["iommu=pt", "intel_iommu=off"] {
        let free = audit
            .finding("iommu/faults")
            .ladder()
            .into_iter()
            .any(|c| c.is_free() && c.adds().iter().any(|w| w == word));
        assert!(!free, "{word} is offered for faults of a network card");
    }
}

#[test]
fn a_translating_pair_without_faults_is_a_risk_for_the_gate() {
    let tree = hosts::z890_nic_faults();
    let log = tree.read("captured/dmesg.txt");
    let quiet: String = log
        .lines()
        .filter(|l| !l.contains("DRHD: handling") && !l.contains("[DMA Write"))
        .fold(String::new(), |mut text, l| {
            text.push_str(l);
            text.push('\n');
            text
        });
    let audit = audit(&tree.file("captured/dmesg.txt", quiet));
    audit.finding("iommu/faults").is("pass");
    audit.finding("iommu/translated-peer").is("warn").names(FIRST);
}
