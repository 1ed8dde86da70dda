//! The catalogue for readers.

use crate::report::style::{self, wrap};
use crate::rules::Catalogue;
use crate::rules::model::{Remedy, Rule};
use std::fmt::Write;

/// One line per rule.
pub fn list(catalogue: &Catalogue) -> String {
    let mut out = String::new();
    let bold = style::bold();
    for rule in catalogue.rules() {
        let rule = &rule.rule;
        let severity = format!("{:?}", rule.severity).to_lowercase();
        let _ = writeln!(out, "{bold}{:32}{bold:#} {severity:9} {}", rule.id, rule.title);
    }
    out
}

/// One rule in full.
pub fn explain(rule: &Rule) -> String {
    let mut out = String::new();
    let bold = style::bold();
    let severity = format!("{:?}", rule.severity).to_lowercase();
    let _ = writeln!(out, "{bold}{}{bold:#}: {} ({severity})\n", rule.id, rule.title);
    let _ = writeln!(out, "{}\n", wrap("", 0, &rule.rationale.replace('\n', " ")));
    let _ = writeln!(out, "{}", wrap("Check by hand:", 3, &rule.by_hand));
    let _ = writeln!(out, "{}", wrap("Refuted by:", 3, &rule.refuted_by));
    let _ = writeln!(
        out,
        "{}",
        wrap("Judged when:", 3, &rule.applies.split_whitespace().collect::<Vec<_>>().join(" "))
    );
    if !rule.remedy.is_empty() {
        let _ = writeln!(out, "Remedies, in this order:");
        for remedy in &rule.remedy {
            out.push_str(&one_remedy(remedy));
        }
    }
    let _ = writeln!(out, "Sources:");
    for source in &rule.sources {
        let _ = writeln!(out, "   {source}");
    }
    out
}

fn one_remedy(remedy: &Remedy) -> String {
    let mut out = String::new();
    let mut words = Vec::new();
    if !remedy.add.is_empty() {
        words.push(format!("add {}", remedy.add.join(" ")));
    }
    if !remedy.remove.is_empty() {
        words.push(format!("remove {}", remedy.remove.join(" ")));
    }
    let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
    let _ = writeln!(out, "{}", wrap("   -", 5, &format!("{}{words}: {}", remedy.name, remedy.explain)));
    let consent: Vec<&str> = remedy.risk.iter().filter(|r| r.consent).map(|r| r.name.as_str()).collect();
    if !consent.is_empty() {
        let _ = writeln!(out, "     may need consent: {}", consent.join(", "));
    }
    out
}
