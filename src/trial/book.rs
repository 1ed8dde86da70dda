//! The open book of one trial: its journal, written through the ledger, one step at a time.

use super::document::{Pending, Trial, mark};
use super::error::TrialError;
use super::history::{self, Told};
use super::journal::{Event, JOURNAL, Step, line, may_follow};
use crate::ledger::{Ledger, trial_file};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// A trial that is being written to.
pub(super) struct Book<'a> {
    /// The ledger, locked.
    pub(super) ledger: &'a mut Ledger,
    /// The trial and its journal so far.
    pub(super) told: Told,
    /// This boot.
    pub(super) boot: String,
}

impl<'a> Book<'a> {
    /// Writes a new trial down and marks it as pending.
    pub(super) fn create(ledger: &'a mut Ledger, trial: Trial) -> Result<Self, TrialError> {
        let this_boot = trial.boot_id.clone();
        let mut book = Self { ledger, told: Told { trial, events: Vec::new() }, boot: this_boot };
        // First the mark: from here on the boot unit looks after it, whenever the machine stops.
        book.pend(&Pending::Trial(book.told.trial.id.clone()))?;
        book.put("trial.json", &book.told.trial.clone())?;
        book.step(Step::Proposed)?;
        Ok(book)
    }

    /// Opens a trial for going on with it.
    pub(super) fn open(
        ledger: &'a mut Ledger,
        target: &Path,
        id: &str,
        boot: &str,
    ) -> Result<Self, TrialError> {
        let told = history::read(target, id)?
            .map_err(|lost| TrialError::Damaged { id: lost.id, reason: lost.reason })?;
        Ok(Self { ledger, told, boot: boot.to_owned() })
    }

    /// Writes a step down. It is on the medium when this returns.
    pub(super) fn step(&mut self, step: Step) -> Result<(), TrialError> {
        let id = self.told.trial.id.clone();
        if !may_follow(&self.told.events, &step) {
            let now = format!("{:?}", self.told.state());
            return Err(TrialError::Order { id, now, next: format!("{step:?}") });
        }
        let text = line(&self.boot, &step)
            .map_err(|error| TrialError::Damaged { id: id.clone(), reason: error.to_string() })?;
        self.ledger.append_trial_line(&id, JOURNAL, &text)?;
        self.told.events.push(Event { at: super::document::now(), boot: self.boot.clone(), step });
        Ok(())
    }

    /// The same, and nothing is pending any more: the boot unit has nothing left to do.
    pub(super) fn end(&mut self, step: Step) -> Result<(), TrialError> {
        self.step(step)?;
        self.ledger.set_pending(None)?;
        Ok(())
    }

    /// Marks what is pending.
    pub(super) fn pend(&mut self, pending: &Pending) -> Result<(), TrialError> {
        let text = mark(pending, &self.told.trial.policy);
        self.ledger.set_pending(Some(&text))?;
        Ok(())
    }

    /// The journal ends, and the next boot of the old configuration goes on with the next change.
    pub(super) fn end_and_go_on(&mut self, step: Step) -> Result<(), TrialError> {
        self.step(step)?;
        self.pend(&Pending::After(self.told.trial.id.clone()))
    }

    /// Keeps a document of the trial as JSON.
    pub(super) fn put<T: Serialize>(&mut self, name: &str, document: &T) -> Result<(), TrialError> {
        let id = self.told.trial.id.clone();
        let mut bytes = serde_json::to_vec_pretty(document)
            .map_err(|error| TrialError::Damaged { id: id.clone(), reason: format!("{name}: {error}") })?;
        bytes.push(b'\n');
        self.ledger.put_trial_file(&id, name, &bytes)?;
        Ok(())
    }

    /// Reads a document of the trial; none when it was never written.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        target: &Path,
        name: &str,
    ) -> Result<Option<T>, TrialError> {
        let id = self.told.trial.id.clone();
        let Some(bytes) = trial_file(target, &id, name)? else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| TrialError::Damaged { id, reason: format!("{name}: {error}") })
    }
}
