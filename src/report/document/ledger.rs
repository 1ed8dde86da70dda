//! `peerfix/status`, `peerfix/history`, `peerfix/change` and `peerfix/revert`.

use super::{TrialDocument, VERSION, Version};
use crate::ledger::RevertOutcome;
use crate::ledger::history::{Entry, Shown, State};
use schemars::JsonSchema;
use serde::Serialize;

/// `peerfix/status`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusDocument<'a> {
    /// `peerfix/status`.
    #[schemars(extend("const" = "peerfix/status"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// Changes that stand, or are unfinished or damaged.
    pub standing: Vec<&'a Entry>,
    /// Commands that a person must still run.
    pub outstanding: &'a [String],
    /// Trial boots that are not at their end, and the last one that is.
    pub trials: Vec<&'a TrialDocument>,
}

impl<'a> StatusDocument<'a> {
    /// The status of a ledger.
    pub fn of(entries: &'a [Entry], outstanding: &'a [String], trials: &'a [TrialDocument]) -> Self {
        let standing = entries.iter().filter(|e| stands(e)).collect();
        Self { schema: "peerfix/status", version: VERSION, standing, outstanding, trials: current(trials) }
    }
}

/// Trials that matter now: those not at their end, and the newest.
pub fn current(trials: &[TrialDocument]) -> Vec<&TrialDocument> {
    let last = trials.len().saturating_sub(1);
    trials
        .iter()
        .enumerate()
        .filter(|(at, trial)| *at == last || trial.open())
        .map(|(_, trial)| trial)
        .collect()
}

/// A change that is in force, unfinished or damaged.
pub fn stands(entry: &Entry) -> bool {
    entry.unfinished || matches!(entry.state, State::Applied | State::Damaged)
}

/// `peerfix/history`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistoryDocument<'a> {
    /// `peerfix/history`.
    #[schemars(extend("const" = "peerfix/history"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// All entries, the newest last.
    pub entries: &'a [Entry],
    /// All trial boots, the newest last.
    pub trials: &'a [TrialDocument],
}

impl<'a> HistoryDocument<'a> {
    /// The history of a ledger.
    pub fn of(entries: &'a [Entry], trials: &'a [TrialDocument]) -> Self {
        Self { schema: "peerfix/history", version: VERSION, entries, trials }
    }
}

/// `peerfix/change`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowDocument<'a> {
    /// `peerfix/change`.
    #[schemars(extend("const" = "peerfix/change"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The entry with its diffs.
    pub change: &'a Shown,
}

impl<'a> ShowDocument<'a> {
    /// One entry.
    pub fn of(shown: &'a Shown) -> Self {
        Self { schema: "peerfix/change", version: VERSION, change: shown }
    }
}

/// `peerfix/revert`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RevertDocument<'a> {
    /// `peerfix/revert`.
    #[schemars(extend("const" = "peerfix/revert"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// A file was restored or a command run.
    pub changed: bool,
    /// What was taken back.
    pub outcome: &'a RevertOutcome,
}

impl<'a> RevertDocument<'a> {
    /// One outcome.
    pub fn of(outcome: &'a RevertOutcome) -> Self {
        let changed = !outcome.dry_run && !outcome.ids.is_empty();
        Self { schema: "peerfix/revert", version: VERSION, changed, outcome }
    }
}
