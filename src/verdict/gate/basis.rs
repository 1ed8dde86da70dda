//! Is there anything to compare: two records of one machine whose state differs only as the change explains.

use super::evidence::{Evidence, Measured};
use super::judgement::{StepFinding, StepName, StepOutcome};
use super::merge::merge;
use super::tried::{Tried, key};
use crate::bench::record::{GpuState, Record};
use crate::verdict::comparable::differences;
use crate::verdict::compare::{Settings, compare_over};
use crate::verdict::document::{ArmVerdict, Difference, Verdict};
use crate::verdict::overall::differs;
use crate::verdict::spread::Spread;

/// What steps 2 to 5 stand on.
#[derive(Clone, Debug)]
pub enum Basis<'a> {
    /// Records that compare.
    Compared(Box<Compared<'a>>),
    /// Records, or none, that do not compare, and why.
    Incomparable(String),
    /// There was a record before, and there is nothing to measure now.
    Gone(String),
    /// Nothing could be measured before: only health and findings can judge. With the trial's record, if it has one.
    Unmeasured(String, Option<&'a Record>),
}

/// Records that compare.
#[derive(Clone, Debug)]
pub struct Compared<'a> {
    /// Baseline.
    pub before: &'a Record,
    /// Trial.
    pub after: &'a Record,
    /// Comparison with the first record of the trial.
    pub first: Verdict,
    /// Comparison with the second one.
    pub second: Option<Verdict>,
    /// Arms over both passes.
    pub arms: Vec<ArmVerdict>,
}

impl Basis<'_> {
    /// Why there is no comparison; none when there is one.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            Self::Compared(_) => None,
            Self::Incomparable(why) | Self::Gone(why) | Self::Unmeasured(why, _) => Some(why),
        }
    }

    /// For the judgement.
    pub(super) fn finding(&self) -> StepFinding {
        let (outcome, words) = match self {
            Self::Compared(found) if found.second.is_some() => {
                (StepOutcome::Nothing, "the records compare, in two passes".to_owned())
            }
            Self::Compared(_) => (StepOutcome::Nothing, "the records compare".to_owned()),
            Self::Incomparable(why) => (StepOutcome::Open, why.clone()),
            Self::Gone(why) => (StepOutcome::Against, why.clone()),
            Self::Unmeasured(why, _) => (StepOutcome::NotJudged, why.clone()),
        };
        StepFinding::new(StepName::Comparable, outcome, vec![words])
    }
}

/// Finds the records and compares them.
pub fn of<'a>(evidence: &Evidence<'a>) -> Basis<'a> {
    let Some(last) = evidence.before.last() else {
        return Basis::Incomparable("no baseline was taken".to_owned());
    };
    let (before, after) = match (pairs(last.measured), pairs(evidence.after.measured)) {
        (Measured::NotTaken(why), _) => {
            return Basis::Incomparable(format!("the baseline was not measured: {why}"));
        }
        (_, Measured::NotTaken(why)) => {
            return Basis::Incomparable(format!("the trial was not measured: {why}"));
        }
        (Measured::Record(_), Measured::NoPair(why)) => {
            return Basis::Gone(format!("GPU pairs were measured before, and none can be now: {why}"));
        }
        (Measured::NoPair(why), Measured::NoPair(_)) => {
            let words = format!("no pair can be measured, before and after: {why}");
            return Basis::Unmeasured(words, None);
        }
        (Measured::NoPair(why), Measured::Record(record)) => {
            let words =
                format!("no pair could be measured before, so that there is no figure to compare: {why}");
            return Basis::Unmeasured(words, Some(record));
        }
        (Measured::Record(before), Measured::Record(after)) => (before, after),
    };
    if let Some(why) = fewer(before, after) {
        return Basis::Gone(why);
    }
    let tried = evidence.tried;
    let boots = baselines(evidence, before);
    if boots.len() < evidence.policy.baseline_boots {
        return Basis::Incomparable(format!(
            "the policy asks for {} baseline boots that compare, and there are {}",
            evidence.policy.baseline_boots,
            boots.len()
        ));
    }
    if let Some(why) = unexplained(before, after, tried) {
        return Basis::Incomparable(why);
    }
    let (settings, spread) = (settings(evidence, boots.len()), Spread::of(&boots));
    let first = compare_over(before, after, &settings, &spread);
    let second = match evidence.second {
        None => None,
        Some(second) => {
            if second.state.boot_id != after.state.boot_id {
                return Basis::Incomparable("the second pass is of another boot than the first".to_owned());
            }
            if let Some(why) = unexplained(before, second, tried) {
                return Basis::Incomparable(format!("second pass: {why}"));
            }
            Some(compare_over(before, second, &settings, &spread))
        }
    };
    let arms = merge(&first.arms, second.as_ref().map(|second| second.arms.as_slice()));
    Basis::Compared(Box::new(Compared { before, after, first, second, arms }))
}

/// A record without any pair is none.
fn pairs(measured: Measured<'_>) -> Measured<'_> {
    match measured {
        Measured::Record(record) if record.pairs.is_empty() => Measured::NoPair("the record holds no pair"),
        other => other,
    }
}

/// The trial measured some of the GPUs, and others not any more.
fn fewer(before: &Record, after: &Record) -> Option<String> {
    let has = |record: &Record, gpu: &GpuState| {
        record.gpus.iter().any(|other| (&other.bdf, &other.uuid_hash) == (&gpu.bdf, &gpu.uuid_hash))
    };
    let gone: Vec<&str> =
        before.gpus.iter().filter(|gpu| !has(after, gpu)).map(|gpu| gpu.bdf.as_str()).collect();
    let known = after.gpus.iter().all(|gpu| has(before, gpu));
    (known && !gone.is_empty())
        .then(|| format!("measured before and no longer answered by the driver: {}", gone.join(", ")))
}

/// Records of baseline boots that compare with the latest, that one included.
fn baselines<'a>(evidence: &Evidence<'a>, last: &'a Record) -> Vec<&'a Record> {
    let nothing = Tried::default();
    let records = evidence.before.iter().filter_map(|boot| match boot.measured {
        Measured::Record(record) => Some(record),
        _ => None,
    });
    let mut boots: Vec<&Record> = Vec::new();
    for record in records.filter(|record| unexplained(record, last, &nothing).is_none()) {
        // Two records of one boot say nothing about the next one.
        let known = |b: &&Record| b.state.boot_id.is_some() && b.state.boot_id == record.state.boot_id;
        boots.retain(|b| !known(b));
        boots.push(record);
    }
    boots
}

fn settings(evidence: &Evidence<'_>, boots: usize) -> Settings {
    let policy = evidence.policy;
    let alone = evidence.tried.about_speed_alone() && boots < 2;
    Settings {
        threshold_percent: if alone {
            policy.threshold.max(policy.threshold_speed_alone)
        } else {
            policy.threshold
        },
        threshold_us: policy.threshold_us,
        staged_percent: gain_that_undoes(policy.max_staged_loss),
        // Two passes are two looks at one question.
        family_error: policy.family_error / 2.0,
        ..Settings::default()
    }
}

/// Thresholds are ratios, the same up and down: what was lost is a larger share of what is left.
fn gain_that_undoes(loss_percent: f64) -> f64 {
    let loss = (loss_percent / 100.0).clamp(0.0, 0.95);
    100.0 * loss / (1.0 - loss)
}

/// The first difference that forbids the comparison: of another machine or method, or of a state that the change
/// does not explain.
fn unexplained(before: &Record, after: &Record, tried: &Tried) -> Option<String> {
    let found = differences(before, after);
    if let Some(first) = found.incomparable.first() {
        return Some(format!("{}: {}", differs(first), first.why));
    }
    let keys = tried.keys();
    let other = found.listed.iter().find(|difference| !explained(difference, tried, &keys))?;
    let why = "which the change does not explain: the baseline does not hold any more, take it again";
    Some(format!("{}, {why}", differs(other)))
}

/// State that only a change or a stranger alters must be explained by the change; what follows from the state
/// (domains, BARs, routes, grants) and what differs in every boot may differ.
fn explained(difference: &Difference, tried: &Tried, keys: &[String]) -> bool {
    match difference.field.as_str() {
        "state.kernel" => tried.other_kernel,
        "state.driver" | "state.api" | "state.firmware" => false,
        "state.cmdline" => {
            let words = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let (before, after) = (words(&difference.before), words(&difference.after));
            let moved = |a: &[String], b: &[String]| -> Vec<String> {
                let mut left = b.to_vec();
                let gone = a.iter().filter(|word| match left.iter().position(|w| w == *word) {
                    Some(at) => {
                        left.swap_remove(at);
                        false
                    }
                    None => true,
                });
                gone.cloned().collect()
            };
            let mut all = moved(&before, &after).into_iter().chain(moved(&after, &before));
            all.all(|word| word.starts_with("initrd=") || keys.contains(&key(&word)))
        }
        field => match field.strip_prefix("state.parameters.") {
            Some(name) => keys.iter().any(|key| sets(key, name)),
            None => true,
        },
    }
}

/// The word `key` sets what a record calls `name`.
fn sets(key: &str, name: &str) -> bool {
    if name == "pcie_aspm policy" {
        return key.starts_with("pcie_aspm");
    }
    key.rsplit('.').next().is_some_and(|parameter| parameter.trim_start_matches("NVreg_") == name)
}
