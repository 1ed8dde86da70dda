//! Every arm of two records judged.

use super::comparable::differences;
use super::counters;
use super::document::{
    About, ArmVerdict, Call, Cause, Measure, Overall, SCHEMA, Side, Source, VERSION, Verdict,
};
use super::noise::Noise;
use super::outcome::{Step, step};
use super::overall::{self, incidental};
use super::replaced;
use super::speed::{self, Threshold, percent};
use super::spread::Spread;
use super::stats::median;
use crate::bench::record::{Arm, Outcome, Record};
use std::collections::{BTreeMap, BTreeSet};

/// The measure to judge with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Smallest change that matters, percent.
    pub threshold_percent: f64,
    /// Smallest change of a latency that matters, microseconds, where that is more.
    pub threshold_us: f64,
    /// Noise floor known from elsewhere, percent.
    pub floor_percent: f64,
    /// What staging through host memory may lose or gain without being called slower or faster, percent, where
    /// that is more than the threshold.
    pub staged_percent: f64,
    /// Chance that any speed is called better or worse although nothing changed.
    pub family_error: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threshold_percent: 3.0,
            threshold_us: 0.2,
            floor_percent: 0.0,
            staged_percent: 0.0,
            family_error: 0.05,
        }
    }
}

/// Least threshold of incidental arms: percent, microseconds.
const INCIDENTAL: (f64, f64) = (10.0, 1.0);
/// Arms whose samples are no speed to judge: one page, a consumer that waits, the noise of a device itself.
/// Their data and counters are judged.
const NO_SPEED: [&str; 3] = ["first-page", "resident", "self"];

/// Source and destination; none for arms over all GPUs.
type Pair<'a> = Option<(&'a str, &'a str)>;

/// One arm before and after.
struct Meeting<'a> {
    pair: Pair<'a>,
    name: &'a str,
    before: Option<&'a Arm>,
    after: Option<&'a Arm>,
    /// What the arm is compared with, when not with itself.
    replaces: Option<&'a Arm>,
    step: Step,
}

/// Compares two records.
pub fn compare(before: &Record, after: &Record, settings: &Settings) -> Verdict {
    compare_over(before, after, settings, &Spread::default())
}

/// Compares two records, where earlier boots told what each arm does by itself.
pub fn compare_over(before: &Record, after: &Record, settings: &Settings, boots: &Spread) -> Verdict {
    let differences = differences(before, after);
    let mut verdict = Verdict {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        before: source(before),
        after: source(after),
        verdict: Overall::Incomparable,
        reason: String::new(),
        about: About::Peer,
        possible_but_slower: false,
        measure: Measure {
            threshold_percent: settings.threshold_percent,
            threshold_us: settings.threshold_us,
            family_error: settings.family_error,
            ..Measure::default()
        },
        incomparable: differences.incomparable,
        differs: differences.listed,
        arms: Vec::new(),
    };
    if verdict.incomparable.is_empty() {
        let meetings = meetings(before, after);
        let judged = meetings.iter().filter(|m| m.is_speed()).count();
        let noise = Noise::of(before, after);
        let configured = (settings.floor_percent / 100.0).ln_1p();
        let floors = (noise.bulk.max(configured), noise.latency.max(configured));
        verdict.measure.judged = judged;
        verdict.measure.floor_bulk_percent = percent(floors.0);
        verdict.measure.floor_latency_percent = percent(floors.1);
        #[allow(clippy::cast_precision_loss)]
        let tail = settings.family_error / 2.0 / judged.max(1) as f64;
        let limit = |before: &Arm, after: &Arm| {
            let least = if incidental(&after.name) { INCIDENTAL } else { (0.0, 0.0) };
            let staged = if replaced::is_staged(&after.name) { settings.staged_percent } else { 0.0 };
            let class = if after.unit == "GB/s" { floors.0 } else { floors.1 };
            Threshold {
                percent: settings.threshold_percent.max(least.0).max(staged),
                micros: settings.threshold_us.max(least.1),
                floor: class.max(boots.floor(&before.name)).max(boots.floor(&after.name)),
                tail,
            }
        };
        verdict.arms = meetings.iter().filter_map(|m| m.judge(&noise, limit, tail)).collect();
    }
    overall::conclude(&mut verdict);
    verdict
}

fn source(record: &Record) -> Source {
    Source { id: record.id.clone(), started: record.started.clone(), program: record.program.clone() }
}

/// Every arm of either record once, in the order of the first.
fn meetings<'a>(before: &'a Record, after: &'a Record) -> Vec<Meeting<'a>> {
    let pairs = |record: &'a Record| -> Vec<(Pair<'a>, &'a [Arm])> {
        let pairs = record.pairs.iter().map(|p| (Some((p.from.as_str(), p.to.as_str())), p.arms.as_slice()));
        pairs.chain([(None, record.fabric.as_slice())]).collect()
    };
    let (a, b) = (pairs(before), pairs(after));
    let (first, second): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (a.iter().copied().collect(), b.iter().copied().collect());
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (pair, _) in a.into_iter().chain(b) {
        if !seen.insert(pair) {
            continue;
        }
        let of = |arms: &BTreeMap<Pair<'a>, &'a [Arm]>| arms.get(&pair).copied().unwrap_or_default();
        pair_meetings(&mut all, pair, of(&first), of(&second));
    }
    all
}

fn pair_meetings<'a>(all: &mut Vec<Meeting<'a>>, pair: Pair<'a>, first: &'a [Arm], second: &'a [Arm]) {
    let index = |arms: &'a [Arm]| arms.iter().map(|arm| (arm.name.as_str(), arm)).collect::<BTreeMap<_, _>>();
    let (a, b) = (index(first), index(second));
    let mut seen = BTreeSet::new();
    for name in first.iter().chain(second).map(|arm| arm.name.as_str()) {
        if !seen.insert(name) {
            continue;
        }
        let (before, after) = (a.get(name).copied(), b.get(name).copied());
        let step = step(before, after);
        let replaces = match (&step, after) {
            (Step::Possible, Some(arm)) => replaced::by(arm, first),
            _ => None,
        };
        all.push(Meeting { pair, name, before, after, replaces, step });
    }
}

impl Meeting<'_> {
    fn is_speed(&self) -> bool {
        let compared = self.step == Step::Speed || self.replaces.is_some();
        // NCCL tunes itself anew in each process.
        compared && !NO_SPEED.contains(&self.name) && !self.name.starts_with("nccl-")
    }

    /// The verdict; none for an arm that was measured in neither record.
    fn judge(&self, noise: &Noise, limit: impl Fn(&Arm, &Arm) -> Threshold, tail: f64) -> Option<ArmVerdict> {
        let shown = self.after.or(self.before)?;
        let mut change = None;
        let (mut call, mut cause, mut why) = match &self.step {
            Step::Neither => return None,
            Step::Decided(call, cause, why) => (*call, *cause, why.clone()),
            Step::Speed if !self.is_speed() => (Call::Same, Cause::Data, "right in both".to_owned()),
            Step::Speed | Step::Possible => match (self.replaces.or(self.before), self.after) {
                (Some(before), Some(after)) if self.is_speed() => {
                    let (call, found, why) = speed::judge(before, after, noise, limit(before, after));
                    change = found;
                    (call, Cause::Speed, why)
                }
                _ => (
                    Call::OnlyAfter,
                    Cause::Outcome,
                    "impossible before, possible now; nothing was measured that it replaces".to_owned(),
                ),
            },
        };
        if let Some(replaced) = self.replaces {
            let lead = format!("impossible before, possible now; compared with {}", replaced.name);
            why = if why.is_empty() { lead } else { format!("{lead}: {why}") };
        }
        // A refused arm moved nothing, so that its counters say nothing: what it would have replaced did.
        let was = self.replaces.or(self.before).map(|before| &before.deltas);
        let grown = self.after.and_then(|after| counters::grown(was, &after.deltas, tail));
        if let Some((grave, what)) = grown
            && call != Call::Corrupt
            && !(grave == Call::Inconclusive && call == Call::Worse)
        {
            why = if why.is_empty() { what } else { format!("{what}; {why}") };
            (call, cause) = (grave, Cause::Counters);
        }
        Some(ArmVerdict {
            from: self.pair.map(|(from, _)| from.to_owned()),
            to: self.pair.map(|(_, to)| to.to_owned()),
            arm: self.name.to_owned(),
            unit: shown.unit.clone(),
            verdict: call,
            why,
            cause,
            replaces: self.replaces.map(|arm| arm.name.clone()),
            before: self.replaces.or(self.before).map(side),
            after: self.after.map(side),
            change,
        })
    }
}

/// An arm as the verdict shows it. The figures come from the samples, not from what the record says of them.
fn side(arm: &Arm) -> Side {
    let numbers = matches!(arm.outcome, Outcome::Measured | Outcome::Corrupt);
    let samples: &[f64] = if numbers { &arm.samples } else { &[] };
    Side {
        outcome: arm.outcome,
        median: median::median(samples),
        interval: median::interval(samples, 0.95).map(|i| [i.lower, i.upper]),
        samples: samples.len(),
    }
}
