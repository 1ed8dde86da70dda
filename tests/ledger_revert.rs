//! Taking changes back: exactly, merged, or refused with both versions; never skipped, never half.

mod common;
mod host_tree;
mod namespace;

use common::Tree;
use host_tree::{age, chmod, is_root, picture, request, set_attribute, sh, shell, timeless, write};
use peerfix::ledger::history::{self, State};
use peerfix::ledger::{
    Ledger, LedgerError, Request, RevertOptions, RevertOutcome, RunPolicy, preview_revert,
};
use peerfix::plan::Operation;

const PRINT: RevertOptions = RevertOptions { dry_run: false, run: RunPolicy::PrintOnly };
const OLD: &str = "GRUB_DEFAULT=0\n\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n\nGRUB_TIMEOUT=5\n";
const NEW: &str = "GRUB_DEFAULT=0\n\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\"\n\nGRUB_TIMEOUT=5\n";
const GRUB: &str = "etc/default/grub";

fn tree() -> Tree {
    let tree = Tree::new().file(GRUB, OLD).dir("etc/modprobe.d");
    let path = tree.path().join(GRUB);
    set_attribute(&path, "user.origin", "installer");
    if is_root() {
        std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    }
    chmod(&path, 0o4640);
    age(&path);
    tree
}

fn apply(tree: &Tree, operations: Vec<Operation>) {
    Ledger::open(tree.path()).unwrap().apply(&request(operations)).unwrap();
}

fn revert(tree: &Tree, which: &str) -> Result<RevertOutcome, LedgerError> {
    Ledger::open(tree.path()).unwrap().revert(which, PRINT)
}

fn text(tree: &Tree, path: &str) -> String {
    std::fs::read_to_string(tree.path().join(path)).unwrap()
}

fn put(tree: &Tree, path: &str, text: &str) {
    std::fs::write(tree.path().join(path), text).unwrap();
}

#[test]
fn bytes_owner_mode_attributes_and_time_come_back_and_created_files_go() {
    let tree = tree();
    let before = picture(tree.path());
    let new = "etc/nested/modprobe.d/peerfix.conf";
    apply(&tree, vec![write(GRUB, Some(OLD), NEW), write(new, None, "options x y=1\n")]);
    assert_ne!(picture(tree.path()), before);
    let outcome = revert(&tree, "last").unwrap();
    assert_eq!(picture(tree.path()), before);
    assert_eq!(outcome.ids, ["0001"]);
    assert_eq!(outcome.files.len(), 2);
    assert_eq!(history::list(tree.path()).unwrap()[0].state, State::Reverted);
}

#[test]
fn a_directory_made_for_a_file_stays_when_someone_put_something_in_it() {
    let tree = tree();
    apply(&tree, vec![write("etc/made/peerfix.conf", None, "x\n")]);
    put(&tree, "etc/made/other.conf", "theirs");
    revert(&tree, "1").unwrap();
    assert!(!tree.path().join("etc/made/peerfix.conf").exists());
    assert_eq!(text(&tree, "etc/made/other.conf"), "theirs");
}

#[test]
fn a_change_taken_back_already_is_no_error_and_no_work() {
    let tree = tree();
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    revert(&tree, "0001").unwrap();
    let again = revert(&tree, "1").unwrap();
    assert!(again.nothing.unwrap().contains("taken back already"));
    assert!(revert(&tree, "last").unwrap().nothing.unwrap().contains("no applied change"));
    assert!(revert(&tree, "all").unwrap().ids.is_empty());
    let error = revert(&tree, "9").unwrap_err();
    assert!(matches!(error, LedgerError::NoSuchEntry { .. }) && error.is_usage(), "{error:?}");
    assert!(matches!(revert(&tree, "first").unwrap_err(), LedgerError::NoSuchEntry { .. }));
}

#[test]
fn an_edit_made_since_elsewhere_in_the_file_survives() {
    let tree = tree();
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    put(&tree, GRUB, &NEW.replace("TIMEOUT=5", "TIMEOUT=30"));
    let path = tree.path().join(GRUB);
    chmod(&path, 0o600);
    let outcome = revert(&tree, "last").unwrap();
    assert_eq!(text(&tree, GRUB), OLD.replace("TIMEOUT=5", "TIMEOUT=30"));
    assert_eq!(picture(tree.path())[GRUB].mode & 0o7777, 0o600, "what was set since is kept");
    assert!(outcome.files[0].diff.contains("-GRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\""));
    assert!(outcome.files[0].what.contains("changed since"));
}

#[test]
fn a_mode_set_since_is_kept_while_the_bytes_come_back() {
    let tree = tree();
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    chmod(&tree.path().join(GRUB), 0o600);
    let outcome = revert(&tree, "last").unwrap();
    assert_eq!(text(&tree, GRUB), OLD);
    assert_eq!(picture(tree.path())[GRUB].mode & 0o7777, 0o600);
    assert!(outcome.files[0].what.contains("set since are kept"), "{:?}", outcome.files);
}

#[test]
fn an_edit_of_the_same_line_is_refused_with_both_versions_and_nothing_touched() {
    let tree = tree();
    apply(&tree, vec![write("etc/modprobe.d/a.conf", None, "a\n"), write(GRUB, Some(OLD), NEW)]);
    put(&tree, GRUB, &NEW.replace("quiet iommu=pt", "splash iommu=pt"));
    let before = picture(tree.path());
    for which in ["last", "all", "1"] {
        let error = revert(&tree, which).unwrap_err();
        assert!(error.is_refusal());
        let LedgerError::Conflict(conflicts) = &error else { panic!("{error}") };
        assert!(conflicts[0].kept_before.as_ref().unwrap().is_file() && conflicts[0].kept_after.is_file());
        let words = error.to_string();
        assert!(
            words.contains("before/1") && words.contains("after/1") && words.contains("+GRUB_CMDLINE_LINUX"),
            "{words}"
        );
        assert_eq!(picture(tree.path()), before);
    }
    assert_eq!(history::list(tree.path()).unwrap()[0].state, State::Applied);
}

#[test]
fn a_missing_file_does_not_keep_the_others_from_coming_back() {
    let tree = tree();
    put(&tree, "etc/other", "1\n");
    let operations = vec![
        write(GRUB, Some(OLD), NEW),
        write("etc/other", Some("1\n"), "2\n"),
        write("etc/modprobe.d/p.conf", None, "x\n"),
    ];
    apply(&tree, operations);
    std::fs::remove_file(tree.path().join("etc/other")).unwrap();
    std::fs::remove_file(tree.path().join("etc/modprobe.d/p.conf")).unwrap();
    let outcome = revert(&tree, "last").unwrap();
    assert_eq!(text(&tree, GRUB), OLD);
    assert!(!tree.path().join("etc/other").exists());
    assert!(outcome.files.iter().any(|f| f.path == "etc/other" && f.what.contains("is gone")));
}

#[test]
fn all_goes_back_through_every_change_in_reverse() {
    let tree = tree();
    let before = picture(tree.path());
    let newer = NEW.replace("iommu=pt", "iommu=pt pcie_aspm.policy=performance");
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    apply(&tree, vec![write("etc/modprobe.d/a.conf", None, "a\n"), write(GRUB, Some(NEW), &newer)]);
    apply(&tree, vec![write("etc/modprobe.d/a.conf", Some("a\n"), "b\n")]);
    let outcome = revert(&tree, "all").unwrap();
    assert_eq!(outcome.ids, ["0003", "0002", "0001"]);
    assert_eq!(picture(tree.path()), before);
}

#[test]
fn a_change_that_a_later_one_builds_on_names_the_later_one() {
    let tree = tree();
    let newer = NEW.replace("iommu=pt", "iommu=pt pci=realloc");
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    apply(&tree, vec![write(GRUB, Some(NEW), &newer)]);
    let error = revert(&tree, "1").unwrap_err().to_string();
    assert!(error.contains("take 0002 back first"), "{error}");
    revert(&tree, "2").unwrap();
    assert_eq!(text(&tree, GRUB), NEW);
    revert(&tree, "1").unwrap();
    assert_eq!(text(&tree, GRUB), OLD);
}

#[test]
fn two_changes_in_different_lines_come_out_in_any_order() {
    let tree = tree();
    let before = picture(tree.path());
    let newer = NEW.replace("TIMEOUT=5", "TIMEOUT=1");
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    apply(&tree, vec![write(GRUB, Some(NEW), &newer)]);
    revert(&tree, "1").unwrap();
    assert_eq!(text(&tree, GRUB), OLD.replace("TIMEOUT=5", "TIMEOUT=1"));
    revert(&tree, "2").unwrap();
    assert_eq!(timeless(picture(tree.path())), timeless(before));
}

#[test]
fn a_file_put_back_by_hand_is_left_as_it_is() {
    let tree = tree();
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    put(&tree, GRUB, OLD);
    let before = picture(tree.path());
    let outcome = revert(&tree, "last").unwrap();
    assert_eq!(picture(tree.path()), before);
    assert!(outcome.files[0].what.contains("as it was before"));
}

#[test]
fn a_link_put_in_the_place_of_the_file_is_refused() {
    let tree = tree();
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    std::fs::rename(tree.path().join(GRUB), tree.path().join("etc/elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", tree.path().join(GRUB)).unwrap();
    let error = revert(&tree, "last").unwrap_err();
    assert!(matches!(error, LedgerError::Refused { .. }) && error.to_string().contains("link"), "{error}");
    assert_eq!(text(&tree, "etc/elsewhere"), NEW);
}

#[test]
fn a_rotten_copy_is_never_restored() {
    let tree = tree();
    apply(&tree, vec![write(GRUB, Some(OLD), NEW)]);
    put(&tree, "var/lib/peerfix/ledger/0001/before/0", "rot");
    let error = revert(&tree, "last").unwrap_err();
    assert!(matches!(error, LedgerError::Damaged { .. }), "{error}");
    assert_eq!(text(&tree, GRUB), NEW);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_writes_nothing() {
    let tree = tree();
    let wanted = Request {
        revert_commands: vec![shell("update-grub")],
        ..request(vec![write(GRUB, Some(OLD), NEW), sh("update-grub")])
    };
    Ledger::open(tree.path()).unwrap().apply(&wanted).unwrap();
    let everything = || (picture(tree.path()), picture(&tree.path().join("var/lib/peerfix")));
    let before = everything();
    let preview = preview_revert(tree.path(), "last").unwrap();
    assert_eq!(everything(), before);
    assert!(preview.dry_run);
    assert_eq!(preview.outstanding, ["sh -c update-grub"]);
    assert!(preview.files[0].diff.contains("-GRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\""));
    let options = RevertOptions { dry_run: true, run: RunPolicy::PrintOnly };
    let under_lock = Ledger::open(tree.path()).unwrap().revert("last", options).unwrap();
    assert_eq!(under_lock, preview);
    assert_eq!(text(&tree, GRUB), NEW);
}

#[test]
fn commands_left_to_a_person_are_remembered() {
    let tree = tree();
    let wanted = Request {
        revert_commands: vec![shell("update-grub")],
        ..request(vec![write(GRUB, Some(OLD), NEW), sh("mkinitramfs")])
    };
    Ledger::open(tree.path()).unwrap().apply(&wanted).unwrap();
    assert_eq!(history::outstanding(tree.path()).unwrap(), ["sh -c mkinitramfs"]);
    let outcome = revert(&tree, "last").unwrap();
    assert_eq!(outcome.outstanding, ["sh -c update-grub"]);
    assert_eq!(history::outstanding(tree.path()).unwrap(), ["sh -c update-grub"]);
}

#[test]
fn a_full_disk_leaves_the_change_standing() {
    let Some(_) = namespace::enter("a_full_disk_leaves_the_change_standing") else { return };
    let tree = Tree::new().dir("etc");
    namespace::small(&tree.path().join("etc"), "128k");
    let big = "x\n".repeat(20 << 10);
    put(&tree, "etc/a", &big);
    put(&tree, "etc/b", &big);
    apply(&tree, vec![write("etc/a", Some(&big), "1"), write("etc/b", Some(&big), "2")]);
    put(&tree, "etc/fill", &"y".repeat(80 << 10));
    let before = picture(tree.path());
    let error = revert(&tree, "last").unwrap_err().to_string();
    assert!(error.contains("free some space") && error.contains("the change stands"), "{error}");
    assert_eq!(picture(tree.path()), before);
    assert_eq!(history::list(tree.path()).unwrap()[0].state, State::Applied);
    std::fs::remove_file(tree.path().join("etc/fill")).unwrap();
    revert(&tree, "last").unwrap();
    assert_eq!((text(&tree, "etc/a"), text(&tree, "etc/b")), (big.clone(), big));
    let _ = nix::mount::umount(&tree.path().join("etc"));
}
