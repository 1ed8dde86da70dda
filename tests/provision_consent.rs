//! What `provision` asks for by name, and what it leaves to other programs.

#![allow(clippy::unwrap_used)]

mod common;

use common::Tree;
use common::contract::strings;
use common::hosts;
use common::run::{Ran, on_root, peerfix};

const GRUB: &str = "etc/default/grub";
const TPM: &str = "root UUID=5d0c2e1a-77aa-4b1e-9f0e-1d2c3b4a5f60 none luks,tpm2-device=auto\n";

fn provision(tree: &Tree, more: &[&str]) -> Ran {
    let mut args = vec!["provision", "--no-trial", "--yes"];
    args.extend(more);
    on_root(tree, &args)
}

/// Refused without consent, then made with this one alone.
fn asks_for(tree: &Tree, risk: &str) {
    let before = tree.digest();
    let ran = provision(tree, &[]).exits(3);
    assert!(ran.printed().contains(&format!("iommu-pt: needs --accept-risk {risk};")), "{}", ran.printed());
    assert_eq!(before, tree.digest());
    provision(tree, &["--accept-risk", risk]).exits(7);
    assert!(tree.read(GRUB).contains("iommu=pt") && !tree.read(GRUB).contains("intel_iommu=off"));
}

#[test]
fn a_disk_that_the_tpm_unlocks_asks_for_that_risk_alone() {
    asks_for(&hosts::z890().file("etc/crypttab", TPM), "unattended-unlock");
}

#[test]
fn a_crypttab_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    asks_for(&hosts::z890().link("etc/crypttab", "crypttab"), "unattended-unlock");
}

#[test]
fn the_crypttab_that_counts_is_the_targets() {
    let (host, target) = (hosts::z890(), hosts::z890_target().file("etc/crypttab", TPM));
    let path = |tree: &Tree| tree.path().to_str().unwrap().to_owned();
    let (host, root) = (path(&host), path(&target));
    let args = ["provision", "--no-trial", "--yes", "--host", &host, "--root", &root];
    let ran = peerfix(&args).exits(3);
    assert!(ran.printed().contains("--accept-risk unattended-unlock"), "{}", ran.printed());
    assert!(!target.read(GRUB).contains("iommu=pt"));
}

#[test]
fn a_strict_setting_asks_for_hardening_policy_also_when_it_waits_for_the_next_boot() {
    for (files, word) in [
        (&["proc/cmdline", GRUB][..], "iommu.strict=1"),
        (&[GRUB], "iommu.strict=1"),
        (&["proc/cmdline", GRUB], "lockdown=integrity"),
    ] {
        let tree = files.iter().fold(hosts::z890(), |tree, file| {
            tree.replace(file, "quiet splash", &format!("quiet splash {word}"))
        });
        asks_for(&tree, "hardening-policy");
    }
}

#[test]
fn a_word_that_does_nothing_is_no_reason_to_write() {
    let tree = hosts::z890().replace(GRUB, "\"quiet splash\"", "\"quiet splash iommu=pt amd_iommu=on\"");
    let before = tree.digest();
    let ran = provision(&tree, &["--unchanged-exit-77"]).exits(77).json();
    assert_eq!(strings(&ran["pending"][0]["add"]), ["iommu=pt"]);
    assert_eq!(before, tree.digest());
}

#[test]
fn words_behind_the_end_of_the_kernels_own_are_refused_with_the_place() {
    let tree = hosts::z890().replace(GRUB, "\"quiet splash\"", "\"quiet -- single\"");
    let before = tree.digest();
    let ran = provision(&tree, &[]).exits(3);
    assert!(ran.stderr.contains("in front of `--`"), "{}", ran.stderr);
    assert_eq!(before, tree.digest());
}

#[test]
fn module_options_of_generated_systems_are_left_to_their_tools() {
    for (mark, tool) in [("etc/NIXOS", "nixos-rebuild"), ("run/ostree-booted", "rpm-ostree")] {
        let tree = hosts::z890()
            .without("etc/modprobe.d/uvm.conf")
            .file("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n")
            .replace(
                "captured/nvidia-smi-q.txt",
                "Addressing Mode                       : None",
                "Addressing Mode                       : HMM",
            )
            .file(mark, "");
        let before = tree.digest();
        let ran = provision(&tree, &["--only", "nvidia/uvm-hmm"]).exits(6);
        let text = ran.stderr;
        assert!(text.contains(tool) && text.contains("options nvidia_uvm uvm_disable_hmm=1"), "{text}");
        provision(&tree, &[]).exits(6);
        assert_eq!(before, tree.digest());
    }
}

#[test]
fn a_root_that_is_no_directory_is_a_wrong_argument() {
    let tree = hosts::z890();
    let file = tree.path().join(GRUB);
    let ran = peerfix(&["provision", "--no-trial", "--yes", "--root", file.to_str().unwrap()]).exits(2);
    assert!(ran.stderr.contains(GRUB), "{}", ran.stderr);
}
