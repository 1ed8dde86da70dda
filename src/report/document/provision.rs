//! `peerfix/provision`.

use super::{VERSION, Version};
use crate::ledger::Applied;
use crate::plan::{Change, Combined, FileDiff, Selection};
use schemars::JsonSchema;
use serde::Serialize;

/// `peerfix/provision`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProvisionDocument<'a> {
    /// `peerfix/provision`.
    #[schemars(extend("const" = "peerfix/provision"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// Something was written.
    pub changed: bool,
    /// Entry of the ledger; null when nothing was written.
    pub ledger: Option<&'a str>,
    /// Changes that were applied.
    pub applied: Vec<&'a Change>,
    /// Changes configured before and not yet running.
    pub pending: Vec<&'a Change>,
    /// Files as they were edited, all changes together.
    pub edits: &'a [FileDiff],
    /// Command line of the next boot.
    pub effective_cmdline: Option<&'a str>,
    /// Commands that a person must still run.
    pub commands: Vec<String>,
    /// Rules left without a free rung, and why.
    pub left: Vec<LeftDocument<'a>>,
    /// A reboot is needed.
    pub reboot: bool,
}

/// A rule that nothing was done for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftDocument<'a> {
    /// Rule.
    pub rule: &'a str,
    /// Why.
    pub why: &'a str,
}

impl<'a> ProvisionDocument<'a> {
    /// After writing.
    pub fn of(
        selection: &'a Selection,
        chosen: &[&'a Change],
        applied: &'a Applied,
        combined: &'a Combined,
    ) -> Self {
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed: applied.changed,
            ledger: applied.id.as_deref(),
            applied: chosen.to_vec(),
            pending: Vec::new(),
            edits: &combined.edits,
            effective_cmdline: combined.effective_cmdline.as_deref(),
            commands: applied.outstanding.clone(),
            left: left(selection),
            reboot: true,
        }
    }

    /// When nothing was written.
    pub fn unchanged(selection: &'a Selection, pending: &[&'a Change]) -> Self {
        let mut commands: Vec<String> = Vec::new();
        for command in pending.iter().flat_map(|c| &c.commands) {
            if !commands.contains(command) {
                commands.push(command.clone());
            }
        }
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed: false,
            ledger: None,
            applied: Vec::new(),
            pending: pending.to_vec(),
            edits: &[],
            effective_cmdline: None,
            commands,
            left: left(selection),
            reboot: !pending.is_empty(),
        }
    }
}

fn left(selection: &Selection) -> Vec<LeftDocument<'_>> {
    selection.left.iter().map(|(rule, why)| LeftDocument { rule, why }).collect()
}
