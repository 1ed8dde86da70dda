//! The ledger: status, history, one change, a revert.

use super::trial::trials;
use crate::ledger::RevertOutcome;
use crate::ledger::history::{Entry, Shown};
use crate::report::document::{TrialDocument, current, stands};
use crate::report::style::{self, wrap};
use std::fmt::Write;

/// Where the changes stand.
///
/// `target` is the option that names the target's state, or empty on the running system.
pub fn status(entries: &[Entry], outstanding: &[String], tried: &[TrialDocument], target: &str) -> String {
    let mut out = trials(current(tried));
    let standing: Vec<&Entry> = entries.iter().filter(|e| stands(e)).collect();
    if standing.is_empty() {
        let _ = writeln!(out, "No change of peerfix stands here.");
    }
    for entry in &standing {
        line(&mut out, entry);
        if entry.damage.is_none() {
            let _ = writeln!(out, "     take it back: sudo peerfix revert {}{target}", entry.id);
        }
        if let Some(script) = &entry.revert_script {
            let _ = writeln!(out, "     without peerfix: sh {}", script.display());
        }
    }
    for command in outstanding {
        let place = if target.is_empty() { "" } else { " in the target" };
        let _ = writeln!(out, "still to run{place}: {command}");
    }
    out
}

/// Every entry.
pub fn history(entries: &[Entry], tried: &[TrialDocument]) -> String {
    let mut out = trials(tried);
    if entries.is_empty() && tried.is_empty() {
        let _ = writeln!(out, "No change was ever made here.");
    }
    for entry in entries {
        line(&mut out, entry);
    }
    out
}

fn line(out: &mut String, entry: &Entry) {
    let bold = style::bold();
    let at = entry.at.as_deref().unwrap_or("-");
    let _ = writeln!(out, "{bold}{}{bold:#} {at} {}", entry.id, entry.title);
    let _ = writeln!(out, "     {}", entry.state.words());
    for change in &entry.changes {
        let rules = change.rules.join(", ");
        let _ =
            writeln!(out, "{}", wrap("", 5, &format!("{} ({rules})", words(&change.add, &change.remove))));
    }
    if let Some(damage) = &entry.damage {
        let _ = writeln!(out, "     {}: {}", damage.file.display(), damage.reason);
    }
}

fn words(add: &[String], remove: &[String]) -> String {
    let one = |verb: &str, words: &[String]| match words {
        [] => None,
        some => Some(format!("{verb} {}", some.join(" "))),
    };
    [one("add", add), one("remove", remove)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// One entry in full.
pub fn show(shown: &Shown) -> String {
    let mut out = String::new();
    let entry = &shown.entry;
    line(&mut out, entry);
    for change in &entry.changes {
        if !change.consents.is_empty() {
            let _ = writeln!(out, "     risks accepted: {}", change.consents.join(", "));
        }
    }
    for diff in &shown.diffs {
        let _ = writeln!(out, "{}", diff.diff.trim_end());
    }
    for command in &entry.commands {
        let _ = writeln!(out, "     command: {command}");
    }
    for command in &entry.outstanding {
        let _ = writeln!(out, "     still to run: {command}");
    }
    for moment in &entry.journal {
        let _ = writeln!(out, "     {} {}", moment.at, moment.what);
    }
    if let (Some(log), Some(script)) = (&shown.log, &entry.revert_script) {
        let log = (log.lines().count(), script.with_file_name("commands.log"));
        let _ = writeln!(out, "     output of its commands, {} lines: {}", log.0, log.1.display());
    }
    for damage in &shown.damaged_copies {
        let _ = writeln!(out, "     damaged copy {}: {}", damage.file.display(), damage.reason);
    }
    if let Some(script) = &entry.revert_script {
        let _ = writeln!(out, "     without peerfix: sh {}", script.display());
    }
    out
}

/// What was taken back; `live` on the running system.
pub fn reverted(outcome: &RevertOutcome, live: bool) -> String {
    let mut out = String::new();
    if let Some(nothing) = &outcome.nothing {
        let _ = writeln!(out, "{nothing}");
    }
    let verb = if outcome.dry_run { "would take back" } else { "took back" };
    for id in &outcome.ids {
        let _ = writeln!(out, "{verb} {id}");
    }
    for file in &outcome.files {
        let _ = writeln!(out, "/{}: {}", file.path, file.what);
        if !file.diff.is_empty() {
            let _ = writeln!(out, "{}", file.diff.trim_end());
        }
    }
    for output in &outcome.outputs {
        let _ = writeln!(out, "ran: {} ({})", output.command, output.status);
    }
    let still = match (outcome.dry_run, live) {
        (true, _) => "then to run",
        (false, true) => "still to run",
        (false, false) => "still to run in the target",
    };
    for command in &outcome.outstanding {
        let _ = writeln!(out, "{still}: {command}");
    }
    if !outcome.dry_run && !outcome.ids.is_empty() {
        let _ = writeln!(out, "the old configuration takes effect at the next boot");
    }
    out
}
