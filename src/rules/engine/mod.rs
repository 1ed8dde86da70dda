//! Judges rules: the hardware condition first, then the checks in order; per item the first that fires.

mod evidence;
mod offer;

use super::catalogue::{Catalogue, CompiledCheck, CompiledRule};
use super::expr::{Cause, Env, Expr, Item, Items, Place, Value, Verdict, WhyOpen};
use super::{Facts, Finding, Severity, Status};
use crate::host::{Projected, project};
use evidence::Lines;
use std::collections::HashSet;

/// Facts quoted under a finding that passes, at most.
const QUIET: usize = 24;

/// Judges every rule of the catalogue, in its order. Each rule gives at least one finding.
pub fn evaluate(catalogue: &Catalogue, facts: &Facts<'_>) -> Vec<Finding> {
    evaluate_projected(catalogue, &project(facts))
}

/// Like [`evaluate`], over plain values.
pub fn evaluate_projected(catalogue: &Catalogue, facts: &Projected) -> Vec<Finding> {
    catalogue.rules().iter().flat_map(|rule| judge(rule, facts)).collect()
}

/// The worst status among findings: fail, warn, unknown, pass, not-applicable.
pub fn worst<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Option<Status> {
    findings.into_iter().map(|f| f.status).max()
}

/// Judges one rule.
pub fn judge(rule: &CompiledRule, facts: &Projected) -> Vec<Finding> {
    let env = Env::new(facts);
    let applies = rule.applies.eval(&env);
    match applies.verdict {
        Verdict::Undetermined(causes) => vec![undecided(rule, &env, Vec::new(), &causes)],
        Verdict::Value(value) if value.as_bool() == Some(true) => checks(rule, &env),
        Verdict::Value(_) => {
            let mut lines = Lines::default();
            lines.facts(&env, &applies.reads);
            let summary = rule.not_applicable.fill(&env);
            vec![finding(rule, Status::NotApplicable, rule.rule.severity, Vec::new(), summary, lines)]
        }
    }
}

/// An item that some check could not decide.
struct Open {
    key: String,
    subjects: Vec<String>,
    causes: Vec<Cause>,
}

/// An item that a check fired on.
struct Match<'a> {
    value: Option<Value<'a>>,
    subjects: Vec<String>,
    reads: Vec<Place>,
}

fn checks(rule: &CompiledRule, env: &Env<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut decided: HashSet<String> = HashSet::new();
    let mut open: Vec<Open> = Vec::new();
    let mut quiet = Vec::new();
    for check in &rule.checks {
        let (items, general) = match &check.each {
            None => (vec![None], Vec::new()),
            Some(each) => match each.list.items(env) {
                Ok(Items { items, reads }) => (items.into_iter().map(Some).collect(), reads),
                Err(causes) => {
                    open.push(Open { key: String::new(), subjects: Vec::new(), causes });
                    continue;
                }
            },
        };
        let mut matches: Vec<Match<'_>> = Vec::new();
        for item in items {
            let key = key(check, item.as_ref());
            if decided.contains(&key) {
                continue;
            }
            let (value, mut reads, causes) = match item {
                Some(Item { value, reads, open }) => (Some(value), reads, open),
                None => (None, Vec::new(), Vec::new()),
            };
            let inner = bind(check, env, value.as_ref());
            let verdict = if causes.is_empty() {
                let outcome = check.condition.eval(&inner);
                reads.extend(outcome.reads);
                outcome.verdict
            } else {
                Verdict::Undetermined(causes)
            };
            match verdict {
                Verdict::Undetermined(causes) => {
                    let subjects = subjects(check, &inner, value.as_ref());
                    open.push(Open { key, subjects, causes });
                }
                Verdict::Value(fires) if fires.as_bool() == Some(true) => {
                    let subjects = subjects(check, &inner, value.as_ref());
                    matches.push(Match { value, subjects, reads });
                    decided.insert(key);
                }
                // A pass needs examples of what was looked at, not all of it.
                Verdict::Value(_) => quiet.extend(reads.into_iter().take(QUIET.saturating_sub(quiet.len()))),
            }
        }
        if !matches.is_empty() {
            findings.push(fired(rule, check, env, &matches, &general));
        }
    }
    open.retain(|o| o.key.is_empty() || !decided.contains(&o.key));
    if !open.is_empty() {
        let subjects = open.iter().flat_map(|o| o.subjects.iter().cloned()).collect();
        let causes: Vec<Cause> = open.iter().flat_map(|o| o.causes.iter().cloned()).collect();
        findings.push(undecided(rule, env, subjects, &causes));
    }
    if findings.is_empty() {
        let mut lines = Lines::default();
        lines.facts(env, &quiet);
        findings.push(finding(
            rule,
            Status::Pass,
            rule.rule.severity,
            Vec::new(),
            rule.pass.fill(env),
            lines,
        ));
    }
    findings
}

/// What tells one item from another across checks. A check without a list has one item of its own.
fn key(check: &CompiledCheck, item: Option<&Item<'_>>) -> String {
    match (item, &check.each) {
        (Some(item), Some(_)) => {
            item.value.place().map_or_else(|| format!("={}", item.value.words()), Place::pointer)
        }
        _ => "once".to_owned(),
    }
}

fn bind<'a>(check: &'a CompiledCheck, env: &Env<'a>, item: Option<&Value<'a>>) -> Env<'a> {
    match (&check.each, item) {
        (Some(each), Some(value)) => env.bind(&each.name, value.clone()),
        _ => env.clone(),
    }
}

/// Subjects of one item; where they are not known, the place of the item.
fn subjects<'a>(check: &'a CompiledCheck, env: &Env<'a>, item: Option<&Value<'a>>) -> Vec<String> {
    let Some(expr) = &check.subject else { return Vec::new() };
    match expr.eval(env).verdict {
        Verdict::Value(value) if value.is_null() => {}
        Verdict::Value(value) => {
            return match value.elements() {
                Some(all) => all.iter().map(Value::words).collect(),
                None => vec![value.words()],
            };
        }
        Verdict::Undetermined(_) => {}
    }
    item.and_then(Value::place).map(Place::path).into_iter().collect()
}

fn fired<'a>(
    rule: &'a CompiledRule,
    check: &'a CompiledCheck,
    env: &Env<'a>,
    matches: &[Match<'a>],
    general: &[Place],
) -> Finding {
    let all = distinct(matches.iter().flat_map(|m| m.subjects.iter().cloned()));
    let mut lines = Lines::default();
    for matched in matches {
        let inner = bind(check, env, matched.value.as_ref());
        lines.quote(&inner, &check.evidence);
        lines.facts(env, &matched.reads);
        if let Some(detail) = &check.detail {
            lines.derived(detail.fill(&inner));
        }
    }
    lines.facts(env, general);
    let items = matches.iter().filter_map(|m| m.value.clone()).collect();
    let outer = env
        .bind("subjects", Value::list(all.iter().map(|s| Value::text(s.clone())).collect()))
        .bind("items", Value::list(items));
    let summary = check.summary.fill(&outer);
    let remedies = offer::offers(check, &outer, &mut lines);
    let mut finding = finding(rule, check.status, check.severity, all, summary, lines);
    finding.remedies = remedies;
    finding
}

/// A finding about facts that are missing.
fn undecided(rule: &CompiledRule, env: &Env<'_>, subjects: Vec<String>, causes: &[Cause]) -> Finding {
    let mut lines = Lines::default();
    for cause in causes {
        lines.reason(env, cause);
    }
    let reasons = lines.finish();
    let first = reasons.first().map(|e| format!("{}: {}", e.source, e.text)).unwrap_or_default();
    let more = match reasons.len().saturating_sub(1) {
        0 => String::new(),
        1 => ", and 1 more reason".to_owned(),
        n => format!(", and {n} more reasons"),
    };
    let summary = format!("Not decided ({}): {first}{more}.", rule.rule.title.trim_end_matches('.'));
    let mut finding =
        finding(rule, Status::Unknown, rule.rule.severity, distinct(subjects), summary, Lines::default());
    finding.evidence = reasons;
    finding
}

fn finding(
    rule: &CompiledRule,
    status: Status,
    severity: Severity,
    subjects: Vec<String>,
    summary: String,
    lines: Lines,
) -> Finding {
    Finding {
        rule: rule.rule.id.clone(),
        status,
        severity,
        subjects,
        summary,
        evidence: lines.finish(),
        refuted_by: rule.rule.refuted_by.clone(),
        changes: Vec::new(),
        remedies: Vec::new(),
    }
}

/// Without repetitions, in order.
fn distinct(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    words.into_iter().filter(|w| seen.insert(w.clone())).collect()
}

/// True, false, or why not.
fn holds<'a>(expr: &'a Expr, env: &Env<'a>) -> Result<bool, Vec<Cause>> {
    match expr.eval(env).verdict {
        Verdict::Value(value) => match value.as_bool() {
            Some(value) => Ok(value),
            None => Err(vec![Cause { place: value.place().cloned(), why: WhyOpen::Absent }]),
        },
        Verdict::Undetermined(causes) => Err(causes),
    }
}
