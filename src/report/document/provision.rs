//! `peerfix/provision`.

use super::{VERSION, Version};
use crate::ledger::{Applied, CommandOutput};
use crate::plan::{Change, Combined, FileDiff, Selection};
use schemars::JsonSchema;
use serde::Serialize;

/// `peerfix/provision`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProvisionDocument<'a> {
    /// `peerfix/provision`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// A file was written or a command run.
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
    /// Commands that were run.
    pub ran: Vec<&'a str>,
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
        pending: &[&'a Change],
        applied: &'a Applied,
        combined: &'a Combined,
        commands: Vec<String>,
    ) -> Self {
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed: applied.changed,
            ledger: applied.id.as_deref(),
            applied: chosen.to_vec(),
            pending: pending.to_vec(),
            edits: &combined.edits,
            effective_cmdline: combined.effective_cmdline.as_deref(),
            commands,
            ran: applied.outputs.iter().map(|output| output.command.as_str()).collect(),
            left: left(selection),
            reboot: true,
        }
    }

    /// When no file was written: commands that an earlier run left may have been run, and an interrupted
    /// change (`ledger`) finished.
    pub fn unchanged(
        selection: &'a Selection,
        pending: &[&'a Change],
        ran: &'a [CommandOutput],
        ledger: Option<&'a str>,
        commands: Vec<String>,
    ) -> Self {
        let changed = !ran.is_empty() || ledger.is_some();
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed,
            ledger,
            applied: Vec::new(),
            pending: pending.to_vec(),
            edits: &[],
            effective_cmdline: None,
            commands,
            ran: ran.iter().map(|output| output.command.as_str()).collect(),
            left: left(selection),
            reboot: changed || !pending.is_empty(),
        }
    }
}

fn left(selection: &Selection) -> Vec<LeftDocument<'_>> {
    selection.left.iter().map(|(rule, why)| LeftDocument { rule, why }).collect()
}
