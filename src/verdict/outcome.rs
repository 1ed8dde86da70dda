//! How an arm ended before and after the change, and what that alone says.

use super::document::{Call, Cause};
use crate::bench::record::{Arm, Outcome};

/// What the outcomes of one arm say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The verdict, whatever the samples.
    Decided(Call, Cause, String),
    /// Measured in both: the samples decide.
    Speed,
    /// Refused before and measured now: what it replaces decides.
    Possible,
    /// Measured in neither.
    Neither,
}

/// Judges the outcomes; an arm that was skipped counts like one that is not there.
pub fn step(before: Option<&Arm>, after: Option<&Arm>) -> Step {
    use Outcome::{Corrupt, Crash, Failed, Hang, Measured, Refused, Skipped};
    let ended = |arm: Option<&Arm>| arm.map_or(Skipped, |arm| arm.outcome);
    let decided = |call, cause, why: &str| Step::Decided(call, cause, why.to_owned());
    let told = |text: &str| {
        let why = after.map_or("", |arm| arm.why.trim());
        if why.is_empty() { text.to_owned() } else { format!("{text}: {why}") }
    };
    match (ended(before), ended(after)) {
        (Measured, Measured) => Step::Speed,
        (Refused, Measured) => Step::Possible,
        (Skipped, Skipped) => Step::Neither,
        (Corrupt, Corrupt) => decided(Call::Corrupt, Cause::Data, &wrong(after, "wrong before and after")),
        (_, Corrupt) => decided(Call::Corrupt, Cause::Data, &wrong(after, "wrong now")),
        (Corrupt, Measured) => decided(Call::Better, Cause::Data, "wrong before, right now"),
        (Hang | Crash | Failed, Measured) => decided(Call::Better, Cause::Outcome, "did not work before"),
        (Skipped, Measured | Refused | Failed) => {
            let why = if ended(after) == Measured { String::new() } else { told(word(ended(after))) };
            Step::Decided(Call::OnlyAfter, Cause::Outcome, why)
        }
        (Corrupt, Skipped) => Step::Decided(Call::OnlyBefore, Cause::Data, told("wrong before, not run now")),
        (_, Skipped) => Step::Decided(Call::OnlyBefore, Cause::Outcome, told("not run")),
        (Corrupt, Refused | Failed) => {
            let why = told(&format!("wrong before, {} now", word(ended(after))));
            Step::Decided(Call::Inconclusive, Cause::Data, why)
        }
        (a, b) if trouble(b) > trouble(a) => {
            Step::Decided(Call::Worse, Cause::Outcome, told(&format!("{} now", word(b))))
        }
        (a, b) if a == b => Step::Decided(Call::Same, Cause::Outcome, format!("{} in both", word(b))),
        (a, b) => Step::Decided(Call::Same, Cause::Outcome, format!("{} before, {} now", word(a), word(b))),
    }
}

/// Order of the ways not to be measured, the worst last.
fn trouble(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Measured | Outcome::Skipped => 0,
        Outcome::Refused => 1,
        Outcome::Failed => 2,
        Outcome::Crash => 3,
        Outcome::Hang => 4,
        Outcome::Corrupt => 5,
    }
}

/// An outcome in words.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Measured => "measured",
        Outcome::Refused => "refused",
        Outcome::Skipped => "not run",
        Outcome::Failed => "failed",
        Outcome::Hang => "hang",
        Outcome::Crash => "crash",
        Outcome::Corrupt => "wrong data",
    }
}

/// The wrong words by mechanism.
fn wrong(arm: Option<&Arm>, lead: &str) -> String {
    let errors = arm.map_or(&[][..], |arm| &arm.errors);
    let list: Vec<String> = errors.iter().map(|e| format!("{} words {}", e.words, e.mechanism)).collect();
    if list.is_empty() { lead.to_owned() } else { format!("{lead}: {}", list.join(", ")) }
}
