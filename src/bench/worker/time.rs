//! Time: samples of all arms of a pair in turn, forwards and backwards.

use super::Bench;
use super::measure::{verified, warm_up};
use super::session::{Stop, Track, tell};
use crate::bench::arms::Access;
use crate::bench::arms::bulk::Bulk;
use crate::bench::counters;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use std::time::Instant;

/// One arm in one direction while it is being timed.
pub(super) struct Timed {
    pub(super) forth: bool,
    pub(super) arm: Bulk,
    /// What is mapped in its direction.
    pub(super) access: Access,
    pub(super) count: u32,
    pub(super) track: Track,
}

impl Timed {
    /// Tells an arm that was verified and will not be timed.
    pub(super) fn not_timed(mut self, why: &str) -> Result<(), Stop> {
        if self.track.good() {
            self.track.arm.outcome = Outcome::Skipped;
            self.track.arm.why = format!("not timed: {why}");
        }
        self.track.finish()
    }
}

impl Bench {
    /// Samples of all arms in turn, forwards and backwards, so that drift falls on all alike. The reason when a
    /// fault ended the peer arms.
    pub(super) fn time(&mut self, a: usize, b: usize, mut timed: Vec<Timed>) -> Result<Option<String>, Stop> {
        self.session.phase("warm up")?;
        for entry in &mut timed {
            let (from, to) = if entry.forth { (a, b) } else { (b, a) };
            let Some(way) = self.way(from, to) else { continue };
            match warm_up(&self.session, way, entry.arm, &entry.track)? {
                Ok(count) => entry.count = count,
                Err(error) => {
                    entry.track.failed(&error);
                    self.survive(&mut entry.track, a, b)?;
                }
            }
        }
        self.session.phase("bulk")?;
        self.session.sampler.begin(&self.indices_of(a, b));
        self.session.counters.start();
        let (least, most) = if self.session.quick { (5, 5) } else { (9, 15) };
        let began = Instant::now();
        let enough = if self.session.quick { 0.6 } else { 2.0 };
        let mut fault = None;
        for round in 0..most {
            if round >= least && (began.elapsed().as_secs_f64() > enough || self.session.late()) {
                break;
            }
            for place in 0..timed.len() {
                let place = if round % 2 == 0 { place } else { timed.len() - 1 - place };
                let Some(entry) = timed.get_mut(place) else { continue };
                if entry.track.good() && !(entry.arm.peer() && fault.is_some()) {
                    fault = self.timed_sample(a, b, entry)?.or(fault);
                }
            }
        }
        let links = self.session.links();
        self.session.phase("verify")?;
        let left = self.session.counters.grown().replays.unwrap_or(0);
        if left > 0 {
            let text = format!("{left} PCIe replays during the interleaved samples, of no known arm");
            tell(&Event::Note { text })?;
        }
        for mut entry in timed {
            let (from, to) = if entry.forth { (a, b) } else { (b, a) };
            if entry.track.good() && !(entry.arm.peer() && fault.is_some()) {
                // The timed transfers all left the same words: one more, on poison, with words of its own.
                let patterns = self.patterns(from, to);
                let result = self
                    .way(from, to)
                    .map(|way| verified(way, entry.arm, &patterns.0, &patterns.1, entry.access));
                self.outcome(&mut entry.track, result, a, b)?;
            }
            entry.track.arm.links.clone_from(&links);
            if !entry.forth {
                // Source before destination.
                entry.track.arm.links.reverse();
            }
            self.session.count(&mut entry.track)?;
            let late = counters::faulted(&entry.track.arm.deltas).filter(|_| entry.arm.peer());
            fault = fault.or(late.map(|late| format!("{late} during {}", entry.arm.name())));
            entry.track.finish()?;
        }
        Ok(fault)
    }

    /// One sample; the reason when a fault must end the peer arms.
    fn timed_sample(&mut self, a: usize, b: usize, entry: &mut Timed) -> Result<Option<String>, Stop> {
        let (from, to) = if entry.forth { (a, b) } else { (b, a) };
        let Some(way) = self.way(from, to) else { return Ok(None) };
        entry.track.at()?;
        match way.batch(entry.arm, entry.count) {
            Ok(seconds) => {
                let both = if entry.arm == Bulk::Bidirectional { 2 } else { 1 };
                let value = rate(way.bytes(entry.arm) * both, seconds);
                entry.track.sample(value)?;
            }
            Err(error) => {
                entry.track.failed(&error);
                self.survive(&mut entry.track, a, b)?;
            }
        }
        let grown = self.session.counters.grown_quickly();
        let fault = counters::faulted(&grown).filter(|_| entry.arm.peer());
        self.session.book(&mut entry.track, grown)?;
        Ok(fault.map(|fault| format!("{fault} during {}", entry.arm.name())))
    }
}

/// GB/s.
#[allow(clippy::cast_precision_loss)] // bytes of one transfer stay far below 2^53
pub(super) fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds / 1e9 } else { 0.0 }
}
