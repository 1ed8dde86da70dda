//! The table of pairs: the verdict ladder, one row per pair.

use crate::pairs::{Outcome, Pair, RUNGS, Rung};
use crate::plan::Audit;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use std::fmt::Write;

/// Pairs shown; a host with sixteen GPUs has 120.
const LIMIT: usize = 28;

/// The table and the reasons of the first rungs that do not pass; empty without pairs.
pub fn table(audit: &Audit) -> String {
    if audit.pairs.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec!["Pair".to_owned(), "Route".to_owned()];
    header.extend(RUNGS.iter().map(|r| (*r).to_owned()));
    table.set_header(header);
    for pair in audit.pairs.iter().take(LIMIT) {
        let mut row = vec![format!("{} {}", short(&pair.a), short(&pair.b)), pair.route.clone()];
        row.extend(pair.rungs.iter().map(cell));
        table.add_row(row);
    }
    let mut out = String::from("Pairs (first direction / second direction):\n");
    for line in table.lines() {
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    if audit.pairs.len() > LIMIT {
        let _ = writeln!(out, "  and {} more pairs (--format json)", audit.pairs.len() - LIMIT);
    }
    for (why, pairs) in reasons(&audit.pairs) {
        let _ = writeln!(out, "  {why}: {pairs}");
    }
    out.push('\n');
    out
}

/// `0000:02:00.0` is `02:00.0`.
fn short(bdf: &str) -> &str {
    bdf.strip_prefix("0000:").unwrap_or(bdf)
}

fn cell(rung: &Rung) -> String {
    let word = |outcome| match outcome {
        Outcome::Pass => "ok",
        Outcome::Fail => "FAIL",
        Outcome::Unknown => "?",
        Outcome::NotApplicable => "-",
    };
    if rung.a_to_b == rung.b_to_a {
        word(rung.a_to_b).to_owned()
    } else {
        format!("{}/{}", word(rung.a_to_b), word(rung.b_to_a))
    }
}

/// The first failing rung of each pair, equal reasons together.
fn reasons(pairs: &[Pair]) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pair in pairs {
        let failing = pair.rungs.iter().find(|r| r.a_to_b == Outcome::Fail || r.b_to_a == Outcome::Fail);
        let Some(rung) = failing else { continue };
        let why = format!("{} fails, {}", rung.rung, rung.why);
        let name = format!("{}-{}", short(&pair.a), short(&pair.b));
        match found.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => found.push((why, vec![name])),
        }
    }
    found.into_iter().map(|(why, names)| (why, names.join(" "))).collect()
}
