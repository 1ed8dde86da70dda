//! The only writer: executes operations; journal, backup, apply, revert. History reads without the lock.
//!
//! Every change is an entry, a folder `var/lib/peerfix/ledger/NNNN` below the root:
//!
//! - `change.json`: what is changed (schema `peerfix/ledger`), written once before a file is touched
//! - `journal`: one JSON line for each durable step; the last line decides what happens after a kill
//! - `before/N`, `after/N`: both versions of file N with owner, mode, attributes and time
//! - `revert/N`: the merged version, when the file had changed before the change was taken back
//! - `revert.sh`: takes the change back without peerfix
//! - `commands.log`: output of the commands
//!
//! Beside the entries lie the folders of trial boots (`trials/ID`) and the mark of the one that is pending.
//!
//! Order of an apply: journal, copies of both versions, `change.json`, `revert.sh`, then a temporary file
//! beside every target, then the renames, then the commit mark `files-written`, then the commands. Killed
//! before the commit mark, the next run puts every file back; killed after it, the next run finishes.

mod apply;
mod commands;
mod crash;
mod digest;
mod dir;
mod document;
mod entry;
mod environment;
mod error;
mod finish;
pub mod history;
mod journal;
mod merge;
mod metadata;
mod outstanding;
mod place;
mod quote;
mod recover;
mod replace;
mod request;
mod revert;
mod revert_plan;
mod revert_script;
mod run_in_target;
mod settle;
mod state_folder;
mod store;
mod target_file;
mod trials;
mod undo;
mod words;

pub use commands::CommandOutput;
#[cfg(feature = "crashpoints")]
pub use crash::CRASH_VARIABLE;
pub use crash::{CRASH_POINTS, TRIAL_POINTS};
pub use document::{ChangeRecord, RunPolicy, SCHEMA, VERSION, Version};
pub use error::{CommandFailure, Conflict, LedgerError};
pub use metadata::Metadata;
pub use quote::{command_line, quote};
pub use recover::Recovered;
pub use request::{Applied, Request};
pub use revert::{RevertOptions, RevertOutcome, preview_revert};
pub use revert_plan::FileOutcome;
pub use run_in_target::check_run_in_target;
pub use trials::{pending, trial_file, trials};

use error::state;
use history::Damage;
use std::fs::File;
use std::path::Path;
use store::Store;

/// The ledger of one target, locked for writing as long as this lives.
#[derive(Debug)]
pub struct Ledger {
    store: Store,
    recovered: Vec<Recovered>,
    /// Entries that cannot be understood and may be unfinished.
    damaged: Vec<Damage>,
    /// Held for the lock on it.
    lock: File,
}

impl Ledger {
    /// Opens the ledger of the host below `target` (`/` for the running system), makes it when missing, takes
    /// its one lock, and finishes or undoes an entry that an earlier run left unfinished.
    ///
    /// # Errors
    ///
    /// Another process holds the lock; the state folder cannot be written or others can write to it; an entry
    /// is of a newer format; an unfinished entry can neither be finished nor undone.
    pub fn open(target: &Path) -> Result<Self, LedgerError> {
        let target = place::Target::open(target).map_err(state(target, "open the root"))?;
        let (lock, entries) = state_folder::open(&target)?;
        let store = Store { target, entries: Some(entries) };
        let mut ledger = Self { store, recovered: Vec::new(), damaged: Vec::new(), lock };
        ledger.recover()?;
        Ok(ledger)
    }

    /// What was finished or undone when the ledger was opened.
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// Entries that cannot be understood; nothing is applied while there are any.
    pub fn damaged(&self) -> &[Damage] {
        &self.damaged
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Closing alone would keep the lock while a child that is just being started still has the file open.
        let _ = self.lock.unlock();
    }
}
