//! Putting back the files of an entry that did not come to its end.

use super::Ledger;
use super::crash::crashpoint;
use super::error::{LedgerError, state};
use super::journal::{Step, append};
use super::place::{Place, Target};
use super::replace::{remove, stage, swap, temporary};
use super::store::Stored;
use super::target_file::look;
use std::io;

impl Ledger {
    /// Puts every file of `stored` back and says so in its journal. Files that are neither of the two known
    /// versions were changed by someone else since; they are left alone and returned.
    pub(super) fn undo(
        &self,
        stored: &Stored,
        why: &str,
        outstanding: Vec<Vec<String>>,
    ) -> Result<Vec<String>, LedgerError> {
        let kept = self.put_back(stored)?;
        let step = Step::Undone { why: why.to_owned(), kept: kept.clone(), outstanding };
        append(&stored.dir, step).map_err(state(stored.dir.path(), "write the journal"))?;
        Ok(kept)
    }

    /// Puts every file back without a line in the journal.
    pub(super) fn put_back(&self, stored: &Stored) -> Result<Vec<String>, LedgerError> {
        let mut kept = Vec::new();
        for (index, file) in stored.document.files.iter().enumerate().rev() {
            let fail = |action, source| LedgerError::Write {
                path: file.path.clone(),
                action,
                source,
                left: format!(
                    "its version before is kept in {}",
                    stored.kept_path("before", index).display()
                ),
            };
            let Ok(place) = self.store.target.locate(&file.real) else {
                // A link or file was put in the way: not the tree this change was made in.
                kept.push(file.path.clone());
                continue;
            };
            if !place.missing.is_empty() {
                if file.before.is_some() {
                    kept.push(file.path.clone());
                }
                continue;
            }
            let temp = temporary(&stored.document.id, index);
            place.dir.remove(&temp).map_err(|e| fail("remove the temporary file beside it", e))?;
            let now = look(&place).map(|seen| seen.map(|seen| seen.metadata.sha256));
            match (now, &file.before) {
                (Ok(None), None) => {}
                (Ok(Some(now)), Some(before)) if now == before.sha256 => {}
                (Ok(Some(now)), Some(before)) if now == file.after.sha256 => {
                    let bytes = stored.kept("before", index, before)?;
                    stage(&place.dir, &temp, &bytes, before, false)
                        .map_err(|e| fail("write a temporary file beside it", e))?;
                    swap(&place.dir, &temp, &place.name).map_err(|e| fail("put it back", e))?;
                }
                (Ok(Some(now)), None) if now == file.after.sha256 => {
                    remove(&place.dir, &place.name).map_err(|e| fail("remove it", e))?;
                }
                _ => kept.push(file.path.clone()),
            }
        }
        remove_made(&self.store.target, &stored.document.made)?;
        Ok(kept)
    }
}

/// Removes the directories that the change made, as far as they are empty.
pub(super) fn remove_made(target: &Target, made: &[String]) -> Result<(), LedgerError> {
    for path in made.iter().rev() {
        let Ok(Place { dir, name, missing, real }) = target.locate(path) else { continue };
        if !missing.is_empty() || real != *path {
            continue;
        }
        let fail = |source| LedgerError::Write {
            path: path.clone(),
            action: "remove the directory made for the change",
            source,
            left: "it is empty and does no harm".to_owned(),
        };
        match dir.remove_empty(&name) {
            Ok(true) => {
                crashpoint!("directory-removed");
                dir.sync().map_err(fail)?;
            }
            Ok(false) => {}
            // A file took its place: not ours.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) => return Err(fail(error)),
        }
    }
    Ok(())
}
