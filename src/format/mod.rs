//! Lossless parse and edit, one file per format. Pure: bytes in, bytes out.

pub mod diff;
pub mod grub_defaults;
pub mod grub_edit;
pub mod grub_script;
pub mod grub_value;
pub mod json_spans;
pub mod kernel_cmdline;
pub mod kernelstub;
pub mod loader_entry;
pub mod modprobe_d;
pub mod registry_dwords;
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

/// The line (from 1) that byte `offset` of `bytes` stands in.
pub fn line_of(bytes: &[u8], offset: usize) -> usize {
    bytes.iter().take(offset).filter(|b| **b == b'\n').count() + 1
}
