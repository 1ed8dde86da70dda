//! Findings, boot configuration and policy become changes made of operations. Pure: nothing here writes.

pub mod operation;

pub use operation::Operation;

use crate::rules::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// One change, applied or refused as a whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Change {
    /// `c1`, `c2`, ... in order.
    pub id: String,
    /// Kind.
    pub kind: Kind,
    /// Rules it answers.
    pub rules: Vec<String>,
    /// Rung on the ladder, from 1.
    pub ladder: i64,
    /// Words added.
    pub add: Vec<String>,
    /// Words removed.
    pub remove: Vec<String>,
    /// Files edited, as unified diffs.
    pub edits: Vec<FileDiff>,
    /// Programs to run afterwards.
    pub commands: Vec<String>,
    /// Stable name.
    pub name: String,
    /// What it does and why.
    pub explain: String,
    /// Risk names.
    pub risks: Vec<String>,
    /// What is lost.
    pub loses: Vec<String>,
    /// `none` or `required`.
    pub consent: Consent,
    /// Configured already, not yet running.
    pub pending: bool,
    /// What blocks it; a blocked change is never applied.
    pub blocked_by: Vec<String>,
    /// A person must do it.
    pub manual: bool,
    /// What must be established first; a conditional change is never applied without being named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditional: Option<String>,
    /// Steps for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What must be true afterwards.
    pub expect: Vec<String>,
    /// Command line of the next boot with this change alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_cmdline: Option<String>,
    /// Needs a reboot to take effect.
    pub reboot: bool,
    /// How to take it back.
    pub revert: Vec<String>,
    /// What the ledger would do.
    #[serde(skip)]
    #[schemars(skip)]
    pub operations: Vec<Operation>,
}

/// Diff of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileDiff {
    /// Absolute path in the target.
    pub path: String,
    /// Unified diff.
    pub diff: String,
}

/// Whether recorded consent is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// No.
    None,
    /// Yes: one `--accept-risk` per risk.
    Required,
}
