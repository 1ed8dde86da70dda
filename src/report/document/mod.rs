//! The versioned JSON documents, one file per subject. Their schemas are made from these types and kept in
//! `schema/`.

mod audit;
mod ledger;
mod plan;
mod provision;
mod rules;
mod trial;

pub use audit::{AuditDocument, GpuDocument, HostDocument, PairDocument};
pub use ledger::{HistoryDocument, RevertDocument, ShowDocument, StatusDocument, current, stands};
pub use plan::PlanDocument;
pub use provision::{LeftDocument, ProvisionDocument};
pub use rules::{RuleBody, RuleDocument, RulesDocument};
pub use trial::{ArmedDocument, StepDocument, TrialDocument, TrialReport};

use schemars::JsonSchema;
use serde::Serialize;

/// Version of a document: readers accept a newer minor, and refuse a newer major.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Version {
    /// Breaking.
    pub major: u32,
    /// Additive.
    pub minor: u32,
}

/// The present version of every document of this program.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// A document as indented JSON with a final newline.
pub fn json<T: Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
