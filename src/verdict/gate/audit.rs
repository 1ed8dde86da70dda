//! Step 6: the finding is gone, and none as grave came.

use super::basis::Basis;
use super::data::verified;
use super::evidence::{Evidence, Found};
use super::judgement::{StepFinding, StepName, StepOutcome};
use super::tried::{Role, Tried, key};
use crate::bench::record::Record;
use crate::host::health::Announced;
use crate::rules::{Severity, Status};

/// Rules that compare what is configured with what runs; their subjects are words, or names of parameters. A trial
/// runs words that are configured nowhere.
const DRIFT: [&str; 2] = ["boot/cmdline-drift", "nvidia/params-not-loaded"];
/// Rules about lines that others overrule; their subjects are places. A trial writes no file, so that a new finding
/// that names one of its words comes from that word.
const SHADOW: [&str; 2] = ["boot/shadowed-setting", "modprobe/shadowed-option"];

/// What became of the finding that the change answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// It is gone.
    Gone,
    /// It is still there.
    Remains,
    /// It cannot be told.
    Open,
}

/// What step 6 found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditStep {
    /// For the judgement.
    pub finding: StepFinding,
    /// What became of the finding.
    pub own: Own,
    /// The same in words.
    pub own_words: String,
    /// Findings as grave came.
    pub came: bool,
    /// A rule as grave passed before and cannot be judged now.
    pub unsure: bool,
}

/// Step 6.
pub fn step(evidence: &Evidence<'_>, basis: &Basis<'_>) -> AuditStep {
    let after = evidence.after.findings;
    let own = own(evidence);
    let (state, own_words) = state(evidence, basis, &own);
    let least = own.iter().map(|found| found.severity).max().unwrap_or(Severity::Info);
    let mut ignored = Vec::new();
    let mut came = Vec::new();
    for found in after.iter().filter(|found| found.fires() && found.severity >= least) {
        let fresh = fresh(evidence, found);
        if fresh.is_empty() {
            continue;
        }
        match excuse(evidence.tried, found, &fresh) {
            Some(why) => ignored.push(format!("{} does not count: {why}", found.rule)),
            None => came.push(format!("{} came: {}", found.rule, found.summary)),
        }
    }
    let unsure: Vec<String> = after
        .iter()
        .filter(|found| found.status == Status::Unknown && found.severity >= least)
        .filter(|found| !evidence.tried.rules.iter().any(|rule| rule.id == found.rule))
        .filter(|found| was_known(evidence, &found.rule))
        .map(|found| format!("{} could be judged before and cannot be now: {}", found.rule, found.summary))
        .collect();
    let outcome = match (came.is_empty(), state) {
        (false, _) | (_, Own::Remains) => StepOutcome::Against,
        (true, Own::Gone) if unsure.is_empty() => StepOutcome::For,
        (true, Own::Gone | Own::Open) => StepOutcome::Open,
    };
    let (is_new, is_unsure) = (!came.is_empty(), !unsure.is_empty());
    // What decides stands first.
    let (before, behind) = if state == Own::Gone { (unsure, Vec::new()) } else { (Vec::new(), unsure) };
    let own = [own_words.clone()];
    let found = came.into_iter().chain(before).chain(own).chain(behind).chain(ignored).collect();
    AuditStep {
        finding: StepFinding::new(StepName::Audit, outcome, found),
        own: state,
        own_words,
        came: is_new,
        unsure: is_unsure,
    }
}

/// Findings of the last baseline that the change answers. Where remedies are known, those for which it was offered:
/// a rule may have others that it does not touch.
fn own<'a>(evidence: &Evidence<'a>) -> Vec<&'a Found> {
    let tried = evidence.tried;
    let before = evidence.before.last().map_or(&[][..], |boot| boot.findings);
    let of_rules =
        before.iter().filter(|found| found.fires() && tried.rules.iter().any(|rule| rule.id == found.rule));
    let all: Vec<&Found> = of_rules.collect();
    let offered: Vec<&Found> = all
        .iter()
        .copied()
        .filter(|found| found.remedies.iter().any(|name| tried.answers.contains(name)))
        .collect();
    if offered.is_empty() { all } else { offered }
}

/// What became of the own findings, in words.
fn state(evidence: &Evidence<'_>, basis: &Basis<'_>, own: &[&Found]) -> (Own, String) {
    let after = evidence.after.findings;
    let rules: Vec<&str> = own.iter().map(|found| found.rule.as_str()).collect();
    if own.is_empty() {
        let words =
            "the baseline holds no finding that the change answers, so that none can be gone".to_owned();
        return (Own::Open, words);
    }
    let remains: Vec<&Found> = after
        .iter()
        .filter(|now| now.fires())
        .filter(|now| {
            own.iter().any(|was| was.rule == now.rule && now.severity >= was.severity && meet(was, now))
        })
        .collect();
    if let Some(first) = remains.first() {
        return (Own::Remains, format!("{} is still there: {}", first.rule, first.summary));
    }
    for rule in &rules {
        let mut now = after.iter().filter(|found| found.rule == *rule).peekable();
        if now.peek().is_none() {
            return (Own::Open, format!("{rule} was not judged in the trial"));
        }
        if let Some(open) = now.find(|found| found.status == Status::Unknown) {
            return (Own::Open, format!("{rule} cannot be judged: {}", open.summary));
        }
    }
    if evidence.tried.weakens_translation() && evidence.tried.rests_on_silence() {
        let record = match basis {
            Basis::Compared(compared) => Some(compared.after),
            Basis::Unmeasured(_, record) => *record,
            _ => None,
        };
        if let Some(why) = silence(own, record) {
            return (Own::Open, why);
        }
    }
    (Own::Gone, format!("{} is gone", rules.join(", ")))
}

/// Without translation no fault is logged: only data that was verified at its destination shows that the devices
/// that faulted are right now. None when it does.
fn silence(own: &[&Found], record: Option<&Record>) -> Option<String> {
    const LEAD: &str = "without translation the log is silent whatever happens";
    let Some(record) = record else {
        return Some(format!("{LEAD}, and no transfer was verified"));
    };
    let mut seen = false;
    for pair in &record.pairs {
        let subject = |bdf: &String| own.iter().any(|found| found.subjects.contains(bdf));
        if !subject(&pair.from) && !subject(&pair.to) {
            continue;
        }
        seen = true;
        if !verified(record, &pair.from, &pair.to) {
            return Some(format!("{LEAD}, and {} to {} was not verified", pair.from, pair.to));
        }
    }
    (!seen).then(|| format!("{LEAD}, and no pair of the devices that faulted was measured"))
}

/// Both speak about one subject, or one of them about the host as a whole.
fn meet(was: &Found, now: &Found) -> bool {
    was.subjects.is_empty()
        || now.subjects.is_empty()
        || now.subjects.iter().any(|subject| was.subjects.contains(subject))
}

/// Subjects (or the finding as a whole) that no baseline had, or had less grave. Names of what is new.
fn fresh(evidence: &Evidence<'_>, now: &Found) -> Vec<String> {
    let known = |subject: Option<&String>| {
        evidence.before.iter().flat_map(|boot| boot.findings).any(|was| {
            was.rule == now.rule
                && was.fires()
                && (was.severity, was.status) >= (now.severity, now.status)
                && subject.is_none_or(|subject| was.subjects.is_empty() || was.subjects.contains(subject))
        })
    };
    if now.subjects.is_empty() {
        return if known(None) { Vec::new() } else { vec![String::new()] };
    }
    now.subjects.iter().filter(|subject| !known(Some(subject))).cloned().collect()
}

/// Why a new finding does not count.
fn excuse(tried: &Tried, found: &Found, fresh: &[String]) -> Option<&'static str> {
    if tried.announced.contains(&Announced::Finding(found.rule.clone())) {
        return Some("the change announced it");
    }
    if tried.role == Role::Member && tried.set_rules.contains(&found.rule) {
        return Some("another member of the set answers it");
    }
    let keys = tried.keys();
    let rule = found.rule.as_str();
    let named = |word: &str| keys.contains(&key(word));
    if DRIFT.contains(&rule) && fresh.iter().all(|subject| named(subject)) {
        return Some("a trial runs words that are not configured yet");
    }
    let words = || found.summary.split(|c: char| c.is_whitespace() || "(),;=\"".contains(c));
    if SHADOW.contains(&rule) && words().any(named) {
        return Some("it is about a word of the trial");
    }
    None
}

/// The rule was judged in the last baseline, and nothing of it was unknown.
fn was_known(evidence: &Evidence<'_>, rule: &str) -> bool {
    let before = evidence.before.last().map_or(&[][..], |boot| boot.findings);
    let mut of_rule = before.iter().filter(|found| found.rule == rule).peekable();
    of_rule.peek().is_some() && of_rule.all(|found| found.status != Status::Unknown)
}
