//! Step 5: arms that both records have.

use super::basis::Basis;
use super::judgement::{StepFinding, StepName, StepOutcome};
use crate::bench::record::Outcome;
use crate::verdict::document::{ArmVerdict, Call, Cause};
use crate::verdict::overall::{incidental, sentence};

/// What step 5 found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedStep {
    /// For the judgement.
    pub finding: StepFinding,
    /// Another record of this boot may settle what this one leaves open, newly possible arms included.
    pub second_pass: bool,
    /// An arm that both records have is slower in the only pass there is.
    pub slower_once: bool,
}

/// Step 5.
pub fn step(basis: &Basis<'_>) -> SpeedStep {
    let Basis::Compared(compared) = basis else {
        let finding = StepFinding::not_judged(StepName::Speed, basis.why_not().unwrap_or_default());
        return SpeedStep { finding, second_pass: false, slower_once: false };
    };
    let once = compared.second.is_none();
    let pick =
        |test: &dyn Fn(&ArmVerdict) -> bool| compared.arms.iter().filter(|arm| test(arm)).collect::<Vec<_>>();
    let own = |arm: &ArmVerdict| arm.replaces.is_none() && arm.cause == Cause::Speed;
    let slower = pick(&|arm| own(arm) && arm.verdict == Call::Worse);
    let faster = pick(&|arm| own(arm) && arm.verdict == Call::Better);
    let measured = |arm: &ArmVerdict| arm.before.is_some_and(|side| side.outcome == Outcome::Measured);
    let open = pick(&|arm| {
        let unsure = own(arm) && arm.verdict == Call::Inconclusive;
        let not_run = arm.verdict == Call::OnlyBefore && arm.cause == Cause::Outcome && measured(arm);
        (unsure || not_run) && !incidental(&arm.arm)
    });
    let cured = pick(&|arm| arm.verdict == Call::Better && arm.cause == Cause::Outcome);
    let same = pick(&|arm| own(arm) && arm.verdict == Call::Same);
    let mut found = Vec::new();
    for (arms, one, many) in [
        (&slower, "is slower", "are slower"),
        (&open, "is not judged", "are not judged"),
        (&faster, "is better", "are better"),
        (&cured, "works now", "work now"),
    ] {
        if !arms.is_empty() {
            found.push(sentence(arms, one, many));
        }
    }
    if found.is_empty() {
        found.push(match same.len() {
            0 => "no speed was judged".to_owned(),
            count => format!("none of {count} speeds differs by more than threshold and noise"),
        });
    }
    let outcome = if !slower.is_empty() {
        if once { StepOutcome::Open } else { StepOutcome::Against }
    } else if !open.is_empty() {
        StepOutcome::Open
    } else if !faster.is_empty() || !cured.is_empty() {
        StepOutcome::For
    } else {
        StepOutcome::Nothing
    };
    if once && let Some(first) = found.first_mut().filter(|_| !slower.is_empty()) {
        first.push_str(", in one pass; worse needs two");
    }
    let unsettled = |arm: &ArmVerdict| {
        arm.cause == Cause::Speed
            && !incidental(&arm.arm)
            && matches!(arm.verdict, Call::Worse | Call::Inconclusive)
    };
    let second_pass = once && (compared.arms.iter().any(unsettled) || !slower.is_empty() || !open.is_empty());
    let slower_once = once && !slower.is_empty();
    SpeedStep { finding: StepFinding::new(StepName::Speed, outcome, found), second_pass, slower_once }
}
