//! Link trouble in the log: surprise link down and replays (drivers/pci/pcie/aer.c, drivers/acpi/apei).

use super::read::pattern;
use crate::host::log::LogLine;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static BDF: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?-u:\b)"));

/// `[ 8] Rollover`, `[12] Timeout` (replay number and timer), `[ 5] SDES`, and the same in words.
static TROUBLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\[ ?[0-9]+\] (?:Rollover|Timeout|SDES)|Surprise (?:Link )?Down"));

/// Status words as firmware reports them.
static STATUS: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"aer_(?<kind>cor_|uncor_)?status: 0x(?<bits>[0-9a-f]{1,8})"));

/// Surprise down error in the uncorrectable status (PCI Express Base, 7.8.4.2).
const SURPRISE_DOWN: u32 = 1 << 5;
/// Replay number rollover and replay timer timeout in the correctable status (7.8.4.5).
const REPLAY: u32 = 1 << 8 | 1 << 12;

/// First line of each device with trouble.
#[derive(Default)]
pub(super) struct Links<'a> {
    first: BTreeMap<String, &'a LogLine>,
    /// Device of the firmware's error record that is being printed.
    record: Option<String>,
}

impl<'a> Links<'a> {
    pub(super) fn line(&mut self, line: &'a LogLine) {
        let text = line.text.as_str();
        let named = || {
            let found = BDF.as_ref()?.captures(text)?;
            super::requester::parse_bdf(found.name("bdf")?.as_str())
        };
        let firmware = text.contains("[Hardware Error]");
        if firmware && text.contains("device_id: ") {
            self.record = named();
            return;
        }
        if TROUBLE.as_ref().is_some_and(|r| r.is_match(text)) || bad_status(text) {
            let device = named().or_else(|| self.record.clone().filter(|_| firmware));
            if let Some(bdf) = device {
                self.first.entry(bdf).or_insert(line);
            }
        }
    }

    pub(super) fn by_device(self) -> (Vec<String>, Vec<&'a LogLine>) {
        self.first.into_iter().unzip()
    }
}

fn bad_status(text: &str) -> bool {
    let Some(found) = STATUS.as_ref().and_then(|r| r.captures(text)) else { return false };
    let bits = found.name("bits").and_then(|b| u32::from_str_radix(b.as_str(), 16).ok()).unwrap_or(0);
    match found.name("kind").map(|k| k.as_str()) {
        Some("cor_") => bits & REPLAY != 0,
        Some(_) => bits & SURPRISE_DOWN != 0,
        // The severity is not in the line; the bits are spelled out in lines of their own.
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(lines: &[&str]) -> Vec<String> {
        let lines: Vec<LogLine> =
            lines.iter().map(|t| LogLine { text: (*t).to_owned(), ..LogLine::default() }).collect();
        let mut trouble = Links::default();
        for line in &lines {
            trouble.line(line);
        }
        trouble.by_device().0
    }

    #[test]
    fn replays_and_surprise_down_name_the_port() {
        assert_eq!(
            devices(&[
                "pcieport 0000:40:01.1:    [ 8] Rollover",
                "pcieport 0000:40:01.1:    [12] Timeout",
                "pcieport 0000:60:01.1:    [ 5] SDES                   (First)",
                "nvidia 0000:41:00.0: Surprise Link Down",
                "{1}[Hardware Error]:   device_id: 0000:81:00.0",
                "{1}[Hardware Error]:   aer_uncor_status: 0x00000020, aer_uncor_mask: 0x00000000",
            ]),
            ["0000:40:01.1", "0000:41:00.0", "0000:60:01.1", "0000:81:00.0"]
        );
    }

    #[test]
    fn other_errors_and_other_timeouts_are_quiet() {
        assert!(
            devices(&[
                "pcieport 0000:40:01.1:    [ 6] BadTLP",
                "pcieport 0000:40:01.1:    [14] CmpltTO",
                "nvme 0000:01:00.0: I/O tag 1 Timeout, aborting",
                "{1}[Hardware Error]:   device_id: 0000:81:00.0",
                "{1}[Hardware Error]:   aer_uncor_status: 0x00100000, aer_uncor_mask: 0x00000000",
                "Surprise Down of no device",
            ])
            .is_empty()
        );
    }
}
