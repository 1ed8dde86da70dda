//! How entries are taken back, decided for all files of all of them before one is touched.

use super::document::FileRecord;
use super::error::{Conflict, LedgerError};
use super::journal::{Action, FileRevert, Step};
use super::merge::{diff, take_out};
use super::metadata::Metadata;
use super::store::{Store, Stored};
use super::target_file::{look, may_replace};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// What taking back does, or did, to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileOutcome {
    /// Entry.
    pub id: String,
    /// Path in the target.
    pub path: String,
    /// In words.
    pub what: String,
    /// Unified diff; empty when the file is not touched.
    pub diff: String,
}

/// One entry to take back.
pub(super) struct Planned {
    pub(super) stored: Stored,
    pub(super) files: Vec<FileRevert>,
    /// Merged bytes by index.
    pub(super) merged: Vec<(usize, Vec<u8>)>,
    pub(super) outcomes: Vec<FileOutcome>,
}

/// A file as it is, or will be once the entries planned so far are taken back.
#[derive(Clone)]
struct Version {
    bytes: Vec<u8>,
    metadata: Metadata,
}

/// What to take back.
pub(super) enum Selected {
    /// Ids, newest first.
    Entries(Vec<String>),
    /// Nothing, and why.
    Nothing(String),
}

/// Finds the entries that `which` (`last`, `all`, an id) names.
pub(super) fn select(store: &Store, which: &str) -> Result<Selected, LedgerError> {
    let ids = store.ids()?;
    if which == "last" || which == "all" {
        let mut standing = Vec::new();
        let mut damaged = None;
        for id in ids.into_iter().rev() {
            match store.load(&id) {
                Ok(stored) if stands(&stored) => {
                    standing.push(id);
                    if which == "last" {
                        break;
                    }
                }
                Ok(_) => {}
                // The last change may be this one: the one before it is not what was asked for.
                Err(error) if which == "last" => return Err(error),
                Err(error @ LedgerError::Newer { .. }) => return Err(error),
                // No reason to leave the others in place; `history` shows it.
                Err(error) => damaged = damaged.or(Some(error)),
            }
        }
        return match (standing.is_empty(), damaged) {
            (true, Some(error)) => Err(error),
            (true, None) => Ok(Selected::Nothing("no applied change to take back".to_owned())),
            (false, _) => Ok(Selected::Entries(standing)),
        };
    }
    let number = which.parse::<u64>().ok();
    let Some(id) = ids.iter().find(|id| number.is_some() && id.parse().ok() == number) else {
        let known = match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("it holds {first} to {last}"),
            _ => "it is empty".to_owned(),
        };
        return Err(LedgerError::NoSuchEntry { which: which.to_owned(), known });
    };
    let stored = store.load(id)?;
    Ok(match stored.last() {
        Step::Reverted { .. } => Selected::Nothing(format!("change {id} was taken back already")),
        Step::Undone { .. } => {
            Selected::Nothing(format!("change {id} did not come to its end; its files were put back then"))
        }
        _ => Selected::Entries(vec![id.clone()]),
    })
}

/// True when the change is in the files, or may be in part (only seen without the lock).
pub(super) fn stands(stored: &Stored) -> bool {
    !matches!(stored.last(), Step::Reverted { .. } | Step::Undone { .. })
}

/// Plans taking `ids` (newest first) back.
pub(super) fn plan(store: &Store, ids: &[String]) -> Result<Vec<Planned>, LedgerError> {
    let mut view: HashMap<String, Option<Version>> = HashMap::new();
    let mut planned = Vec::new();
    let mut conflicts = Vec::new();
    for id in ids {
        let stored = store.load(id)?;
        if !stored.document.known() {
            return Err(LedgerError::Newer {
                path: stored.dir.join("change.json"),
                found: stored.document.version.to_string(),
                known: super::document::VERSION.to_string(),
            });
        }
        let mut entry = Planned { stored, files: Vec::new(), merged: Vec::new(), outcomes: Vec::new() };
        for (index, file) in entry.stored.document.files.iter().enumerate() {
            let now = match view.get(&file.real) {
                Some(seen) => seen.clone(),
                None => current(store, file)?,
            };
            match decide(&entry.stored, index, file, now.as_ref())? {
                Decision::Do { action, result, what } => {
                    let outcome_diff = match action {
                        Action::Nothing => String::new(),
                        _ => diff(&file.path, bytes(now.as_ref()), bytes(result.as_ref())),
                    };
                    entry.outcomes.push(FileOutcome {
                        id: id.clone(),
                        path: file.path.clone(),
                        what,
                        diff: outcome_diff,
                    });
                    let changes = action != Action::Nothing;
                    if changes {
                        may_replace(&file.path, &store.target.locate(&file.real)?)?;
                    }
                    entry.files.push(FileRevert {
                        index,
                        action,
                        expect: now.as_ref().map(|now| now.metadata.sha256.clone()),
                        result: result.as_ref().filter(|_| changes).map(|result| result.metadata.clone()),
                    });
                    if action == Action::Merge
                        && let Some(result) = &result
                    {
                        entry.merged.push((index, result.bytes.clone()));
                    }
                    view.insert(file.real.clone(), if changes { result } else { now });
                }
                Decision::Conflict(reason) => {
                    conflicts.push(conflict(store, &entry.stored, index, file, now.as_ref(), reason, ids)?);
                    view.insert(file.real.clone(), now);
                }
            }
        }
        planned.push(entry);
    }
    if conflicts.is_empty() { Ok(planned) } else { Err(LedgerError::Conflict(conflicts)) }
}

enum Decision {
    Do { action: Action, result: Option<Version>, what: String },
    Conflict(String),
}

fn decide(
    stored: &Stored,
    index: usize,
    file: &FileRecord,
    now: Option<&Version>,
) -> Result<Decision, LedgerError> {
    let done = |action, result, what: &str| Ok(Decision::Do { action, result, what: what.to_owned() });
    let Some(now) = now else {
        return done(
            Action::Nothing,
            None,
            if file.before.is_some() {
                "is gone; nothing of the change is left in it"
            } else {
                "is gone already"
            },
        );
    };
    let unchanged = now.metadata.sha256 == file.after.sha256;
    let Some(before) = &file.before else {
        if unchanged {
            return done(Action::Remove, None, "created by the change, removed");
        }
        let after = stored.kept("after", index, &file.after)?;
        return match take_out(b"", &after, &now.bytes) {
            Some(rest) if rest.is_empty() => done(Action::Remove, None, "created by the change, removed"),
            Some(rest) => Ok(merged(now, rest)),
            None => Ok(Decision::Conflict("it was edited since the change created it".to_owned())),
        };
    };
    if now.metadata.sha256 == before.sha256 {
        return done(Action::Nothing, None, "is as it was before already");
    }
    let old = stored.kept("before", index, before)?;
    if unchanged {
        // The change itself never touches owner and mode: what differs now was set by someone since.
        let exact = now.metadata.same_owner_and_mode(&file.after);
        let metadata = if exact { before.clone() } else { now.metadata.with_bytes(&old) };
        let what = if exact { "restored" } else { "restored; owner, mode and attributes set since are kept" };
        return done(Action::Restore, Some(Version { bytes: old, metadata }), what);
    }
    let after = stored.kept("after", index, &file.after)?;
    Ok(match take_out(&old, &after, &now.bytes) {
        Some(rest) if rest == now.bytes => Decision::Do {
            action: Action::Nothing,
            result: None,
            what: "changed since; nothing of the change is left in it".to_owned(),
        },
        Some(rest) => merged(now, rest),
        None => Decision::Conflict("it changed since, in the same lines".to_owned()),
    })
}

fn merged(now: &Version, rest: Vec<u8>) -> Decision {
    let metadata = now.metadata.with_bytes(&rest);
    Decision::Do {
        action: Action::Merge,
        result: Some(Version { bytes: rest, metadata }),
        what: "changed since; the change is taken out, the rest kept".to_owned(),
    }
}

fn bytes(version: Option<&Version>) -> Option<&[u8]> {
    version.map(|version| version.bytes.as_slice())
}

/// The file now, refused when it is not where the change left it.
fn current(store: &Store, file: &FileRecord) -> Result<Option<Version>, LedgerError> {
    let place = store.target.locate(&file.real)?;
    let refused = |reason: String| LedgerError::Refused { path: file.path.clone(), reason };
    if place.real != file.real {
        return Err(refused(format!(
            "its directory or the file itself is reached by a link to /{} since the change was made",
            place.real
        )));
    }
    let seen = look(&place).map_err(|error| refused(format!("cannot read it: {error}")))?;
    Ok(seen.map(|seen| Version { bytes: seen.bytes, metadata: seen.metadata }))
}

fn conflict(
    store: &Store,
    stored: &Stored,
    index: usize,
    file: &FileRecord,
    now: Option<&Version>,
    reason: String,
    reverting: &[String],
) -> Result<Conflict, LedgerError> {
    let id = &stored.document.id;
    let mut later = None;
    for other in store.ids()?.into_iter().rev().take_while(|other| other != id) {
        let builds = store
            .load(&other)
            .is_ok_and(|other| stands(&other) && other.document.files.iter().any(|f| f.real == file.real));
        if builds && !reverting.contains(&other) {
            later = Some(other);
            break;
        }
    }
    let after = stored.kept("after", index, &file.after)?;
    Ok(Conflict {
        id: id.clone(),
        path: file.path.clone(),
        reason,
        later,
        kept_before: file.before.as_ref().map(|_| stored.kept_path("before", index)),
        kept_after: stored.kept_path("after", index),
        diff: diff(&file.path, Some(&after), bytes(now)),
    })
}
