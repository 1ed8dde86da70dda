//! Step 1: the host against its baselines.

use super::evidence::Evidence;
use super::judgement::{StepFinding, StepName, StepOutcome};
use crate::host::health::{Health, Loss, LossKind};

/// What the step found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthStep {
    /// For the judgement.
    pub finding: StepFinding,
    /// Every loss.
    pub losses: Vec<Loss>,
}

/// Compares with every baseline: what any of them lacked as well was not lost by the change.
pub fn step(evidence: &Evidence<'_>) -> HealthStep {
    let announced = &evidence.tried.announced;
    let mut boots =
        evidence.before.iter().rev().map(|b| Health::lost(b.health, evidence.after.health, announced));
    let Some(mut losses) = boots.next() else {
        let why = "no baseline of the host's health was taken".to_owned();
        let finding = StepFinding::new(StepName::Health, StepOutcome::Open, vec![why]);
        return HealthStep { finding, losses: Vec::new() };
    };
    for others in boots {
        let same = |a: &Loss, b: &Loss| a.part == b.part && (a.what == b.what || a.kind == LossKind::Unknown);
        losses.retain(|loss| others.iter().any(|other| same(other, loss)));
    }
    let words = |test: &dyn Fn(&Loss) -> bool| -> Vec<String> {
        losses.iter().filter(|loss| test(loss)).map(|loss| loss.words.clone()).collect()
    };
    let lost = words(&Loss::counts);
    let open = words(&|loss| loss.kind != LossKind::Lost);
    let announced = words(&|loss| loss.announced).into_iter().map(|words| format!("announced: {words}"));
    let outcome = match (lost.is_empty(), open.is_empty()) {
        (false, _) => StepOutcome::Against,
        (true, false) => StepOutcome::Open,
        (true, true) => StepOutcome::Nothing,
    };
    let mut found: Vec<String> = lost.into_iter().chain(open).chain(announced).collect();
    if found.is_empty() {
        found.push("nothing is lost".to_owned());
    }
    HealthStep { finding: StepFinding::new(StepName::Health, outcome, found), losses }
}
