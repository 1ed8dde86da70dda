//! Step 4: what was impossible and is possible, against what it replaces.
//!
//! Bulk and copies of up to 64 KiB are judged apart. Slower bulk makes the path possible but slower: no fault, a
//! choice. Slower small copies alone do not, where bulk gained.

use super::basis::Basis;
use super::data::verified;
use super::evidence::Evidence;
use super::judgement::{StepFinding, StepName, StepOutcome};
use crate::bench::record::Outcome;
use crate::verdict::document::{ArmVerdict, Call, Cause};
use crate::verdict::overall::{name, sentence};

/// What applications can be told where staging is faster.
pub const SWITCHES: [&str; 2] = ["GGML_CUDA_NO_PEER_COPY", "NCCL_P2P_DISABLE"];

/// What step 4 found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleStep {
    /// For the judgement.
    pub finding: StepFinding,
    /// Slower than what it replaces.
    pub slower: bool,
}

/// Step 4.
pub fn step(_: &Evidence<'_>, basis: &Basis<'_>) -> PossibleStep {
    let found = |outcome, found| PossibleStep {
        finding: StepFinding::new(StepName::Possible, outcome, found),
        slower: false,
    };
    let Basis::Compared(compared) = basis else {
        let finding = StepFinding::not_judged(StepName::Possible, basis.why_not().unwrap_or_default());
        return PossibleStep { finding, slower: false };
    };
    let new: Vec<&ArmVerdict> = compared.arms.iter().filter(|arm| newly_possible(arm)).collect();
    if new.is_empty() {
        return found(StepOutcome::Nothing, vec!["nothing is possible now that was not before".to_owned()]);
    }
    let unchecked: Vec<String> = new
        .iter()
        .filter(|arm| match (&arm.from, &arm.to) {
            (Some(from), Some(to)) => !verified(compared.after, from, to),
            _ => false,
        })
        .map(|arm| name(arm))
        .collect();
    if !unchecked.is_empty() {
        let words = format!("possible now, and its data was not verified: {}", unchecked.join(", "));
        return found(StepOutcome::Open, vec![words]);
    }
    let replacing: Vec<&ArmVerdict> =
        new.iter().copied().filter(|arm| arm.replaces.is_some() && arm.cause == Cause::Speed).collect();
    if replacing.is_empty() {
        let words = "possible now; nothing was measured before that it replaces".to_owned();
        return found(StepOutcome::For, vec![words]);
    }
    weigh(&replacing)
}

fn weigh(replacing: &[&ArmVerdict]) -> PossibleStep {
    let (small, bulk): (Vec<&ArmVerdict>, Vec<&ArmVerdict>) =
        replacing.iter().copied().partition(|arm| arm.arm.starts_with("latency-copy-"));
    let of = |arms: &[&'_ ArmVerdict], call| -> Vec<ArmVerdict> {
        arms.iter().filter(|arm| arm.verdict == call).map(|arm| (*arm).clone()).collect()
    };
    let words = |arms: &[ArmVerdict], how: &str| {
        let all: Vec<&ArmVerdict> = arms.iter().collect();
        let one = format!("is possible now and {how} than what it replaces");
        let many = format!("are possible now and {how} than what they replace");
        sentence(&all, &one, &many)
    };
    let slower = [of(&bulk, Call::Worse), of(&small, Call::Worse)];
    let faster = [of(&bulk, Call::Better), of(&small, Call::Better)];
    let [slower_bulk, slower_small] = &slower;
    let [faster_bulk, faster_small] = &faster;
    let open = of(&bulk, Call::Inconclusive);
    let mut found = Vec::new();
    for (arms, how) in
        [(slower_bulk, "slower"), (faster_bulk, "faster"), (slower_small, "slower"), (faster_small, "faster")]
    {
        if !arms.is_empty() {
            found.push(words(arms, how));
        }
    }
    let gained = !faster_bulk.is_empty() || !faster_small.is_empty();
    let is_slower = !slower_bulk.is_empty() || (!slower_small.is_empty() && faster_bulk.is_empty());
    let outcome = if is_slower {
        StepOutcome::Against
    } else if !open.is_empty() {
        found.insert(0, sentence(&open.iter().collect::<Vec<_>>(), "is not judged", "are not judged"));
        StepOutcome::Open
    } else if gained {
        StepOutcome::For
    } else {
        StepOutcome::Nothing
    };
    if found.is_empty() {
        found.push("possible now, and no faster than what it replaces".to_owned());
    }
    PossibleStep { finding: StepFinding::new(StepName::Possible, outcome, found), slower: is_slower }
}

/// Refused before, measured now.
fn newly_possible(arm: &ArmVerdict) -> bool {
    let measured = arm.after.is_some_and(|side| side.outcome == Outcome::Measured);
    let refused = arm.before.is_some_and(|side| side.outcome == Outcome::Refused);
    measured && (arm.replaces.is_some() || refused)
}
