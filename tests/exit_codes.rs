//! Exit codes are public API.

mod common;

use common::hosts;
use common::run::peerfix;

#[test]
fn an_audit_exits_by_what_it_found() {
    let faulty = hosts::z890();
    let clean = hosts::z890_clean();
    let risky = hosts::turin_stock();
    let path = |tree: &common::Tree| tree.path().to_str().unwrap().to_owned();
    let run = |tree: &common::Tree, more: &[&str]| {
        let path = path(tree);
        let mut args = vec!["audit", "--host", &path];
        args.extend(more);
        peerfix(&args).code
    };
    assert_eq!(run(&faulty, &[]), 1);
    assert_eq!(run(&faulty, &["--fail-on", "fail"]), 1);
    assert_eq!(run(&faulty, &["--fail-on", "never"]), 0);
    assert_eq!(run(&clean, &[]), 0);
    assert_eq!(run(&clean, &["--fail-on", "warn"]), 0);
    assert_eq!(run(&risky, &[]), 0);
    assert_eq!(run(&risky, &["--fail-on", "warn"]), 1);
    assert_eq!(run(&risky, &["--fail-on", "unknown"]), 1);
}

#[test]
fn usage_and_unreadable_input_exit_2() {
    let empty = common::Tree::new();
    let empty = empty.path().to_str().unwrap();
    for args in [
        &["no-such-command"][..],
        &["audit", "--no-such-flag"],
        &["audit", "--format", "yaml"],
        &["audit", "--fail-on", "sometimes"],
        &["audit", "--host", "/no/such/path"],
        &["audit", "--host", empty],
        &["plan", "--host", empty],
        &["rules", "explain", "no/such-rule"],
        &["provision", "--root", "/no/such/path", "--yes", "--no-trial"],
    ] {
        let ran = peerfix(args).exits(2);
        assert!(ran.stdout.is_empty(), "{args:?} prints on stdout: {}", ran.stdout);
        assert!(!ran.stderr.is_empty(), "{args:?} gives no reason");
    }
}

#[test]
fn the_reason_names_the_path() {
    let ran = peerfix(&["audit", "--host", "/no/such/path"]).exits(2);
    assert!(ran.stderr.contains("/no/such/path"), "{}", ran.stderr);
}

#[test]
fn asking_exits_0() {
    for args in [
        &["--version"][..],
        &["--help"],
        &["audit", "--help"],
        &["rules", "list"],
        &["rules", "check"],
        &["rules", "explain", "iommu/faults"],
    ] {
        peerfix(args).exits(0);
    }
}

#[test]
fn a_plan_exits_0_whatever_it_proposes() {
    let tree = hosts::z890();
    peerfix(&["plan", "--host", tree.path().to_str().unwrap()]).exits(0);
}

#[test]
fn empty_state_is_no_error_for_those_who_ask() {
    let tree = hosts::z890_target();
    let path = tree.path().to_str().unwrap();
    peerfix(&["status", "--root", path]).exits(0);
    peerfix(&["history", "--root", path]).exits(0);
    let shown = peerfix(&["show", "0001", "--root", path]);
    assert!(shown.code != 0 && shown.code != 70, "there is no change 0001: {}", shown.printed());
    let reverted = peerfix(&["revert", "0001", "--root", path]);
    assert!(reverted.code != 0 && reverted.code != 70, "there is no change 0001: {}", reverted.printed());
}

#[test]
fn provisioning_exits_by_what_it_did() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    peerfix(&["provision", "--root", path, "--no-trial"]).exits(3);
    peerfix(&["provision", "--root", path, "--no-trial", "--yes"]).exits(7);
    peerfix(&["provision", "--root", path, "--no-trial", "--yes", "--unchanged-exit-77"]).exits(77);
    let clean = hosts::z890_clean();
    let path = clean.path().to_str().unwrap();
    peerfix(&["provision", "--root", path, "--no-trial", "--yes"]).exits(0);
    peerfix(&["provision", "--root", path, "--no-trial", "--yes", "--unchanged-exit-77"]).exits(77);
}

#[test]
fn global_flags_may_stand_before_and_after_the_command() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    let before = peerfix(&["--format", "json", "--host", path, "audit"]).exits(1);
    let after = peerfix(&["audit", "--host", path, "--format", "json"]).exits(1);
    assert_eq!(before.stdout, after.stdout);
}
