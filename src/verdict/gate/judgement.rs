//! The result: `peerfix/judgement`, version 1.

use super::tried::Role;
use crate::bench::record::Version;
use crate::host::health::Loss;
use crate::verdict::document::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the document.
pub const SCHEMA: &str = "peerfix/judgement";
/// Version of the document.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// What becomes of a change, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version.
    pub version: Version,
    /// Name of the change.
    pub change: String,
    /// Its place in a set.
    pub role: Role,
    /// What becomes of it.
    pub decision: Decision,
    /// What the trial showed.
    pub call: TrialCall,
    /// One sentence why.
    pub reason: String,
    /// A second record of the same boot may settle it: measure again and judge again with both. Until then nothing
    /// is kept.
    pub needs_second_pass: bool,
    /// Settings of applications that choose the faster path, where the new one is slower.
    pub switches: Vec<String>,
    /// Every step, in order.
    pub steps: Vec<StepFinding>,
    /// What the host lost, what was announced, and what could not be compared.
    pub losses: Vec<Loss>,
    /// The comparison of the last baseline with the trial; null where there was nothing to compare.
    pub first: Option<Verdict>,
    /// The same with the second record.
    pub second: Option<Verdict>,
}

/// What becomes of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It is made permanent.
    Keep,
    /// It is not; the next rung may be tried.
    Reject,
    /// Member of a set: it opens its own rung and harms nothing; the set goes on with it.
    Step,
    /// The evidence does not suffice; the old configuration stays.
    Inconclusive,
    /// Possible now and slower than what it replaces: a person decides, until then the old configuration stays.
    AskPerson,
}

/// What a trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialCall {
    /// Data is wrong.
    Corrupt,
    /// A transfer hangs that did not before.
    Hang,
    /// Something is lost, slower or new and bad.
    Worse,
    /// The evidence does not suffice.
    Inconclusive,
    /// Possible now, slower than what it replaces, and nothing else is worse.
    PossibleButSlower,
    /// Right where it was wrong, possible where it was not, or faster beyond doubt.
    Better,
    /// No difference that matters.
    Same,
}

/// A step of the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepName {
    /// The host against the baseline.
    Health,
    /// Whether the records can be compared.
    Comparable,
    /// Wrong words, hangs, lost transfers, new faults.
    Data,
    /// Wrong before, right now.
    Cured,
    /// Impossible before, possible now.
    Possible,
    /// Arms that both records have.
    Speed,
    /// The findings.
    Audit,
}

/// What a step says about the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepOutcome {
    /// Speaks for it.
    For,
    /// Speaks against it.
    Against,
    /// Looked at; neither.
    Nothing,
    /// The evidence does not suffice.
    Open,
    /// There was nothing to look at.
    NotJudged,
}

/// A step and what it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepFinding {
    /// Step.
    pub step: StepName,
    /// What it says.
    pub outcome: StepOutcome,
    /// What it found, a sentence each, the gravest first.
    pub found: Vec<String>,
}

impl StepFinding {
    /// A step with what it found.
    pub(super) fn new(step: StepName, outcome: StepOutcome, found: Vec<String>) -> Self {
        Self { step, outcome, found }
    }

    /// A step that had nothing to look at.
    pub(super) fn not_judged(step: StepName, why: impl Into<String>) -> Self {
        Self::new(step, StepOutcome::NotJudged, vec![why.into()])
    }

    /// It speaks against the change.
    pub(super) fn against(&self) -> bool {
        self.outcome == StepOutcome::Against
    }

    /// It leaves the judgement open.
    pub(super) fn open(&self) -> bool {
        self.outcome == StepOutcome::Open
    }

    /// It speaks for the change.
    pub(super) fn speaks_for(&self) -> bool {
        self.outcome == StepOutcome::For
    }

    /// What it found, as one clause.
    pub(super) fn clause(&self) -> String {
        match self.found.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [one, more @ ..] => format!("{one} (and {} more)", more.len()),
        }
    }
}
