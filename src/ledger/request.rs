//! What is asked of the ledger, and what it answers.

use super::commands::CommandOutput;
use super::document::{ChangeRecord, RunPolicy};
use crate::plan::Operation;
use schemars::JsonSchema;
use serde::Serialize;

/// Changes to apply together: all of them or none.
#[derive(Clone, Debug)]
pub struct Request {
    /// One line for people.
    pub title: String,
    /// The changes, as they are remembered.
    pub changes: Vec<ChangeRecord>,
    /// What to do, in order. Files are written before any command is run; the same command runs once.
    pub operations: Vec<Operation>,
    /// Commands that regenerate what follows from the files when the change is taken back.
    pub revert_commands: Vec<Vec<String>>,
    /// Whether and where commands are run.
    pub run: RunPolicy,
}

/// What was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Applied {
    /// The new entry; none when there was nothing to do.
    pub id: Option<String>,
    /// A file was written or a command run.
    pub changed: bool,
    /// Commands that a person must run, as one would type them (exit 7).
    pub outstanding: Vec<String>,
    /// Commands that were run.
    pub outputs: Vec<CommandOutput>,
}
