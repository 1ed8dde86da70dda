//! Reading commands change nothing: not one byte, mode or name below the host or the root.

mod common;

use common::Tree;
use common::hosts;
use common::run::peerfix;

#[track_caller]
fn leaves_alone(tree: &Tree, args: &[&str]) {
    let before = tree.digest();
    peerfix(args);
    assert_eq!(before, tree.digest(), "peerfix {args:?} changed the tree");
}

#[test]
fn reading_commands_write_nothing() {
    for make in [hosts::z890, hosts::x99, hosts::turin_stock] {
        let tree = make();
        let path = tree.path().to_str().unwrap();
        for format in ["text", "json", "markdown"] {
            leaves_alone(&tree, &["audit", "--host", path, "--format", format]);
            leaves_alone(&tree, &["plan", "--host", path, "--format", format]);
        }
        leaves_alone(&tree, &["--host", path]);
    }
}

#[test]
fn state_commands_write_nothing() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    for command in ["status", "history"] {
        leaves_alone(&tree, &[command, "--root", path]);
    }
    leaves_alone(&tree, &["show", "0001", "--root", path]);
    leaves_alone(&tree, &["revert", "last", "--root", path, "--dry-run"]);
}

#[test]
fn provisioning_without_a_yes_writes_nothing() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    leaves_alone(&tree, &["provision", "--root", path]);
    leaves_alone(&tree, &["provision", "--root", path, "--no-trial"]);
}

#[test]
fn a_dry_revert_after_a_change_writes_nothing() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    peerfix(&["provision", "--root", path, "--yes", "--no-trial"]).exits(7);
    let dry = ["revert", "last", "--root", path, "--dry-run"];
    leaves_alone(&tree, &dry);
    assert!(peerfix(&dry).printed().contains("etc/default/grub"));
}

#[test]
fn programs_of_the_tree_are_never_run() {
    let tree = hosts::z890();
    let mark = tree.path().join("ran");
    let body = format!("touch {}", mark.display());
    let tree = tree.program("usr/sbin/update-grub", &body).program("usr/sbin/update-initramfs", &body);
    let path = tree.path().to_str().unwrap();
    peerfix(&["audit", "--host", path]);
    peerfix(&["plan", "--host", path]);
    peerfix(&["provision", "--root", path, "--yes", "--no-trial"]).exits(7);
    peerfix(&["revert", "last", "--root", path]);
    assert!(!mark.exists(), "a program of the target was run without --run-in-target");
}
