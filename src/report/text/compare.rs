//! The verdict on two records, for people.

use crate::bench::record::Outcome;
use crate::report::style::wrap;
use crate::verdict::Verdict;
use crate::verdict::document::{ArmVerdict, Call, Cause, Change, Overall, Side, Source};
use crate::verdict::outcome;
use crate::verdict::overall::{name, short};
use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use std::fmt::Write;

/// The answer, the table, what was judged with, what differs. Arms that are the same beyond the first forty
/// are left out unless `verbose`.
pub fn verdict(verdict: &Verdict, verbose: bool) -> String {
    let style = colour(verdict.verdict).bold();
    let line = clean(&wrap("", 0, &format!("{}: {}.", word(verdict.verdict), verdict.reason)));
    format!("{style}{line}{style:#}\n\n{}", clean(&body(verdict, verbose)))
}

fn body(verdict: &Verdict, verbose: bool) -> String {
    let mut out = String::new();
    if verdict.possible_but_slower {
        let advice = "Possible but slower: where staging wins, tell the application to stage \
                      (NCCL_P2P_DISABLE=1, GGML_CUDA_NO_PEER_COPY); no boot option helps.";
        let _ = writeln!(out, "{}\n", wrap("", 0, advice));
    }
    for field in &verdict.incomparable {
        let _ = writeln!(out, "{}: {} -> {}", field.field, shown(&field.before), shown(&field.after));
        let _ = writeln!(out, "{}", wrap("", 2, &field.why));
    }
    table(&mut out, &verdict.arms, verbose);
    if !verdict.differs.is_empty() {
        let _ = writeln!(out, "What else differs:");
        for field in &verdict.differs {
            let _ = writeln!(out, "  {}: {} -> {}", field.field, shown(&field.before), shown(&field.after));
        }
        out.push('\n');
    }
    if verdict.incomparable.is_empty() {
        let _ = writeln!(out, "{}", wrap("", 0, &measure(verdict)));
    }
    let source = |s: &Source| format!("{} ({})", s.id, s.started);
    let _ = writeln!(out, "before {}, after {}", source(&verdict.before), source(&verdict.after));
    out
}

/// A record may come from anywhere: what would steer a terminal is left out.
fn clean(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// What the speeds were judged with.
pub fn measure(verdict: &Verdict) -> String {
    let m = &verdict.measure;
    format!(
        "Judged {} speeds against {} % (latencies: or {} us, if that is more: a smaller change of a time is not \
         judged, however large its share) or the noise floor, {:.1} % for throughput and {:.1} % for latencies, if that is larger. The intervals hold together: with nothing \
         changed, the chance that any speed is called better or worse is below {} %.",
        m.judged,
        m.threshold_percent,
        m.threshold_us,
        m.floor_bulk_percent,
        m.floor_latency_percent,
        m.family_error * 100.0
    )
}

/// Rows of arms that do not differ are cut after this many.
const LIMIT: usize = 40;

fn table(out: &mut String, arms: &[ArmVerdict], verbose: bool) {
    if arms.is_empty() {
        return;
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["Pair", "Arm", "Before", "After", "Change", "Interval", "Verdict"]);
    let (mut same, mut hidden) = (0, 0);
    for arm in arms {
        if arm.verdict == Call::Same {
            same += 1;
            if same > LIMIT && !verbose {
                hidden += 1;
                continue;
            }
        }
        table.add_row(row(arm));
    }
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if hidden > 0 {
        let _ = writeln!(out, "and {hidden} more arms that are the same (-v)");
    }
    out.push('\n');
    let explained: Vec<&ArmVerdict> = arms.iter().filter(|arm| is_explained(arm)).collect();
    for arm in &explained {
        let _ = writeln!(out, "{}", wrap("", 2, &format!("{}: {}", name(arm), arm.why)));
    }
    if !explained.is_empty() {
        out.push('\n');
    }
}

/// What is the same needs a word only where a change was seen and is too small to judge.
fn is_explained(arm: &ArmVerdict) -> bool {
    !arm.why.is_empty() && (arm.verdict != Call::Same || arm.cause == Cause::Speed)
}

/// The cells of one arm: pair, arm, before, after, change, interval, verdict.
pub fn row(arm: &ArmVerdict) -> [String; 7] {
    let pair = match (&arm.from, &arm.to) {
        (Some(from), Some(to)) => format!("{} > {}", short(from), short(to)),
        _ => "all".to_owned(),
    };
    let before = match &arm.replaces {
        Some(replaced) => format!("{} ({replaced})", side(arm.before.as_ref(), &arm.unit)),
        None => side(arm.before.as_ref(), &arm.unit),
    };
    let (change, interval) = arm.change.as_ref().map_or_else(Default::default, cells);
    [
        pair,
        arm.arm.clone(),
        before,
        side(arm.after.as_ref(), &arm.unit),
        change,
        interval,
        call(arm.verdict).to_owned(),
    ]
}

fn cells(change: &Change) -> (String, String) {
    let [low, high] = change.interval;
    (format!("{:+.1} %", change.percent), format!("{low:+.1} .. {high:+.1} %"))
}

fn side(side: Option<&Side>, unit: &str) -> String {
    let Some(side) = side else { return "-".to_owned() };
    let wrong = side.outcome != Outcome::Measured;
    match side.median {
        _ if wrong => outcome::word(side.outcome).to_owned(),
        Some(median) => format!("{} {unit}", digits(median)),
        None => "no samples".to_owned(),
    }
}

/// Four significant digits.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

fn shown(value: &str) -> String {
    if value.is_empty() { "(none)".to_owned() } else { value.to_owned() }
}

/// The overall verdict as people read it.
pub fn word(overall: Overall) -> &'static str {
    match overall {
        Overall::Incomparable => "Incomparable",
        Overall::Corrupt => "Corrupt",
        Overall::Hang => "Hang",
        Overall::Worse => "Worse",
        Overall::Inconclusive => "Inconclusive",
        Overall::Better => "Better",
        Overall::Same => "Same",
    }
}

/// The verdict of an arm as people read it.
pub fn call(call: Call) -> &'static str {
    match call {
        Call::Corrupt => "CORRUPT",
        Call::Worse => "WORSE",
        Call::Inconclusive => "inconclusive",
        Call::OnlyBefore => "only before",
        Call::Better => "better",
        Call::Same => "same",
        Call::OnlyAfter => "only after",
    }
}

fn colour(overall: Overall) -> Style {
    let colour = match overall {
        Overall::Corrupt | Overall::Hang | Overall::Worse => AnsiColor::Red,
        Overall::Incomparable | Overall::Inconclusive => AnsiColor::Yellow,
        Overall::Better | Overall::Same => AnsiColor::Green,
    };
    colour.on_default()
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn four_digits() {
        assert_eq!([2093.6, 394.07, 55.3, 2.2].map(digits), ["2094", "394.1", "55.30", "2.200"]);
    }
}
