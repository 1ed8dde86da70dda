//! `provision --root`: writes what the plan says, once, and takes it back to the byte.

mod common;

use common::Tree;
use common::contract::{audit, strings};
use common::hosts;
use common::run::{Ran, on_root, peerfix};
use std::os::unix::fs::PermissionsExt;

const GRUB: &str = "etc/default/grub";

/// `provision --root ROOT [MORE] --format json`.
fn provision(tree: &Tree, more: &[&str]) -> Ran {
    let mut args = vec!["provision", "--no-trial"];
    args.extend(more);
    on_root(tree, &args)
}

/// A host on which two changes are free: passthrough and HMM off.
fn two_changes() -> Tree {
    hosts::z890()
        .without("etc/modprobe.d/uvm.conf")
        .file("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n")
        .replace(
            "captured/nvidia-smi-q.txt",
            "Addressing Mode                       : None",
            "Addressing Mode                       : HMM",
        )
}

#[test]
fn without_a_yes_the_plan_is_shown_and_nothing_written() {
    let tree = hosts::z890();
    let before = tree.digest();
    let ran = peerfix(&["provision", "--no-trial", "--root", tree.path().to_str().unwrap()]).exits(3);
    assert!(ran.printed().contains("iommu=pt"), "{}", ran.printed());
    assert_eq!(before, tree.digest());
}

#[test]
fn with_a_yes_the_file_is_edited_and_the_commands_are_left_to_the_caller() {
    let tree = hosts::z890();
    let old = tree.read(GRUB);
    let ran = provision(&tree, &["--yes"]).exits(7);
    let json = ran.json();
    assert_eq!(json["schema"], "peerfix/provision");
    assert_eq!(json["changed"], true);
    assert!(!json["ledger"].is_null(), "{json:#?}");
    assert!(ran.printed().contains("update-grub"), "{}", ran.printed());
    let new = tree.read(GRUB);
    let line = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash iommu=pt\"";
    assert_eq!(
        new,
        old.replace("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"", line),
        "every other byte kept"
    );
}

#[test]
fn the_remedy_that_needs_consent_is_not_taken() {
    let tree = hosts::z890();
    provision(&tree, &["--yes"]);
    assert!(!tree.read(GRUB).contains("intel_iommu=off"));
}

#[test]
fn where_only_consent_would_help_it_is_asked_for_by_name() {
    let tree = hosts::z890_pt_but_translated();
    let before = tree.digest();
    let ran = provision(&tree, &["--yes"]).exits(3);
    assert!(ran.printed().contains("dma-isolation"), "{}", ran.printed());
    assert_eq!(before, tree.digest());
    provision(&tree, &["--yes", "--accept-risk", "dma-isolation"]).exits(7);
    assert!(tree.read(GRUB).contains("intel_iommu=off"));
    assert!(!tree.read(GRUB).contains(" iommu=off"));
}

#[test]
fn a_blocked_change_is_not_made_even_with_consent() {
    let tree = hosts::z890_vfio().replace(GRUB, "quiet splash", "quiet splash iommu=pt");
    let tree = tree.replace("proc/cmdline", "quiet splash", "quiet splash iommu=pt");
    provision(&tree, &["--yes", "--accept-risk", "dma-isolation"]);
    assert!(!tree.read(GRUB).contains("intel_iommu=off"));
}

#[test]
fn a_second_run_changes_nothing() {
    let tree = two_changes();
    provision(&tree, &["--yes"]).exits(7);
    let before = tree.digest_of_host();
    let again = provision(&tree, &["--yes"]).exits_one_of(&[0, 7]);
    assert_eq!(again.json()["changed"], false);
    assert!(again.printed().contains("update-grub"), "an outstanding command is printed again");
    assert_eq!(before, tree.digest_of_host());
    provision(&tree, &["--yes", "--unchanged-exit-77"]).exits(77);
    assert_eq!(before, tree.digest_of_host());
}

#[test]
fn a_change_that_waits_for_the_reboot_is_listed_as_pending() {
    let tree = hosts::z890();
    provision(&tree, &["--yes"]).exits(7);
    let audit = audit(&tree);
    let change = audit.change_adding("iommu=pt").0;
    assert_eq!(change["pending"], true);
    assert!(change["edits"].as_array().unwrap().is_empty(), "{change:#?}");
    // The ladder advances on the running command line only.
    assert_eq!(audit.finding("iommu/faults").ladder()[0].adds(), ["iommu=pt"]);
    audit.finding("boot/cmdline-drift").fires().says("iommu=pt");
}

#[test]
fn revert_brings_back_every_byte_and_mode() {
    let tree = two_changes().mode(GRUB, 0o640).mode("etc/modprobe.d", 0o750);
    let before = tree.digest_of_host();
    provision(&tree, &["--yes"]).exits(7);
    assert_ne!(before, tree.digest_of_host());
    assert_eq!(mode(&tree, GRUB), 0o640, "an edit keeps the mode");
    on_root(&tree, &["revert", "all"]).exits_one_of(&[0, 7]);
    assert_eq!(before, tree.digest_of_host());
}

fn mode(tree: &Tree, path: &str) -> u32 {
    std::fs::metadata(tree.path().join(path)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn revert_last_takes_one_provisioning_back() {
    let tree = hosts::z890();
    let before = tree.digest_of_host();
    provision(&tree, &["--yes"]).exits(7);
    on_root(&tree, &["revert", "last"]).exits_one_of(&[0, 7]);
    assert_eq!(before, tree.digest_of_host());
    // And once more from the start.
    provision(&tree, &["--yes"]).exits(7);
    assert!(tree.read(GRUB).contains("iommu=pt"));
}

#[test]
fn revert_keeps_what_somebody_else_added_since() {
    let tree = hosts::z890();
    provision(&tree, &["--yes"]).exits(7);
    let tree = tree.append(GRUB, "GRUB_BADRAM=\"0x01234567,0xfefefefe\"\n");
    on_root(&tree, &["revert", "last"]).exits_one_of(&[0, 7]);
    let text = tree.read(GRUB);
    assert!(text.contains("GRUB_BADRAM") && !text.contains("iommu=pt"), "{text}");
}

#[test]
fn revert_refuses_when_the_edited_line_itself_was_changed() {
    let tree = hosts::z890();
    provision(&tree, &["--yes"]).exits(7);
    let tree = tree.replace(GRUB, "\"quiet splash iommu=pt\"", "\"quiet iommu=pt nosplash\"");
    let before = tree.digest_of_host();
    let ran = on_root(&tree, &["revert", "last"]).exits(3);
    assert!(ran.printed().contains("nosplash"), "both versions are shown: {}", ran.printed());
    assert_eq!(before, tree.digest_of_host());
}

#[test]
fn revert_sh_works_with_nothing_but_a_shell() {
    let tree = hosts::z890().mode(GRUB, 0o640);
    let before = tree.digest_of_host();
    provision(&tree, &["--yes"]).exits(7);
    let script = tree.path().join("var/lib/peerfix/ledger/0001/revert.sh");
    let text = std::fs::read_to_string(&script).unwrap();
    assert!(!text.lines().any(|l| !l.trim_start().starts_with('#') && l.contains("peerfix ")), "{text}");
    assert!(std::process::Command::new("sh").arg("-n").arg(&script).status().unwrap().success());
    assert_ne!(before, tree.digest_of_host());
}

#[test]
fn all_or_nothing_when_one_edit_is_refused() {
    let tree = two_changes().replace(
        GRUB,
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet $(cat /etc/kernel-words)\"",
    );
    let before = tree.digest();
    let ran = provision(&tree, &["--yes"]).exits(3);
    assert!(ran.printed().contains("etc/default/grub"), "{}", ran.printed());
    assert_eq!(before, tree.digest(), "the modprobe change must not be made alone");
}

#[test]
fn one_rule_can_be_chosen() {
    let tree = two_changes();
    let grub = tree.read(GRUB);
    provision(&tree, &["--yes", "--only", "nvidia/uvm-hmm"]).exits(7);
    assert_eq!(grub, tree.read(GRUB));
    let written = std::fs::read_dir(tree.path().join("etc/modprobe.d")).unwrap().count();
    assert_eq!(written, 1);
}

#[test]
fn a_conditional_proposal_is_not_made_by_itself() {
    let tree = hosts::turin_stock();
    provision(&tree, &["--yes"]).exits(7);
    for entry in std::fs::read_dir(tree.path().join("etc/modprobe.d")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("RegistryDwords"), "{text}");
    }
}

#[test]
fn a_target_without_hardware_takes_its_facts_from_the_host_given() {
    let (target, host) = (hosts::z890_target(), hosts::z890());
    let host_before = host.digest();
    let ran = peerfix(&[
        "provision",
        "--root",
        target.path().to_str().unwrap(),
        "--host",
        host.path().to_str().unwrap(),
        "--yes",
        "--no-trial",
        "--format",
        "json",
    ])
    .exits(7);
    assert_eq!(ran.json()["changed"], true);
    assert!(target.read(GRUB).contains("quiet splash iommu=pt"));
    assert_eq!(host_before, host.digest(), "the host is only read");
}

#[test]
fn a_target_without_hardware_and_without_a_host_gets_no_guess() {
    let target = hosts::z890_target();
    let before = target.digest_of_host();
    let ran = provision(&target, &["--yes"]);
    assert!(ran.code != 7 && ran.code != 70, "{}", ran.printed());
    assert_eq!(before, target.digest_of_host());
}

#[test]
fn the_ledger_tells_what_happened() {
    let tree = hosts::z890();
    provision(&tree, &["--yes"]).exits(7);
    let status = on_root(&tree, &["status"]).exits_one_of(&[0, 7]).json();
    assert_eq!(status["schema"], "peerfix/status");
    assert_eq!(status["version"]["major"], 1);
    assert!(status.to_string().contains("0001"), "{status:#?}");
    let history = on_root(&tree, &["history"]).exits(0).json();
    assert!(history.to_string().contains("0001") && history.to_string().contains("iommu"), "{history:#?}");
    let shown = on_root(&tree, &["show", "0001"]).exits(0);
    assert!(
        shown.stdout.contains("iommu=pt") && shown.stdout.contains("etc/default/grub"),
        "{}",
        shown.stdout
    );
    let home = "var/lib/peerfix/ledger/0001";
    assert!(tree.has(home) && tree.has(&format!("{home}/revert.sh")));
}

#[test]
fn pop_os_is_edited_where_kernelstub_keeps_its_words() {
    let tree = hosts::x99();
    let before = tree.digest_of_host();
    provision(&tree, &["--yes"]).exits(7);
    let json: serde_json::Value = serde_json::from_str(&tree.read("etc/kernelstub/configuration")).unwrap();
    let words = strings(&json["user"]["kernel_options"]);
    assert!(words.iter().any(|w| w == "intel_iommu=on"), "{words:?}");
    assert!(!words.iter().any(|w| w == "iommu=pt" || w == "amd_iommu=pt"), "{words:?}");
    on_root(&tree, &["revert", "all"]).exits_one_of(&[0, 7]);
    assert_eq!(before, tree.digest_of_host());
}

#[test]
fn running_in_the_target_needs_a_mount_point() {
    let tree = hosts::z890();
    let mark = tree.path().join("ran");
    let tree = tree.program("usr/sbin/update-grub", &format!("touch {}", mark.display()));
    let ran = provision(&tree, &["--yes", "--run-in-target"]).exits_one_of(&[3, 7]);
    assert!(ran.printed().contains("mount"), "says what is missing: {}", ran.printed());
    assert!(!mark.exists(), "a plain folder is no target to run programs in");
}
