//! `revert.sh`: works with a plain shell and coreutils, from a rescue shell, without peerfix.

mod common;
mod host_tree;
mod namespace;

use common::Tree;
use host_tree::{age, chmod, is_root, picture, request, shell, write};
use peerfix::ledger::history::{self, State};
use peerfix::ledger::{Ledger, Request};
use std::path::Path;
use std::process::{Command, Output};

const HOSTILE: &str = "etc/it's \"a\" $(touch x) `y`\nnew line \\ *";
const SHELLS: [&[&str]; 4] = [&["sh"], &["dash"], &["bash", "--posix"], &["busybox", "sh"]];

/// Shells of this machine.
fn shells() -> Vec<&'static [&'static str]> {
    let there = |shell: &&&[&str]| {
        let (program, rest) = shell.split_first().unwrap();
        Command::new(program).args(rest).args(["-c", "true"]).output().is_ok_and(|o| o.status.success())
    };
    SHELLS.iter().filter(there).copied().collect()
}

fn run(shell: &[&str], root: &Path, extra: &[(&str, &str)]) -> Output {
    let (program, rest) = shell.split_first().unwrap();
    Command::new(program)
        .args(rest)
        .arg(root.join("var/lib/peerfix/ledger/0001/revert.sh"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("ROOT", root)
        .envs(extra.iter().copied())
        .current_dir("/")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// A changed tree, and its picture before the change.
fn changed(revert_commands: Vec<Vec<String>>) -> (Tree, std::collections::BTreeMap<String, host_tree::Seen>) {
    let tree = Tree::new().file("etc/default/grub", "old\n").file(HOSTILE, "old\n");
    let grub = tree.path().join("etc/default/grub");
    if is_root() {
        std::os::unix::fs::chown(&grub, Some(12), Some(34)).unwrap();
    }
    chmod(&grub, 0o640);
    age(&grub);
    age(&tree.path().join(HOSTILE));
    host_tree::set_attribute(&grub, "user.origin", "installer");
    let before = picture(tree.path());
    let operations = vec![
        write("etc/default/grub", Some("old\n"), "new\n"),
        write(HOSTILE, Some("old\n"), "new\n"),
        write("etc/made for it/peerfix's.conf", None, "new\n"),
    ];
    let wanted = Request {
        title: "title\nwith 'quotes'\nrm -rf nothing".to_owned(),
        revert_commands,
        ..request(operations)
    };
    Ledger::open(tree.path()).unwrap().apply(&wanted).unwrap();
    (tree, before)
}

#[test]
fn restores_bytes_mode_owner_and_time_and_removes_what_was_created() {
    assert!(!shells().is_empty());
    for shell in shells() {
        let (tree, before) = changed(Vec::new());
        let output = run(shell, tree.path(), &[]);
        assert_eq!(output.status.code(), Some(0), "{shell:?}: {}", said(&output));
        assert_eq!(output.stderr, b"", "{shell:?}: {}", said(&output));
        assert_eq!(picture(tree.path()), before, "{shell:?}");
        let entry = &history::list(tree.path()).unwrap()[0];
        assert_eq!(entry.state, State::Reverted, "{:?}", entry.damage);
        assert!(entry.journal.last().unwrap().what.contains("revert.sh"));
        let again = run(shell, tree.path(), &[]);
        assert_eq!(again.status.code(), Some(0), "{shell:?}: {}", said(&again));
        assert_eq!(picture(tree.path()), before, "{shell:?}: a second run changes nothing");
    }
}

#[test]
fn a_file_changed_since_stops_it_before_anything_is_touched() {
    for shell in shells() {
        let (tree, before) = changed(Vec::new());
        std::fs::write(tree.path().join(HOSTILE), "theirs\n").unwrap();
        let there = picture(tree.path());
        let output = run(shell, tree.path(), &[]);
        assert_eq!(output.status.code(), Some(3), "{shell:?}: {}", said(&output));
        assert!(
            said(&output).contains("changed since") && said(&output).contains("it's"),
            "{}",
            said(&output)
        );
        assert_eq!(picture(tree.path()), there, "{shell:?}");
        let forced = run(shell, tree.path(), &[("FORCE", "1")]);
        assert_eq!(forced.status.code(), Some(0), "{shell:?}: {}", said(&forced));
        assert_eq!(picture(tree.path()), before, "{shell:?}");
        let kept = tree.path().join("var/lib/peerfix/ledger/0001/changed-1");
        assert_eq!(std::fs::read(kept).unwrap(), b"theirs\n");
    }
}

#[test]
fn a_rotten_copy_stops_it() {
    let (tree, _) = changed(Vec::new());
    std::fs::write(tree.path().join("var/lib/peerfix/ledger/0001/before/1"), "rot").unwrap();
    let there = picture(tree.path());
    let output = run(&["sh"], tree.path(), &[("FORCE", "1")]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(picture(tree.path()), there);
}

#[test]
fn finishes_what_a_killed_run_left_half_done() {
    let (tree, before) = changed(Vec::new());
    std::fs::write(tree.path().join("etc/default/grub"), "old\n").unwrap();
    std::fs::write(tree.path().join("etc/default/.peerfix-0001-0.tmp"), "half").unwrap();
    std::fs::remove_file(tree.path().join("etc/made for it/peerfix's.conf")).unwrap();
    let output = run(&["sh"], tree.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(picture(tree.path()), before);
}

#[test]
fn with_a_mounted_root_it_prints_the_commands_and_says_they_are_left() {
    for shell in shells() {
        let odd = ["printf", "%s", "it's; done"].map(str::to_owned).to_vec();
        let (tree, before) = changed(vec![vec!["update-grub".to_owned()], odd]);
        let output = run(shell, tree.path(), &[]);
        assert_eq!(output.status.code(), Some(7), "{shell:?}: {}", said(&output));
        assert!(said(&output).contains("update-grub"), "{}", said(&output));
        assert_eq!(picture(tree.path()), before);
        assert_eq!(history::outstanding(tree.path()).unwrap(), ["update-grub", r"printf %s 'it'\''s; done'"]);
    }
}

#[test]
fn on_the_running_system_it_runs_the_commands() {
    let Some(folder) = namespace::enter("on_the_running_system_it_runs_the_commands") else { return };
    let root = namespace::system(&folder);
    std::fs::create_dir(root.join("etc")).unwrap();
    std::fs::write(root.join("etc/grub"), "old\n").unwrap();
    let wanted = Request {
        revert_commands: vec![shell("cat /etc/grub > /etc/generated"), shell("exit 4")],
        ..request(vec![write("etc/grub", Some("old\n"), "new\n")])
    };
    Ledger::open(&root).unwrap().apply(&wanted).unwrap();
    let output = Command::new("chroot")
        .arg(&root)
        .args(["/bin/sh", "/var/lib/peerfix/ledger/0001/revert.sh"])
        .env_remove("ROOT")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7), "one command failed: {}", said(&output));
    assert_eq!(std::fs::read(root.join("etc/generated")).unwrap(), b"old\n");
}

#[test]
fn uses_nothing_but_the_shell_and_coreutils() {
    let (tree, _) = changed(Vec::new());
    let text = std::fs::read_to_string(tree.path().join("var/lib/peerfix/ledger/0001/revert.sh")).unwrap();
    assert!(!text.contains("grub.cfg"));
    for program in ["python", "perl", "awk", "sed ", "grep", "stat ", "setfattr", "jq "] {
        assert!(!text.contains(program), "{program}");
    }
}
