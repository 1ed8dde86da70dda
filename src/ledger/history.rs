//! The read side: what was changed on this host and where every change stands. Takes no lock, writes nothing.

use super::document::{ChangeRecord, RunPolicy};
use super::entry::UNFINISHED;
use super::error::{LedgerError, state as state_error};
use super::journal::Step;
use super::merge::diff;
use super::metadata::Metadata;
use super::recover::unfinished;
use super::store::{Store, Stored};
use super::words::{moment, state, typed};
use crate::plan::FileDiff;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Where a change stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Both versions are kept; files may be written in part.
    Prepared,
    /// Every file is written; commands are not finished.
    FilesWritten,
    /// Done.
    Applied,
    /// Being taken back.
    Reverting,
    /// Taken back.
    Reverted,
    /// Interrupted, and put back.
    Undone,
    /// A command failed, and the files were put back.
    CommandsFailed,
    /// The entry cannot be understood.
    Damaged,
}

impl State {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Prepared => "interrupted while files were written; the next writing command puts them back",
            Self::FilesWritten => {
                "files written, commands not finished; the next writing command finishes it"
            }
            Self::Applied => "applied",
            Self::Reverting => "being taken back; the next writing command finishes that",
            Self::Reverted => "taken back",
            Self::Undone => "not applied: interrupted or failed, files put back",
            Self::CommandsFailed => "not applied: a command failed, files put back",
            Self::Damaged => "cannot be read by this peerfix; whether it stands is not known",
        }
    }
}

/// What cannot be understood, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// What was expected and what was found.
    pub reason: String,
}

impl Damage {
    pub(super) fn from_error(entry: &Path, error: &LedgerError) -> Self {
        match error {
            LedgerError::Damaged { path, reason } => Self { file: path.clone(), reason: reason.clone() },
            LedgerError::State { path, source, .. } => {
                Self { file: path.clone(), reason: source.to_string() }
            }
            LedgerError::Newer { path, found, known } => Self {
                file: path.clone(),
                reason: format!(
                    "format {found} is newer than this program knows ({known}); use the newer peerfix, or revert.sh"
                ),
            },
            other => Self { file: entry.to_path_buf(), reason: other.to_string() },
        }
    }

    pub(super) fn error(&self) -> LedgerError {
        LedgerError::Damaged { path: self.file.clone(), reason: self.reason.clone() }
    }
}

/// One file of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct File {
    /// Path asked for, relative to the root.
    pub path: String,
    /// The same with links resolved.
    pub real: String,
    /// Version before; null when the change created it.
    pub before: Option<Metadata>,
    /// Version after.
    pub after: Metadata,
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Moment {
    /// UTC.
    pub at: String,
    /// What was done, in words.
    pub what: String,
}

/// One entry of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// Id.
    pub id: String,
    /// One line for people; empty when damaged.
    pub title: String,
    /// When it was prepared, UTC; none when damaged.
    pub at: Option<String>,
    /// Where it stands.
    pub state: State,
    /// The next writing command has something to do about it first.
    pub unfinished: bool,
    /// The changes.
    pub changes: Vec<ChangeRecord>,
    /// The files.
    pub files: Vec<File>,
    /// Commands of the change.
    pub commands: Vec<String>,
    /// Commands that were left to a person, as of this entry alone ([`outstanding`] joins them).
    pub outstanding: Vec<String>,
    /// Whether and where commands were to be run; none when damaged.
    pub run: Option<RunPolicy>,
    /// The journal.
    pub journal: Vec<Moment>,
    /// Script that takes it back without peerfix; none when it is not there.
    pub revert_script: Option<PathBuf>,
    /// Why it cannot be understood.
    pub damage: Option<Damage>,
}

/// One entry with what it did to every file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shown {
    /// The entry.
    pub entry: Entry,
    /// Unified diffs.
    pub diffs: Vec<FileDiff>,
    /// Output of its commands; none when none were run.
    pub log: Option<String>,
    /// Kept copies that cannot be read or are not what was kept.
    pub damaged_copies: Vec<Damage>,
}

/// All entries below `target`, oldest first; damaged ones are listed as such. No ledger is an empty list.
///
/// # Errors
///
/// The ledger's folder cannot be read.
pub fn list(target: &Path) -> Result<Vec<Entry>, LedgerError> {
    let store = Store::open(target)?;
    Ok(store.ids()?.iter().map(|id| read(&store, id).0).collect())
}

/// One entry: an id, with or without leading zeros, or `last`.
///
/// # Errors
///
/// The ledger's folder cannot be read, or there is no such entry.
pub fn show(target: &Path, which: &str) -> Result<Shown, LedgerError> {
    let store = Store::open(target)?;
    let ids = store.ids()?;
    let number = which.parse::<u64>().ok();
    let found = if which == "last" {
        ids.last()
    } else {
        ids.iter().find(|id| number.is_some() && id.parse().ok() == number)
    };
    let Some(id) = found else {
        let known = match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("it holds {first} to {last}"),
            _ => "it is empty".to_owned(),
        };
        return Err(LedgerError::NoSuchEntry { which: which.to_owned(), known });
    };
    let (entry, stored) = read(&store, id);
    let mut shown = Shown { entry, diffs: Vec::new(), log: None, damaged_copies: Vec::new() };
    let Some(stored) = stored else { return Ok(shown) };
    for (index, file) in stored.document.files.iter().enumerate() {
        let before = file.before.as_ref().map(|meta| stored.kept("before", index, meta)).transpose();
        match before.and_then(|before| Ok((before, stored.kept("after", index, &file.after)?))) {
            Ok((before, after)) => shown.diffs.push(FileDiff {
                path: format!("/{}", file.path),
                diff: diff(&file.path, before.as_deref(), Some(&after)),
            }),
            Err(error) => shown.damaged_copies.push(Damage::from_error(stored.dir.path(), &error)),
        }
    }
    let log = stored.dir.read(super::commands::LOG).ok();
    shown.log = log.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(shown)
}

/// Commands that a person must still run: those left by an entry and not run well by a later one.
pub fn outstanding(target: &Path) -> Result<Vec<String>, LedgerError> {
    Ok(typed(&waiting(&Store::open(target)?)?))
}

/// The same as arguments.
pub(super) fn waiting(store: &Store) -> Result<Vec<Vec<String>>, LedgerError> {
    let mut waiting: Vec<Vec<String>> = Vec::new();
    for id in store.ids()? {
        let Ok(stored) = store.load(&id) else { continue };
        for event in &stored.events {
            if let Step::CommandsRun { commands } | Step::Reverted { commands, .. } = &event.step {
                waiting.retain(|argv| commands.iter().all(|ran| !ran.success || ran.argv != *argv));
            }
        }
        for argv in left(&stored) {
            if !waiting.contains(argv) {
                waiting.push(argv.clone());
            }
        }
    }
    Ok(waiting)
}

/// True when a run was interrupted (or is at work just now): the next writing command finishes or undoes
/// something first.
pub fn interrupted(target: &Path) -> Result<bool, LedgerError> {
    let store = Store::open(target)?;
    let Some(entries) = &store.entries else { return Ok(false) };
    let names = entries.names().map_err(state_error(entries.path(), "list the ledger"))?;
    let half_made = names.iter().any(|name| name.to_str().is_some_and(|n| n.starts_with(UNFINISHED)));
    Ok(half_made || store.ids()?.iter().any(|id| store.load(id).is_ok_and(|s| unfinished(s.last()))))
}

/// Commands that this entry left to a person.
pub(super) fn left(stored: &Stored) -> &[Vec<String>] {
    match stored.last() {
        Step::Applied { outstanding }
        | Step::Undone { outstanding, .. }
        | Step::Reverted { outstanding, .. } => outstanding,
        _ => &[],
    }
}

fn read(store: &Store, id: &str) -> (Entry, Option<Stored>) {
    let script = store.path(id).join("revert.sh");
    let revert_script = script.is_file().then_some(script);
    match store.load(id) {
        Ok(stored) => {
            let document = &stored.document;
            let entry = Entry {
                id: id.to_owned(),
                title: document.title.clone(),
                at: Some(document.at.to_string()),
                state: state(&stored),
                unfinished: unfinished(stored.last()),
                changes: document.changes.clone(),
                files: document
                    .files
                    .iter()
                    .map(|file| File {
                        path: file.path.clone(),
                        real: file.real.clone(),
                        before: file.before.clone(),
                        after: file.after.clone(),
                    })
                    .collect(),
                commands: typed(&document.commands),
                outstanding: typed(left(&stored)),
                run: Some(document.run),
                journal: stored.events.iter().map(moment).collect(),
                revert_script,
                damage: None,
            };
            (entry, Some(stored))
        }
        Err(error) => {
            let entry = Entry {
                id: id.to_owned(),
                title: String::new(),
                at: None,
                state: State::Damaged,
                unfinished: false,
                changes: Vec::new(),
                files: Vec::new(),
                commands: Vec::new(),
                outstanding: Vec::new(),
                run: None,
                journal: Vec::new(),
                revert_script,
                damage: Some(Damage::from_error(&store.path(id), &error)),
            };
            (entry, None)
        }
    }
}
