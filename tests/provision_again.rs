//! `provision` after a run that was interrupted, or that left its commands to a person.

#![allow(clippy::unwrap_used)]

mod common;

use common::Tree;
use common::hosts;
use common::run::{on_root, peerfix};

const GRUB: &str = "etc/default/grub";
const JOURNAL: &str = "var/lib/peerfix/ledger/0001/journal";

fn provision(tree: &Tree) -> common::run::Ran {
    on_root(tree, &["provision", "--no-trial", "--yes", "--unchanged-exit-77"])
}

/// Cuts the journal behind the line of `state`, as a kill at that moment leaves it.
fn killed_after(tree: Tree, state: &str) -> Tree {
    let text = tree.read(JOURNAL);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().position(|line| line.contains(&format!("\"state\":\"{state}\""))).unwrap();
    let cut = lines[..=last].join("\n") + "\n";
    tree.file(JOURNAL, cut)
}

fn standing(tree: &Tree) -> serde_json::Value {
    let status = on_root(tree, &["status"]).exits(0).json();
    assert!(status["standing"].as_array().unwrap().iter().all(|entry| entry["unfinished"] == false));
    status
}

#[test]
fn a_run_killed_before_its_commit_is_undone_and_made_anew() {
    let tree = hosts::z890();
    provision(&tree).exits(7);
    let written = tree.digest_of_host();
    let tree = killed_after(tree, "prepared");
    let again = provision(&tree).exits(7);
    assert_eq!(again.json()["changed"], true);
    assert!(again.stderr.contains("0001"), "says what it did first: {}", again.stderr);
    assert_eq!(written, tree.digest_of_host());
    assert_eq!(standing(&tree)["standing"][0]["id"], "0002");
}

#[test]
fn a_run_killed_after_its_commit_is_finished_and_counts_as_a_change() {
    let tree = hosts::z890();
    provision(&tree).exits(7);
    let written = tree.digest_of_host();
    let tree = killed_after(tree, "files-written");
    let again = provision(&tree).exits(7).json();
    assert_eq!((&again["changed"], &again["ledger"]), (&true.into(), &"0001".into()), "{again:#?}");
    assert_eq!(again["commands"], serde_json::json!(["update-grub"]));
    assert_eq!(written, tree.digest_of_host());
    standing(&tree);
    provision(&tree).exits(77);
}

#[test]
fn without_a_yes_an_interrupted_run_is_only_told() {
    let tree = hosts::z890();
    provision(&tree).exits(7);
    let tree = killed_after(tree, "files-written");
    let before = tree.digest();
    let told = on_root(&tree, &["provision", "--no-trial"]);
    assert!(told.stderr.contains("interrupted"), "{}", told.stderr);
    assert_eq!(before, tree.digest());
}

#[test]
fn a_revert_that_was_interrupted_still_tells_its_commands() {
    let tree = hosts::z890();
    provision(&tree).exits(7);
    on_root(&tree, &["revert"]).exits(7);
    let tree = killed_after(tree, "files-restored");
    let again = on_root(&tree, &["revert"]).exits(7).json();
    assert_eq!(again["outcome"]["outstanding"], serde_json::json!(["update-grub"]), "{again:#?}");
    standing(&tree);
}

#[test]
fn words_that_a_person_configured_come_with_the_commands_nobody_may_have_run() {
    let tree = hosts::z890().replace(GRUB, "\"quiet splash\"", "\"quiet splash iommu=pt\"");
    let ran = provision(&tree).exits(77).json();
    assert_eq!(ran["commands"], serde_json::json!(["update-grub"]));
    assert_eq!(ran["pending"][0]["add"], serde_json::json!(["iommu=pt"]));
}

#[test]
fn what_is_pending_is_told_beside_what_was_changed() {
    let tree = hosts::z890();
    provision(&tree).exits(7);
    let tree = tree
        .without("etc/modprobe.d/uvm.conf")
        .file("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n")
        .replace(
            "captured/nvidia-smi-q.txt",
            "Addressing Mode                       : None",
            "Addressing Mode                       : HMM",
        );
    let ran = provision(&tree).exits(7).json();
    assert_eq!(ran["applied"][0]["kind"], "modprobe");
    assert_eq!(ran["pending"][0]["add"], serde_json::json!(["iommu=pt"]), "{ran:#?}");
    let commands = ran["commands"].to_string();
    assert!(commands.contains("update-grub") && commands.contains("initramfs"), "{commands}");
}

#[test]
fn the_way_back_names_the_target() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    let ran = peerfix(&["provision", "--no-trial", "--yes", "--root", path]).exits(7);
    let way = format!("peerfix revert 0001 --root {path}");
    assert!(ran.stdout.contains(&way) && ran.stdout.contains("revert.sh"), "{}", ran.stdout);
    assert!(peerfix(&["status", "--root", path]).exits(0).stdout.contains(&way));
}

#[test]
fn revert_sh_below_another_root_asks_for_that_root() {
    let tree = hosts::z890();
    provision(&tree).exits(7);
    let script = tree.path().join("var/lib/peerfix/ledger/0001/revert.sh");
    let before = tree.digest();
    let run = |root: Option<&std::path::Path>| {
        let mut sh = std::process::Command::new("sh");
        sh.arg(&script).env_clear().env("PATH", "/usr/bin:/bin");
        sh.envs(root.map(|root| ("ROOT", root)));
        let out = sh.output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (code, said) = run(None);
    assert_eq!(code, Some(3));
    assert!(said.contains(&format!("ROOT={}", tree.path().display())), "{said}");
    assert_eq!(before, tree.digest());
    assert_eq!(run(Some(tree.path())).0, Some(7));
    assert!(!tree.read(GRUB).contains("iommu=pt"));
}
