//! Where records are kept. A record is an output, not a change of the host.

use super::record::Record;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Folder of records below the root of a host.
pub const FOLDER: &str = "var/lib/peerfix/records";

/// A place for a record that was found writable before the measurement.
#[derive(Clone, Debug)]
pub enum Destination {
    /// The folder of records; the record names its own file.
    Folder(PathBuf),
    /// A file that the person named.
    File(PathBuf),
}

impl Destination {
    /// The file named, or the folder of records of this host, made when it is missing.
    pub fn prepare(file: Option<&Path>) -> io::Result<Self> {
        if let Some(file) = file {
            let folder = parent(file);
            // Creating and dropping a temporary file shows what permissions and read-only mounts would hide.
            tempfile::NamedTempFile::new_in(folder)?;
            if file.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
            }
            Ok(Self::File(file.to_owned()))
        } else {
            let folder = Path::new("/").join(FOLDER);
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            tempfile::NamedTempFile::new_in(&folder)?;
            Ok(Self::Folder(folder))
        }
    }

    /// Writes the record as JSON, whole or not at all; gives back the path.
    pub fn write(&self, record: &Record) -> io::Result<PathBuf> {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Folder(folder) => folder.join(format!("{}.json", record.id)),
        };
        let mut text = serde_json::to_vec_pretty(record).map_err(io::Error::other)?;
        text.push(b'\n');
        // A file that the person named is theirs to share, within their umask; the folder of records is closed anyway.
        let mode = std::fs::Permissions::from_mode(0o644);
        let mut file = tempfile::Builder::new().permissions(mode).tempfile_in(parent(&path))?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(path)
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
