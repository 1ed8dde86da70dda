//! Trial boots for people.

use crate::report::document::{TrialDocument, TrialReport};
use crate::report::style::{self, wrap};
use std::fmt::Write;

/// Where each trial stands, two or three lines each.
pub fn trials<'a>(trials: impl IntoIterator<Item = &'a TrialDocument>) -> String {
    let mut out = String::new();
    for trial in trials {
        line(&mut out, trial);
    }
    out
}

fn line(out: &mut String, trial: &TrialDocument) {
    let bold = style::bold();
    let at = trial.at.as_deref().unwrap_or("-");
    let _ = writeln!(out, "{bold}{}{bold:#} {at} trial boot of {}", trial.id, trial.changes.join(" + "));
    let _ = writeln!(out, "{}", wrap("", 5, &trial.words));
    if let Some(entry) = &trial.kept {
        let _ = writeln!(out, "     permanent configuration: ledger {entry}");
    }
    if trial.open() && trial.state.is_some() && trial.kept.is_none() {
        let _ = writeln!(out, "     give it up: sudo peerfix revert {}", trial.id);
    }
}

/// One trial in full.
pub fn show(report: &TrialReport) -> String {
    let mut out = String::new();
    line(&mut out, &report.trial);
    for step in &report.trial.steps {
        let _ = writeln!(out, "{}", wrap("", 5, &format!("{} {}", step.at, step.what)));
    }
    for judgement in &report.judgements {
        let text = |key: &str| judgement.get(key).and_then(|v| v.as_str()).unwrap_or_default();
        let _ = writeln!(out, "     judgement of {}: {}", text("change"), text("call"));
        for step in judgement.get("steps").and_then(|steps| steps.as_array()).into_iter().flatten() {
            let text = |key: &str| step.get(key).and_then(|v| v.as_str()).unwrap_or_default();
            let found = step.get("found").and_then(|found| found.as_array()).into_iter().flatten();
            let found: Vec<&str> = found.filter_map(|f| f.as_str()).collect();
            let line = format!("{} ({}): {}", text("step"), text("outcome"), found.join("; "));
            let _ = writeln!(out, "{}", wrap("", 7, &line));
        }
    }
    out
}

/// What follows from an armed trial: how to start it, what it does, and every way back.
pub fn armed(trial: &TrialDocument, copied_from: &str) -> String {
    let mut out = String::new();
    let _ =
        writeln!(out, "armed: {} is tried at the next boot, once ({})", trial.changes.join(" + "), trial.id);
    let _ = writeln!(out, "  a copy of the entry at {copied_from}; the default entry stays as it is");
    let _ = writeln!(out, "way back: switch the machine off and on; the old entry boots");
    let _ = writeln!(out, "  before the reboot: sudo peerfix revert {}", trial.id);
    out
}

/// For the next login: what is still open, and the newest result. Empty when there is nothing to say.
pub fn motd(trials: &[TrialDocument]) -> String {
    let mut out = String::new();
    for trial in crate::report::document::current(trials) {
        let _ = writeln!(
            out,
            "peerfix: trial boot {} of {}: {}",
            trial.id,
            trial.changes.join(" + "),
            trial.words
        );
    }
    if !out.is_empty() {
        let _ = writeln!(out, "peerfix: more: peerfix status");
    }
    out
}
