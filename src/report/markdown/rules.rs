//! The catalogue in Markdown: `doc/rules.md`, and `peerfix rules list|explain --format markdown`.

use super::{code, text};
use crate::rules::Catalogue;
use crate::rules::model::{Kind, Remedy, Rule, Severity};
use std::fmt::Write;

/// The whole catalogue: a table, then each rule.
pub fn catalogue(catalogue: &Catalogue) -> String {
    let rules = || catalogue.rules().iter().map(|r| &r.rule);
    let mut out = String::from("# Rules\n\n| rule | severity | finding |\n|---|---|---|\n");
    for rule in rules() {
        let anchor: String = rule.id.chars().filter(|c| *c != '/').collect();
        let _ = writeln!(
            out,
            "| [{}](#{anchor}) | {} | {} |",
            rule.id,
            severity(rule.severity),
            text(&rule.title)
        );
    }
    for rule in rules() {
        out.push('\n');
        out.push_str(&explain(rule));
    }
    out
}

/// One rule: what it finds, why it matters, how to check it by hand, its ladder of remedies, its sources.
pub fn explain(rule: &Rule) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "## {}\n", rule.id);
    let _ = writeln!(out, "**{}** ({})\n", text(&rule.title), severity(rule.severity));
    let _ = writeln!(out, "{}\n", text(&flow(&rule.rationale)));
    let _ = writeln!(out, "- Check by hand: {}", text(&flow(&rule.by_hand)));
    let _ = writeln!(out, "- Refuted by: {}", text(&flow(&rule.refuted_by)));
    let _ = writeln!(out, "- Judged when: {}", code(&flow(&rule.applies)));
    let sources: Vec<String> = rule.sources.iter().map(|s| text(s)).collect();
    let _ = writeln!(out, "- Sources: {}", sources.join("; "));
    if !rule.remedy.is_empty() {
        let _ = writeln!(out, "\nRemedies, in this order:\n");
        for (rung, remedy) in (1..).zip(&rule.remedy) {
            one_remedy(&mut out, rung, remedy);
        }
    }
    out
}

fn one_remedy(out: &mut String, rung: usize, remedy: &Remedy) {
    let _ = writeln!(
        out,
        "{rung}. {} ({}): {}",
        code(&remedy.name),
        kind(remedy.kind),
        text(&flow(&remedy.explain))
    );
    let words = |words: &[String]| words.iter().map(|w| code(w)).collect::<Vec<_>>().join(", ");
    if !remedy.add.is_empty() {
        let _ = writeln!(out, "   - adds {}", words(&remedy.add));
    }
    if !remedy.remove.is_empty() {
        let _ = writeln!(out, "   - removes {}, where they stand", words(&remedy.remove));
    }
    for loss in &remedy.loses {
        let _ = writeln!(out, "   - loses: {}", text(loss));
    }
    for risk in &remedy.risk {
        let consent = if risk.consent { ", needs consent" } else { "" };
        let when = risk.condition.as_ref().map_or(String::new(), |c| format!(", when {}", code(&flow(c))));
        let _ = writeln!(out, "   - risk {}{consent}{when}", code(&risk.name));
    }
    for block in &remedy.blocked {
        let _ = writeln!(out, "   - blocked when {}", code(&flow(&block.condition)));
    }
    if let Some(first) = &remedy.conditional {
        let _ = writeln!(out, "   - only after: {}", text(&flow(first)));
    }
    for step in &remedy.steps {
        let _ = writeln!(out, "   - by hand: {}", text(&flow(step)));
    }
}

/// Lines of a rule file as one paragraph.
fn flow(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::KernelCmdline => "kernel command line",
        Kind::Modprobe => "module option",
        Kind::KernelPatch => "kernel patch",
        Kind::Runtime => "running kernel",
        Kind::Firmware => "firmware setting",
        Kind::Hardware => "hardware",
    }
}
