//! The boot unit and the generator of trial boots: what systemd makes of them, and that a normal boot gets nothing.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/systemd").join(name)
}

/// What the generator makes of a command line and a mark.
fn generated(line: &str, mark: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["normal", "early", "late"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("cmdline"), line).unwrap();
    if let Some(mark) = mark {
        std::fs::write(folder.path().join("pending"), mark).unwrap();
    }
    let mut command = Command::new("sh");
    command.arg(packaged("peerfix-trial-generator"));
    command.args(["normal", "early", "late", "cmdline", "pending"]).current_dir(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_normal_boot_gets_nothing() {
    for line in [
        "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet\n",
        "BOOT_IMAGE=/vmlinuz ro notpeerfix.trial=t1 quiet\n",
        "",
    ] {
        let folder = generated(line, Some("trial=t1\ndeadline=300\n"));
        for place in ["normal", "early", "late"] {
            assert_eq!(files(&folder.path().join(place)), Vec::<String>::new(), "{line}");
        }
    }
}

#[test]
fn a_trial_boot_gets_a_deadline_and_ways_out_of_the_rescue_shells() {
    let folder =
        generated("BOOT_IMAGE=/vmlinuz ro peerfix.trial=t1 panic=30\n", Some("trial=t1\ndeadline=300\n"));
    let early = folder.path().join("early");
    let made = files(&early);
    for name in [
        "sysinit.target.wants/peerfix-trial-deadline.timer",
        "emergency.target.wants/peerfix-trial-return.service",
        "rescue.target.wants/peerfix-trial-return.service",
        "docker.service.d/50-peerfix-trial.conf",
        "display-manager.service.d/50-peerfix-trial.conf",
    ] {
        assert!(made.iter().any(|m| m == name), "{name} is not in {made:?}");
    }
    let timer = std::fs::read_to_string(early.join("peerfix-trial-deadline.timer")).unwrap();
    assert!(timer.contains("OnBootSec=300s") && timer.contains("IgnoreOnIsolate=yes"), "{timer}");
    let service = std::fs::read_to_string(early.join("peerfix-trial-return.service")).unwrap();
    assert!(service.contains("SYSTEMCTL_SKIP_AUTO_KEXEC=1 SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1"), "{service}");
}

#[test]
fn a_mark_that_cannot_be_read_or_says_nonsense_leaves_a_deadline() {
    for mark in [None, Some(""), Some("deadline=\n"), Some("deadline=1h\n"), Some("\u{0}\u{1}")] {
        let folder = generated("ro peerfix.trial=t1\n", mark);
        let timer =
            std::fs::read_to_string(folder.path().join("early/peerfix-trial-deadline.timer")).unwrap();
        assert!(timer.contains("OnBootSec=900s"), "{mark:?}: {timer}");
    }
}

/// None where systemd is not installed.
fn analyze(arguments: &[&str], files: &[PathBuf]) -> Option<Output> {
    Command::new("systemd-analyze").args(arguments).args(files).output().ok()
}

#[test]
fn systemd_takes_every_unit() {
    let folder = generated("ro peerfix.trial=t1\n", None);
    let early = folder.path().join("early");
    let units =
        ["peerfix-trial-deadline.timer", "peerfix-trial-deadline.service", "peerfix-trial-return.service"];
    let files: Vec<PathBuf> = units.iter().map(|unit| early.join(unit)).collect();
    if let Some(output) = analyze(&["verify", "--man=no", "--recursive-errors=no"], &files) {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !text.contains("peerfix-trial"), "{text}");
    }
    // The program itself is not installed where this runs.
    let unit = std::fs::read_to_string(packaged("peerfix-gate.service")).unwrap();
    let unit =
        unit.replace("/usr/bin/peerfix gate", "/bin/true").replace("-/usr/bin/nvidia-modprobe", "-/bin/true");
    let copy = early.join("peerfix-gate.service");
    std::fs::write(&copy, unit).unwrap();
    if let Some(output) = analyze(&["verify", "--man=no", "--recursive-errors=no"], &[copy]) {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && !text.contains("peerfix-gate"), "{text}");
    }
}

#[test]
fn the_boot_unit_runs_only_when_something_is_pending_and_takes_verdicts_for_results() {
    let unit = std::fs::read_to_string(packaged("peerfix-gate.service")).unwrap();
    assert!(unit.contains("\nConditionPathExists=/var/lib/peerfix/pending\n"));
    assert!(unit.contains("\nSuccessExitStatus=4 5 7\n"));
    for closed in [
        "PrivateDevices",
        "MemoryDenyWriteExecute",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "NoNewPrivileges",
    ] {
        assert!(!unit.contains(closed), "a trial cannot run with {closed}");
    }
}
