//! Config space as sysfs shows it: 64 bytes without CAP_SYS_ADMIN, else 256 or 4096.

use crate::root::{Dir, Evidence, Fact, Unknown, Why};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

/// The header that everybody may read.
const HEADER: usize = 64;
/// PCI Express extended config space ends here.
const WHOLE: u64 = 4096;

/// Config space of one function.
pub(super) struct Config {
    pub(super) path: String,
    source: Source,
}

enum Source {
    /// A captured file.
    Bytes(Vec<u8>),
    /// The live file and its header. Every dword is a bus cycle of about a microsecond and wakes a sleeping
    /// device, so only what is asked for is read.
    Live(File, [u8; HEADER]),
}

impl Config {
    /// Opens `config` and reads the header.
    pub(super) fn open(dir: &Dir, live: bool) -> Fact<Self> {
        let path = format!("{}/config", dir.path());
        let file = match dir.file("config") {
            Fact::Known { value, .. } => value,
            Fact::Absent { evidence } => return Fact::Absent { evidence },
            Fact::Unknown(reason) => return Fact::Unknown(reason),
        };
        let source = if live { Self::header(file) } else { Self::whole(file) };
        match source {
            Ok(Some(source)) => {
                let config = Self { path: path.clone(), source };
                Fact::known(config, Evidence::new(path, ""))
            }
            Ok(None) => {
                let detail = format!("expected {HEADER} to {WHOLE} bytes of config space; capture it again");
                Fact::unknown(path, Why::Malformed, detail)
            }
            Err(error) => Fact::unknown(path, Why::Unreadable, error.to_string()),
        }
    }

    fn header(file: File) -> std::io::Result<Option<Source>> {
        let mut header = [0; HEADER];
        match file.read_exact_at(&mut header, 0) {
            Ok(()) => Ok(Some(Source::Live(file, header))),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn whole(file: File) -> std::io::Result<Option<Source>> {
        let mut bytes = Vec::new();
        file.take(WHOLE + 1).read_to_end(&mut bytes)?;
        let fits = bytes.len() >= HEADER && bytes.len() as u64 <= WHOLE;
        Ok(fits.then_some(Source::Bytes(bytes)))
    }

    /// A byte of the header.
    pub(super) fn header_byte(&self, at: usize) -> u8 {
        let header: &[u8] = match &self.source {
            Source::Bytes(bytes) => bytes,
            Source::Live(_, header) => header,
        };
        header.get(at).copied().unwrap_or_default()
    }

    /// A function that fell off the bus reads as all ones. (The ids alone do so in SR-IOV functions too.)
    pub(super) fn is_dead(&self) -> bool {
        (0..HEADER).all(|at| self.header_byte(at) == 0xff)
    }

    /// The little-endian dword at an offset; none beyond what may be read.
    pub(super) fn dword(&self, at: usize) -> Option<u32> {
        let mut dword = [0; 4];
        match &self.source {
            Source::Bytes(bytes) => dword.copy_from_slice(bytes.get(at..at.checked_add(4)?)?),
            Source::Live(file, _) => file.read_exact_at(&mut dword, at as u64).ok()?,
        }
        Some(u32::from_le_bytes(dword))
    }

    /// Why a dword could not be read.
    pub(super) fn cut(&self, at: usize) -> Unknown {
        let (why, detail) = if self.dword(HEADER).is_none() {
            (Why::Permission, "only the first 64 bytes of config space: the rest needs root".to_owned())
        } else if at >= 256 && self.dword(256).is_none() {
            (Why::NotCaptured, "256 bytes of config space: no extended capabilities in it".to_owned())
        } else {
            (Why::Malformed, format!("config space is cut before offset {at:#x}"))
        };
        self.reason(why, detail)
    }

    /// A broken structure at an offset.
    pub(super) fn broken(&self, at: usize, detail: &str) -> Unknown {
        self.reason(Why::Malformed, format!("at offset {at:#x}: {detail}"))
    }

    pub(super) fn reason(&self, why: Why, detail: String) -> Unknown {
        Unknown { path: self.path.clone(), line: None, why, detail }
    }

    /// Evidence from config space.
    pub(super) fn says(&self, text: impl Into<String>) -> Vec<Evidence> {
        vec![Evidence::new(self.path.clone(), text)]
    }
}
