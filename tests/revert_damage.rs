//! `revert` and the state commands where the ledger or the files are not as the change left them.

#![allow(clippy::unwrap_used)]

mod common;

use common::Tree;
use common::hosts;
use common::run::on_root;

const GRUB: &str = "etc/default/grub";
const ENTRY: &str = "var/lib/peerfix/ledger/0001";

fn changed() -> Tree {
    let tree = hosts::z890();
    on_root(&tree, &["provision", "--no-trial", "--yes"]).exits(7);
    tree
}

#[test]
fn a_damaged_last_change_is_not_passed_over_in_silence() {
    for (file, content) in [("change.json", "{\n"), ("journal", ""), ("journal", "no line of ours\n")] {
        let tree = changed().file(&format!("{ENTRY}/{file}"), content);
        let before = tree.digest_of_host();
        for which in ["last", "1", "all"] {
            for more in [&[][..], &["--dry-run"]] {
                let mut args = vec!["revert", which];
                args.extend(more);
                let ran = on_root(&tree, &args).exits(2);
                assert!(ran.stderr.contains(file), "{}", ran.stderr);
            }
        }
        for args in [&["status"][..], &["history"], &["show", "1"]] {
            let ran = on_root(&tree, args).exits(2);
            assert!(ran.stderr.contains(file) && ran.stdout.contains("damaged"), "{}", ran.printed());
        }
        assert_eq!(before, tree.digest_of_host());
    }
}

#[test]
fn a_newer_format_is_refused_by_every_command_and_not_called_damage() {
    let tree = changed().replace(&format!("{ENTRY}/change.json"), "\"major\": 1", "\"major\": 2");
    let before = tree.digest_of_host();
    for args in [&["revert"][..], &["revert", "--dry-run"], &["revert", "all"], &["status"], &["show", "1"]] {
        let ran = on_root(&tree, args).exits(2);
        assert!(ran.stderr.contains("2.0 is newer"), "{}", ran.stderr);
    }
    assert_eq!(before, tree.digest_of_host());
}

#[test]
fn an_edit_of_the_next_line_is_kept() {
    let tree = changed().replace(GRUB, "GRUB_CMDLINE_LINUX=\"\"", "GRUB_CMDLINE_LINUX=\"nosmt\"");
    on_root(&tree, &["revert"]).exits(7);
    let text = tree.read(GRUB);
    assert!(text.contains("GRUB_CMDLINE_LINUX=\"nosmt\"\n") && !text.contains("iommu=pt"), "{text}");
}

#[test]
fn without_a_ledger_none_is_made() {
    let tree = hosts::z890();
    let before = tree.digest();
    on_root(&tree, &["revert"]).exits(0);
    on_root(&tree, &["revert", "1"]).exits(2);
    assert_eq!(before, tree.digest());
}
