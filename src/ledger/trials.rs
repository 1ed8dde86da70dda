//! The folders of trial boots, `var/lib/peerfix/trials/ID`, and the mark `var/lib/peerfix/pending` that makes the boot
//! unit run. What is in them is the trial's matter; that it is durable, and written under the one lock, is decided here.

use super::Ledger;
use super::crash::crashpoint;
use super::dir::Dir;
use super::error::{LedgerError, state};
use super::state_folder;
use super::store::{STATE, Store};
use nix::fcntl::OFlag;
use std::io::{self, Write};
use std::path::Path;

/// The folder of all trials in the state folder.
const TRIALS: &str = "trials";
/// The mark.
const PENDING: &str = "pending";

/// Ids of the trials below `target`, oldest first. None of them is an empty list.
///
/// # Errors
///
/// The state folder cannot be read.
pub fn trials(target: &Path) -> Result<Vec<String>, LedgerError> {
    let Some(folder) = existing(target, TRIALS)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(state(folder.path(), "list the trials"))?;
    let mut ids: Vec<(u64, String)> = names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter_map(|name| Some((number(&name)?, name)))
        .collect();
    ids.sort();
    Ok(ids.into_iter().map(|(_, id)| id).collect())
}

/// A file of a trial; none when it is not there.
///
/// # Errors
///
/// It is there and cannot be read.
pub fn trial_file(target: &Path, id: &str, name: &str) -> Result<Option<Vec<u8>>, LedgerError> {
    let Some(folder) = existing(target, TRIALS)? else { return Ok(None) };
    let folder = match folder.dir(id) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(state(folder.join(id), "open the trial")(error)),
    };
    read(&folder, name)
}

/// The mark of a pending trial; none when nothing is pending.
///
/// # Errors
///
/// It is there and cannot be read.
pub fn pending(target: &Path) -> Result<Option<Vec<u8>>, LedgerError> {
    match state_of(target)? {
        Some(folder) => read(&folder, PENDING),
        None => Ok(None),
    }
}

impl Ledger {
    /// Makes the folder of the next trial and gives its id (`t1`, `t2`, ...).
    pub fn new_trial(&mut self) -> Result<String, LedgerError> {
        let folder = self.trials_folder()?;
        let last = trials(self.store.target.root.path())?.last().and_then(|id| number(id)).unwrap_or(0);
        let id = format!("t{}", last + 1);
        folder.make(&id, 0o700).map_err(state(folder.join(&id), "make the trial"))?;
        folder.sync().map_err(state(folder.path(), "sync the trials"))?;
        crashpoint!("trial-made");
        Ok(id)
    }

    /// Writes a file of a trial, whole or not at all.
    pub fn put_trial_file(&mut self, id: &str, name: &str, bytes: &[u8]) -> Result<(), LedgerError> {
        let folder = self.trial_folder(id)?;
        replace(&folder, name, bytes).map_err(state(folder.join(name), "write"))?;
        crashpoint!("trial-file-written");
        Ok(())
    }

    /// Appends one line to a file of a trial and makes it durable. A line cut short by a power cut is closed first.
    pub fn append_trial_line(&mut self, id: &str, name: &str, line: &str) -> Result<(), LedgerError> {
        let folder = self.trial_folder(id)?;
        append(&folder, name, line).map_err(state(folder.join(name), "write"))?;
        crashpoint!("trial-line-appended");
        Ok(())
    }

    /// Sets the mark of the pending trial, or takes it away.
    pub fn set_pending(&mut self, mark: Option<&str>) -> Result<(), LedgerError> {
        let folder = state_folder::make(&self.store.target)?;
        let failed = |error| state(folder.join(PENDING), "write")(error);
        match mark {
            Some(mark) => replace(&folder, PENDING, mark.as_bytes()).map_err(failed)?,
            None => folder.remove(PENDING).and_then(|()| folder.sync()).map_err(failed)?,
        }
        crashpoint!("pending-set");
        Ok(())
    }

    /// Says `text` at the next logins until the machine restarts (pam_motd reads /run/motd.d); empty takes it away.
    pub fn set_motd(&mut self, text: &str) -> Result<(), LedgerError> {
        let place = self.store.target.locate("run/motd.d/peerfix")?;
        let failed = |error| state(place.dir.join(&place.name), "write")(error);
        let folder = match place.missing.as_slice() {
            [] => place.dir.again().map_err(failed)?,
            [one] => {
                if text.is_empty() {
                    return Ok(());
                }
                place.dir.make(one, 0o755).map_err(failed)?;
                place.dir.dir(one).map_err(failed)?
            }
            _ => return Ok(()),
        };
        if text.is_empty() {
            return folder.remove(&place.name).map_err(failed);
        }
        let write = || {
            folder.remove(&place.name)?;
            folder.create(&place.name, 0o644)?.write_all(text.as_bytes())
        };
        write().map_err(failed)
    }

    fn trials_folder(&self) -> Result<Dir, LedgerError> {
        let folder = state_folder::make(&self.store.target)?;
        let trials = state_folder::below(&folder, TRIALS)?;
        state_folder::trusted(&trials)?;
        Ok(trials)
    }

    fn trial_folder(&self, id: &str) -> Result<Dir, LedgerError> {
        let folder = self.trials_folder()?;
        folder.dir(id).map_err(state(folder.join(id), "open the trial"))
    }
}

fn number(id: &str) -> Option<u64> {
    id.strip_prefix('t')?.parse().ok().filter(|n| format!("t{n}") == id)
}

fn replace(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = format!(".new-{name}");
    folder.remove(&temporary)?;
    let mut file = folder.create(&temporary, 0o600)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    folder.rename(&temporary, name)?;
    folder.sync()
}

fn append(folder: &Dir, name: &str, line: &str) -> io::Result<()> {
    let new = folder.stat(name)?.is_none();
    let mut file = folder.open(name, OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_APPEND, 0o600)?;
    let mut text = format!("{line}\n");
    if super::dir::read_all(&file)?.last().is_some_and(|last| *last != b'\n') {
        text.insert(0, '\n');
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    if new { folder.sync() } else { Ok(()) }
}

fn read(folder: &Dir, name: &str) -> Result<Option<Vec<u8>>, LedgerError> {
    match folder.read(name) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(state(folder.join(name), "read")(error)),
    }
}

/// The state folder, if it is there.
fn state_of(target: &Path) -> Result<Option<Dir>, LedgerError> {
    let store = Store::open(target)?;
    let place = store.target.locate(STATE)?;
    if !place.missing.is_empty() {
        return Ok(None);
    }
    match place.dir.dir(&place.name) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(state(place.dir.join(&place.name), "open the folder")(error)),
    }
}

fn existing(target: &Path, name: &str) -> Result<Option<Dir>, LedgerError> {
    let Some(folder) = state_of(target)? else { return Ok(None) };
    match folder.dir(name) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(state(folder.join(name), "open the folder")(error)),
    }
}
