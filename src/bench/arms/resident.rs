//! A consumer that stays resident on the destination's GPU and reads while the source's GPU still writes. Copy-then-wait
//! hides what this shows: data that arrives after the flag that announces it.

use super::Way;
use crate::bench::check::Report;
use crate::bench::errors::{ErrorMap, Mechanism};
use crate::bench::pattern::{POISON, Pattern, mix64};
use crate::bench::rig::{ACK, small};
use crate::gpu::cuda::{Arg, CudaError, Grid};
use crate::gpu::kernels::{self, REPORT_SLOTS};

/// Words of a page.
const PAGE_WORDS: u32 = 512;
/// Pages of the ring.
const RING: u32 = 8;
/// Longest wait of a kernel for the other one.
const LIMIT_NS: u64 = 1_000_000_000;

/// What one run found.
pub(in crate::bench) struct Resident {
    /// Microseconds of one page, from the producer's store to the consumer's check.
    pub(in crate::bench) microseconds: f64,
    pub(in crate::bench) map: ErrorMap,
    /// In words, when pages did not come.
    pub(in crate::bench) lost: Option<String>,
}

impl Way<'_> {
    /// Sends `pages` through the ring. `run` makes each run's words its own.
    pub(in crate::bench) fn resident(
        &self,
        pattern: &Pattern,
        run: u64,
        pages: u32,
    ) -> Result<Resident, CudaError> {
        let pattern = Pattern { key: pattern.key ^ mix64(run), iteration: 0, ..*pattern };
        let ring = self.to.small.address() + small::RESIDENT;
        let flag = self.to.small.address() + small::RESIDENT_FLAG;
        self.to.poison(ring, u64::from(RING * PAGE_WORDS))?;
        self.to.set(flag, 1, 0)?;
        Report::clear(self.to)?;
        Report::clear(self.from)?;
        self.host.flags.signal(ACK, 0);
        self.settle()?;
        let common = [
            Arg::U64(ring),
            Arg::U64(flag),
            Arg::U64(self.host.ack()),
            Arg::U32(pages),
            Arg::U32(RING),
            Arg::U32(PAGE_WORDS),
            Arg::U64(pattern.key),
            Arg::U64(pattern.header()),
        ];
        let consumer = [
            Arg::U64(POISON),
            Arg::U64(self.to.report.address()),
            Arg::U32(u32::try_from(REPORT_SLOTS).unwrap_or(0)),
            Arg::U64(LIMIT_NS),
        ];
        let producer = [Arg::U64(self.from.report.address()), Arg::U64(LIMIT_NS)];
        let block = Grid { blocks: 1, threads: 256 };
        self.to.kernels.launch(
            &self.to.stream,
            kernels::CONSUME,
            block,
            &[&common[..], &consumer[..]].concat(),
        )?;
        self.from.start.record(&self.from.stream)?;
        self.from.kernels.launch(
            &self.from.stream,
            kernels::PRODUCE,
            block,
            &[&common[..], &producer[..]].concat(),
        )?;
        self.from.stop.record(&self.from.stream)?;
        let written = Report::fetch(self.from, self.host)?;
        let read = Report::fetch(self.to, self.host)?;
        let seconds = self.from.stop.seconds_since(&self.from.start)?;
        let mut map = read.map(|index| {
            let words = u64::from(PAGE_WORDS);
            let page = u16::try_from((index / words) & 0xfff).unwrap_or(0);
            let place = u32::try_from(index % words).unwrap_or(0);
            (Pattern { iteration: page, ..pattern }, place)
        });
        map.checked = read.progress * u64::from(PAGE_WORDS);
        let mut lost = None;
        if read.progress < u64::from(pages) {
            let announced = written.progress.saturating_sub(read.progress);
            lost = Some(format!(
                "the consumer saw {} of {} announced pages and {pages} in all; it waited {} s for the next",
                read.progress,
                written.progress,
                LIMIT_NS / 1_000_000_000
            ));
            if announced > 0 {
                map.note(Mechanism::Untouched, read.progress * 4096, announced * u64::from(PAGE_WORDS), None);
            }
        }
        Ok(Resident { microseconds: seconds * 1e6 / f64::from(pages.max(1)), map, lost })
    }
}
