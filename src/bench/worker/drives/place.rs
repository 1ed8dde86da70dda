//! What is read from a drive: places whose content is known, since two reads through host memory agreed on it.
//!
//! Nothing is written to a drive, so a place is taken as it is found. One with many different words is best: among
//! zeros neither zeros nor data from elsewhere would be noticed.

use super::super::session::{Stop, tell};
use crate::bench::protocol::Event;
use crate::gpu::p2pmem::{Drive, Memory};
use std::cmp::Reverse;

/// Bytes of a page, to which all places are aligned.
const PAGE: u64 = 4096;
/// Words of a page.
const WORDS: usize = 512;
/// Places that are looked at, spread over the drive.
const LOOKS: u64 = 32;
/// Places that are kept: transfers take turns, so that what one of them left is told from what the next one brings.
const KEPT: usize = 2;

/// A place and its content.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) words: Vec<u64>,
    /// Words that differ from zero and from their neighbour before: those of the first page, and all.
    varied: (usize, usize),
}

/// Places of one drive.
#[derive(Debug, Default)]
pub(super) struct Places {
    bytes: usize,
    found: Vec<Place>,
    untried: Vec<u64>,
    /// Some were told to change while they were read.
    busy: bool,
    error: Option<String>,
}

impl Places {
    /// Places of `bytes` on a drive of `size` bytes; nothing is read yet.
    pub(super) fn of(size: u64, bytes: usize) -> Self {
        let last = size.saturating_sub(bytes as u64) / PAGE * PAGE;
        let mut untried: Vec<u64> = (0..LOOKS).map(|n| last / (LOOKS - 1) * n / PAGE * PAGE).collect();
        untried.dedup();
        untried.reverse();
        Self { bytes, untried, ..Self::default() }
    }

    /// The place of a turn; none before [`Places::look`] found one.
    pub(super) fn at(&self, turn: usize) -> Option<&Place> {
        self.found.get(turn.checked_rem(self.found.len())?)
    }

    /// Why there is no place.
    pub(super) fn missing(&self) -> String {
        match &self.error {
            Some(error) if !self.busy => error.clone(),
            _ => "the blocks that were read change meanwhile: the drive is in use".to_owned(),
        }
    }

    /// Forgets a place that was seen to change.
    pub(super) fn forget(&mut self, offset: u64) {
        self.busy = true;
        self.found.retain(|place| place.offset != offset);
    }

    /// Looks for places until there are enough good ones, or none are left to look at. The remark is for the record.
    pub(super) fn look(&mut self, drive: &Drive, staging: &mut Memory) -> Result<Option<String>, Stop> {
        if !self.found.is_empty() {
            return Ok(None);
        }
        let rich = |place: &Place| place.varied.0 > WORDS / 2 && place.varied.1 > place.words.len() / 2;
        while self.found.iter().filter(|place| rich(place)).count() < KEPT {
            let Some(offset) = self.untried.pop() else { break };
            tell(&Event::Beat)?;
            match stable(drive, staging, offset, self.bytes) {
                Ok(Some(words)) if self.found.iter().all(|place| place.words != words) => {
                    let varied = (varied(words.get(..WORDS).unwrap_or(&words)), varied(&words));
                    self.found.push(Place { offset, words, varied });
                    self.found.sort_by_key(|place| Reverse(place.varied));
                    self.found.truncate(KEPT);
                }
                Ok(Some(_)) => {}
                Ok(None) => self.busy = true,
                Err(error) => self.error = Some(format!("reading at byte {offset}: {error}")),
            }
        }
        let blank = self.found.first().is_some_and(|place| place.varied.0 == 0);
        Ok(blank.then(|| {
            "it holds only zeros where it was read: zeros that a fault leaves would pass for its data"
                .to_owned()
        }))
    }
}

/// What two reads through host memory agree on; none where they differ.
pub(super) fn stable(
    drive: &Drive,
    staging: &mut Memory,
    offset: u64,
    bytes: usize,
) -> std::io::Result<Option<Vec<u64>>> {
    staging.read_from(drive, offset, bytes)?;
    let first = staging.get(bytes / 8);
    staging.read_from(drive, offset, bytes)?;
    Ok((staging.get(bytes / 8) == first).then_some(first))
}

fn varied(words: &[u64]) -> usize {
    let before = std::iter::once(&0).chain(words);
    words.iter().zip(before).filter(|(word, before)| **word != 0 && word != before).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_aligned_and_inside_the_drive() {
        for size in [1 << 20, (1 << 20) + 4096, 3 << 30, 30_000_000_000_512] {
            let places = Places::of(size, 1 << 20);
            assert!(places.untried.iter().all(|at| at % PAGE == 0 && at + (1 << 20) <= size), "{size}");
            assert_eq!(places.untried.last(), Some(&0), "the beginning is looked at first");
            assert!(places.at(3).is_none());
        }
        assert_eq!(Places::of(1 << 20, 1 << 20).untried, [0]);
    }

    #[test]
    fn words_that_differ_are_counted() {
        assert_eq!(varied(&[0, 0, 5, 5, 0, 7, 8]), 3);
        assert_eq!(varied(&[]), 0);
    }
}
