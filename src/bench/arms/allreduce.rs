//! A one-shot all-reduce of two GPUs by SM loads over the link, as inference engines do it, with exact sums.

use super::Way;
use crate::bench::check::Report;
use crate::bench::errors::{ErrorMap, Mechanism};
use crate::bench::rig::{Rig, small};
use crate::gpu::cuda::{Arg, CudaError, Grid};
use crate::gpu::kernels;

/// Longest wait for the other rank.
const LIMIT_NS: u64 = 1_000_000_000;

/// What one launch found.
pub(in crate::bench) struct Reduced {
    /// Microseconds of one all-reduce.
    pub(in crate::bench) microseconds: f64,
    pub(in crate::bench) map: ErrorMap,
    /// In words, when the ranks lost each other.
    pub(in crate::bench) lost: Option<String>,
}

impl Way<'_> {
    /// Clears the flags of both ranks.
    pub(in crate::bench) fn clear_flags(&self) -> Result<(), CudaError> {
        for rig in [self.from, self.to] {
            rig.set(rig.small.address() + small::FLAGS, small::FLAGS_BYTES / 8, 0)?;
        }
        self.settle()
    }

    /// `rounds` all-reduces of `bytes` in one launch; `first` is the number of rounds so far on these flags.
    pub(in crate::bench) fn allreduce(
        &self,
        bytes: u64,
        rounds: u32,
        first: u32,
        seed: u32,
    ) -> Result<Reduced, CudaError> {
        let vectors = u32::try_from(bytes / 16).unwrap_or(1).max(1);
        let threads = vectors.next_multiple_of(32).min(512);
        let grid = Grid { blocks: vectors.div_ceil(threads), threads };
        let rank = |rank: u32, own: &Rig, other: &Rig| {
            let at = |rig: &Rig, offset: u64| Arg::U64(rig.small.address() + offset);
            own.kernels.launch(
                &own.stream,
                kernels::ALLREDUCE,
                grid,
                &[
                    at(own, small::MINE),
                    at(other, small::MINE),
                    at(own, small::FLAGS),
                    at(other, small::FLAGS),
                    at(own, small::OUT),
                    Arg::U32(vectors),
                    Arg::U32(rounds),
                    Arg::U32(first),
                    Arg::U32(rank),
                    Arg::U32(seed),
                    Arg::U64(own.report.address()),
                    Arg::U64(LIMIT_NS),
                ],
            )
        };
        Report::clear(self.from)?;
        Report::clear(self.to)?;
        self.settle()?;
        // Rank 1 waits inside its kernel, so that rank 0's events hold the rounds and no launch.
        rank(1, self.to, self.from)?;
        self.from.start.record(&self.from.stream)?;
        rank(0, self.from, self.to)?;
        self.from.stop.record(&self.from.stream)?;
        let reports = [Report::fetch(self.from, self.host)?, Report::fetch(self.to, self.host)?];
        let mut map = ErrorMap::default();
        map.checked = 2 * u64::from(rounds) * bytes / 8;
        let mut lost = None;
        for (number, report) in reports.iter().enumerate() {
            if report.wrong > 0 {
                // Elements are 32-bit: two of them to a word, rounded up.
                map.note(Mechanism::Other, report.first * 4, report.wrong.div_ceil(2), None);
                map.note(Mechanism::Other, report.last * 4, 0, None);
            }
            if report.gave_up {
                lost = Some(format!(
                    "rank {number} waited for the other after {} of {rounds} rounds",
                    report.progress
                ));
            }
        }
        let seconds = self.from.stop.seconds_since(&self.from.start)?;
        Ok(Reduced { microseconds: seconds * 1e6 / f64::from(rounds.max(1)), map, lost })
    }
}
