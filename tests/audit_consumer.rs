//! Two RTX 4090: a product whose driver refuses peer access.

mod common;

use common::contract::audit;
use common::hosts;

#[test]
fn the_refusal_comes_first_and_no_boot_option_is_offered() {
    let audit = audit(&hosts::two_4090_stock());
    let wrong = audit.wrong();
    assert_eq!(wrong.first().map(common::contract::Finding::rule), Some("gpu/peer-unsupported"));
    let finding = audit.finding("gpu/peer-unsupported").fires();
    finding
        .names("0000:01:00.0")
        .names("0000:41:00.0")
        .says("stag")
        .quotes("captured/nvidia-smi-topo-p2p-r.txt");
    let ladder = finding.ladder();
    assert!(ladder.iter().all(|c| c.adds().is_empty() && c.removes().is_empty()), "{ladder:#?}");
    assert!(audit.changes().iter().all(|c| c.kind() != "kernel-cmdline"), "{:#?}", audit.json["changes"]);
    let summary = finding.json["summary"].as_str().unwrap().to_lowercase();
    assert!(summary.contains("boot option"), "says that no boot option changes it: {summary}");
    assert!(!summary.contains("chipset"), "GNS is not about the chipset: {summary}");
}

#[test]
fn the_verdict_ladder_stops_at_the_driver() {
    let audit = audit(&hosts::two_4090_stock());
    audit
        .pair("0000:01:00.0", "0000:41:00.0")
        .rung("driver-grant", "fail")
        .rung("kernel-permission", "not-applicable");
}

#[test]
fn registry_keys_are_not_proposed_for_a_refused_product() {
    let audit = audit(&hosts::two_4090_stock());
    for change in audit.changes() {
        assert!(!change.adds().iter().any(|w| w.contains("RegistryDwords")), "{change:#?}");
    }
}

#[test]
fn a_patched_driver_is_recognised() {
    let audit = audit(&hosts::two_4090_patched());
    audit.finding("gpu/peer-unsupported").does_not_fire();
    // The module's version carries the build's suffix; the libraries are of the same release.
    audit.finding("nvidia/version-mismatch").does_not_fire();
    audit.finding("nvidia/driver-absent").does_not_fire();
    audit.pair("0000:01:00.0", "0000:41:00.0").rung("driver-grant", "pass");
    assert_eq!(audit.code, 0);
}

#[test]
fn nouveau_is_recognised() {
    let audit = audit(&hosts::two_4090_nouveau());
    audit.finding("nvidia/driver-absent").fires().says("nouveau");
    for rule in ["nvidia/version-mismatch", "nvidia/uvm-hmm", "nvidia/params-not-loaded", "nvidia/forcep2p"] {
        audit.finding(rule).does_not_fire();
    }
    assert!(
        audit.changes().iter().all(|c| c.kind() != "kernel-cmdline" || !c.is_free()),
        "{:#?}",
        audit.json
    );
}

#[test]
fn every_code_of_the_matrix_has_its_own_sentence() {
    let with = |status: &str| audit(&hosts::two_4090_stock().smi_matrices(2, "PHB", status));
    with("GNS").finding("gpu/peer-unsupported").is("fail").says("on this product").says("No boot option");
    with("CNS").finding("gpu/peer-unsupported").is("fail").says("chipset").does_not_say("on this product");
    with("TNS").finding("gpu/peer-unsupported").is("fail").says("topology").does_not_say("on this product");
    with("DR").finding("gpu/peer-unsupported").is("fail").says("registry key").does_not_say("product (");
    with("U").finding("gpu/peer-unsupported").is("unknown");
}
