//! Applying a request: look at everything first, keep both versions, write every file or none.

use super::Ledger;
use super::crash::crashpoint;
use super::dir::Dir;
use super::document::{FileRecord, RunPolicy};
use super::entry::{Versions, prepare};
use super::error::LedgerError;
use super::journal::{Step, append};
use super::metadata::Metadata;
use super::place::Place;
use super::quote::command_line;
use super::replace::{stage, swap, temporary};
use super::request::{Applied, Request};
use super::run_in_target::check_policy;
use super::store::Stored;
use super::target_file::{Seen, look, may_replace, unchanged};
use crate::plan::Operation;
use std::io;

/// A file to write.
struct Write {
    path: String,
    place: Place,
    seen: Option<Seen>,
    after: Vec<u8>,
}

impl Write {
    fn record(&self) -> FileRecord {
        let before = self.seen.as_ref().map(|seen| seen.metadata.clone());
        let after = match &before {
            Some(before) => before.with_bytes(&self.after),
            None => Metadata::new_file(&self.after),
        };
        FileRecord { path: self.path.clone(), real: self.place.real.clone(), before, after }
    }
}

impl Ledger {
    /// Applies a request: every file and every command of it, or nothing.
    ///
    /// # Errors
    ///
    /// A file changed since planning or must not be replaced (nothing touched); a file cannot be written
    /// (put back); a command failed (files put back, its output kept).
    pub fn apply(&mut self, request: &Request) -> Result<Applied, LedgerError> {
        if let Some(damage) = self.damaged.first() {
            return Err(damage.error());
        }
        let mut writes = self.writes(&request.operations)?;
        let commands = commands(&request.operations)?;
        if !commands.is_empty() || !request.revert_commands.is_empty() {
            check_policy(request.run, &self.store.target)?;
        }
        let nothing_to_run = commands.is_empty() || request.run == RunPolicy::PrintOnly;
        if writes.is_empty() && nothing_to_run {
            let outstanding = commands.iter().map(|argv| command_line(argv)).collect();
            return Ok(Applied { outstanding, ..Applied::default() });
        }
        let versions: Vec<Versions<'_>> = writes
            .iter()
            .map(|write| Versions {
                record: write.record(),
                before: write.seen.as_ref().map(|seen| seen.bytes.as_slice()),
                after: &write.after,
            })
            .collect();
        let mut made: Vec<String> = Vec::new();
        for path in writes.iter().flat_map(|write| write.place.missing_paths()) {
            if !made.contains(&path) {
                made.push(path);
            }
        }
        let stored = prepare(&self.store, request, &versions, made, commands)?;
        drop(versions);
        if let Err(failure) = write_all(&stored, &mut writes) {
            return Err(self.give_up(&stored, failure));
        }
        let finished = self.finish(&stored, request.run)?;
        Ok(Applied {
            id: Some(stored.document.id),
            changed: true,
            outstanding: finished.outstanding,
            outputs: finished.outputs,
        })
    }

    /// The files to write: looked at, compared with the plan, several operations on one file joined.
    fn writes(&self, operations: &[Operation]) -> Result<Vec<Write>, LedgerError> {
        let mut writes: Vec<Write> = Vec::new();
        for operation in operations {
            let Operation::Write { path, before, after } = operation else { continue };
            let place = self.store.target.locate(path)?;
            if let Some(earlier) = writes.iter_mut().find(|earlier| earlier.place.real == place.real) {
                let original = earlier.seen.as_ref().map(|seen| &seen.bytes);
                let repeated = before.as_ref() == original && *after == earlier.after;
                if before.as_ref() == Some(&earlier.after) {
                    earlier.after.clone_from(after);
                } else if !repeated {
                    return Err(LedgerError::Request {
                        path: path.clone(),
                        reason: "two operations on this file that do not follow from each other".to_owned(),
                    });
                }
                continue;
            }
            may_replace(path, &place)?;
            let seen = look(&place).map_err(|error| LedgerError::Refused {
                path: path.clone(),
                reason: format!("cannot read it: {error}"),
            })?;
            as_planned(path, before.as_deref(), seen.as_ref())?;
            writes.push(Write { path: path.clone(), place, seen, after: after.clone() });
        }
        writes.retain(|write| write.seen.as_ref().is_none_or(|seen| seen.bytes != write.after));
        Ok(writes)
    }

    /// Puts back what was written and says why.
    fn give_up(&self, stored: &Stored, failure: Failure) -> LedgerError {
        let Failure { path, action, source } = failure;
        let why = format!("/{path}: cannot {action}: {source}");
        let left = match self.undo(stored, &why, Vec::new()) {
            Ok(kept) if kept.is_empty() => "every file is as it was before".to_owned(),
            Ok(kept) => format!("changed by someone else meanwhile and left alone: {}", kept.join(", ")),
            Err(error) => format!("putting the files back failed too ({error}); the next run tries again"),
        };
        LedgerError::Write { path, action, source, left }
    }
}

/// What failed at which file.
struct Failure {
    path: String,
    action: &'static str,
    source: io::Error,
}

/// Every temporary file first, so that a full disk or a refused owner shows before the first rename.
fn write_all(stored: &Stored, writes: &mut [Write]) -> Result<(), Failure> {
    let id = &stored.document.id;
    for (index, write) in writes.iter_mut().enumerate() {
        let path = write.path.clone();
        let fail = |action| {
            let path = path.clone();
            move |source| Failure { path, action, source }
        };
        make_parents(&mut write.place).map_err(fail("make its directory"))?;
        let meta = write.record().after;
        let created = write.seen.is_none();
        stage(&write.place.dir, &temporary(id, index), &write.after, &meta, created)
            .map_err(fail("write a temporary file beside it"))?;
    }
    crashpoint!("files-staged");
    for (index, write) in writes.iter().enumerate() {
        let fail = |action, source| Failure { path: write.path.clone(), action, source };
        match unchanged(&write.place, write.seen.as_ref()) {
            Ok(true) => {}
            Ok(false) => {
                let meanwhile = io::Error::other("it changed while the change was being prepared");
                return Err(fail("replace it", meanwhile));
            }
            Err(error) => return Err(fail("look at it again", error)),
        }
        swap(&write.place.dir, &temporary(id, index), &write.place.name)
            .map_err(|error| fail("replace it", error))?;
    }
    crashpoint!("before-commit");
    append(&stored.dir, Step::FilesWritten).map_err(|source| Failure {
        path: stored.dir.path().display().to_string().trim_start_matches('/').to_owned(),
        action: "write the journal",
        source,
    })?;
    crashpoint!("after-commit");
    Ok(())
}

/// Makes the directories that the file needs and opens the last of them.
fn make_parents(place: &mut Place) -> io::Result<()> {
    for parent in std::mem::take(&mut place.missing) {
        match place.dir.make(&parent, 0o755) {
            Ok(()) => place.dir.sync()?,
            // Another file of this change needed it too.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        crashpoint!("directory-made");
        let next: Dir = place.dir.dir(&parent)?;
        place.dir = next;
    }
    Ok(())
}

fn as_planned(path: &str, before: Option<&[u8]>, seen: Option<&Seen>) -> Result<(), LedgerError> {
    let reason = match (before, seen) {
        (None, None) => return Ok(()),
        (Some(before), Some(seen)) if before == seen.bytes => return Ok(()),
        (None, Some(_)) => "expected no such file, found one".to_owned(),
        (Some(_), None) => "the file is gone".to_owned(),
        (Some(before), Some(seen)) => {
            let same = before.iter().zip(&seen.bytes).take_while(|(a, b)| a == b);
            let line = same.filter(|(byte, _)| **byte == b'\n').count() + 1;
            format!("line {line} differs")
        }
    };
    Err(LedgerError::ChangedSince { path: path.to_owned(), reason })
}

/// The commands in order, each once.
fn commands(operations: &[Operation]) -> Result<Vec<Vec<String>>, LedgerError> {
    let mut commands: Vec<Vec<String>> = Vec::new();
    for operation in operations {
        let Operation::Run { argv, .. } = operation else { continue };
        if argv.iter().any(|word| word.contains('\0')) || argv.first().is_none_or(String::is_empty) {
            return Err(LedgerError::Request {
                path: command_line(argv),
                reason: "expected a program with arguments free of NUL".to_owned(),
            });
        }
        if !commands.contains(argv) {
            commands.push(argv.clone());
        }
    }
    Ok(commands)
}
