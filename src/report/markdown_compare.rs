//! The verdict on two records as Markdown.

use crate::report::text::compare::{measure, row, word};
use crate::verdict::Verdict;
use crate::verdict::document::Difference;
use std::fmt::Write;

/// The whole verdict.
pub fn verdict(verdict: &Verdict) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# peerfix compare\n\n**{}**: {}.\n", word(verdict.verdict), text(&verdict.reason));
    fields(&mut out, "Fields that forbid a comparison", &verdict.incomparable);
    if !verdict.arms.is_empty() {
        let _ = writeln!(out, "| pair | arm | before | after | change | interval | verdict | why |");
        let _ = writeln!(out, "|---|---|---|---|---|---|---|---|");
        for arm in &verdict.arms {
            let cells: Vec<String> = row(arm).iter().map(|cell| text(cell)).collect();
            let _ = writeln!(out, "| {} | {} |", cells.join(" | "), text(&arm.why));
        }
        let _ = writeln!(out, "\n{}\n", measure(verdict));
    }
    fields(&mut out, "What else differs", &verdict.differs);
    let _ = writeln!(out, "Before {}, after {}.", text(&verdict.before.id), text(&verdict.after.id));
    out
}

fn fields(out: &mut String, title: &str, fields: &[Difference]) {
    if fields.is_empty() {
        return;
    }
    let _ = writeln!(out, "{title}:\n\n| field | before | after | why |\n|---|---|---|---|");
    for f in fields {
        let cells = [&f.field, &f.before, &f.after, &f.why].map(|cell| text(cell));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

/// Text that Markdown would take for markup is escaped; one line.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '_' | '<' | '>' | '[' | ']' | '|' | '`' | '\\') {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}
