//! Taking entries back: planned as a whole, journaled, then done file by file so that a killed run can be
//! brought to its end.

use super::Ledger;
use super::commands::{CommandOutput, LOG};
use super::crash::crashpoint;
use super::document::RunPolicy;
use super::entry::keep_merged;
use super::error::{CommandFailure, LedgerError, state};
use super::journal::{Action, FileRevert, Step, append};
use super::quote::command_line;
use super::replace::{remove, stage, swap, temporary};
use super::revert_plan::{FileOutcome, Planned, Selected, plan, select};
use super::run_in_target::check_policy;
use super::settle::settle;
use super::store::{Store, Stored};
use super::target_file::look;
use super::undo::remove_made;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// How to take back.
#[derive(Clone, Copy, Debug)]
pub struct RevertOptions {
    /// Only say what would be done. (Without a lock and without recovery: [`preview_revert`].)
    pub dry_run: bool,
    /// Whether and where commands are run.
    pub run: RunPolicy,
}

/// What was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RevertOutcome {
    /// Entries taken back, newest first.
    pub ids: Vec<String>,
    /// Why there was nothing to do.
    pub nothing: Option<String>,
    /// Files.
    pub files: Vec<FileOutcome>,
    /// Commands that a person must run, as one would type them (exit 7). In a dry run: those that would run.
    pub outstanding: Vec<String>,
    /// Commands that were run.
    pub outputs: Vec<CommandOutput>,
    /// Nothing was done.
    pub dry_run: bool,
}

/// What [`Ledger::revert`] would do: takes no lock, writes nothing.
pub fn preview_revert(target: &Path, which: &str) -> Result<RevertOutcome, LedgerError> {
    preview(&Store::open(target)?, which)
}

fn preview(store: &Store, which: &str) -> Result<RevertOutcome, LedgerError> {
    let ids = match select(store, which)? {
        Selected::Entries(ids) => ids,
        Selected::Nothing(why) => {
            return Ok(RevertOutcome { nothing: Some(why), dry_run: true, ..RevertOutcome::default() });
        }
    };
    let planned = plan(store, &ids)?;
    let outstanding = commands(planned.iter().map(|p| &p.stored));
    Ok(RevertOutcome {
        ids,
        nothing: None,
        files: planned.into_iter().flat_map(|p| p.outcomes).collect(),
        outstanding: outstanding.iter().map(|argv| command_line(argv)).collect(),
        outputs: Vec::new(),
        dry_run: true,
    })
}

impl Ledger {
    /// Takes entries back: `last` (the newest that stands), `all`, or an id. A file that is still as the
    /// change left it gets its old bytes, owner, mode, attributes and time; from one that changed since, the
    /// change is taken out when that can be done line by line.
    ///
    /// # Errors
    ///
    /// No such entry; files changed since in the same lines (nothing touched, both versions named); a file
    /// cannot be written; a command that regenerates failed (the files are back).
    pub fn revert(&mut self, which: &str, options: RevertOptions) -> Result<RevertOutcome, LedgerError> {
        if options.dry_run {
            return preview(&self.store, which);
        }
        let ids = match select(&self.store, which)? {
            Selected::Entries(ids) => ids,
            Selected::Nothing(why) => {
                return Ok(RevertOutcome { nothing: Some(why), ..RevertOutcome::default() });
            }
        };
        let planned = plan(&self.store, &ids)?;
        if planned.iter().any(|p| !p.stored.document.revert_commands.is_empty()) {
            check_policy(options.run, &self.store.target)?;
        }
        for entry in &planned {
            self.put_files_back(entry, options.run)?;
        }
        let stored: Vec<&Stored> = planned.iter().map(|entry| &entry.stored).collect();
        let (outstanding, outputs) = self.close(&stored, options.run)?;
        Ok(RevertOutcome {
            ids,
            nothing: None,
            files: planned.into_iter().flat_map(|p| p.outcomes).collect(),
            outstanding,
            outputs,
            dry_run: false,
        })
    }

    fn put_files_back(&self, entry: &Planned, run: RunPolicy) -> Result<(), LedgerError> {
        let stored = &entry.stored;
        let journal = || state(stored.dir.path(), "write the journal");
        keep_merged(&stored.dir, &entry.merged).map_err(state(stored.dir.path(), "keep the merged file"))?;
        crashpoint!("merged-kept");
        append(&stored.dir, Step::Reverting { files: entry.files.clone(), run }).map_err(journal())?;
        crashpoint!("revert-planned");
        if let Err(error) = self.stage_back(stored, &entry.files, "no file was touched, the change stands") {
            // A full disk or the like: no file is touched yet, so the change stands as it was.
            self.unstage(stored, &entry.files);
            append(&stored.dir, Step::RevertGivenUp { why: error.to_string() }).map_err(journal())?;
            return Err(error);
        }
        crashpoint!("files-staged");
        self.swap_back(stored, &entry.files).map(drop)
    }

    /// Writes the temporary files of a revert.
    fn stage_back(&self, stored: &Stored, files: &[FileRevert], left: &str) -> Result<(), LedgerError> {
        for file in files {
            let (Some(bytes), Some(meta)) = (stored.wanted(file)?, &file.result) else { continue };
            let Some(record) = stored.document.files.get(file.index) else { continue };
            let place = self.store.target.locate(&record.real)?;
            if place.real != record.real || !place.missing.is_empty() {
                // Moved away since the plan: left alone, and said so, when the files are put in place.
                continue;
            }
            let temp = temporary(&stored.document.id, file.index);
            stage(&place.dir, &temp, &bytes, meta, false).map_err(|source| LedgerError::Write {
                path: record.path.clone(),
                action: "write a temporary file beside it",
                source,
                left: left.to_owned(),
            })?;
        }
        Ok(())
    }

    fn unstage(&self, stored: &Stored, files: &[FileRevert]) {
        for file in files {
            let Some(record) = stored.document.files.get(file.index) else { continue };
            if let Ok(place) = self.store.target.locate(&record.real) {
                let _ = place.dir.remove(temporary(&stored.document.id, file.index));
            }
        }
    }

    /// Puts the staged files in place, newest first. Files that someone changed since the plan are left
    /// alone and returned.
    fn swap_back(&self, stored: &Stored, files: &[FileRevert]) -> Result<Vec<String>, LedgerError> {
        let mut kept = Vec::new();
        for file in files.iter().rev() {
            let Some(record) = stored.document.files.get(file.index) else { continue };
            if file.action == Action::Nothing {
                continue;
            }
            let fail = |action, source| LedgerError::Write {
                path: record.path.clone(),
                action,
                source,
                left: format!(
                    "change {} is taken back in part; the next run goes on with it",
                    stored.document.id
                ),
            };
            let place = match self.store.target.locate(&record.real) {
                Ok(place) if place.real == record.real && place.missing.is_empty() => place,
                _ => {
                    kept.push(record.path.clone());
                    continue;
                }
            };
            let temp = temporary(&stored.document.id, file.index);
            let now = look(&place).ok().map(|seen| seen.map(|seen| seen.metadata.sha256));
            let result = file.result.as_ref().map(|result| result.sha256.clone());
            if now.as_ref() == Some(&result) {
                place.dir.remove(&temp).map_err(|e| fail("remove the temporary file beside it", e))?;
            } else if now.as_ref() != Some(&file.expect) {
                place.dir.remove(&temp).map_err(|e| fail("remove the temporary file beside it", e))?;
                kept.push(record.path.clone());
            } else if result.is_none() {
                remove(&place.dir, &place.name).map_err(|e| fail("remove it", e))?;
            } else {
                swap(&place.dir, &temp, &place.name).map_err(|e| fail("put it back", e))?;
            }
        }
        remove_made(&self.store.target, &stored.document.made)?;
        append(&stored.dir, Step::FilesRestored { kept: kept.clone() })
            .map_err(state(stored.dir.path(), "write the journal"))?;
        crashpoint!("files-restored");
        Ok(kept)
    }

    /// Goes on with a revert that was killed after its line in the journal.
    pub(super) fn go_on_reverting(
        &self,
        stored: &Stored,
        files: &[FileRevert],
    ) -> Result<Vec<String>, LedgerError> {
        self.stage_back(
            stored,
            files,
            "taking the change back is not finished; the next run goes on with it",
        )?;
        self.swap_back(stored, files)
    }

    /// Regenerates what follows from the files of entries whose files are back, and marks them reverted.
    pub(super) fn close(
        &self,
        entries: &[&Stored],
        run: RunPolicy,
    ) -> Result<(Vec<String>, Vec<CommandOutput>), LedgerError> {
        let commands = commands(entries.iter().copied());
        let Some(first) = entries.first() else { return Ok((Vec::new(), Vec::new())) };
        let (left, outputs) = self.regenerate(first, &commands, run);
        settle(&self.store.target);
        for entry in entries {
            let own = entry.document.revert_commands.iter().filter(|argv| left.contains(argv));
            let step = Step::Reverted {
                by: "peerfix".to_owned(),
                commands: outputs.iter().map(CommandOutput::ran).collect(),
                outstanding: own.cloned().collect(),
            };
            append(&entry.dir, step).map_err(state(entry.dir.path(), "write the journal"))?;
        }
        let outstanding: Vec<String> = left.iter().map(|argv| command_line(argv)).collect();
        if let Some(failed) = outputs.iter().find(|output| !output.success) {
            return Err(LedgerError::RegenerateFailed(Box::new(CommandFailure {
                id: first.document.id.clone(),
                command: failed.command.clone(),
                status: failed.status.clone(),
                tail: failed.tail(),
                log: first.dir.join(LOG),
                then: format!("the files are back; run by hand: {}", outstanding.join("; ")),
            })));
        }
        Ok((outstanding, outputs))
    }
}

/// Commands of several entries, each once.
fn commands<'a>(entries: impl Iterator<Item = &'a Stored>) -> Vec<Vec<String>> {
    let mut commands: Vec<Vec<String>> = Vec::new();
    for argv in entries.flat_map(|stored| &stored.document.revert_commands) {
        if !commands.contains(argv) {
            commands.push(argv.clone());
        }
    }
    commands
}
