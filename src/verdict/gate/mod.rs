//! The gate: everything that a trial showed becomes one judgement, in this order.
//!
//! 1. [`health`]: the host lost nothing that the change did not announce
//! 2. [`data`]: no word is wrong that was right, nothing hangs, nothing is lost, no fault is new
//! 3. [`data`]: what was wrong is right: better, whatever the speed
//! 4. [`possible`]: what was impossible is possible: against what it replaces
//! 5. [`speed`]: arms that both records have, worse only in two passes
//! 6. [`audit`]: the finding is gone, and none as grave came
//!
//! [`basis`] says before steps 2 to 5 whether there is anything to compare, `merge` makes one list of two passes,
//! `conclude` decides. What speaks against a change outranks what is not known, and that outranks what speaks for
//! it. Pure: values in, values out.

pub mod audit;
pub mod basis;
mod conclude;
pub mod data;
pub mod evidence;
pub mod health;
pub mod judgement;
mod merge;
pub mod possible;
pub mod speed;
pub mod tried;

pub use evidence::{Evidence, Found, Measured, Observed, Policy};
pub use judgement::{Decision, Judgement, StepFinding, StepName, StepOutcome, TrialCall};
pub use tried::{Role, Tried, TriedRule};

/// Judges a trial.
pub fn judge(evidence: &Evidence<'_>) -> Judgement {
    let health = health::step(evidence);
    let basis = basis::of(evidence);
    let data = data::wrong(evidence, &basis);
    let cured = data::cured(evidence, &basis);
    let possible = possible::step(evidence, &basis);
    let speed = speed::step(&basis);
    let audit = audit::step(evidence, &basis);
    conclude::conclude(evidence, conclude::Steps { health, basis, data, cured, possible, speed, audit })
}
