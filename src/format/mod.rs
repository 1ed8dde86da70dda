//! Lossless parse and edit, one file per format. Pure: bytes in, bytes out.

pub mod clevis;
pub mod diff;
pub mod grub_cfg;
pub mod grub_defaults;
pub mod grub_edit;
pub mod grub_script;
pub mod grub_value;
pub mod grubenv;
pub mod hex;
pub mod json_spans;
pub mod kernel_cmdline;
pub mod kernelstub;
pub mod loader_entry;
pub mod luks2;
pub mod modprobe_d;
pub mod registry_dwords;
pub mod sealed;
pub mod shell;
pub mod splice;

/// A place in a file that cannot be followed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Line from 1.
    pub line: usize,
    /// What was found, what was expected, what to do.
    pub reason: String,
}

impl Trouble {
    /// Trouble at a line (from 1).
    pub fn new(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// Where the lines of a file begin: line numbers of many offsets without counting from the start each time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    ends: Vec<usize>,
}

impl Lines {
    /// The lines of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        Self { ends: bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).collect() }
    }

    /// The line (from 1) of a byte.
    pub fn of(&self, offset: usize) -> usize {
        self.ends.partition_point(|end| *end < offset) + 1
    }

    /// The bytes of a line (from 1) without its end.
    pub fn text<'a>(&self, bytes: &'a [u8], line: usize) -> &'a [u8] {
        let start = match line.checked_sub(2) {
            None => 0,
            Some(before) => self.ends.get(before).map_or(bytes.len(), |end| end + 1),
        };
        let end = line.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(bytes.len());
        bytes.get(start..end).unwrap_or_default()
    }
}

/// The line (from 1) that byte `offset` of `bytes` stands in.
pub fn line_of(bytes: &[u8], offset: usize) -> usize {
    Lines::new(bytes.get(..offset).unwrap_or(bytes)).ends.len() + 1
}
