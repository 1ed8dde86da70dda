//! Killed at any point, the next run leaves the tree wholly old or wholly new. Needs the feature
//! `crashpoints`: `cargo test --features crashpoints --test ledger_crash`.
#![cfg(feature = "crashpoints")]

mod host_tree;
mod namespace;

use host_tree::{Seen, age, chmod, is_root, picture, request, set_attribute, sh, shell, timeless, write};
use peerfix::ledger::history::{self, State};
use peerfix::ledger::{CRASH_POINTS, CRASH_VARIABLE, Ledger, Request, RevertOptions, RunPolicy};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const WORK: &str = "PEERFIX_TEST_WORK";
const ROOT: &str = "PEERFIX_TEST_ROOT";
const RUN: &str = "PEERFIX_TEST_RUN";
/// More passages through one point than any run makes.
const PASSAGES: u32 = 40;

type Picture = BTreeMap<String, Seen>;

fn wanted(run: RunPolicy) -> Request {
    let commands = [sh("cat /etc/default/grub > /etc/generated"), sh("true")];
    let mut operations = vec![
        write("etc/default/grub", Some("a\nb\nc\nd\ne\n"), "A\nb\nc\nd\ne\n"),
        write("etc/made/for/new.conf", None, "new\n"),
        write("etc/kernel/cmdline", Some("quiet\n"), "quiet iommu=pt\n"),
    ];
    operations.extend(commands);
    Request {
        run,
        revert_commands: vec![shell("cat /etc/default/grub > /etc/generated")],
        ..request(operations)
    }
}

fn run_policy() -> RunPolicy {
    if std::env::var_os(RUN).is_some() { RunPolicy::InTarget } else { RunPolicy::PrintOnly }
}

/// What a child does that is killed.
#[test]
fn child() {
    let Some(work) = std::env::var_os(WORK) else { return };
    let root = std::env::var_os(ROOT).unwrap();
    let mut ledger = Ledger::open(Path::new(&root)).unwrap();
    match work.to_str().unwrap() {
        "apply" => drop(ledger.apply(&wanted(run_policy())).unwrap()),
        "revert" => {
            let options = RevertOptions { dry_run: false, run: run_policy() };
            drop(ledger.revert("last", options).unwrap());
        }
        _ => {}
    }
}

/// A fresh tree below `root`.
fn lay(root: &Path) {
    for name in ["etc", "var"] {
        if root.join(name).exists() {
            std::fs::remove_dir_all(root.join(name)).unwrap();
        }
    }
    for (path, text) in
        [("etc/default/grub", "a\nb\nc\nd\ne\n"), ("etc/kernel/cmdline", "quiet\n"), ("etc/generated", "")]
    {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        age(&path);
    }
    let grub = root.join("etc/default/grub");
    chmod(&grub, 0o640);
    set_attribute(&grub, "user.origin", "installer");
    if is_root() && std::env::var_os(RUN).is_none() {
        std::os::unix::fs::chown(&grub, Some(12), Some(34)).unwrap();
    }
}

/// Runs a child; true when it was killed at the point.
fn killed(root: &Path, work: &str, crash: &str) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(WORK, work)
        .env(ROOT, root)
        .env(CRASH_VARIABLE, crash)
        .output()
        .unwrap();
    match output.status.code() {
        Some(137) => true,
        Some(0) => false,
        _ => panic!("{work} {crash}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// The picture of `etc` without the generated file.
fn see(root: &Path) -> Picture {
    let mut seen = picture(&root.join("etc"));
    seen.remove("generated");
    seen
}

/// Work to kill: how it starts, and the pictures that may come out.
struct Case {
    work: &'static str,
    /// Edited after the change, so that taking it back merges.
    edited: bool,
}

impl Case {
    /// Makes the tree ready.
    fn start(&self, root: &Path) {
        lay(root);
        if self.work == "revert" {
            Ledger::open(root).unwrap().apply(&wanted(run_policy())).unwrap();
            if self.edited {
                std::fs::write(root.join("etc/default/grub"), "A\nb\nc\nd\nE\n").unwrap();
            }
        }
    }

    fn pictures(&self, root: &Path) -> (Picture, Picture) {
        self.start(root);
        let first = see(root);
        assert!(!killed(root, self.work, "nowhere"));
        (first, see(root))
    }
}

/// Opens the ledger after a kill and judges the tree.
fn judge(root: &Path, case: &Case, (first, second): &(Picture, Picture), at: &str) {
    let ledger = Ledger::open(root).unwrap_or_else(|error| panic!("{at}: {error}"));
    drop(ledger);
    let now = see(root);
    let whole = [first, second].into_iter().find(|p| timeless((*p).clone()) == timeless(now.clone()));
    assert!(whole.is_some(), "{at}: neither old nor new: {now:#?}");
    if case.work == "apply" && timeless(now.clone()) == timeless(first.clone()) {
        assert_eq!(&now, first, "{at}: times are those of before too");
    }
    if case.work == "revert" && !case.edited && timeless(now.clone()) == timeless(second.clone()) {
        assert_eq!(&now, second, "{at}: times are those of before too");
    }
    for entry in history::list(root).unwrap() {
        assert!(entry.damage.is_none() && !entry.unfinished, "{at}: {entry:#?}");
        assert!(
            matches!(entry.state, State::Applied | State::Reverted | State::Undone),
            "{at}: {:?}",
            entry.state
        );
        let stands = entry.state == State::Applied;
        let changed = root.join("etc/made/for/new.conf").exists();
        assert_eq!(stands, changed, "{at}: the state says what the files are");
        // An edit by hand regenerates nothing.
        let by_hand = case.edited && stands;
        if std::env::var_os(RUN).is_some() && entry.state != State::Undone && !by_hand {
            let generated = std::fs::read(root.join("etc/generated")).unwrap();
            assert_eq!(
                generated, now["default/grub"].content,
                "{at}: regenerated from the files as they are"
            );
        }
    }
    let names = std::fs::read_dir(root.join("var/lib/peerfix/ledger")).unwrap();
    for name in names {
        let name = name.unwrap().file_name();
        assert!(!name.to_str().unwrap().starts_with('.'), "{at}: {} is left over", name.display());
    }
    let mut again = Ledger::open(root).unwrap();
    assert!(again.recovered().is_empty(), "{at}: nothing is left to do: {:?}", again.recovered());
    if case.work == "apply" {
        // Whatever happened, the change can be made, or taken back, from here.
        if now == *first {
            again.apply(&wanted(run_policy())).unwrap();
        }
        again.revert("last", RevertOptions { dry_run: false, run: run_policy() }).unwrap();
        assert_eq!(&see(root), first, "{at}");
    }
}

/// Kills `case` at every passage of every point; with `twice`, the run that follows is killed too.
fn kill_everywhere(root: &Path, case: &Case, twice: bool, hit: &mut BTreeSet<&'static str>) {
    let pictures = case.pictures(root);
    for point in CRASH_POINTS {
        for passage in 1..PASSAGES {
            let crash = format!("{point}:{passage}");
            case.start(root);
            if !killed(root, case.work, &crash) {
                break;
            }
            hit.insert(point);
            judge(root, case, &pictures, &format!("{} killed at {crash}", case.work));
            if !twice || passage > 2 {
                continue;
            }
            for second in CRASH_POINTS {
                case.start(root);
                assert!(killed(root, case.work, &crash));
                if killed(root, "open", second) {
                    hit.insert(second);
                    let at = format!("{} killed at {crash}, the next run at {second}", case.work);
                    judge(root, case, &pictures, &at);
                }
            }
        }
    }
}

const CASES: [Case; 3] = [
    Case { work: "apply", edited: false },
    Case { work: "revert", edited: false },
    Case { work: "revert", edited: true },
];

#[test]
fn apply_and_revert_killed_anywhere_are_whole_after_the_next_run() {
    let folder = namespace::folder();
    let mut hit = BTreeSet::new();
    for case in &CASES {
        kill_everywhere(folder.path(), case, true, &mut hit);
    }
    let commands = BTreeSet::from(["command-ran", "commands-ran"]);
    let missed: Vec<_> =
        CRASH_POINTS.iter().filter(|p| !hit.contains(*p) && !commands.contains(*p)).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

#[test]
fn killed_between_commands_they_run_again() {
    let Some(folder) = namespace::enter("killed_between_commands_they_run_again") else { return };
    let root = namespace::system(&folder);
    let program = std::env::current_exe().unwrap();
    let status = Command::new(program)
        .args(["--exact", "with_commands", "--nocapture"])
        .env(RUN, "1")
        .env("PEERFIX_TEST_SYSTEM", &root)
        .status()
        .unwrap();
    assert!(status.success());
}

/// The part of the test above that has the marker in its environment.
#[test]
fn with_commands() {
    let Some(root) = std::env::var_os("PEERFIX_TEST_SYSTEM") else { return };
    let mut hit = BTreeSet::new();
    for case in &CASES {
        kill_everywhere(Path::new(&root), case, false, &mut hit);
    }
    assert!(hit.contains("command-ran") && hit.contains("commands-ran"), "{hit:?}");
}

#[test]
fn a_file_edited_between_the_kill_and_the_next_run_is_left_alone_and_named() {
    let folder = namespace::folder();
    let root = folder.path();
    lay(root);
    let before = see(root);
    assert!(killed(root, "apply", "before-commit"));
    assert_eq!(history::list(root).unwrap()[0].state, State::Prepared, "reading recovers nothing");
    std::fs::write(root.join("etc/kernel/cmdline"), "theirs\n").unwrap();
    let ledger = Ledger::open(root).unwrap();
    let recovered = &ledger.recovered()[0];
    assert!(recovered.did.contains("put back, except") && recovered.did.contains("etc/kernel/cmdline"));
    let now = see(root);
    assert_eq!(now["kernel/cmdline"].content, b"theirs\n");
    assert_eq!(now["default/grub"], before["default/grub"]);
    assert!(!now.contains_key("made"));
}
