//! One directory, listed once, so that its many one-value files are read without resolving the path again.
//!
//! A PCI function alone has fifty attributes; walking every link of every path costs more than the reading.

use super::{Evidence, Fact, Root, TEXT_LIMIT, Why};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What a directory entry is, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device node, pipe or socket: never opened.
    Other,
}

/// A listed directory.
#[derive(Clone, Debug)]
pub struct Dir {
    root: Root,
    real: PathBuf,
    label: String,
    entries: Vec<(String, EntryKind)>,
}

impl Root {
    /// Lists `path` once. Hidden entries and names that are not UTF-8 are left out.
    pub fn dir(&self, path: &str) -> Fact<Dir> {
        match self.resolve(path).and_then(|real| Dir::open(self.clone(), real, path.to_owned())) {
            Ok(dir) => {
                let text = format!("{} entries", dir.entries.len());
                Fact::known(dir, Evidence::new(path, text))
            }
            Err(error) => self.failed(path, &error),
        }
    }
}

impl Dir {
    fn open(root: Root, real: PathBuf, label: String) -> io::Result<Self> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&real)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') {
                continue;
            }
            let kind = entry.file_type()?;
            let kind = if kind.is_file() {
                EntryKind::File
            } else if kind.is_dir() {
                EntryKind::Directory
            } else if kind.is_symlink() {
                EntryKind::Link
            } else {
                EntryKind::Other
            };
            entries.push((name, kind));
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Self { root, real, label, entries })
    }

    /// The path that evidence names.
    pub fn path(&self) -> &str {
        &self.label
    }

    /// The same directory under another name for evidence (`sys/bus/pci/devices/BDF` for its real place).
    #[must_use]
    pub fn called(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Entries with their kind, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = (&str, EntryKind)> {
        self.entries.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    /// The kind of an entry, none when it is not there.
    pub fn kind(&self, name: &str) -> Option<EntryKind> {
        let at = self.entries.binary_search_by(|(n, _)| n.as_str().cmp(name)).ok()?;
        self.entries.get(at).map(|(_, kind)| *kind)
    }

    /// True when any entry is a symbolic link: the capture kept links.
    pub fn has_links(&self) -> bool {
        self.entries.iter().any(|(_, kind)| *kind == EntryKind::Link)
    }

    /// The subdirectory `name`, listed. Links are not followed.
    pub fn subdir(&self, name: &str) -> Fact<Dir> {
        let label = self.join(name);
        if self.kind(name) != Some(EntryKind::Directory) {
            return Fact::absent(label);
        }
        match Self::open(self.root.clone(), self.real.join(name), label.clone()) {
            Ok(dir) => {
                let text = format!("{} entries", dir.entries.len());
                Fact::known(dir, Evidence::new(label, text))
            }
            Err(error) => self.root.failed(&label, &error),
        }
    }

    /// The first line of a one-value file, trimmed. `name` may name a file of a subdirectory
    /// (`power/control`). Files longer than [`TEXT_LIMIT`] are unknown.
    pub fn line(&self, name: &str) -> Fact<String> {
        match self.text(name) {
            Fact::Known { value, .. } => {
                let text = value.lines().next().unwrap_or_default().trim().to_owned();
                Fact::known(text.clone(), Evidence::at(self.join(name), 1, text))
            }
            other => other,
        }
    }

    /// The text of a small file.
    pub fn text(&self, name: &str) -> Fact<String> {
        let label = self.join(name);
        let read = match self.open_file(name) {
            Ok(Some(file)) => read_small(file),
            Ok(None) => return self.root.text(&label),
            Err(error) => return self.root.failed(&label, &error),
        };
        match read {
            Ok(bytes) if bytes.len() as u64 > TEXT_LIMIT => {
                Fact::unknown(label, Why::TooLarge, format!("limit of this reader is {TEXT_LIMIT} bytes"))
            }
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Fact::known(text, Evidence::new(label, "")),
                Err(error) => {
                    let good = error.utf8_error().valid_up_to();
                    let lines = error.as_bytes().iter().take(good).filter(|b| **b == b'\n').count();
                    Fact::malformed(label, lines + 1, "not UTF-8")
                }
            },
            Err(error) => self.root.failed(&label, &error),
        }
    }

    /// A file opened for reading at offsets (config space, which costs one bus cycle a dword on the live
    /// machine). Only a regular file that stands in this directory itself.
    pub fn file(&self, name: &str) -> Fact<File> {
        let label = self.join(name);
        match self.open_file(name) {
            Ok(Some(file)) => Fact::known(file, Evidence::new(label, "")),
            Ok(None) => Fact::unknown(label, Why::Unreadable, "is a link, expected a regular file"),
            Err(error) => self.root.failed(&label, &error),
        }
    }

    /// The last component of the target of a link: `driver -> …/drivers/nvidia` gives `nvidia`.
    pub fn link_name(&self, name: &str) -> Fact<String> {
        let label = self.join(name);
        match self.kind(name) {
            None => Fact::absent(label),
            Some(EntryKind::Link) => match std::fs::read_link(self.real.join(name)) {
                Ok(target) => match target.to_str() {
                    Some(text) => {
                        let last = text.rsplit('/').next().unwrap_or_default().to_owned();
                        Fact::known(last, Evidence::new(label, format!("-> {text}")))
                    }
                    None => Fact::unknown(label, Why::Malformed, "link target is not UTF-8"),
                },
                Err(error) => self.root.failed(&label, &error),
            },
            Some(_) => Fact::unknown(label, Why::Malformed, "expected a symbolic link"),
        }
    }

    /// A file of this directory as unknown, with the reason.
    pub fn unknown<T>(&self, name: &str, why: Why, detail: impl Into<String>) -> Fact<T> {
        Fact::unknown(self.join(name), why, detail)
    }

    fn join(&self, name: &str) -> String {
        let mut label = String::with_capacity(self.label.len() + 1 + name.len());
        label.push_str(&self.label);
        label.push('/');
        label.push_str(name);
        label
    }

    /// Opens a regular file without following links; `None` when a link is in the way, so that the caller
    /// resolves it inside the root.
    fn open_file(&self, name: &str) -> io::Result<Option<File>> {
        let first = name.split('/').next().unwrap_or(name);
        let nested = first.len() != name.len();
        let path = self.real.join(name);
        let kind = match self.kind(first) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(EntryKind::Directory) if nested => kind_of(&path)?,
            Some(kind) => kind,
        };
        match kind {
            EntryKind::Link => Ok(None),
            EntryKind::File => open_without_links(&path).map(Some),
            EntryKind::Directory | EntryKind::Other => Err(io::Error::other("not a regular file")),
        }
    }
}

fn kind_of(path: &Path) -> io::Result<EntryKind> {
    let kind = std::fs::symlink_metadata(path)?.file_type();
    Ok(if kind.is_symlink() {
        EntryKind::Link
    } else if kind.is_file() {
        EntryKind::File
    } else {
        EntryKind::Other
    })
}

fn open_without_links(path: &Path) -> io::Result<File> {
    // The entry was a regular file when it was listed; O_NOFOLLOW and O_NONBLOCK cover a later swap.
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Reads up to one byte more than [`TEXT_LIMIT`]. A sysfs attribute is at most a page and comes in one piece:
/// less than was asked for is the end of the file.
fn read_small(mut file: File) -> io::Result<Vec<u8>> {
    let mut page = [0; 4096];
    let length = file.read(&mut page)?;
    let mut bytes = page.get(..length).unwrap_or_default().to_vec();
    if length == page.len() {
        file.take(TEXT_LIMIT + 1 - length as u64).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
