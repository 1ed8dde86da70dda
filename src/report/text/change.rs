//! Changes: in short below a finding, in full in a plan.

use crate::plan::{Change, Combined, Consent, Operation, command_line};
use crate::report::style::{self, wrap};
use std::fmt::Write;

/// The words of a change in one line.
pub fn words(change: &Change) -> String {
    let mut parts = Vec::new();
    if !change.add.is_empty() {
        parts.push(format!("add {}", change.add.join(" ")));
    }
    if !change.remove.is_empty() {
        parts.push(format!("remove {}", change.remove.join(" ")));
    }
    if parts.is_empty() { change.name.clone() } else { parts.join(", ") }
}

/// One change below a finding.
pub fn short(change: &Change) -> String {
    let mut out = String::new();
    let bold = style::bold();
    let _ = writeln!(out, "     {bold}{} step {}: {}{bold:#}", change.id, change.ladder, words(change));
    let _ = writeln!(out, "{}", wrap("", 8, &change.explain));
    for step in &change.steps {
        let _ = writeln!(out, "{}", wrap("        -", 10, step));
    }
    if !change.loses.is_empty() {
        let _ = writeln!(out, "{}", wrap("        Costs:", 15, &change.loses.join("; ")));
    }
    conditions(&mut out, change);
    out
}

fn conditions(out: &mut String, change: &Change) {
    if change.pending {
        let _ = writeln!(out, "        Configured already; takes effect at the next reboot.");
    }
    if let Some(condition) = &change.conditional {
        let _ = writeln!(out, "{}", wrap("        Only if:", 17, condition));
    }
    if change.consent == Consent::Required {
        let asks: Vec<String> = change.consents.iter().map(|r| format!("--accept-risk {r}")).collect();
        let _ = writeln!(out, "{}", wrap("        Needs consent:", 23, &asks.join(" ")));
    }
    for block in &change.blocked_by {
        let _ = writeln!(out, "{}", wrap("        Blocked:", 17, block));
    }
}

/// One change in full.
pub fn full(change: &Change) -> String {
    let mut out = String::new();
    let bold = style::bold();
    let kind = serde_json::to_value(change.kind).ok();
    let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let _ = writeln!(out, "{bold}{}: {}{bold:#}", change.id, words(change));
    let _ = writeln!(
        out,
        "{}",
        wrap(
            "",
            3,
            &format!("{} ({kind}, step {} for {})", change.name, change.ladder, change.rules.join(", "))
        )
    );
    let _ = writeln!(out, "{}", wrap("", 3, &change.explain));
    for step in &change.steps {
        let _ = writeln!(out, "{}", wrap("   -", 5, step));
    }
    conditions(&mut out, change);
    if !change.loses.is_empty() {
        let _ = writeln!(out, "{}", wrap("   Lost:", 9, &change.loses.join("; ")));
    }
    for edit in &change.edits {
        let _ = writeln!(out, "{}", edit.diff.trim_end());
    }
    for command in &change.commands {
        let _ = writeln!(out, "   then run: {command}");
    }
    if let Some(line) = &change.effective_cmdline {
        let _ = writeln!(out, "{}", wrap("   Next boot:", 14, line));
    }
    if !change.expect.is_empty() {
        let _ = writeln!(out, "{}", wrap("   Then true:", 14, &change.expect.join("; ")));
    }
    if !change.revert.is_empty() {
        let _ = writeln!(out, "{}", wrap("   Way back:", 13, &change.revert.join("; ")));
    }
    out
}

/// What one run would do, all chosen changes together.
pub fn combined(combined: &Combined) -> String {
    let mut out = String::new();
    for edit in &combined.edits {
        let _ = writeln!(out, "{}", edit.diff.trim_end());
    }
    for operation in &combined.operations {
        if let Operation::Run { argv, .. } = operation {
            let _ = writeln!(out, "   then run: {}", command_line(argv));
        }
    }
    if let Some(line) = &combined.effective_cmdline {
        let _ = writeln!(out, "{}", wrap("   Next boot:", 14, line));
    }
    out
}
