//! Reading the ledger's folder: which entries there are and what they hold. Takes no lock, writes nothing.

use super::digest::sha256;
use super::dir::Dir;
use super::document::Document;
use super::error::{LedgerError, state};
use super::journal::{Action, Event, FileRevert, JOURNAL, Step, parse};
use super::metadata::Metadata;
use super::place::Target;
use std::path::{Path, PathBuf};

/// The state folder, relative to the root.
pub(super) const STATE: &str = "var/lib/peerfix";
/// The folder of the entries in it.
pub(super) const LEDGER: &str = "ledger";

/// A target and its ledger.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) target: Target,
    /// None when there is no ledger yet.
    pub(super) entries: Option<Dir>,
}

/// One entry that can be understood.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) dir: Dir,
    pub(super) document: Document,
    pub(super) events: Vec<Event>,
}

impl Store {
    /// Opens the ledger below `target` for reading.
    pub(super) fn open(target: &Path) -> Result<Self, LedgerError> {
        let found = Target::open(target).map_err(state(target, "open the root"))?;
        let place = found.locate(&format!("{STATE}/{LEDGER}"))?;
        let at = place.dir.join(&place.name);
        let there = place.missing.is_empty()
            && place.dir.stat(&place.name).map_err(state(&at, "look at the ledger"))?.is_some();
        let entries = if there {
            Some(place.dir.dir(&place.name).map_err(state(&at, "open the ledger"))?)
        } else {
            None
        };
        Ok(Self { target: found, entries })
    }

    /// Ids of the entries, oldest first, damaged ones included.
    pub(super) fn ids(&self) -> Result<Vec<String>, LedgerError> {
        let Some(entries) = &self.entries else { return Ok(Vec::new()) };
        let names = entries.names().map_err(state(entries.path(), "list the ledger"))?;
        let mut ids: Vec<(u64, String)> = names
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .filter(|name| name.len() >= 4 && name.bytes().all(|b| b.is_ascii_digit()))
            .filter_map(|name| Some((name.parse().ok()?, name)))
            .collect();
        ids.sort();
        Ok(ids.into_iter().map(|(_, id)| id).collect())
    }

    /// Reads one entry.
    pub(super) fn load(&self, id: &str) -> Result<Stored, LedgerError> {
        let Some(entries) = &self.entries else {
            return Err(LedgerError::NoSuchEntry { which: id.to_owned(), known: "it is empty".to_owned() });
        };
        Stored::read(entries.dir(id).map_err(state(entries.join(id), "open the entry"))?, id)
    }

    /// Where an entry lies.
    pub(super) fn path(&self, id: &str) -> PathBuf {
        match &self.entries {
            Some(entries) => entries.join(id),
            None => self.target.root.join(STATE).join(LEDGER).join(id),
        }
    }
}

impl Stored {
    /// Reads the entry in `dir`.
    pub(super) fn read(dir: Dir, id: &str) -> Result<Self, LedgerError> {
        let path = dir.join("change.json");
        let bytes = dir.read("change.json").map_err(|e| missing_is_damage(e, &path))?;
        let document = Document::parse(&bytes, &path)?;
        if document.id != id {
            let reason = format!("expected the change {id}, found {:?}", document.id);
            return Err(LedgerError::Damaged { path, reason });
        }
        let path = dir.join(JOURNAL);
        let bytes = dir.read(JOURNAL).map_err(|e| missing_is_damage(e, &path))?;
        let events = parse(&bytes, document.known())
            .map_err(|reason| LedgerError::Damaged { path: path.clone(), reason })?;
        if !events.iter().any(|event| event.step == Step::Prepared) {
            return Err(LedgerError::Damaged {
                path,
                reason: "expected a line with state prepared".to_owned(),
            });
        }
        Ok(Self { dir, document, events })
    }

    /// The last durable step.
    pub(super) fn last(&self) -> &Step {
        let mut steps: Vec<&Step> = Vec::new();
        for Event { step, .. } in &self.events {
            // A revert that was given up leaves the change as it stood before.
            if matches!(step, Step::RevertGivenUp { .. }) {
                steps.pop_if(|last| matches!(last, Step::Reverting { .. }));
            } else {
                steps.push(step);
            }
        }
        steps.last().copied().unwrap_or(&Step::Prepared)
    }

    /// The kept copy of one version (`before`, `after`, `revert`) of file `index`, checked against its hash.
    pub(super) fn kept(&self, version: &str, index: usize, meta: &Metadata) -> Result<Vec<u8>, LedgerError> {
        let path = self.kept_path(version, index);
        let bytes = self
            .dir
            .dir(version)
            .and_then(|dir| dir.read(index.to_string()))
            .map_err(|e| missing_is_damage(e, &path))?;
        let found = sha256(&bytes);
        if found != meta.sha256 {
            let reason = format!("expected a copy with SHA-256 {}, found {found}", meta.sha256);
            return Err(LedgerError::Damaged { path, reason });
        }
        Ok(bytes)
    }

    /// Bytes that a file being taken back is to have; none when it is removed or not touched.
    pub(super) fn wanted(&self, file: &FileRevert) -> Result<Option<Vec<u8>>, LedgerError> {
        let Some(meta) = &file.result else { return Ok(None) };
        let version = if file.action == Action::Merge { "revert" } else { "before" };
        self.kept(version, file.index, meta).map(Some)
    }

    /// Where that copy is.
    pub(super) fn kept_path(&self, version: &str, index: usize) -> PathBuf {
        self.dir.join(version).join(index.to_string())
    }
}

fn missing_is_damage(error: std::io::Error, path: &Path) -> LedgerError {
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return state(path, "read")(error);
    }
    LedgerError::Damaged { path: path.to_path_buf(), reason: error.to_string() }
}
