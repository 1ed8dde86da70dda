//! Commands of a change: run in a mounted target or on the running system, or everything goes back.

mod host_tree;
mod namespace;

use host_tree::{picture, request, sh, shell, timeless, write};
use peerfix::ledger::history::{self, State};
use peerfix::ledger::{Ledger, LedgerError, Request, RevertOptions, RunPolicy, check_run_in_target};
use peerfix::plan::Operation;
use std::path::{Path, PathBuf};

/// A mounted system with one file in it.
fn system(folder: &Path) -> PathBuf {
    let root = namespace::system(folder);
    std::fs::create_dir(root.join("etc")).unwrap();
    std::fs::write(root.join("etc/grub"), "old\n").unwrap();
    root
}

fn inside(commands: &[&str]) -> Request {
    let mut operations: Vec<Operation> = vec![write("etc/grub", Some("old\n"), "new\n")];
    operations.extend(commands.iter().map(|script| sh(script)));
    Request {
        run: RunPolicy::InTarget,
        revert_commands: vec![shell("cat /etc/grub > /etc/generated")],
        ..request(operations)
    }
}

#[test]
fn commands_run_in_the_target_after_the_files_and_again_on_the_way_back() {
    let name = "commands_run_in_the_target_after_the_files_and_again_on_the_way_back";
    let Some(folder) = namespace::enter(name) else { return };
    let root = system(&folder);
    check_run_in_target(&root).unwrap();
    let mut ledger = Ledger::open(&root).unwrap();
    let applied = ledger.apply(&inside(&["cat /etc/grub > /etc/generated; echo made; env"])).unwrap();
    assert_eq!(std::fs::read(root.join("etc/generated")).unwrap(), b"new\n");
    assert!(applied.outstanding.is_empty());
    assert!(applied.outputs[0].output.starts_with("made\n") && applied.outputs[0].success);
    assert!(!applied.outputs[0].output.contains("PEERFIX_TEST_FOLDER"), "the environment is not handed down");
    let shown = history::show(&root, "last").unwrap();
    assert!(shown.log.unwrap().contains("[exit status 0]"));
    let options = RevertOptions { dry_run: false, run: RunPolicy::InTarget };
    let outcome = ledger.revert("last", options).unwrap();
    assert!(outcome.outstanding.is_empty() && outcome.outputs[0].success);
    assert_eq!(std::fs::read(root.join("etc/generated")).unwrap(), b"old\n");
}

#[test]
fn a_failing_command_puts_every_file_back_and_keeps_its_output() {
    let Some(folder) = namespace::enter("a_failing_command_puts_every_file_back_and_keeps_its_output") else {
        return;
    };
    let root = system(&folder);
    let before = picture(&root.join("etc"));
    let mut ledger = Ledger::open(&root).unwrap();
    let wanted =
        inside(&["cat /etc/grub > /etc/generated", "echo no such disk >&2; exit 3", "touch /etc/never"]);
    let error = ledger.apply(&wanted).unwrap_err();
    let LedgerError::CommandFailed(failure) = &error else { panic!("{error}") };
    assert_eq!(failure.status, "exit status 3");
    for part in ["exit 3", "exit status 3", "no such disk", "every file is as it was before", "commands.log"]
    {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    let after = picture(&root.join("etc"));
    assert_eq!(after["grub"], before["grub"]);
    assert_eq!(after["generated"].content, b"old\n", "regenerated from the old file");
    assert!(!after.contains_key("never"));
    let entry = history::show(&root, "last").unwrap();
    assert_eq!(entry.entry.state, State::CommandsFailed);
    assert!(entry.log.unwrap().contains("no such disk"));
    assert!(
        ledger
            .revert("last", RevertOptions { dry_run: false, run: RunPolicy::InTarget })
            .unwrap()
            .nothing
            .is_some()
    );
    ledger.apply(&inside(&["true"])).unwrap();
}

#[test]
fn a_command_that_fails_on_the_way_back_is_an_error_with_the_files_back() {
    let name = "a_command_that_fails_on_the_way_back_is_an_error_with_the_files_back";
    let Some(folder) = namespace::enter(name) else { return };
    let root = system(&folder);
    let mut ledger = Ledger::open(&root).unwrap();
    let wanted =
        Request { revert_commands: vec![shell("exit 5"), shell("touch /etc/second")], ..inside(&[]) };
    ledger.apply(&wanted).unwrap();
    let error =
        ledger.revert("last", RevertOptions { dry_run: false, run: RunPolicy::InTarget }).unwrap_err();
    assert!(matches!(error, LedgerError::RegenerateFailed(_)), "{error}");
    assert!(error.to_string().contains("the files are back; run by hand: sh -c 'exit 5'"), "{error}");
    assert_eq!(std::fs::read(root.join("etc/grub")).unwrap(), b"old\n");
    assert!(root.join("etc/second").exists(), "the other commands still run");
    assert_eq!(history::list(&root).unwrap()[0].state, State::Reverted);
    assert_eq!(history::outstanding(&root).unwrap(), ["sh -c 'exit 5'"]);
}

#[test]
fn commands_left_once_are_settled_when_they_run_later() {
    let Some(folder) = namespace::enter("commands_left_once_are_settled_when_they_run_later") else { return };
    let root = system(&folder);
    let mut ledger = Ledger::open(&root).unwrap();
    let printed = Request { run: RunPolicy::PrintOnly, ..inside(&["true", "echo"]) };
    assert_eq!(ledger.apply(&printed).unwrap().outstanding, ["sh -c true", "sh -c echo"]);
    let only = Request { run: RunPolicy::InTarget, ..request(vec![sh("true")]) };
    let applied = ledger.apply(&only).unwrap();
    assert!(applied.changed && applied.id.is_some());
    assert_eq!(history::outstanding(&root).unwrap(), ["sh -c echo"]);
}

#[test]
fn what_was_left_runs_once_programs_may_be_run_and_is_settled_where_it_was_left() {
    let name = "what_was_left_runs_once_programs_may_be_run_and_is_settled_where_it_was_left";
    let Some(folder) = namespace::enter(name) else { return };
    let root = system(&folder);
    let mut ledger = Ledger::open(&root).unwrap();
    let printed = Request { run: RunPolicy::PrintOnly, ..inside(&["cp /etc/grub /etc/made", "exit 4"]) };
    ledger.apply(&printed).unwrap();
    assert!(ledger.run_outstanding(RunPolicy::PrintOnly).unwrap().is_empty());
    let error = ledger.run_outstanding(RunPolicy::InTarget).unwrap_err();
    assert!(error.leaves_commands() && error.to_string().contains("sh -c 'exit 4'"), "{error}");
    assert_eq!(std::fs::read(root.join("etc/made")).unwrap(), b"new\n");
    assert_eq!(history::outstanding(&root).unwrap(), ["sh -c 'exit 4'"], "what ran is settled");
    let entries = history::list(&root).unwrap();
    assert_eq!((entries.len(), entries[0].state), (1, State::Applied), "no entry of its own");
    assert!(!history::interrupted(&root).unwrap());
}

#[test]
fn the_running_system_runs_its_own_commands() {
    const CHROOT: &str = "PEERFIX_TEST_CHROOT";
    let name = "the_running_system_runs_its_own_commands";
    if std::env::var_os(CHROOT).is_some() {
        let mut ledger = Ledger::open(Path::new("/")).unwrap();
        let wanted = Request { run: RunPolicy::Live, ..inside(&["cat /etc/grub > /etc/generated"]) };
        assert!(ledger.apply(&wanted).unwrap().outputs[0].success);
        assert_eq!(std::fs::read("/etc/generated").unwrap(), b"new\n");
        let options = RevertOptions { dry_run: false, run: RunPolicy::Live };
        assert!(ledger.revert("last", options).unwrap().outputs[0].success);
        assert_eq!(std::fs::read("/etc/generated").unwrap(), b"old\n");
        return;
    }
    let Some(folder) = namespace::enter(name) else { return };
    let root = system(&folder);
    std::fs::copy(std::env::current_exe().unwrap(), root.join("test")).unwrap();
    let status = std::process::Command::new("chroot")
        .arg(&root)
        .args(["/test", "--exact", name])
        .env(CHROOT, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_target_that_others_can_write_to_runs_nothing() {
    let Some(folder) = namespace::enter("a_target_that_others_can_write_to_runs_nothing") else { return };
    let root = system(&folder);
    host_tree::chmod(&root, 0o777);
    let before = timeless(picture(&root.join("etc")));
    let error = check_run_in_target(&root).unwrap_err();
    assert!(error.to_string().contains("writable by others"), "{error}");
    assert!(Ledger::open(&root).unwrap().apply(&inside(&["true"])).is_err());
    assert_eq!(timeless(picture(&root.join("etc"))), before);
}
