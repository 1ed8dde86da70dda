//! The read side: every trial and where it stands. Takes no lock, writes nothing.

use super::document::Trial;
use super::journal::{Event, JOURNAL, State, Step, parse, state};
use crate::ledger::{LedgerError, trial_file, trials};
use std::path::Path;

/// A trial as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// What it is to show.
    pub trial: Trial,
    /// What was done.
    pub events: Vec<Event>,
}

/// A trial that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: String,
}

impl Told {
    /// Where it stands.
    pub fn state(&self) -> State {
        state(&self.events).unwrap_or(State::Proposed)
    }

    /// What was being measured last, if a measurement was under way.
    pub fn measuring(&self) -> Option<&str> {
        match &self.events.last()?.step {
            Step::Measuring { what } => Some(what),
            _ => None,
        }
    }

    /// The boot that the last step was done in.
    pub fn last_boot(&self) -> &str {
        self.events.last().map_or("", |event| event.boot.as_str())
    }

    /// The member that is or was last armed.
    pub fn member(&self) -> usize {
        let found = self.events.iter().rev().find_map(|event| match &event.step {
            Step::Arming { member }
            | Step::Armed { member, .. }
            | Step::Trialing { member }
            | Step::Judged { member, .. }
            | Step::Stepped { member } => Some(*member),
            _ => None,
        });
        found.unwrap_or(0)
    }

    /// The last arming that came to its end: entry of the ledger, environment block, choice, the trial's own words.
    pub fn armed(&self) -> Option<Armed<'_>> {
        self.events.iter().rev().find_map(|event| match &event.step {
            Step::Armed { entry, grubenv, choice, words, own_words, .. } => {
                Some(Armed { entry, grubenv, choice, words, own_words, boot: &event.boot })
            }
            _ => None,
        })
    }

    /// Ledger entry of the permanent configuration.
    pub fn kept(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|event| match &event.step {
            Step::Kept { entry, .. } => entry.as_deref(),
            _ => None,
        })
    }

    /// One sentence: why it ended as it did.
    pub fn reason(&self) -> &str {
        if matches!(self.state(), State::TakenBack | State::VerifiedBack) {
            return "";
        }
        let found = self.events.iter().rev().find_map(|event| match &event.step {
            Step::Kept { reason, .. }
            | Step::Judged { reason, .. }
            | Step::Reverted { reason, .. }
            | Step::NotTaken { reason }
            | Step::DidNotBoot { reason }
            | Step::Inconclusive { reason }
            | Step::NotRunning { why: reason } => Some(reason.as_str()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// The remedies of this trial are not to be tried again.
    pub fn rejected(&self) -> bool {
        self.events.iter().any(|event| match &event.step {
            Step::Reverted { rejected, .. } => *rejected,
            Step::DidNotBoot { .. } => true,
            _ => false,
        })
    }
}

/// An armed trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Armed<'a> {
    /// Ledger entry with the trial's menu entry.
    pub entry: &'a str,
    /// Environment block, relative to the root.
    pub grubenv: &'a str,
    /// `next_entry` that chooses it.
    pub choice: &'a str,
    /// Words of its command line.
    pub words: &'a [String],
    /// Those that are the trial's own.
    pub own_words: &'a [String],
    /// Boot in which it was armed.
    pub boot: &'a str,
}

/// Every trial below `target`, oldest first.
///
/// # Errors
///
/// The state folder cannot be read.
pub fn list(target: &Path) -> Result<Vec<Result<Told, Unreadable>>, LedgerError> {
    trials(target)?.into_iter().map(|id| read(target, &id)).collect()
}

/// One trial.
///
/// # Errors
///
/// The state folder cannot be read. What is in it and cannot be understood is the inner error.
pub fn read(target: &Path, id: &str) -> Result<Result<Told, Unreadable>, LedgerError> {
    let unreadable = |reason: String| Ok(Err(Unreadable { id: id.to_owned(), reason }));
    let Some(bytes) = trial_file(target, id, "trial.json")? else {
        return unreadable(
            "trial.json is not there: it was interrupted while it was written down".to_owned(),
        );
    };
    let trial = match Trial::parse(&bytes) {
        Ok(trial) if trial.id == id => trial,
        Ok(trial) => return unreadable(format!("trial.json is of trial {:?}", trial.id)),
        Err(reason) => return unreadable(format!("trial.json: {reason}")),
    };
    let bytes = trial_file(target, id, JOURNAL)?.unwrap_or_default();
    Ok(match parse(&bytes) {
        Ok(events) => Ok(Told { trial, events }),
        Err(reason) => Err(Unreadable { id: id.to_owned(), reason: format!("journal: {reason}") }),
    })
}
