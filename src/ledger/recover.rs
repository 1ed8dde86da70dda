//! What the next run does about an entry that was left unfinished, decided from the last line of its
//! journal: before the commit mark it is undone, after it it is finished.

use super::Ledger;
use super::document::RunPolicy;
use super::entry::UNFINISHED;
use super::error::{LedgerError, state};
use super::history::Damage;
use super::journal::Step;
use super::run_in_target::check_policy;
use super::store::Stored;
use schemars::JsonSchema;
use serde::Serialize;

/// An unfinished entry and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recovered {
    /// Entry.
    pub id: String,
    /// In words.
    pub did: String,
    /// Commands that a person must run, as one would type them.
    pub outstanding: Vec<String>,
    /// It was finished: the change stands.
    pub applied: bool,
}

impl Ledger {
    /// Finishes or undoes what an earlier run left.
    pub(super) fn recover(&mut self) -> Result<(), LedgerError> {
        self.remove_half_made()?;
        let mut reverting = Vec::new();
        for id in self.store.ids()?.into_iter().rev() {
            let stored = match self.store.load(&id) {
                Ok(stored) => stored,
                Err(error @ LedgerError::Newer { .. }) => return Err(error),
                Err(error) => {
                    self.damaged.push(Damage::from_error(&self.store.path(&id), &error));
                    continue;
                }
            };
            if !stored.document.known() && unfinished(stored.last()) {
                return Err(LedgerError::Newer {
                    path: stored.dir.join("change.json"),
                    found: stored.document.version.to_string(),
                    known: super::document::VERSION.to_string(),
                });
            }
            match stored.last().clone() {
                Step::Begun { .. } | Step::Prepared => self.undo_unfinished(&stored)?,
                Step::FilesWritten | Step::CommandsRun { .. } => self.finish_unfinished(&stored)?,
                Step::CommandsFailed { .. } => {
                    let policy = self.policy_now(stored.document.run);
                    let did = self.undo_failed(&stored, policy)?;
                    self.report(&id, format!("a command of it had failed: {did}"), Vec::new());
                }
                Step::Reverting { files, run } => {
                    let kept = self.go_on_reverting(&stored, &files)?;
                    reverting.push((stored, run, kept));
                }
                Step::FilesRestored { kept } => {
                    let run = revert_policy(&stored);
                    reverting.push((stored, run, kept));
                }
                Step::Applied { .. }
                | Step::Undone { .. }
                | Step::Reverted { .. }
                | Step::RevertGivenUp { .. } => {}
            }
        }
        self.close_reverting(&reverting)
    }

    /// Folders of entries that were never named: no file had been touched.
    fn remove_half_made(&mut self) -> Result<(), LedgerError> {
        let Some(entries) = &self.store.entries else { return Ok(()) };
        let names = entries.names().map_err(state(entries.path(), "list the ledger"))?;
        let mut removed = Vec::new();
        for name in names.into_iter().filter_map(|name| name.into_string().ok()) {
            let Some(id) = name.strip_prefix(UNFINISHED) else { continue };
            entries.remove_tree(&name).map_err(state(entries.join(&name), "remove the unfinished entry"))?;
            removed.push(id.to_owned());
        }
        for id in removed {
            self.report(
                &id,
                "its preparation was interrupted; no file had been touched".to_owned(),
                Vec::new(),
            );
        }
        Ok(())
    }

    fn undo_unfinished(&mut self, stored: &Stored) -> Result<(), LedgerError> {
        let kept = self.undo(stored, "interrupted before every file was written", Vec::new())?;
        let did = format!(
            "it was interrupted before every file was written; the files were put back{}",
            left(&kept)
        );
        self.report(&stored.document.id, did, Vec::new());
        Ok(())
    }

    fn finish_unfinished(&mut self, stored: &Stored) -> Result<(), LedgerError> {
        let policy = self.policy_now(stored.document.run);
        let id = stored.document.id.clone();
        match self.finish(stored, policy) {
            Ok(finished) => {
                let did = "it was interrupted after its files were written; it was finished".to_owned();
                self.report(&id, did, finished.outstanding);
                if let Some(report) = self.recovered.last_mut() {
                    report.applied = true;
                }
            }
            // Taken back as a whole, so the ledger is in order again.
            Err(LedgerError::CommandFailed(failure)) => {
                self.report(
                    &id,
                    format!("it was interrupted after its files were written; {failure}"),
                    Vec::new(),
                );
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn close_reverting(&mut self, reverting: &[(Stored, RunPolicy, Vec<String>)]) -> Result<(), LedgerError> {
        let Some((_, run, _)) = reverting.first() else { return Ok(()) };
        let policy = self.policy_now(*run);
        let entries: Vec<&Stored> = reverting.iter().map(|(stored, ..)| stored).collect();
        let outstanding = match self.close(&entries, policy) {
            Ok((outstanding, _)) => outstanding,
            Err(LedgerError::RegenerateFailed(failure)) => vec![failure.command],
            Err(error) => return Err(error),
        };
        for (stored, _, kept) in reverting {
            let did = format!("taking it back was interrupted; that was finished{}", left(kept));
            self.report(&stored.document.id, did, outstanding.clone());
        }
        Ok(())
    }

    /// The recorded policy, or printing when the target cannot run programs now.
    fn policy_now(&self, recorded: RunPolicy) -> RunPolicy {
        check_policy(recorded, &self.store.target).map_or(RunPolicy::PrintOnly, |()| recorded)
    }

    fn report(&mut self, id: &str, did: String, outstanding: Vec<String>) {
        self.recovered.push(Recovered { id: id.to_owned(), did, outstanding, applied: false });
    }
}

/// True when the next run has something to do about it.
pub(super) fn unfinished(last: &Step) -> bool {
    !matches!(last, Step::Applied { .. } | Step::Undone { .. } | Step::Reverted { .. })
}

fn revert_policy(stored: &Stored) -> RunPolicy {
    let planned = stored.events.iter().rev().find_map(|event| match &event.step {
        Step::Reverting { run, .. } => Some(*run),
        _ => None,
    });
    planned.unwrap_or(stored.document.run)
}

fn left(kept: &[String]) -> String {
    if kept.is_empty() {
        String::new()
    } else {
        format!(", except what someone changed meanwhile: {}", kept.join(", "))
    }
}
