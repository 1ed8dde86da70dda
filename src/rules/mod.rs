//! Findings from facts. The rules are data in `/rules`; this room loads, checks and evaluates them.

pub mod catalogue;
pub mod embedded;
pub mod engine;
pub mod examples;
pub mod expr;
pub mod model;
pub mod source;
pub mod template;

pub use catalogue::{Catalogue, RISKS};
pub use engine::{evaluate, evaluate_projected, worst};
pub use model::{About, Kind, Severity, Status};
pub use source::{RuleError, Source};

use crate::boot::Boot;
use crate::host::Host;
use crate::pairs::Pair;
use crate::root::Evidence;
use schemars::JsonSchema;
use serde::Serialize;

/// What a rule expression sees.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Facts<'a> {
    /// The host.
    pub host: &'a Host,
    /// Its boot configuration.
    pub boot: &'a Boot,
    /// Its pairs.
    pub pairs: &'a [Pair],
}

/// One judgement of one rule.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    /// Status.
    pub status: Status,
    /// Severity.
    pub severity: Severity,
    /// BDFs, files or words, the most affected first.
    pub subjects: Vec<String>,
    /// One or two sentences.
    pub summary: String,
    /// Lines that say so; for `unknown` the paths that could not be read, with the reason.
    pub evidence: Vec<Evidence>,
    /// What would show that this is mistaken.
    pub refuted_by: String,
    /// Ids of the changes for it, in ladder order (filled by `plan`).
    pub changes: Vec<String>,
    /// Remedies offered for it, in ladder order.
    #[serde(skip)]
    #[schemars(skip)]
    pub remedies: Vec<Offer>,
}

/// A remedy with its templates filled in for one finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Stable name.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Place on the ladder of its rule, from 1, counted over the offered remedies.
    pub ladder: i64,
    /// What and why.
    pub explain: String,
    /// Words to add.
    pub add: Vec<String>,
    /// Words to remove where they stand.
    pub remove: Vec<String>,
    /// `option:direction`.
    pub pulls: Option<String>,
    /// Set of changes that are judged together.
    pub set: Option<String>,
    /// Risk names.
    pub risks: Vec<String>,
    /// Those of the risks that need recorded consent.
    pub consents: Vec<String>,
    /// What is lost.
    pub loses: Vec<String>,
    /// What blocks it.
    pub blocked_by: Vec<String>,
    /// What must be established first.
    pub conditional: Option<String>,
    /// Steps for a person; non-empty makes it manual.
    pub steps: Vec<String>,
    /// What must be true afterwards.
    pub expect: Vec<String>,
}
