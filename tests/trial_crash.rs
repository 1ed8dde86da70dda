//! Killed between any two durable steps of a trial, and switched off and on: the host ends with the old configuration or
//! with the new one, in full, and nothing of the trial is left. Needs the feature `crashpoints`.
#![cfg(feature = "crashpoints")]
#![allow(clippy::unwrap_used)]

mod common;

use common::boots::{Boots, Started};
use common::played::{CUSTOM, GRUB, at_boot, cured_by_pt, host, looked_after, provision, revert};
use peerfix::ledger::{CRASH_VARIABLE, TRIAL_POINTS};
use peerfix::trial::{TrialPolicy, history, idle};
use std::collections::BTreeSet;
use std::process::Command;

const WORK: &str = "PEERFIX_TEST_WORK";
const TREE: &str = "PEERFIX_TEST_TREE";
const CURED: &str = "PEERFIX_TEST_CURED";
/// Points of the ledger on both sides of its commit mark.
const LEDGER_POINTS: [&str; 4] = ["entry-prepared", "file-renamed", "after-commit", "files-restored"];
/// More passages through one point than any run makes.
const PASSAGES: u32 = 40;

/// What a child does that is killed.
#[test]
fn child() {
    let Ok(work) = std::env::var(WORK) else { return };
    let host = Boots::found(&std::env::var(TREE).unwrap(), &std::env::var(CURED).unwrap());
    match work.as_str() {
        "provision" => drop(provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap()),
        "gate" => drop(at_boot(&host, cured_by_pt)),
        _ => revert(&host, "last"),
    }
}

/// True when the child died at the point.
fn killed(host: &Boots, work: &str, crash: &str) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(WORK, work)
        .env(TREE, host.tree.path())
        .env(CURED, host.cured.path())
        .env(CRASH_VARIABLE, crash)
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.code() == Some(137), "{work} at {crash}: {status}");
    !status.success()
}

/// Boots until nothing is pending; the menu is regenerated as the ledger's command would have done.
fn settle(host: &Boots, at: &str) {
    for _ in 0..6 {
        host.regenerate();
        host.start();
        if idle(host.tree.path()) {
            break;
        }
        looked_after(host, cured_by_pt);
    }
    assert!(idle(host.tree.path()), "{at}: something is pending for ever");
    assert!(!host.tree.has(CUSTOM), "{at}: the trial's entry is left");
    assert_eq!(host.choice(), "", "{at}");
    host.regenerate();
    assert_eq!(host.start(), Started::Default, "{at}");
    let kept = host.tree.read(GRUB).contains("iommu=pt");
    assert_eq!(host.line().contains("iommu=pt"), kept, "{at}");
    assert!(!host.line().contains("peerfix"), "{at}: {}", host.line());
    for told in history::list(host.tree.path()).unwrap() {
        match told {
            Ok(told) => assert!(told.state().ended() || told.events.is_empty(), "{at}: {:?}", told.state()),
            // Killed before it was written down.
            Err(lost) => assert!(lost.reason.contains("trial.json is not there"), "{at}: {}", lost.reason),
        }
    }
}

/// Kills `work` on `host` at every passage of every point.
fn kill_everywhere(host: &Boots, work: &str) -> BTreeSet<&'static str> {
    let mut hit = BTreeSet::new();
    for point in TRIAL_POINTS.iter().copied().chain(LEDGER_POINTS) {
        for passage in 1..PASSAGES {
            let crash = format!("{point}:{passage}");
            let copy = host.copy();
            if !killed(&copy, work, &crash) {
                break;
            }
            hit.insert(point);
            settle(&copy, &format!("{work} killed at {crash}"));
        }
    }
    hit
}

#[test]
fn killed_while_taking_the_baseline_and_arming() {
    let hit = kill_everywhere(&host(), "provision");
    let missed: Vec<_> = TRIAL_POINTS.iter().filter(|point| !hit.contains(*point)).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

#[test]
fn killed_in_the_trial_boot() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    assert_eq!(host.start(), Started::Chosen);
    let hit = kill_everywhere(&host, "gate");
    assert!(hit.contains("after-commit") && hit.contains("trial-line-appended"), "{hit:?}");
}

#[test]
fn killed_while_a_kept_change_is_taken_back() {
    let host = host();
    provision(&host, cured_by_pt, &TrialPolicy::default()).unwrap();
    host.start();
    at_boot(&host, cured_by_pt);
    host.regenerate();
    host.start();
    at_boot(&host, cured_by_pt);
    kill_everywhere(&host, "revert");
}
