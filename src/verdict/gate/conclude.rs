//! One decision and one sentence from all steps.

use super::audit::{AuditStep, Own};
use super::basis::Basis;
use super::data::{DataStep, Harm, verified};
use super::evidence::Evidence;
use super::health::HealthStep;
use super::judgement::{Decision, Judgement, SCHEMA, StepFinding, TrialCall, VERSION};
use super::possible::{PossibleStep, SWITCHES};
use super::speed::SpeedStep;
use super::tried::Role;

/// What all steps found.
pub(super) struct Steps<'a> {
    pub(super) health: HealthStep,
    pub(super) basis: Basis<'a>,
    pub(super) data: DataStep,
    pub(super) cured: StepFinding,
    pub(super) possible: PossibleStep,
    pub(super) speed: SpeedStep,
    pub(super) audit: AuditStep,
}

/// Decision, call and reason.
type Ruling = (Decision, TrialCall, String);

/// Decides.
pub(super) fn conclude(evidence: &Evidence<'_>, steps: Steps<'_>) -> Judgement {
    let (decision, call, reason) = rule(evidence, &steps);
    // Another pass helps only where speed is what keeps it open.
    let open = matches!(decision, Decision::Inconclusive | Decision::AskPerson);
    let settles = open
        && matches!(speed_call(&steps), Some((TrialCall::Inconclusive | TrialCall::PossibleButSlower, _)));
    let needs_second_pass = steps.speed.second_pass && settles && !blocked(&steps);
    let (decision, call, reason) = if needs_second_pass && decision == Decision::AskPerson {
        (
            Decision::Inconclusive,
            TrialCall::Inconclusive,
            format!("{reason}; measured once, and it needs two passes"),
        )
    } else {
        (decision, call, reason)
    };
    let switches = if call == TrialCall::PossibleButSlower { &SWITCHES[..] } else { &[] };
    let (first, second) = match &steps.basis {
        Basis::Compared(compared) => (Some(compared.first.clone()), compared.second.clone()),
        _ => (None, None),
    };
    let comparable = steps.basis.finding();
    Judgement {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        change: evidence.tried.name.clone(),
        role: evidence.tried.role,
        decision,
        call,
        reason,
        needs_second_pass,
        switches: switches.iter().map(ToString::to_string).collect(),
        steps: vec![
            steps.health.finding,
            comparable,
            steps.data.finding,
            steps.cured,
            steps.possible.finding,
            steps.speed.finding,
            steps.audit.finding,
        ],
        losses: steps.health.losses,
        first,
        second,
    }
}

/// Something else than speed leaves it open.
fn blocked(steps: &Steps<'_>) -> bool {
    steps.health.finding.open()
        || steps.data.finding.open()
        || steps.cured.open()
        || steps.audit.finding.open()
}

fn rule(evidence: &Evidence<'_>, steps: &Steps<'_>) -> Ruling {
    if let Some(harm) = harm(evidence, steps) {
        return harm;
    }
    let open = |step: &StepFinding| (Decision::Inconclusive, TrialCall::Inconclusive, step.clause());
    if steps.health.finding.open() {
        return open(&steps.health.finding);
    }
    // For a member data may still be wrong elsewhere.
    let cured = steps.cured.speaks_for() && steps.data.harm.is_empty();
    // Verified data is stronger than a counter that cannot be read.
    if steps.data.finding.open() && !(cured && steps.data.only_counters_open) {
        return open(&steps.data.finding);
    }
    if steps.cured.open() {
        return open(&steps.cured);
    }
    let shown = if cured { Some((TrialCall::Better, steps.cured.clause())) } else { speed_call(steps) };
    if let Some((TrialCall::Worse, why)) = shown {
        return (Decision::Reject, TrialCall::Worse, why);
    }
    audited(evidence, steps, shown)
}

/// What speaks against the change before speed is looked at.
fn harm(evidence: &Evidence<'_>, steps: &Steps<'_>) -> Option<Ruling> {
    let reject = |call, why: String| Some((Decision::Reject, call, why));
    if steps.health.finding.against() {
        return reject(TrialCall::Worse, steps.health.finding.clause());
    }
    match &steps.basis {
        Basis::Incomparable(why) => {
            return Some((Decision::Inconclusive, TrialCall::Inconclusive, why.clone()));
        }
        Basis::Gone(why) => return reject(TrialCall::Worse, why.clone()),
        Basis::Compared(_) | Basis::Unmeasured(..) => {}
    }
    let member = evidence.tried.role == Role::Member;
    // What was wrong and stays so is what the whole set is to cure.
    let harm = steps.data.harm.iter().find(|harm| !(member && **harm == Harm::StillWrong))?;
    match harm {
        Harm::Corrupt | Harm::StillWrong => reject(TrialCall::Corrupt, steps.data.finding.clause()),
        Harm::Hang => reject(TrialCall::Hang, steps.data.finding.clause()),
        Harm::Lost => reject(TrialCall::Worse, steps.data.finding.clause()),
    }
}

/// What steps 4 and 5 show together; none without a comparison.
fn speed_call(steps: &Steps<'_>) -> Option<(TrialCall, String)> {
    let (possible, speed) = (&steps.possible.finding, &steps.speed.finding);
    if !matches!(steps.basis, Basis::Compared(_)) {
        return None;
    }
    Some(if speed.against() {
        (TrialCall::Worse, speed.clause())
    } else if speed.open() {
        (TrialCall::Inconclusive, speed.clause())
    } else if steps.possible.slower {
        (TrialCall::PossibleButSlower, possible.clause())
    } else if possible.open() {
        (TrialCall::Inconclusive, possible.clause())
    } else if possible.speaks_for() {
        (TrialCall::Better, possible.clause())
    } else if speed.speaks_for() {
        (TrialCall::Better, speed.clause())
    } else {
        (TrialCall::Same, speed.clause())
    })
}

/// The findings, and then what was measured.
fn audited(evidence: &Evidence<'_>, steps: &Steps<'_>, shown: Option<(TrialCall, String)>) -> Ruling {
    let audit = &steps.audit;
    let measured = shown.as_ref().map_or(TrialCall::Inconclusive, |(call, _)| *call);
    if audit.came {
        return (Decision::Reject, TrialCall::Worse, audit.finding.clause());
    }
    if audit.own == Own::Remains {
        let call = if shown.is_some() { measured } else { TrialCall::Same };
        return (Decision::Reject, call, audit.finding.clause());
    }
    if audit.own == Own::Open || audit.unsure {
        return (Decision::Inconclusive, TrialCall::Inconclusive, audit.finding.clause());
    }
    let gone = &audit.own_words;
    if evidence.tried.role == Role::Member && !steps.speed.slower_once {
        let worse = if measured == TrialCall::Inconclusive {
            "nothing is worse beyond doubt"
        } else {
            "nothing is worse"
        };
        let reason = format!("{gone}, and {worse}; the set is judged with its last member");
        return (Decision::Step, measured, reason);
    }
    let Some((call, why)) = shown else { return unmeasured(evidence, steps, gone) };
    match call {
        TrialCall::Better => (Decision::Keep, call, why),
        TrialCall::PossibleButSlower if evidence.policy.accept_slower => (
            Decision::Keep,
            call,
            format!("{why}; the policy accepts it, and applications can choose: {}", told()),
        ),
        TrialCall::PossibleButSlower => (
            Decision::AskPerson,
            call,
            format!("{why}; a person decides, and applications can choose: {}", told()),
        ),
        TrialCall::Same if evidence.tried.about_correctness() => {
            (Decision::Keep, call, format!("{gone}, and {why}"))
        }
        TrialCall::Same => (
            Decision::Reject,
            call,
            format!("{why}, and the change is not about right data: not worth keeping"),
        ),
        _ => (Decision::Inconclusive, TrialCall::Inconclusive, why),
    }
}

fn told() -> String {
    let [build, variable] = SWITCHES;
    format!("a build with {build}, {variable}=1")
}

/// Nothing was measured: health and findings alone. They can show that a fault is gone, not that transfers that
/// became possible are right, nor that anything is faster.
fn unmeasured(evidence: &Evidence<'_>, steps: &Steps<'_>, gone: &str) -> Ruling {
    let why = steps.basis.why_not().unwrap_or_default();
    if evidence.tried.about_correctness() {
        let reason = format!("{gone}, and the host lost nothing; judged by these alone, for {why}");
        return (Decision::Keep, TrialCall::Same, reason);
    }
    if let Basis::Unmeasured(_, Some(record)) = &steps.basis
        && evidence.tried.about_reach()
        && record.pairs.iter().all(|pair| verified(record, &pair.from, &pair.to))
    {
        let reason = format!("{gone}, and every pair moves right data where none could be measured before");
        return (Decision::Keep, TrialCall::Better, reason);
    }
    let reason = format!("{gone}, but what the change promises has to be measured, and {why}");
    (Decision::Inconclusive, TrialCall::Inconclusive, reason)
}
