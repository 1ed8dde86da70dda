//! Checking a destination where the data landed: by the SMs of the memory's owner, and by its copy engine.

use super::errors::{ErrorMap, Mechanism};
use super::pattern::{POISON, Pattern};
use super::record::DataError;
use super::rig::{Host, REPORT_BYTES, Rig};
use crate::gpu::cuda::{Arg, Buffer, CudaError};
use crate::gpu::kernels::{self, REPORT_HEAD, REPORT_SLOTS};

/// Windows that the copy engine brings to the host when the SMs saw nothing wrong.
const WINDOWS: u64 = 16;
/// Lower half of a word.
const LOW: u64 = 0xffff_ffff;
/// Bytes of a window.
const WINDOW: u64 = 64 << 10;

/// A report of a checking kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) wrong: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) gave_up: bool,
    pub(super) progress: u64,
    /// Index and word.
    pub(super) records: Vec<(u64, u64)>,
}

impl Report {
    /// Clears the report of a GPU before a kernel fills it.
    pub(super) fn clear(rig: &Rig) -> Result<(), CudaError> {
        rig.set(rig.report.address(), REPORT_BYTES / 8, 0)
    }

    /// Fetches it; waits for the rig's main stream.
    pub(super) fn fetch(rig: &Rig, host: &Host) -> Result<Self, CudaError> {
        rig.stream.copy_to_host(&host.inbox, 0, &rig.report, 0, REPORT_BYTES)?;
        rig.stream.synchronize()?;
        let words = host.inbox.get(0, REPORT_HEAD + 2 * REPORT_SLOTS);
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let recorded = usize::try_from(word(5)).unwrap_or(REPORT_SLOTS).min(REPORT_SLOTS);
        let wrong = word(0);
        Ok(Self {
            wrong,
            first: if wrong == 0 { 0 } else { u64::MAX - word(3) },
            last: word(4).saturating_sub(1),
            gave_up: word(6) != 0,
            progress: word(7),
            records: (0..recorded)
                .map(|n| (word(REPORT_HEAD + 2 * n), word(REPORT_HEAD + 2 * n + 1)))
                .collect(),
        })
    }

    /// The map of what was recorded, scaled up to all wrong words.
    pub(super) fn map(&self, pattern_of: impl Fn(u64) -> (Pattern, u32)) -> ErrorMap {
        let mut map = ErrorMap::default();
        for (index, word) in &self.records {
            let (pattern, place) = pattern_of(*index);
            map.wrong(&pattern, place, *word);
        }
        let missing = self.wrong.saturating_sub(map.words());
        if missing > 0 {
            // Beyond the records only count and place are known; most of them are like those recorded.
            let kind = map.most().unwrap_or(Mechanism::Other);
            map.note(kind, self.first * 8, missing.saturating_sub(1), None);
            map.note(kind, self.last * 8, 1, None);
        }
        map
    }
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub(super) struct Checked {
    /// Words compared, by all viewers.
    pub(super) words: u64,
    /// What was wrong.
    pub(super) errors: Vec<DataError>,
    /// All wrong words are untouched ones.
    pub(super) only_untouched: bool,
}

/// Runs the SM check of `rig` over words at `address`, which may be a peer's memory.
pub(super) fn by_sm(
    rig: &Rig,
    host: &Host,
    address: u64,
    words: u64,
    pattern: &Pattern,
    base: u32,
) -> Result<Report, CudaError> {
    Report::clear(rig)?;
    rig.kernels.launch(
        &rig.stream,
        kernels::VERIFY,
        rig.grid(words),
        &[
            Arg::U64(address),
            Arg::U64(words),
            Arg::U64(pattern.key),
            Arg::U64(pattern.header()),
            Arg::U32(base),
            Arg::U64(POISON),
            Arg::U64(rig.report.address()),
            Arg::U32(u32::try_from(REPORT_SLOTS).unwrap_or(0)),
        ],
    )?;
    Report::fetch(rig, host)
}

/// Checks `bytes` at the start of `buffer` (owned by `owner`): all of it by the SMs, windows of it by the copy engine, and
/// all of it by the copy engine when either saw a wrong word. `peer` is the initiator that may still see its own writes.
pub(super) fn destination(
    owner: &Rig,
    host: &Host,
    buffer: &Buffer,
    offset: u64,
    bytes: u64,
    pattern: &Pattern,
    peer: Option<&Rig>,
) -> Result<Checked, CudaError> {
    let words = bytes / 8;
    let address = buffer.address() + offset;
    let sm = by_sm(owner, host, address, words, pattern, 0)?;
    let mut engine = ErrorMap::default();
    for (at, length) in windows(bytes) {
        fetch(owner, host, buffer, offset, at, length, pattern, &mut engine)?;
    }
    let mut checked = Checked { words: words + engine.checked, ..Checked::default() };
    if sm.wrong == 0 && engine.clean() {
        return Ok(checked);
    }
    let mut all = ErrorMap::default();
    let mut at = 0;
    while at < bytes {
        let length = Host::INBOX.min(bytes - at);
        fetch(owner, host, buffer, offset, at, length, pattern, &mut all)?;
        at += length;
    }
    checked.words += all.checked;
    let (mut map, seen) = if sm.wrong == 0 {
        if all.clean() {
            all = engine;
        }
        (all, "the copy engine only")
    } else if all.clean() {
        (sm.map(|index| (*pattern, u32::try_from(index).unwrap_or(0))), "the SMs only")
    } else {
        (all, "")
    };
    checked.only_untouched = map.only_untouched();
    if checked.only_untouched
        && let Some(peer) = peer
        && by_sm(peer, host, address, words, pattern, 0)?.wrong == 0
    {
        map.as_mirror();
        checked.only_untouched = false;
    }
    checked.errors = map.errors(seen);
    Ok(checked)
}

/// Checks a copy of four bytes onto a poisoned word: the lower half came, the upper half stands.
pub(super) fn half_word(
    owner: &Rig,
    host: &Host,
    buffer: &Buffer,
    pattern: &Pattern,
) -> Result<Checked, CudaError> {
    owner.stream.copy_to_host(&host.inbox, 0, buffer, 0, 8)?;
    owner.stream.synchronize()?;
    let word = host.inbox.get(0, 1).first().copied().unwrap_or(POISON);
    let mut map = ErrorMap::default();
    map.checked = 1;
    let expected = pattern.word(0) & LOW | POISON & !LOW;
    if word == POISON {
        map.note(Mechanism::Untouched, 0, 1, None);
    } else if word & LOW == 0 {
        map.note(Mechanism::Zero, 0, 1, None);
    } else if word != expected {
        map.note(Mechanism::Other, 0, 1, None);
    }
    Ok(Checked { words: 1, errors: map.errors("the copy engine"), only_untouched: map.only_untouched() })
}

/// First, last and evenly spread windows; everything when it is small.
fn windows(bytes: u64) -> Vec<(u64, u64)> {
    if bytes <= WINDOWS * WINDOW {
        return vec![(0, bytes)];
    }
    let step = (bytes - WINDOW) / (WINDOWS - 1) / 8 * 8;
    (0..WINDOWS)
        .map(|n| if n + 1 == WINDOWS { bytes - WINDOW } else { n * step })
        .map(|at| (at, WINDOW))
        .collect()
}

#[allow(clippy::too_many_arguments)] // one region of one buffer
fn fetch(
    owner: &Rig,
    host: &Host,
    buffer: &Buffer,
    offset: u64,
    at: u64,
    length: u64,
    pattern: &Pattern,
    map: &mut ErrorMap,
) -> Result<(), CudaError> {
    owner.stream.copy_to_host(&host.inbox, 0, buffer, offset + at, length)?;
    owner.stream.synchronize()?;
    let words = host.inbox.get(0, usize::try_from(length / 8).unwrap_or(0));
    map.compare(pattern, u32::try_from(at / 8).unwrap_or(0), &words);
    Ok(())
}
