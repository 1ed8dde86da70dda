//! The kernel log of the present boot: captured text, `/dev/kmsg`, or `journalctl -k -b -o json`.

mod boot;
mod follow;
mod journal;
mod journalctl;
mod kmsg;
mod prefix;

pub use follow::Follower;

use crate::root::{Evidence, Fact, LOG_LIMIT, Root, Unknown, Why};
use boot::LastBoot;
use schemars::JsonSchema;
use serde::Serialize;

/// Longest line that is kept; the rest of a longer line is dropped.
pub const LINE_LIMIT: usize = 64 << 10;

/// How to capture a log, for messages.
const CAPTURE: &str = "capture it with `sudo dmesg > captured/dmesg.txt`";

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
    /// Reads the log. Order: `captured/dmesg.txt`, `captured/journal.txt`, `captured/journal.json` in a tree;
    /// `/dev/kmsg`, then the journal on the live machine. A source that begins with the boot's first line is
    /// preferred to one that does not.
    pub fn read(root: &Root) -> Self {
        let mut kept: Option<Self> = None;
        let mut reason: Option<Unknown> = None;
        for source in if root.is_live() { LIVE } else { CAPTURED } {
            match source.read(root) {
                Ok(log) if log.complete.value() == Some(&true) => return log,
                Ok(log) => kept = kept.or(Some(log)),
                // A refusal says more than a file that is not there.
                Err(why) => {
                    if reason.as_ref().is_none_or(|r| r.why == Why::NotCaptured && why.why != r.why) {
                        reason = Some(why);
                    }
                }
            }
        }
        let reason = reason.unwrap_or_else(|| not_captured("captured/dmesg.txt"));
        kept.unwrap_or_else(|| Self {
            available: Fact::Unknown(reason.clone()),
            complete: Fact::Unknown(reason),
            lines: Vec::new(),
        })
    }

    /// The log in `text`, as `dmesg` or `journalctl` print it; `source` is the name for evidence.
    pub fn from_text(text: &[u8], source: &str) -> Result<Self, Unknown> {
        let mut last = LastBoot::default();
        for (index, raw) in text.split(|b| *b == b'\n').enumerate() {
            last.text_row(index + 1, raw);
        }
        last.finish(source)
    }

    /// The name evidence uses for this log.
    pub fn source(&self) -> &str {
        self.available.value().map_or("kernel log", String::as_str)
    }

    /// The line as evidence.
    pub fn cite(&self, line: &LogLine) -> Evidence {
        Evidence::at(self.source(), line.number, line.text.as_str())
    }
}

/// A place a log can come from.
#[derive(Clone, Copy)]
enum Source {
    Text(&'static str),
    Json(&'static str),
    Kmsg,
    Journal,
}

const LIVE: &[Source] = &[Source::Kmsg, Source::Journal];
const CAPTURED: &[Source] = &[
    Source::Text("captured/dmesg.txt"),
    Source::Text("captured/journal.txt"),
    Source::Json("captured/journal.json"),
];

impl Source {
    fn read(self, root: &Root) -> Result<KernelLog, Unknown> {
        match self {
            Self::Text(path) => KernelLog::from_text(&captured(root, path)?, path),
            Self::Json(path) => journal::parse(&captured(root, path)?, path, None),
            Self::Kmsg => kmsg::read(),
            Self::Journal => {
                let output = journalctl::journal()?;
                journal::parse(&output.bytes, journalctl::NAME, output.cut)
            }
        }
    }
}

/// The bytes of a captured log. A capture that is not there proves nothing about the host.
fn captured(root: &Root, path: &str) -> Result<Vec<u8>, Unknown> {
    match root.bytes(path, LOG_LIMIT) {
        Fact::Known { value, .. } => Ok(value),
        Fact::Absent { .. } => Err(not_captured(path)),
        Fact::Unknown(why) => Err(why),
    }
}

fn not_captured(path: &str) -> Unknown {
    Unknown { path: path.to_owned(), line: None, why: Why::NotCaptured, detail: CAPTURE.to_owned() }
}
