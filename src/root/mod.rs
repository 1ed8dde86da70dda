//! The only reader of a host: the live machine or a captured root tree.
//!
//! Paths are given relative to the root, without a leading slash (`proc/cmdline`); the same relative path is
//! what evidence names. Nothing here writes.

mod dir;
mod fact;
mod resolve;

pub use dir::{Dir, EntryKind};
pub use fact::{Evidence, Fact, FactPart, Unknown, Why};

use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Limit for one small text file (sysfs, proc, configuration): 1 MiB.
pub const TEXT_LIMIT: u64 = 1 << 20;
/// Limit for a log or a long command output: 256 MiB.
pub const LOG_LIMIT: u64 = 256 << 20;

/// A place facts are read from.
#[derive(Clone, Debug)]
pub struct Root {
    base: PathBuf,
    live: bool,
}

/// Why a root cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path is not there or may not be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The path given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path holds nothing that a host has.
    #[error(
        "{path}: no host recognised: expected a root tree with proc/, sys/, etc/, boot/ or captured/",
        path = path.display()
    )]
    NotAHost {
        /// The path given.
        path: PathBuf,
    },
}

impl Root {
    /// The live machine.
    pub fn live() -> Self {
        Self { base: PathBuf::from("/"), live: true }
    }

    /// A captured root tree at `path`; `/` is the live machine.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let canonical = std::fs::canonicalize(path)
            .map_err(|source| OpenError::Io { path: path.to_path_buf(), source })?;
        if canonical == Path::new("/") {
            return Ok(Self::live());
        }
        let known = ["proc", "sys", "etc", "boot", "captured"];
        if !known.iter().any(|dir| canonical.join(dir).is_dir()) {
            std::fs::read_dir(&canonical)
                .map_err(|source| OpenError::Io { path: path.to_path_buf(), source })?;
            return Err(OpenError::NotAHost { path: path.to_path_buf() });
        }
        Ok(Self { base: canonical, live: false })
    }

    /// Configuration below `path` for the writing commands (`--root DIR`): never the live machine's facts,
    /// even when `path` is `/`-like; an empty directory is allowed.
    pub fn target(path: &Path) -> Result<Self, OpenError> {
        let base = std::fs::canonicalize(path)
            .map_err(|source| OpenError::Io { path: path.to_path_buf(), source })?;
        std::fs::read_dir(&base).map_err(|source| OpenError::Io { path: path.to_path_buf(), source })?;
        let live = base == Path::new("/");
        Ok(Self { base, live })
    }

    /// True for the running machine.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The directory that stands for `/`.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The real path of `path`, links resolved inside the root.
    pub fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        if self.live {
            return std::fs::canonicalize(self.base.join(path));
        }
        resolve::resolve(&self.base, Path::new(path), true).map(|p| self.base.join(p))
    }

    /// The resolved path relative to the root (`sys/devices/pci0000:00/…`), for topology.
    pub fn canonical(&self, path: &str) -> Fact<String> {
        match self.resolve(path) {
            Ok(real) => {
                let relative = real.strip_prefix(&self.base).unwrap_or(&real);
                match relative.to_str() {
                    Some(text) => Fact::known(text.to_owned(), Evidence::new(path, text)),
                    None => Fact::unknown(path, Why::Malformed, "path is not UTF-8"),
                }
            }
            Err(error) => self.failed(path, &error),
        }
    }

    /// The target of the link `path` as written, unresolved.
    pub fn link(&self, path: &str) -> Fact<String> {
        let at = if self.live {
            Ok(self.base.join(path))
        } else {
            resolve::resolve(&self.base, Path::new(path), false).map(|p| self.base.join(p))
        };
        match at.and_then(std::fs::read_link) {
            Ok(target) => match target.to_str() {
                Some(text) => Fact::known(text.to_owned(), Evidence::new(path, format!("-> {text}"))),
                None => Fact::unknown(path, Why::Malformed, "link target is not UTF-8"),
            },
            Err(error) => self.failed(path, &error),
        }
    }

    /// The last component of a link's target: `driver -> …/drivers/nvidia` gives `nvidia`.
    pub fn link_name(&self, path: &str) -> Fact<String> {
        self.link(path).map(|t| t.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// True when `path` can be resolved.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path).is_ok()
    }

    /// The entries of a directory, sorted, without hidden ones (captured trees may keep empty directories
    /// with a dot file).
    pub fn list(&self, path: &str) -> Fact<Vec<String>> {
        let entries = self.resolve(path).and_then(std::fs::read_dir);
        match entries {
            Ok(entries) => {
                let mut names: Vec<String> = entries
                    .flatten()
                    .filter_map(|e| e.file_name().into_string().ok())
                    .filter(|n| !n.starts_with('.'))
                    .collect();
                names.sort();
                let text = format!("{} entries", names.len());
                Fact::known(names, Evidence::new(path, text))
            }
            Err(error) => self.failed(path, &error),
        }
    }

    /// The bytes of a file up to `limit`; longer files are unknown, never cut silently.
    pub fn bytes(&self, path: &str, limit: u64) -> Fact<Vec<u8>> {
        match self.resolve(path).and_then(|real| read_limited(&real, limit)) {
            Ok(Some(bytes)) => {
                let text = format!("{} bytes", bytes.len());
                Fact::known(bytes, Evidence::new(path, text))
            }
            Ok(None) => Fact::unknown(path, Why::TooLarge, format!("limit of this reader is {limit} bytes")),
            Err(error) => self.failed(path, &error),
        }
    }

    /// The first `limit` bytes of a file, or of all of it when it is shorter. On the live machine also of a block
    /// device, whose header is read so; in a tree a regular file stands for it.
    pub fn head(&self, path: &str, limit: u64) -> Fact<Vec<u8>> {
        let read = self.resolve(path).and_then(|real| {
            let kind = std::fs::metadata(&real)?.file_type();
            if !(kind.is_file() || self.live && kind.is_block_device()) {
                return Err(io::Error::other("not a file and not a block device"));
            }
            let mut bytes = Vec::new();
            std::fs::File::open(real)?.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match read {
            Ok(bytes) => {
                let text = format!("first {} bytes", bytes.len());
                Fact::known(bytes, Evidence::new(path, text))
            }
            Err(error) => self.failed(path, &error),
        }
    }

    /// The text of a small file ([`TEXT_LIMIT`]). Bytes that are not UTF-8 are malformed, with their line.
    pub fn text(&self, path: &str) -> Fact<String> {
        self.text_limited(path, TEXT_LIMIT)
    }

    /// Like [`Root::text`] with another limit.
    pub fn text_limited(&self, path: &str, limit: u64) -> Fact<String> {
        match self.bytes(path, limit) {
            Fact::Known { value, evidence } => match String::from_utf8(value) {
                Ok(value) => Fact::Known { value, evidence },
                Err(error) => {
                    let good = error.utf8_error().valid_up_to();
                    let line = error.as_bytes()[..good].split(|b| *b == b'\n').count();
                    Fact::malformed(path, line, "not UTF-8")
                }
            },
            Fact::Absent { evidence } => Fact::Absent { evidence },
            Fact::Unknown(u) => Fact::Unknown(u),
        }
    }

    /// The first line of a one-value file (sysfs attribute), trimmed; the line is the evidence.
    pub fn line(&self, path: &str) -> Fact<String> {
        match self.text(path) {
            Fact::Known { value, .. } => {
                let text = value.lines().next().unwrap_or_default().trim().to_owned();
                Fact::known(text.clone(), Evidence::at(path, 1, text))
            }
            other => other,
        }
    }

    /// A decimal number in a one-value file.
    pub fn number(&self, path: &str) -> Fact<i64> {
        self.line(path).parse(|t| t.parse().map_err(|_| format!("expected a decimal number, found {t:?}")))
    }

    /// A hexadecimal number (with or without `0x`) in a one-value file.
    pub fn hex(&self, path: &str) -> Fact<i64> {
        self.line(path).parse(|t| {
            i64::from_str_radix(t.trim_start_matches("0x"), 16)
                .map_err(|_| format!("expected a hexadecimal number, found {t:?}"))
        })
    }

    /// Output of a command, as `captured/NAME` holds it; only trees have it.
    pub fn captured(&self, name: &str) -> Fact<String> {
        let path = format!("captured/{name}");
        match self.text_limited(&path, LOG_LIMIT) {
            Fact::Absent { .. } => Fact::unknown(path, Why::NotCaptured, ""),
            other => other,
        }
    }

    /// A failed read as a fact: "not there" is established; everything else is unknown with the reason.
    fn failed<T>(&self, path: &str, error: &io::Error) -> Fact<T> {
        let why = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Fact::absent(path),
            io::ErrorKind::PermissionDenied => Why::Permission,
            _ => Why::Unreadable,
        };
        let detail = if why == Why::Permission && self.live {
            "run as root to read it".to_owned()
        } else {
            error.to_string()
        };
        Fact::unknown(path, why, detail)
    }
}

/// Reads at most `limit` bytes; `None` when there is more. Special files (pipes, devices) are refused.
fn read_limited(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
