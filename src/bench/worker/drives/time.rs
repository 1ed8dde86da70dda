//! Time: samples of all arms of a pair in turn, forwards and backwards.

use super::super::session::{Stop, Track};
use super::super::time::rate;
use super::transfer::Arm;
use super::{Storage, Way};
use crate::bench::counters;
use crate::bench::drives::state::link_now;
use crate::bench::record::{LinkSample, Outcome};
use crate::bench::sampler::lower;
use crate::bench::stats;
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

/// Seconds of transfers in one sample, each of them timed: their median is the sample. A drive answers one read in many
/// late, and so does the host's scheduler; a mean would tell of those.
const SAMPLE: f64 = 20e-3;
const SAMPLE_QUICK: f64 = 10e-3;
/// Most transfers in one sample.
const MOST: f64 = 128.0;

/// One arm on one way, verified, while it is being timed.
pub(super) struct Timed {
    pub(super) way: Way,
    pub(super) arm: Arm,
    /// Transfers in one sample.
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

impl Storage {
    /// Samples of all arms in turn, so that drift falls on all alike, and one more verified transfer of each. The
    /// reason when a fault or wrong data ended the peer arms.
    pub(super) fn time(&mut self, mut timed: Vec<Timed>) -> Result<Option<String>, Stop> {
        self.session.phase("warm up")?;
        for entry in timed.iter_mut().filter(|entry| entry.track.good()) {
            entry.track.at()?;
            match self.batch(entry, 1).and_then(|_| self.batch(entry, 1)) {
                Ok(seconds) => entry.count = batch_size(seconds, self.session.quick),
                Err(error) => failed(&mut entry.track, &error),
            }
        }
        self.session.phase("bulk")?;
        self.session.counters.start();
        let (least, most, enough) = if self.session.quick { (5, 5, 0.0) } else { (9, 15, 2.0) };
        let began = Instant::now();
        let mut fault: Option<String> = None;
        let mut links: BTreeMap<usize, LinkSample> = BTreeMap::new();
        for round in 0..most {
            if round >= least && (began.elapsed().as_secs_f64() > enough || self.session.late()) {
                break;
            }
            for place in 0..timed.len() {
                let place = if round % 2 == 0 { place } else { timed.len() - 1 - place };
                let Some(entry) = timed.get_mut(place) else { continue };
                if entry.track.good() && !(entry.arm.peer() && fault.is_some()) {
                    fault = self.sample(entry)?.or(fault);
                    self.links(entry.way, &mut links);
                }
            }
        }
        self.session.phase("verify")?;
        for mut entry in timed {
            if entry.track.good() && !(entry.arm.peer() && fault.is_some()) {
                // What the timed transfers brought was not looked at: one more, on poison, from another place.
                let result = self.verified(entry.way, entry.arm)?;
                self.outcome(&mut entry.track, entry.way, entry.arm, result);
            }
            entry.track.arm.links =
                [entry.way.0, entry.way.1].iter().filter_map(|at| links.get(at).copied()).collect();
            self.session.count(&mut entry.track)?;
            if entry.arm.peer() {
                let name = &entry.track.arm.name;
                let late =
                    counters::faulted(&entry.track.arm.deltas).map(|late| format!("{late} during {name}"));
                let wrong = entry.track.arm.outcome == Outcome::Corrupt;
                fault = fault.or(late).or_else(|| wrong.then(|| format!("{name}: {}", entry.track.arm.why)));
            }
            entry.track.finish()?;
        }
        Ok(fault)
    }

    /// Seconds of one transfer, the median of `count`.
    fn batch(&mut self, entry: &Timed, count: u32) -> io::Result<f64> {
        let mut seconds = Vec::new();
        for _ in 0..count.max(1) {
            let began = Instant::now();
            self.transfer_once(entry.way, entry.arm)?;
            seconds.push(began.elapsed().as_secs_f64());
        }
        Ok(stats::median(&seconds))
    }

    /// One sample; the reason when a fault must end the peer arms.
    fn sample(&mut self, entry: &mut Timed) -> Result<Option<String>, Stop> {
        entry.track.at()?;
        match self.batch(entry, entry.count) {
            Ok(seconds) if entry.arm.small() => entry.track.sample(seconds * 1e6)?,
            Ok(seconds) => entry.track.sample(rate(entry.track.arm.bytes, seconds))?,
            Err(error) => failed(&mut entry.track, &error),
        }
        let grown = self.session.counters.grown_quickly();
        let fault = counters::faulted(&grown).filter(|_| entry.arm.peer());
        self.session.book(&mut entry.track, grown)?;
        Ok(fault.map(|fault| format!("{fault} during {}", entry.track.arm.name)))
    }

    /// Keeps the lowest state of the links of a way.
    fn links(&self, way: Way, links: &mut BTreeMap<usize, LinkSample>) {
        for at in [way.0, way.1] {
            let now = link_now(&self.root, self.bdf(at));
            links.entry(at).and_modify(|before| *before = lower(*before, now)).or_insert(now);
        }
    }
}

fn failed(track: &mut Track, error: &io::Error) {
    track.arm.outcome = Outcome::Failed;
    track.arm.why = error.to_string();
}

fn batch_size(seconds: f64, quick: bool) -> u32 {
    let sample = if quick { SAMPLE_QUICK } else { SAMPLE };
    let count = (sample / seconds.max(1e-7)).ceil().clamp(1.0, MOST);
    // Between 1 and 128.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let count = count as u32;
    count
}
