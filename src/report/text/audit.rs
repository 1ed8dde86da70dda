//! An audit as a letter: what is wrong, on which device, how we know, what to do, what it costs.

use crate::plan::{Audit, Policy};
use crate::report::next::Outlook;
use crate::report::style::{self, wrap};
use crate::report::text::{change, pairs};
use crate::rules::{Finding, Status};
use std::fmt::Write;

/// Lines of evidence shown per finding without `-v`.
const EVIDENCE: usize = 6;

/// The whole letter. `place` names the host, `target` is the option for the next command.
pub fn letter(audit: &Audit, place: &str, target: &str, verbose: bool) -> String {
    let mut out = String::new();
    let outlook = Outlook::of(audit, &Policy::default());
    head(&mut out, audit, place, &outlook);
    let _ = writeln!(out, "{}\n", wrap("Next:", 6, &outlook.next(target)));
    let mut shown = Vec::new();
    for (number, finding) in worth_telling(audit).enumerate() {
        tell(&mut out, audit, number + 1, finding, verbose, &mut shown);
    }
    unknown(&mut out, audit, verbose);
    out.push_str(&pairs::table(audit));
    quiet(&mut out, audit, verbose);
    let _ = writeln!(out, "{}", wrap("Next:", 6, &outlook.next(target)));
    out
}

/// Ten lines: the verdict, the worst findings, the next command.
pub fn summary(audit: &Audit, place: &str, target: &str) -> String {
    let mut out = String::new();
    let outlook = Outlook::of(audit, &Policy::default());
    head(&mut out, audit, place, &outlook);
    let total = worth_telling(audit).count();
    for finding in worth_telling(audit).take(5) {
        let word = style::word(finding.status);
        let paint = style::status(finding.status);
        let text: String = finding.summary.chars().take(style::WIDTH - 34).collect();
        let _ = writeln!(out, "{paint}{word:5}{paint:#} {:28} {text}", finding.rule);
    }
    if total > 5 {
        let _ = writeln!(out, "      and {} more", total - 5);
    }
    let _ = writeln!(out, "Next: peerfix audit{target}");
    out
}

fn worth_telling(audit: &Audit) -> impl Iterator<Item = &Finding> {
    audit.with_status(Status::Fail).chain(audit.with_status(Status::Warn))
}

fn head(out: &mut String, audit: &Audit, place: &str, outlook: &Outlook) {
    let bold = style::bold();
    let gpus = audit.host.gpus.iter().filter(|g| g.compute).count();
    let _ = writeln!(out, "{bold}{}{bold:#}", outlook.verdict());
    let _ = writeln!(out, "{}", wrap("", 0, &outlook.cost()));
    let kernel = audit.host.kernel.release.value().map_or("kernel not known", String::as_str);
    let _ =
        writeln!(out, "{}", wrap("Host:", 6, &format!("{place}, {kernel}, {gpus} GPUs in peer transfers")));
    for gpu in audit.host.gpus.iter().filter(|g| g.compute).take(4) {
        let name = gpu.label();
        let driver = gpu.driver.value().map_or("no driver known", String::as_str);
        let _ = writeln!(out, "      {} {} {name} ({driver})", gpu.bdf, gpu.vendor);
    }
    if gpus > 4 {
        let _ = writeln!(out, "      and {} more", gpus - 4);
    }
}

fn tell(
    out: &mut String,
    audit: &Audit,
    number: usize,
    finding: &Finding,
    verbose: bool,
    shown: &mut Vec<String>,
) {
    let paint = style::status(finding.status);
    let severity = format!("{:?}", finding.severity).to_lowercase();
    let _ = writeln!(
        out,
        "{number}. {paint}{}{paint:#} {} ({severity}) {}",
        style::word(finding.status),
        finding.rule,
        finding.subjects.join(", ")
    );
    let _ = writeln!(out, "{}", wrap("", 3, &finding.summary));
    evidence(out, finding, verbose);
    let changes: Vec<_> = audit.changes_of(finding).collect();
    if !changes.is_empty() {
        let _ = writeln!(out, "   What to do:");
    }
    for change in changes {
        if shown.contains(&change.id) {
            let _ = writeln!(out, "     {}: see above", change.id);
        } else {
            out.push_str(&change::short(change));
            shown.push(change.id.clone());
        }
    }
    if verbose {
        let _ = writeln!(out, "{}", wrap("   Refuted by:", 15, &finding.refuted_by));
    }
    out.push('\n');
}

fn evidence(out: &mut String, finding: &Finding, verbose: bool) {
    if finding.evidence.is_empty() {
        return;
    }
    let limit = if verbose { usize::MAX } else { EVIDENCE };
    let dim = style::dim();
    let _ = writeln!(out, "   How we know:");
    for line in finding.evidence.iter().take(limit) {
        let at = line.line.map_or(String::new(), |n| format!(":{n}"));
        let _ = writeln!(out, "     {dim}{}{at}{dim:#}  {}", line.source, line.text);
    }
    if finding.evidence.len() > limit {
        let _ = writeln!(out, "     and {} more lines (-v)", finding.evidence.len() - limit);
    }
}

fn unknown(out: &mut String, audit: &Audit, verbose: bool) {
    let findings: Vec<&Finding> = audit.with_status(Status::Unknown).collect();
    if findings.is_empty() {
        return;
    }
    let paint = style::status(Status::Unknown);
    let _ = writeln!(out, "{paint}Not judged{paint:#}: a fact is missing; this is no pass.");
    for finding in findings {
        let _ = writeln!(out, "{}", wrap(&format!("   {}:", finding.rule), 5, &finding.summary));
        let limit = if verbose { usize::MAX } else { 3 };
        for line in finding.evidence.iter().take(limit) {
            let _ = writeln!(out, "     {}  {}", line.source, line.text);
        }
        if finding.evidence.len() > limit {
            let _ = writeln!(out, "     and {} more (-v)", finding.evidence.len() - limit);
        }
    }
    out.push('\n');
}

fn quiet(out: &mut String, audit: &Audit, verbose: bool) {
    for status in [Status::Pass, Status::NotApplicable] {
        let rules: Vec<&Finding> = audit.with_status(status).collect();
        if rules.is_empty() {
            continue;
        }
        let title = if status == Status::Pass { "Judged and right" } else { "Does not apply here" };
        if verbose {
            let _ = writeln!(out, "{title}:");
            for finding in rules {
                let _ = writeln!(out, "{}", wrap(&format!("   {}:", finding.rule), 5, &finding.summary));
            }
        } else {
            let names: Vec<&str> = rules.iter().map(|f| f.rule.as_str()).collect();
            let _ = writeln!(out, "{}", wrap(&format!("{title}:"), 3, &names.join(", ")));
        }
    }
}
