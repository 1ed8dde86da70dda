//! Atomic replacement of one file: temporary file in the same directory, owner and mode, fsync, rename,
//! fsync of the directory.

use super::crash::crashpoint;
use super::dir::Dir;
use super::metadata::Metadata;
use std::io::{self, Write};

/// Name of the temporary file of file `index` of entry `id`; hidden, and no suffix that GRUB, modprobe or
/// dracut read.
pub(super) fn temporary(id: &str, index: usize) -> String {
    format!(".peerfix-{id}-{index}.tmp")
}

/// Writes the temporary file and makes it durable. It is removed again on failure.
///
/// `created` is a new file, for which a file system without owners and modes decides itself.
pub(super) fn stage(dir: &Dir, temp: &str, bytes: &[u8], meta: &Metadata, created: bool) -> io::Result<()> {
    let written = write(dir, temp, bytes, meta, created);
    if written.is_err() {
        let _ = dir.remove(temp);
    }
    written
}

fn write(dir: &Dir, temp: &str, bytes: &[u8], meta: &Metadata, created: bool) -> io::Result<()> {
    // Only a killed run of this very entry can have left it.
    dir.remove(temp)?;
    let mut file = dir.create(temp, 0o600)?;
    crashpoint!("temp-created");
    file.write_all(bytes)?;
    crashpoint!("temp-written");
    match meta.give(&file) {
        Err(error) if created && error.kind() == io::ErrorKind::PermissionDenied => {}
        other => other?,
    }
    crashpoint!("temp-owned");
    file.sync_all()?;
    crashpoint!("temp-synced");
    Ok(())
}

/// Puts the temporary file in the place of `name`.
pub(super) fn swap(dir: &Dir, temp: &str, name: &str) -> io::Result<()> {
    dir.rename(temp, name)?;
    crashpoint!("file-renamed");
    dir.sync()?;
    crashpoint!("directory-synced");
    Ok(())
}

/// Removes `name`.
pub(super) fn remove(dir: &Dir, name: &str) -> io::Result<()> {
    dir.remove(name)?;
    crashpoint!("file-removed");
    dir.sync()?;
    crashpoint!("directory-synced");
    Ok(())
}
