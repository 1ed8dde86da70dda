//! Steps 2 and 3: wrong words, hangs, lost transfers and new faults; and what was wrong and is right.

use super::basis::{Basis, Compared};
use super::evidence::Evidence;
use super::judgement::{StepFinding, StepName, StepOutcome};
use crate::bench::record::{Arm, Deltas, Outcome, Record};
use crate::verdict::document::{ArmVerdict, Call, Cause};
use crate::verdict::overall::{CONTROL, name, sentence};
use crate::verdict::replaced::is_staged;

/// How bad it is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// Words are wrong that were right, or were not moved at all.
    Corrupt,
    /// Words are wrong that were wrong before.
    StillWrong,
    /// A transfer hangs.
    Hang,
    /// A transfer is lost, or faults are new.
    Lost,
}

/// What step 2 found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataStep {
    /// For the judgement.
    pub finding: StepFinding,
    /// What kinds of harm there are, the worst first.
    pub harm: Vec<Harm>,
    /// The only thing open is that counters cannot be read any more.
    pub only_counters_open: bool,
}

/// Step 2.
pub fn wrong(evidence: &Evidence<'_>, basis: &Basis<'_>) -> DataStep {
    match basis {
        Basis::Compared(compared) => compare(evidence, compared),
        Basis::Unmeasured(_, Some(record)) => first_record(record),
        other => DataStep {
            finding: StepFinding::not_judged(StepName::Data, other.why_not().unwrap_or_default()),
            harm: Vec::new(),
            only_counters_open: false,
        },
    }
}

fn compare(evidence: &Evidence<'_>, compared: &Compared<'_>) -> DataStep {
    let pick =
        |test: &dyn Fn(&ArmVerdict) -> bool| compared.arms.iter().filter(|arm| test(arm)).collect::<Vec<_>>();
    let was_wrong = |arm: &ArmVerdict| wrong_before(compared.before, arm);
    let hangs = |arm: &ArmVerdict| {
        arm.verdict == Call::Worse && arm.after.is_some_and(|side| side.outcome == Outcome::Hang)
    };
    let fresh = pick(&|arm| arm.verdict == Call::Corrupt && !was_wrong(arm));
    let still = pick(&|arm| arm.verdict == Call::Corrupt && was_wrong(arm));
    let hang = pick(&hangs);
    let lost = pick(&|arm| arm.verdict == Call::Worse && arm.cause != Cause::Speed && !hangs(arm));
    let groups = [
        (Harm::Corrupt, &fresh, "moves wrong data", "move wrong data"),
        (Harm::StillWrong, &still, "moves wrong data, as before", "move wrong data, as before"),
        (Harm::Hang, &hang, "hangs", "hang"),
        (Harm::Lost, &lost, "is worse", "are worse"),
    ];
    let mut harm = Vec::new();
    let mut found = Vec::new();
    for (kind, arms, one, many) in groups {
        if arms.is_empty() {
            continue;
        }
        harm.push(kind);
        let mut words = sentence(arms, one, many);
        if kind <= Harm::StillWrong && arms.iter().any(|arm| CONTROL.contains(&arm.arm.as_str())) {
            words.push_str("; this is the control, so that the host is at fault");
        }
        found.push(words);
    }
    let unjudged =
        pick(&|arm| arm.cause == Cause::Data && matches!(arm.verdict, Call::Inconclusive | Call::OnlyBefore));
    let unsure = pick(&|arm| arm.cause == Cause::Counters && arm.verdict == Call::Inconclusive);
    let silent = silent(compared.before, compared.after, evidence.tried.weakens_translation());
    let mut open = false;
    for arms in [&unjudged, &unsure] {
        if !arms.is_empty() {
            open = true;
            found.push(sentence(arms, "is not judged", "are not judged"));
        }
    }
    let only_counters_open = !open && !silent.is_empty();
    if !silent.is_empty() {
        open = true;
        found.push(format!("counters that could be read before cannot be now: {}", silent.join(", ")));
    }
    let outcome = match (harm.is_empty(), open) {
        (false, _) => StepOutcome::Against,
        (true, true) => StepOutcome::Open,
        (true, false) => StepOutcome::Nothing,
    };
    if found.is_empty() {
        found.push("no word is wrong, nothing hangs, nothing is lost, no fault is new".to_owned());
    }
    DataStep { finding: StepFinding::new(StepName::Data, outcome, found), harm, only_counters_open }
}

/// A record without a baseline: wrong is wrong.
fn first_record(record: &Record) -> DataStep {
    let corrupt: Vec<String> = arms(record)
        .filter(|(.., arm)| arm.outcome == Outcome::Corrupt)
        .map(|(from, to, arm)| format!("{} {from} to {to} moves wrong data", arm.name))
        .collect();
    let harm = if corrupt.is_empty() { Vec::new() } else { vec![Harm::Corrupt] };
    let (outcome, found) = if corrupt.is_empty() {
        (StepOutcome::Nothing, vec!["no word is wrong; there is no figure before to compare with".to_owned()])
    } else {
        (StepOutcome::Against, corrupt)
    };
    DataStep { finding: StepFinding::new(StepName::Data, outcome, found), harm, only_counters_open: false }
}

/// The arm was wrong before; or it was not run then, because another one of its pair was: a fault in one direction ends
/// the other one too.
fn wrong_before(before: &Record, arm: &ArmVerdict) -> bool {
    let ended = |arm: &ArmVerdict| arm.before.map(|side| side.outcome);
    match ended(arm) {
        Some(Outcome::Corrupt) => true,
        Some(Outcome::Skipped) | None => before.pairs.iter().any(|pair| {
            let (from, to) = (arm.from.as_ref(), arm.to.as_ref());
            let (one, other) = (Some(&pair.from), Some(&pair.to));
            ((from, to) == (one, other) || (from, to) == (other, one))
                && pair.arms.iter().any(|arm| arm.outcome == Outcome::Corrupt)
        }),
        _ => false,
    }
}

/// Whether a counter could be read.
type Readable = fn(&Deltas) -> bool;

/// Counters that the baseline has for some arm and the trial for none. IOMMU faults are not asked for where
/// translation was taken away: there is nothing left to count.
fn silent(before: &Record, after: &Record, weakened: bool) -> Vec<&'static str> {
    let has = |record: &Record, read: Readable| arms(record).any(|(.., arm)| read(&arm.deltas));
    let counters: [(&str, Readable); 3] = [
        ("IOMMU faults", |d| d.iommu_faults.is_some()),
        ("uncorrectable PCIe errors", |d| d.aer_uncorrectable.is_some()),
        ("Xids", |d| d.xids.is_some()),
    ];
    let lost = counters.into_iter().filter(|(name, read)| {
        has(before, *read) && !has(after, *read) && !(weakened && *name == "IOMMU faults")
    });
    lost.map(|(name, _)| name).collect()
}

/// Step 3. An arm counts as cured only when words were checked where they landed.
pub fn cured(_: &Evidence<'_>, basis: &Basis<'_>) -> StepFinding {
    let Basis::Compared(compared) = basis else {
        return StepFinding::not_judged(StepName::Cured, basis.why_not().unwrap_or_default());
    };
    let (cured, unchecked): (Vec<&ArmVerdict>, Vec<&ArmVerdict>) = compared
        .arms
        .iter()
        .filter(|arm| arm.verdict == Call::Better && arm.cause == Cause::Data)
        .partition(|arm| words_checked(compared.after, arm) > 0);
    if !unchecked.is_empty() {
        let names: Vec<String> = unchecked.iter().map(|arm| name(arm)).collect();
        let words = format!("wrong before, and no word was checked now: {}", names.join(", "));
        return StepFinding::new(StepName::Cured, StepOutcome::Open, vec![words]);
    }
    if cured.is_empty() {
        let words = "nothing was wrong before that is right now".to_owned();
        return StepFinding::new(StepName::Cured, StepOutcome::Nothing, vec![words]);
    }
    let words = sentence(&cured, "moves right data", "move right data");
    StepFinding::new(StepName::Cured, StepOutcome::For, vec![words])
}

/// Words checked in the record for an arm of the verdict.
fn words_checked(record: &Record, verdict: &ArmVerdict) -> u64 {
    let own = |from: &str, to: &str| match (&verdict.from, &verdict.to) {
        (Some(f), Some(t)) => (f.as_str(), t.as_str()) == (from, to),
        _ => from.is_empty(),
    };
    arms(record)
        .filter(|(from, to, arm)| own(from, to) && arm.name == verdict.arm)
        .map(|(.., arm)| arm.words_checked)
        .sum()
}

/// Source, destination and arm; both names empty for arms over all GPUs.
pub(super) fn arms(record: &Record) -> impl Iterator<Item = (&str, &str, &Arm)> {
    let pairs = record.pairs.iter();
    let pairs = pairs.flat_map(|p| p.arms.iter().map(move |arm| (p.from.as_str(), p.to.as_str(), arm)));
    pairs.chain(record.fabric.iter().map(|arm| ("", "", arm)))
}

/// A direction of a pair whose peer transfers were measured, and every word that was checked right.
pub(super) fn verified(record: &Record, from: &str, to: &str) -> bool {
    let peer = |arm: &Arm| !is_staged(&arm.name) && arm.name != "self";
    let mut words = 0;
    for (.., arm) in arms(record).filter(|(f, t, arm)| (*f, *t) == (from, to) && peer(arm)) {
        match arm.outcome {
            Outcome::Measured => words += arm.words_checked,
            Outcome::Refused | Outcome::Skipped => {}
            Outcome::Failed | Outcome::Hang | Outcome::Crash | Outcome::Corrupt => return false,
        }
    }
    words > 0
}
