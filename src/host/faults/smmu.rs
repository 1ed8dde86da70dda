//! SMMU faults (drivers/iommu/arm/arm-smmu, arm-smmu-v3). A stream id maps to a device through firmware
//! tables that are not read here, so that a stream is named as such.

use super::census::Census;
use super::read::Event;
use crate::host::log::LogLine;

/// An event that `arm-smmu-v3` prints over five lines: header, then four 64-bit words.
#[derive(Default)]
pub(super) struct Dump<'a> {
    open: Option<(&'a LogLine, Event)>,
    words: Vec<u64>,
}

impl<'a> Dump<'a> {
    /// Takes the line if it is one of the SMMU drivers'.
    pub(super) fn line(&mut self, line: &'a LogLine, census: &mut Census<'a>) -> bool {
        let text = line.text.as_str();
        if !text.contains("arm-smmu") {
            return false;
        }
        if let Some(event) = context_fault(text).or_else(|| decoded(text)) {
            self.flush(census);
            census.add(line, event);
        } else if let Some(id) =
            between(text, ": event 0x", " received:").and_then(|h| u8::from_str_radix(h, 16).ok())
        {
            self.flush(census);
            self.open = Some((line, event(&format!("{id:#04x}"), meaning(id))));
        } else if self.open.is_some()
            && let Some(word) = text.rsplit("0x").next().and_then(|h| u64::from_str_radix(h.trim(), 16).ok())
        {
            self.words.push(word);
            if self.words.len() == 4 {
                self.flush(census);
            }
        }
        true
    }

    /// Closes an event: word 0 holds the stream id (bits 63:32), word 1 RnW (bit 35), word 2 the address
    /// (SMMUv3 architecture, "Event records").
    pub(super) fn flush(&mut self, census: &mut Census<'a>) {
        let words = std::mem::take(&mut self.words);
        if let Some((line, mut event)) = self.open.take() {
            if let Some(first) = words.first() {
                event.other_name = stream(first >> 32);
            }
            event.write = words.get(1).map(|w| w >> 35 & 1 == 0);
            event.address = words.get(2).copied();
            census.add(line, event);
        }
    }
}

/// `Unhandled context fault: fsr=0x…, iova=0x…, fsynr=0x…, cbfrsynra=0x…, cb=N` (SMMUv1, v2).
fn context_fault(text: &str) -> Option<Event> {
    let (_, rest) = text.split_once("Unhandled context fault:")?;
    let mut found = event("context fault", "address not mapped, or not with this permission");
    found.address = hex(rest, "iova=");
    // FSYNR0.WNR
    found.write = hex(rest, " fsynr=").map(|v| v >> 4 & 1 == 1);
    if let Some(id) = hex(rest, "cbfrsynra=") {
        found.other_name = stream(id & 0xffff);
    }
    Some(found)
}

/// `event: NAME client: DEVICE sid: 0x… ssid: 0x… iova: 0x… ipa: 0x…` (since 6.14).
fn decoded(text: &str) -> Option<Event> {
    let (_, rest) = text.split_once(": event: ")?;
    let name = rest.split(' ').next()?;
    let mut found = event(name, "address not mapped, or not with this permission");
    found.address = hex(rest, "iova: ");
    found.other_name = hex(rest, "sid: ").map(stream).unwrap_or_default();
    if let Some(bdf) = between(rest, "client: ", " ").and_then(super::requester::parse_bdf) {
        found.bdf = bdf;
        found.segment_known = true;
        found.other_name = String::new();
    }
    Some(found)
}

fn event(code: &str, meaning: &str) -> Event {
    Event {
        unit: "smmu",
        code: code.to_owned(),
        meaning: meaning.to_owned(),
        other_name: "no stream id in the line".to_owned(),
        ..Event::default()
    }
}

fn stream(id: u64) -> String {
    format!("stream id {id:#x}")
}

fn hex(text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(key)?;
    let digits = rest.trim_start_matches("0x");
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(digits.get(..end)?, 16).ok()
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inside, _)| inside)
}

/// Meaning of an event number (SMMUv3 architecture, "Event records").
fn meaning(id: u8) -> &'static str {
    match id {
        0x02 => "stream id that the table does not hold",
        0x03 => "stream table entry cannot be read",
        0x04 => "broken stream table entry",
        0x10 => "address not mapped",
        0x11 => "address too large",
        0x12 => "page never accessed before",
        0x13 => "no permission",
        _ => "event of the unit",
    }
}
