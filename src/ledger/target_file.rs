//! What is at a place now, and whether it may be replaced: everything that can refuse a write is looked at
//! before the first write.

use super::dir::{Dir, is_dir, is_file, is_link, read_all};
use super::error::LedgerError;
use super::metadata::Metadata;
use super::place::Place;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::FileStat;
use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{AccessFlags, faccessat};
use rustix::fs::{StatxAttributes, StatxFlags, statx};
use std::io;

/// A regular file as it is now.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Its metadata.
    pub(super) metadata: Metadata,
    identity: Identity,
}

/// Which inode, in which state: differs as soon as anyone writes to the file or replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(stat: &FileStat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// Reads the regular file at a place; none when there is nothing.
pub(super) fn look(place: &Place) -> io::Result<Option<Seen>> {
    if !place.missing.is_empty() {
        return Ok(None);
    }
    let Some(stat) = place.dir.stat(&place.name)? else { return Ok(None) };
    if !is_file(&stat) {
        return Err(io::Error::other(what(&stat)));
    }
    let file = place.dir.open(&place.name, OFlag::O_RDONLY, 0)?;
    let bytes = read_all(&file)?;
    let metadata = Metadata::of(&file, &bytes)?;
    Ok(Some(Seen { bytes, metadata, identity: Identity::of(&nix::sys::stat::fstat(&file)?) }))
}

/// True when the file at the place is still the one that was seen (`None`: still nothing there).
pub(super) fn unchanged(place: &Place, seen: Option<&Seen>) -> io::Result<bool> {
    let now = place.dir.stat(&place.name)?;
    Ok(match (now, seen) {
        (None, None) => true,
        (Some(now), Some(seen)) => Identity::of(&now) == seen.identity,
        _ => false,
    })
}

/// Refuses a place where a file must not be, or cannot be, replaced, created or removed.
pub(super) fn may_replace(path: &str, place: &Place) -> Result<(), LedgerError> {
    let refuse = |reason: &str| LedgerError::Refused { path: path.to_owned(), reason: reason.to_owned() };
    let broken = |error: io::Error| refuse(&format!("cannot look at it: {error}"));
    if let Ok(fs) = fstatfs(&place.dir)
        && [PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&fs.filesystem_type())
    {
        return Err(refuse("is made by the kernel and cannot be replaced as a file"));
    }
    let directory = place.dir.path().display().to_string();
    if fstatvfs(&place.dir).is_ok_and(|fs| fs.flags().contains(FsFlags::ST_RDONLY)) {
        return Err(refuse(&format!(
            "{directory} is on a file system mounted read-only; remount it writable"
        )));
    }
    let held = attributes(&place.dir, ".");
    if held.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
        return Err(refuse(&format!(
            "{directory} has the immutable or append-only attribute (see lsattr -d)"
        )));
    }
    let access = AccessFlags::W_OK | AccessFlags::X_OK;
    if let Err(errno) = faccessat(&place.dir, ".", access, AtFlags::AT_EACCESS) {
        return Err(refuse(&format!("cannot write in {directory}: {} (run as root)", errno.desc())));
    }
    if !place.missing.is_empty() {
        return Ok(());
    }
    let Some(stat) = place.dir.stat(&place.name).map_err(broken)? else { return Ok(()) };
    if !is_file(&stat) {
        return Err(refuse(what(&stat)));
    }
    if stat.st_nlink > 1 {
        let names = stat.st_nlink;
        return Err(refuse(&format!(
            "has {names} names (hard links); replacing it would split them, so make it a file of its own first"
        )));
    }
    // Device numbers do not tell: on overlayfs a file and its directory may differ.
    if attributes(&place.dir, &place.name).contains(StatxAttributes::MOUNT_ROOT) {
        return Err(refuse(
            "is a mount point of its own and cannot be replaced; change it where it comes from",
        ));
    }
    if attributes(&place.dir, &place.name).intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
        return Err(refuse("has the immutable or append-only attribute; take it away first (chattr -i -a)"));
    }
    Ok(())
}

/// Attributes that the file system reports (Linux 4.11); none where it reports none.
fn attributes(dir: &Dir, name: &str) -> StatxAttributes {
    statx(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)
        .map_or(StatxAttributes::empty(), |found| found.stx_attributes & found.stx_attributes_mask)
}

fn what(stat: &FileStat) -> &'static str {
    if is_dir(stat) {
        "is a directory, not a regular file"
    } else if is_link(stat) {
        "is a symbolic link now"
    } else {
        "is not a regular file"
    }
}
