//! Puts rows together to the lines of the last boot: boot markers, continuation rows, wrapped fault lines.

use super::{CAPTURE, KernelLog, LINE_LIMIT, LogLine, prefix};
use crate::root::{Evidence, Fact, Unknown, Why};

/// Rows that a wrapped fault line may take.
const WRAP_LIMIT: u8 = 4;

/// Lines since the last boot marker.
#[derive(Default)]
pub(super) struct LastBoot {
    lines: Vec<LogLine>,
    /// Number and text of the `Linux version` line.
    marker: Option<(usize, String)>,
    /// What a tool printed instead of a log: `dmesg: read kernel buffer failed`.
    refusal: Option<(usize, String)>,
    /// A row has the shape of a kernel message: a stamp, or `SUBJECT: text`.
    plausible: bool,
    skipping: bool,
    wrapped: u8,
}

impl LastBoot {
    /// One row of `dmesg` or `journalctl` text.
    pub(super) fn text_row(&mut self, number: usize, raw: &[u8]) {
        let raw = raw.get(..LINE_LIMIT).unwrap_or(raw);
        let lossy = String::from_utf8_lossy(raw);
        let plain = without_colour(&lossy);
        let row = plain.trim_end();
        if row.trim_start().is_empty() {
            return;
        }
        if row.starts_with("-- ") && row.ends_with(" --") {
            self.separator(row);
            return;
        }
        let stripped = prefix::strip(row);
        if stripped.userland {
            self.skipping = true;
            return;
        }
        if stripped.stamped {
            self.plausible = true;
            self.skipping = false;
            self.push(number, stripped.seconds, stripped.message);
            return;
        }
        if row.starts_with([' ', '\t']) {
            if !self.skipping {
                self.continuation(number, stripped.message);
            }
            return;
        }
        if is_refusal(row) {
            self.refusal.get_or_insert((number, row.to_owned()));
            return;
        }
        self.skipping = false;
        self.plausible |= stripped.message.find(": ").is_some_and(|at| (1..=60).contains(&at));
        self.push(number, None, stripped.message);
    }

    /// A whole message, which may hold several rows.
    pub(super) fn message(&mut self, number: usize, seconds: Option<f64>, text: &str) {
        let mut end = text.len().min(LINE_LIMIT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut rows = text.get(..end).unwrap_or(text).lines().filter(|r| !r.trim().is_empty());
        if let Some(first) = rows.next() {
            self.plausible = true;
            self.push(number, seconds, first.trim());
        }
        for row in rows {
            self.continuation(number, row.trim());
        }
    }

    /// Adds to the message before: a fragment that the kernel printed without a newline.
    pub(super) fn fragment(&mut self, text: &str) {
        if let Some(last) = self.lines.last_mut()
            && last.text.len() + text.len() <= LINE_LIMIT
        {
            last.text.push_str(text);
        }
    }

    /// Forgets what came before: another boot begins.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// The log, or why there is none.
    pub(super) fn finish(self, source: &str) -> Result<KernelLog, Unknown> {
        let unknown = |line: Option<usize>, why, detail: String| Unknown {
            path: source.to_owned(),
            line: line.and_then(|l| u32::try_from(l).ok()),
            why,
            detail,
        };
        let Some(first) = self.lines.first() else {
            return Err(match self.refusal {
                Some((line, text)) => {
                    unknown(Some(line), Why::Permission, format!("{text:?}; {CAPTURE} as root"))
                }
                None => {
                    unknown(None, Why::Malformed, format!("expected kernel messages, found none; {CAPTURE}"))
                }
            });
        };
        if self.marker.is_none() && !self.plausible {
            let detail = format!("expected kernel messages; no line looks like one; {CAPTURE}");
            return Err(unknown(Some(first.number), Why::Malformed, detail));
        }
        let complete = match self.marker {
            Some((line, text)) => Fact::known(true, Evidence::at(source, line, text)),
            None => Fact::known(
                false,
                Evidence::at(
                    source,
                    first.number,
                    format!("starts late, without `Linux version`: {}", first.text),
                ),
            ),
        };
        let text = format!("{} lines of one boot", self.lines.len());
        let available = Fact::known(source.to_owned(), Evidence::new(source, text));
        Ok(KernelLog { available, complete, lines: self.lines })
    }

    fn separator(&mut self, row: &str) {
        if row.starts_with("-- Boot ") || row.starts_with("-- Reboot") {
            self.restart();
        } else if row.starts_with("-- No entries") {
            self.refusal.get_or_insert((1, row.to_owned()));
        }
    }

    fn push(&mut self, number: usize, seconds: Option<f64>, message: &str) {
        // Kernels before 4.4 print the reason of a fault as a row of its own.
        if message.starts_with("DMAR:[fault reason") && self.unfinished() {
            self.continuation(number, message);
            return;
        }
        if message.starts_with("Linux version ") {
            self.restart();
            self.marker = Some((number, message.to_owned()));
        }
        self.wrapped = 0;
        self.lines.push(LogLine { number, seconds, text: message.to_owned() });
    }

    fn continuation(&mut self, number: usize, text: &str) {
        if self.unfinished() && self.wrapped < WRAP_LIMIT {
            self.wrapped += 1;
            self.fragment(" ");
            self.fragment(text);
            return;
        }
        let seconds = self.lines.last().and_then(|l| l.seconds);
        self.lines.push(LogLine { number, seconds, text: text.to_owned() });
    }

    /// The last line begins a fault and does not finish it.
    fn unfinished(&self) -> bool {
        self.lines.last().is_some_and(|line| {
            line.text.len() < 400
                && line.text.contains("DMAR:")
                && line.text.contains("Request device")
                && line.text.find("[fault reason").is_none_or(|at| !line.text[at..].contains(']'))
        })
    }
}

/// What `dmesg` and `journalctl` say when they may not read.
fn is_refusal(row: &str) -> bool {
    row.starts_with("dmesg: ")
        || row.starts_with("Hint: You are currently not seeing messages")
        || row.starts_with("No journal files were")
        || row.starts_with("sudo: ")
}

/// The row without the escape sequences of `dmesg --color=always`.
fn without_colour(row: &str) -> std::borrow::Cow<'_, str> {
    if !row.contains('\u{1b}') {
        return row.into();
    }
    let mut plain = String::with_capacity(row.len());
    let mut chars = row.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // CSI: `[`, parameters, one letter.
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            plain.push(c);
        }
    }
    plain.into()
}
