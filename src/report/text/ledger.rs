//! The ledger: status, history, one change, a revert.

use crate::ledger::RevertOutcome;
use crate::ledger::history::{Entry, Shown};
use crate::report::document::stands;
use crate::report::style::{self, wrap};
use std::fmt::Write;

/// Where the changes stand.
pub fn status(entries: &[Entry], outstanding: &[String]) -> String {
    let mut out = String::new();
    let standing: Vec<&Entry> = entries.iter().filter(|e| stands(e)).collect();
    if standing.is_empty() {
        let _ = writeln!(out, "No change of peerfix stands here.");
    }
    for entry in standing {
        line(&mut out, entry);
    }
    for command in outstanding {
        let _ = writeln!(out, "still to run: {command}");
    }
    out
}

/// Every entry.
pub fn history(entries: &[Entry]) -> String {
    let mut out = String::new();
    if entries.is_empty() {
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
    if let Some(damage) = &entry.damage {
        let _ = writeln!(out, "     {}: {}", damage.file.display(), damage.reason);
    }
}

/// One entry in full.
pub fn show(shown: &Shown) -> String {
    let mut out = String::new();
    let entry = &shown.entry;
    line(&mut out, entry);
    for change in &entry.changes {
        let mut words = Vec::new();
        if !change.add.is_empty() {
            words.push(format!("add {}", change.add.join(" ")));
        }
        if !change.remove.is_empty() {
            words.push(format!("remove {}", change.remove.join(" ")));
        }
        let _ = writeln!(
            out,
            "{}",
            wrap("", 5, &format!("{}: {} ({})", change.name, words.join(", "), change.rules.join(", ")))
        );
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
    for damage in &shown.damaged_copies {
        let _ = writeln!(out, "     damaged copy {}: {}", damage.file.display(), damage.reason);
    }
    if let Some(script) = &entry.revert_script {
        let _ = writeln!(out, "     without peerfix: sh {}", script.display());
    }
    out
}

/// What was taken back.
pub fn reverted(outcome: &RevertOutcome) -> String {
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
    let still = if outcome.dry_run { "would run" } else { "still to run" };
    for command in &outcome.outstanding {
        let _ = writeln!(out, "{still}: {command}");
    }
    if !outcome.dry_run && !outcome.ids.is_empty() {
        let _ = writeln!(out, "the old configuration takes effect at the next boot");
    }
    out
}
