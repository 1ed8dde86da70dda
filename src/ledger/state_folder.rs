//! The state folder for writing: made when missing, trusted only when nobody else can write to it, and
//! locked by one process at a time.

use super::dir::Dir;
use super::error::{LedgerError, state};
use super::place::Target;
use super::store::{LEDGER, STATE};
use nix::fcntl::OFlag;
use nix::unistd::Uid;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};

/// Opens or makes the state folder; returns the locked lock file and the folder of the entries.
pub(super) fn open(target: &Target) -> Result<(File, Dir), LedgerError> {
    let folder = make(target)?;
    trusted(&folder)?;
    let lock = lock(&folder)?;
    let entries = below(&folder, LEDGER)?;
    trusted(&entries)?;
    Ok((lock, entries))
}

/// Opens the state folder, made when it is missing.
pub(super) fn make(target: &Target) -> Result<Dir, LedgerError> {
    let mut place = target.locate(STATE)?;
    for parent in std::mem::take(&mut place.missing) {
        place.dir = child(&place.dir, &parent, 0o755)?;
    }
    child(&place.dir, &place.name, 0o700)
}

/// Opens a folder in it, made when it is missing.
pub(super) fn below(folder: &Dir, name: &str) -> Result<Dir, LedgerError> {
    child(folder, name, 0o700)
}

/// Opens a directory, made with `mode` when it is missing.
fn child(dir: &Dir, name: &str, mode: u32) -> Result<Dir, LedgerError> {
    let path = dir.join(name);
    let new = match dir.make(name, mode) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        // Says EROFS or EACCES although the directory may be there.
        Err(error) if dir.stat(name).ok().flatten().is_none() => {
            return Err(state(path, "make the folder")(error));
        }
        Err(_) => false,
    };
    if new {
        dir.sync().map_err(state(dir.path(), "sync the folder"))?;
    }
    dir.dir(name).map_err(state(path, "open the folder"))
}

/// Refuses a folder that others could write to.
pub(super) fn trusted(folder: &Dir) -> Result<(), LedgerError> {
    let stat = folder.own_stat().map_err(state(folder.path(), "look at the folder"))?;
    let me = Uid::effective().as_raw();
    let reason = if stat.st_uid != me {
        format!("is owned by user {}, not by user {me}", stat.st_uid)
    } else if stat.st_mode & 0o022 != 0 {
        format!("is writable by others (mode {:04o})", stat.st_mode & 0o7777)
    } else {
        return Ok(());
    };
    Err(LedgerError::UnsafeState { path: folder.path().to_path_buf(), reason })
}

/// Takes the one lock. The kernel lets it go when the process ends, however it ends.
fn lock(folder: &Dir) -> Result<File, LedgerError> {
    let path = folder.join("lock");
    let flags = OFlag::O_RDWR | OFlag::O_CREAT;
    let mut file = folder.open("lock", flags, 0o600).map_err(state(&path, "open the lock"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = (&file).take(32).read_to_string(&mut text);
            let pid = Some(text.trim().to_owned()).filter(|pid| pid.parse::<u32>().is_ok());
            return Err(LedgerError::Locked { path, pid });
        }
        Err(TryLockError::Error(error)) => return Err(state(path, "take the lock")(error)),
    }
    // Only for the message above; the lock itself is the kernel's, and a full disk must not stop a revert.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}
