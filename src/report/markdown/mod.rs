//! Markdown: an audit or a plan that can be pasted into an issue thread; the catalogue of rules.

pub mod rules;

use crate::pairs::Outcome;
use crate::plan::{Audit, Change, Consent, Policy};
use crate::report::next::Outlook;
use crate::report::text::change::words;
use crate::rules::{Finding, Status};
use std::fmt::Write;

/// The whole audit.
pub fn audit(audit: &Audit) -> String {
    let mut out = String::new();
    let outlook = Outlook::of(audit, &Policy::default());
    let _ = writeln!(out, "# peerfix audit\n\n**{}** {}\n", outlook.verdict(), outlook.cost());
    let kernel = audit.host.kernel.release.value().map_or("not known", String::as_str);
    let _ = writeln!(out, "- kernel: {}", code(kernel));
    if let Some(line) = audit.host.kernel.cmdline.value() {
        let _ = writeln!(out, "- command line: {}", code(&public(&line.words)));
    }
    for gpu in &audit.host.gpus {
        let name = gpu.label();
        let driver = gpu.driver.value().map_or("no driver known", String::as_str);
        let _ = writeln!(out, "- {} {} {name} ({driver})", code(&gpu.bdf), gpu.vendor);
    }
    for status in [Status::Fail, Status::Warn, Status::Unknown] {
        for finding in audit.with_status(status) {
            one(&mut out, audit, finding);
        }
    }
    pairs(&mut out, audit);
    out
}

/// The changes.
pub fn plan(audit: &Audit, policy: &Policy) -> String {
    let mut out = String::new();
    let outlook = Outlook::of(audit, policy);
    let _ = writeln!(out, "# peerfix plan\n\n**{}** {}\n", outlook.verdict(), outlook.cost());
    for change in &audit.changes {
        one_change(&mut out, change);
        for edit in &change.edits {
            fenced(&mut out, "diff", &edit.diff);
        }
        for command in &change.commands {
            let _ = writeln!(out, "  - then run {}", code(command));
        }
    }
    out
}

fn one(out: &mut String, audit: &Audit, finding: &Finding) {
    let status = serde_json::to_value(finding.status).ok();
    let status = status.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let _ = writeln!(out, "\n## {status}: {}\n\n{}\n", code(&finding.rule), text(&finding.summary));
    if !finding.subjects.is_empty() {
        let subjects: Vec<String> = finding.subjects.iter().map(|s| code(s)).collect();
        let _ = writeln!(out, "Subjects: {}\n", subjects.join(", "));
    }
    let lines: Vec<String> = finding
        .evidence
        .iter()
        .map(|e| {
            let at = e.line.map_or(String::new(), |n| format!(":{n}"));
            format!("{}{at}: {}", e.source, e.text)
        })
        .collect();
    if !lines.is_empty() {
        fenced(out, "text", &lines.join("\n"));
    }
    for change in audit.changes_of(finding) {
        one_change(out, change);
    }
    let _ = writeln!(out, "\nRefuted by: {}", text(&finding.refuted_by));
}

fn one_change(out: &mut String, change: &Change) {
    let consent = if change.consent == Consent::Required { ", needs consent" } else { "" };
    let _ = writeln!(
        out,
        "- **{}**, step {}{consent}: {}. {}",
        change.id,
        change.ladder,
        code(&words(change)),
        text(&change.explain)
    );
    for step in &change.steps {
        let _ = writeln!(out, "  - {}", text(step));
    }
    for loss in &change.loses {
        let _ = writeln!(out, "  - lost: {}", text(loss));
    }
    for block in &change.blocked_by {
        let _ = writeln!(out, "  - blocked: {}", text(block));
    }
}

fn pairs(out: &mut String, audit: &Audit) {
    let Some(first) = audit.pairs.first() else { return };
    let names: Vec<&str> = first.rungs.iter().map(|r| r.rung.as_str()).collect();
    let _ = writeln!(out, "\n## Pairs\n\n| a | b | route | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|---|---|{}", "---|".repeat(names.len()));
    for pair in &audit.pairs {
        let cells: Vec<String> =
            pair.rungs.iter().map(|r| format!("{} / {}", word(r.a_to_b), word(r.b_to_a))).collect();
        let _ = writeln!(out, "| {} | {} | {} | {} |", pair.a, pair.b, pair.route, cells.join(" | "));
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Unknown => "unknown",
        Outcome::NotApplicable => "n/a",
    }
}

/// Words without what names the machine's disks.
fn public(words: &[String]) -> String {
    let private =
        ["root", "resume", "rd.luks.uuid", "rd.luks.name", "cryptdevice", "ip", "nfsroot", "rd.lvm.lv"];
    let shown: Vec<String> = words
        .iter()
        .map(|word| match word.split_once('=') {
            Some((key, _)) if private.contains(&key) => format!("{key}=..."),
            _ => word.clone(),
        })
        .collect();
    shown.join(" ")
}

/// A code span that survives backticks inside.
fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Text that Markdown would take for markup is escaped.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '_' | '<' | '>' | '[' | ']' | '|' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A fenced block whose fence is longer than any run of backticks inside.
fn fenced(out: &mut String, language: &str, body: &str) {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(out, "{fence}{language}\n{}\n{fence}\n", body.trim_end());
}
