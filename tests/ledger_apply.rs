//! Applying changes: all of them or nothing, metadata kept, every reason to refuse found before a write.

mod common;
mod host_tree;
mod namespace;

use common::Tree;
use host_tree::{age, chmod, is_root, picture, request, set_attribute, sh, timeless, write};
use peerfix::ledger::history::{self, State};
use peerfix::ledger::{Ledger, LedgerError, Request, RunPolicy};
use peerfix::plan::Operation;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const GRUB: &str = "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
const GRUB_PT: &str = "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\"\n";

fn edit() -> Operation {
    write("etc/default/grub", Some(GRUB), GRUB_PT)
}

/// Applies and returns the error; the tree must be as before and the history free of entries.
fn refused(tree: &Tree, request: &Request) -> LedgerError {
    let before = picture(tree.path());
    let error = Ledger::open(tree.path()).unwrap().apply(request).unwrap_err();
    assert_eq!(picture(tree.path()), before, "{error}");
    assert_eq!(history::list(tree.path()).unwrap(), []);
    error
}

#[test]
fn a_file_is_replaced_with_owner_mode_and_attributes_kept() {
    let tree = Tree::new().file("etc/default/grub", GRUB).dir("sys");
    let path = tree.path().join("etc/default/grub");
    chmod(&path, 0o640);
    let attributes = set_attribute(&path, "user.origin", "installer");
    if is_root() {
        std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    }
    let before = picture(tree.path());
    let applied = Ledger::open(tree.path()).unwrap().apply(&request(vec![edit()])).unwrap();
    assert_eq!(applied.id.as_deref(), Some("0001"));
    assert!(applied.changed);
    let after = picture(tree.path());
    assert_eq!(after["etc/default/grub"].content, GRUB_PT.as_bytes());
    let mut expected = timeless(before);
    expected.get_mut("etc/default/grub").unwrap().content = GRUB_PT.into();
    assert_eq!(timeless(after), expected);
    assert!(!attributes || expected["etc/default/grub"].attributes["user.origin"] == b"installer");
}

#[test]
fn a_new_file_gets_mode_0644_and_its_directories_whatever_the_umask() {
    let tree = Tree::new().dir("etc");
    let old = nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    let operations = vec![
        write("etc/modprobe.d/nested/peerfix.conf", None, "options nvidia_uvm uvm_disable_hmm=1\n"),
        write("etc/modprobe.d/other.conf", None, "x\n"),
    ];
    let applied = Ledger::open(tree.path()).unwrap().apply(&request(operations));
    nix::sys::stat::umask(old);
    applied.unwrap();
    let after = picture(tree.path());
    assert_eq!(after["etc/modprobe.d/nested/peerfix.conf"].mode & 0o7777, 0o644);
    assert_eq!(after["etc/modprobe.d/nested"].mode & 0o7777, 0o755);
    assert!(after.contains_key("etc/modprobe.d/other.conf"));
    assert_eq!(after.len(), 5, "{:?}", after.keys());
}

#[test]
fn the_entry_keeps_both_versions_metadata_and_a_script() {
    let tree = Tree::new().file("etc/default/grub", GRUB);
    age(&tree.path().join("etc/default/grub"));
    let mut wanted = request(vec![edit(), sh("update-grub"), sh("update-grub")]);
    wanted.changes[0].details = serde_json::json!({"expect": ["translation is off"]});
    let applied = Ledger::open(tree.path()).unwrap().apply(&wanted).unwrap();
    assert_eq!(applied.outstanding, ["sh -c update-grub"], "each command once, not run");
    let entry = tree.path().join("var/lib/peerfix/ledger/0001");
    assert_eq!(std::fs::read(entry.join("before/0")).unwrap(), GRUB.as_bytes());
    assert_eq!(std::fs::read(entry.join("after/0")).unwrap(), GRUB_PT.as_bytes());
    assert_eq!(std::fs::metadata(entry.join("before/0")).unwrap().mtime(), 1_500_000_000);
    assert!(entry.join("revert.sh").is_file());
    for path in [entry.as_path(), entry.parent().unwrap(), &tree.path().join("var/lib/peerfix")] {
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o7777, 0o700, "{}", path.display());
    }
    let shown = history::show(tree.path(), "1").unwrap();
    assert_eq!(shown.entry.state, State::Applied);
    assert_eq!(shown.entry.changes, wanted.changes);
    assert_eq!(shown.entry.outstanding, ["sh -c update-grub"]);
    assert_eq!(shown.entry.files[0].before.as_ref().unwrap().mtime, Some((1_500_000_000, 123_456_789)));
    assert!(shown.diffs[0].diff.contains("+GRUB_CMDLINE_LINUX_DEFAULT=\"quiet iommu=pt\""));
    assert!(shown.entry.at.unwrap().ends_with('Z'));
    assert_eq!(history::outstanding(tree.path()).unwrap(), ["sh -c update-grub"]);
}

#[test]
fn nothing_to_do_makes_no_entry() {
    let tree = Tree::new().file("etc/default/grub", GRUB_PT);
    let mut ledger = Ledger::open(tree.path()).unwrap();
    let same = write("etc/default/grub", Some(GRUB_PT), GRUB_PT);
    let applied = ledger.apply(&request(vec![same, sh("update-grub")])).unwrap();
    assert!(!applied.changed);
    assert_eq!(applied.id, None);
    assert_eq!(applied.outstanding, ["sh -c update-grub"]);
    assert_eq!(history::list(tree.path()).unwrap(), []);
}

#[test]
fn several_operations_on_one_file_are_joined_and_contradictions_refused() {
    let tree = Tree::new().file("etc/a", "1\n").link("etc/same", "a");
    let first = write("etc/a", Some("1\n"), "2\n");
    let error = refused(&tree, &request(vec![first.clone(), write("etc/same", Some("1\n"), "3\n")]));
    assert!(error.to_string().contains("do not follow"), "{error}");
    let joined = vec![first, write("etc/same", Some("2\n"), "3\n")];
    Ledger::open(tree.path()).unwrap().apply(&request(joined)).unwrap();
    assert_eq!(std::fs::read(tree.path().join("etc/a")).unwrap(), b"3\n");
    assert_eq!(std::fs::read(tree.path().join("var/lib/peerfix/ledger/0001/before/0")).unwrap(), b"1\n");
}

#[test]
fn a_file_changed_since_planning_is_refused_with_its_line() {
    let tree = Tree::new().file("etc/b", "1\n").file("etc/default/grub", "GRUB_DEFAULT=0\nother\n");
    let error = refused(&tree, &request(vec![write("etc/b", Some("1\n"), "2\n"), edit()]));
    assert!(matches!(error, LedgerError::ChangedSince { .. }) && error.is_refusal(), "{error:?}");
    assert!(
        error.to_string().contains("/etc/default/grub") && error.to_string().contains("line 2"),
        "{error}"
    );
    let gone = refused(&tree, &request(vec![write("etc/gone", Some("x"), "y")]));
    assert!(gone.to_string().contains("gone"), "{gone}");
    let there = refused(&tree, &request(vec![write("etc/b", None, "y")]));
    assert!(there.to_string().contains("expected no such file"), "{there}");
}

#[test]
fn a_link_is_kept_and_its_target_written() {
    let tree = Tree::new()
        .file("etc/real/grub", GRUB)
        .link("etc/default/grub", "../real/grub")
        .link("etc/absolute", "/etc/real");
    let mut ledger = Ledger::open(tree.path()).unwrap();
    ledger.apply(&request(vec![edit()])).unwrap();
    let after = picture(tree.path());
    assert_eq!(after["etc/real/grub"].content, GRUB_PT.as_bytes());
    assert_eq!(after["etc/default/grub"].content, b"../real/grub");
    let back = write("etc/absolute/grub", Some(GRUB_PT), GRUB);
    ledger.apply(&request(vec![back])).unwrap();
    assert_eq!(picture(tree.path())["etc/real/grub"].content, GRUB.as_bytes());
    let entry = history::show(tree.path(), "last").unwrap().entry;
    assert_eq!(
        (entry.files[0].path.as_str(), entry.files[0].real.as_str()),
        ("etc/absolute/grub", "etc/real/grub")
    );
}

#[test]
fn links_out_of_the_root_or_to_nothing_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("grub"), GRUB).unwrap();
    let up = "../".repeat(20);
    let tree = Tree::new()
        .link("etc/climbs", &format!("{up}{}/grub", outside.path().display()))
        .link("etc/dir", &format!("{up}{}", outside.path().display()))
        .link("etc/absolute", outside.path().join("grub").to_str().unwrap())
        .link("etc/dangling", "nowhere")
        .link("etc/loop", "loop");
    for (path, before) in [
        ("etc/climbs", Some(GRUB)),
        ("etc/dir/grub", Some(GRUB)),
        ("etc/dir/new", None),
        ("etc/absolute", Some(GRUB)),
        ("etc/dangling", None),
        ("etc/loop", None),
    ] {
        let error = refused(&tree, &request(vec![write(path, before, "x")]));
        assert!(matches!(error, LedgerError::Refused { .. }), "{path}: {error:?}");
    }
    assert_eq!(std::fs::read(outside.path().join("grub")).unwrap(), GRUB.as_bytes());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn paths_that_are_not_plain_are_refused() {
    let tree = Tree::new().file("etc/a", "1");
    for path in ["/etc/a", "etc/../etc/a", "./etc/a", "etc//a", "", "etc/a\0"] {
        let error = refused(&tree, &request(vec![write(path, Some("1"), "2")]));
        assert!(matches!(error, LedgerError::Request { .. }), "{path:?}: {error:?}");
    }
}

#[test]
fn what_is_no_regular_file_or_has_other_names_is_refused() {
    let tree = Tree::new().dir("etc/dir").file("etc/one", "1").file("etc/file", "1");
    std::fs::hard_link(tree.path().join("etc/one"), tree.path().join("etc/two")).unwrap();
    let pipe = tree.path().join("etc/pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    for (path, reason) in [
        ("etc/dir", "is a directory"),
        ("etc/one", "2 names (hard links)"),
        ("etc/file/below", "not a directory"),
        ("etc/pipe", "not a regular file"),
    ] {
        let error = refused(&tree, &request(vec![write(path, Some("1"), "2")]));
        assert!(error.to_string().contains(reason), "{path}: {error}");
    }
}

#[test]
fn an_immutable_file_is_named() {
    let tree = Tree::new().file("etc/default/grub", GRUB);
    let path = tree.path().join("etc/default/grub");
    let set = |flag: &str| {
        std::process::Command::new("chattr").arg(flag).arg(&path).output().is_ok_and(|o| o.status.success())
    };
    if !set("+i") {
        eprintln!("skipped: the immutable attribute cannot be set here");
        return;
    }
    let error = Ledger::open(tree.path()).unwrap().apply(&request(vec![edit()])).unwrap_err();
    assert!(set("-i"));
    assert!(error.to_string().contains("immutable") && error.to_string().contains("chattr"), "{error}");
    assert_eq!(history::list(tree.path()).unwrap(), []);
}

#[test]
fn live_commands_are_refused_for_a_tree() {
    let tree = Tree::new().file("etc/default/grub", GRUB);
    let live = Request { run: RunPolicy::Live, ..request(vec![edit(), sh("true")]) };
    let error = refused(&tree, &live);
    assert!(matches!(error, LedgerError::NotRunnable { .. }), "{error:?}");
    let inside = Request { run: RunPolicy::InTarget, ..live };
    let error = refused(&tree, &inside).to_string();
    for lack in ["not a mount point", "/proc is not mounted", "/sys is not mounted", "/dev is not mounted"] {
        assert!(error.contains(lack), "{error}");
    }
}

#[test]
fn a_second_process_is_told_which_one_holds_the_lock() {
    let tree = Tree::new().file("etc/default/grub", GRUB);
    let first = Ledger::open(tree.path()).unwrap();
    let error = Ledger::open(tree.path()).unwrap_err();
    assert!(matches!(error, LedgerError::Locked { .. }) && error.is_refusal(), "{error:?}");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    assert_eq!(history::list(tree.path()).unwrap(), [], "reading needs no lock");
    drop(first);
    Ledger::open(tree.path()).unwrap();
}

#[test]
fn of_two_processes_at_once_one_waits_for_nothing_and_says_so() {
    const HOLD: &str = "PEERFIX_TEST_HOLD";
    if let Some(dir) = std::env::var_os(HOLD) {
        let dir = Path::new(&dir);
        let _ledger = Ledger::open(dir).unwrap();
        std::fs::write(dir.join("holding"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_mins(1));
        return;
    }
    let tree = Tree::new().file("etc/default/grub", GRUB);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "of_two_processes_at_once_one_waits_for_nothing_and_says_so"])
        .env(HOLD, tree.path())
        .spawn()
        .unwrap();
    while !tree.path().join("holding").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let error = Ledger::open(tree.path()).unwrap_err().to_string();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(error.contains(&format!("process {}", child.id())), "{error}");
    Ledger::open(tree.path()).unwrap();
}

#[test]
fn a_state_folder_that_others_can_write_to_is_not_trusted() {
    let tree = Tree::new().dir("var/lib/peerfix");
    chmod(&tree.path().join("var/lib/peerfix"), 0o777);
    let error = Ledger::open(tree.path()).unwrap_err();
    assert!(matches!(error, LedgerError::UnsafeState { .. }), "{error:?}");
}

#[test]
fn without_root_the_state_folder_that_cannot_be_written_is_named() {
    const TREE: &str = "PEERFIX_TEST_UNWRITABLE";
    if let Some(dir) = std::env::var_os(TREE) {
        let error = Ledger::open(Path::new(&dir)).unwrap_err().to_string();
        assert!(error.contains("var/lib/peerfix") && error.contains("run as root"), "{error}");
        return;
    }
    let tree = Tree::new().dir("var/lib").file("etc/default/grub", GRUB);
    chmod(tree.path(), 0o755);
    chmod(&tree.path().join("var/lib"), 0o555);
    let program = tree.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = if is_root() {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        command
    } else {
        std::process::Command::new(&program)
    };
    let status = command
        .args(["--exact", "without_root_the_state_folder_that_cannot_be_written_is_named"])
        .env(TREE, tree.path())
        .current_dir("/")
        .status();
    chmod(&tree.path().join("var/lib"), 0o755);
    match status {
        Ok(status) => assert!(status.success()),
        Err(error) => eprintln!("skipped: setpriv: {error}"),
    }
}

#[test]
fn a_read_only_file_system_is_found_before_anything_is_written() {
    let name = "a_read_only_file_system_is_found_before_anything_is_written";
    let Some(_) = namespace::enter(name) else { return };
    let tree = Tree::new().file("etc/a", "1").file("etc/default/grub", GRUB).file("etc/mounted", "m");
    let etc = tree.path().join("etc/default");
    namespace::bind(&etc, &etc);
    namespace::read_only(&etc);
    namespace::bind(&tree.path().join("etc/a"), &tree.path().join("etc/mounted"));
    let error = refused(&tree, &request(vec![write("etc/a", Some("1"), "2"), edit()])).to_string();
    assert!(error.contains("read-only"), "{error}");
    let error = refused(&tree, &request(vec![write("etc/mounted", Some("1"), "2")])).to_string();
    assert!(error.contains("mount point"), "{error}");
    let _ = nix::mount::umount(&tree.path().join("etc/mounted"));
    let _ = nix::mount::umount(&etc);
}

#[test]
fn a_full_disk_leaves_the_old_files() {
    let Some(_) = namespace::enter("a_full_disk_leaves_the_old_files") else { return };
    let tree = Tree::new().dir("etc").dir("var").file("boot/a", "1");
    namespace::small(&tree.path().join("etc"), "64k");
    std::fs::write(tree.path().join("etc/grub"), GRUB).unwrap();
    let before = picture(tree.path());
    let big = "x".repeat(200 << 10);
    let operations = vec![write("boot/a", Some("1"), "2"), write("etc/grub", Some(GRUB), &big)];
    let error = Ledger::open(tree.path()).unwrap().apply(&request(operations)).unwrap_err().to_string();
    assert!(error.contains("/etc/grub") && error.contains("every file is as it was before"), "{error}");
    assert_eq!(picture(tree.path()), before);
    assert_eq!(history::list(tree.path()).unwrap()[0].state, State::Undone);

    // The ledger's own file system is full: no entry, nothing touched.
    namespace::small(&tree.path().join("var"), "64k");
    let operations = vec![write("boot/a", Some("1"), &big)];
    let error = Ledger::open(tree.path()).unwrap().apply(&request(operations)).unwrap_err().to_string();
    assert!(error.contains("free some space"), "{error}");
    assert_eq!(picture(tree.path()), before);
    assert_eq!(history::list(tree.path()).unwrap(), []);
    let _ = nix::mount::umount(&tree.path().join("var"));
    let _ = nix::mount::umount(&tree.path().join("etc"));
}

#[test]
fn damaged_entries_are_listed_with_file_and_reason_and_stop_new_changes() {
    let tree = Tree::new().file("etc/a", "1");
    let mut ledger = Ledger::open(tree.path()).unwrap();
    ledger.apply(&request(vec![write("etc/a", Some("1"), "2")])).unwrap();
    ledger.apply(&request(vec![write("etc/a", Some("2"), "3")])).unwrap();
    drop(ledger);
    let entry = tree.path().join("var/lib/peerfix/ledger/0001");
    let text = std::fs::read_to_string(entry.join("change.json")).unwrap();
    std::fs::write(entry.join("change.json"), text.replace("\"title\"", "\"titel\"")).unwrap();
    let list = history::list(tree.path()).unwrap();
    assert_eq!((list[0].state, list[1].state), (State::Damaged, State::Applied));
    let damage = list[0].damage.as_ref().unwrap();
    assert!(damage.file.ends_with("0001/change.json") && damage.reason.contains("tit"), "{damage:?}");
    let mut ledger = Ledger::open(tree.path()).unwrap();
    for _ in 0..2 {
        let error = ledger.apply(&request(vec![write("etc/a", Some("3"), "4")])).unwrap_err();
        assert!(matches!(error, LedgerError::Damaged { .. }), "{error:?}");
    }
    std::fs::write(entry.join("change.json"), text.replace("\"major\": 1", "\"major\": 2")).unwrap();
    drop(ledger);
    let error = Ledger::open(tree.path()).unwrap_err();
    assert!(matches!(error, LedgerError::Newer { .. }), "{error:?}");
    assert_eq!(history::list(tree.path()).unwrap()[0].state, State::Damaged);
}

#[test]
fn a_kept_copy_that_rotted_is_named() {
    let tree = Tree::new().file("etc/a", "1");
    Ledger::open(tree.path()).unwrap().apply(&request(vec![write("etc/a", Some("1"), "2")])).unwrap();
    std::fs::write(tree.path().join("var/lib/peerfix/ledger/0001/before/0"), "rot").unwrap();
    let shown = history::show(tree.path(), "0001").unwrap();
    assert!(shown.damaged_copies[0].file.ends_with("before/0"));
    assert!(matches!(history::show(tree.path(), "7").unwrap_err(), LedgerError::NoSuchEntry { .. }));
}

#[test]
fn history_of_a_host_without_ledger_is_empty_and_makes_nothing() {
    let tree = Tree::new().file("etc/a", "1");
    assert_eq!(history::list(tree.path()).unwrap(), []);
    assert!(!tree.path().join("var").exists());
}
