//! The small arms in two passes, the second one backwards, so that drift falls on all alike. Within a pass an arm stays
//! by itself: its counters and links are its own, and the CPU's caches hold what it needs.

use super::Bench;
use super::pair::NOT_GRANTED;
use super::session::{Stop, Track};
use super::small::Small;
use crate::bench::arms::Access;
use crate::bench::counters;
use crate::bench::record::Outcome;
use std::time::Instant;

/// One small arm in one direction while it is being measured.
struct Entry {
    from: usize,
    to: usize,
    arm: Small,
    track: Track,
}

/// Samples of one pass: at least, at most, and seconds after which the least are enough.
fn samples(arm: Small, quick: bool, second: bool) -> (u32, u32, f64) {
    match (arm, quick, second) {
        // Each of its samples lasts long.
        (Small::Loop, true, true) => (0, 0, 0.0),
        (_, true, false) => (3, 3, 0.0),
        (_, true, true) => (2, 2, 0.0),
        (_, false, false) => (5, 11, 0.03),
        (_, false, true) => (4, 10, 0.03),
    }
}

impl Bench {
    /// Small copies by the driver in both directions, while peer access is off. Wrong data of one end no other.
    pub(super) fn small_by_driver(
        &mut self,
        a: usize,
        b: usize,
        ways: &[(usize, usize)],
    ) -> Result<(), Stop> {
        let mut entries = Vec::new();
        for (from, to) in ways.iter().copied() {
            for arm in self.by_driver() {
                if let Some(track) = self.small_track(from, to, arm) {
                    entries.push(Entry { from, to, arm, track });
                }
            }
        }
        self.passes(a, b, entries, false)
    }

    /// All small arms of a pair with peer access. Wrong data or a fault ends them.
    pub(super) fn small_arms(&mut self, a: usize, b: usize, forth: Access, back: Access) -> Result<(), Stop> {
        self.session.phase("small")?;
        self.rounds = 0;
        if let Some(way) = self.way(a, b)
            && let Err(error) = way.clear_flags()
        {
            return Err(Stop::Broken(error.to_string()));
        }
        let mut entries = Vec::new();
        for (from, to, access) in [(a, b, forth), (b, a, back)] {
            for arm in self.list(from == a) {
                let Some(track) = self.small_track(from, to, arm) else { continue };
                let system = self
                    .way(from, to)
                    .is_some_and(|way| way.from.kernels.has_system() && way.to.kernels.has_system());
                if !arm.allowed(access) {
                    track.skipped(Outcome::Refused, NOT_GRANTED).finish()?;
                } else if arm.system() && !system {
                    let why = "needs a GPU of compute capability 7.0 or later";
                    track.skipped(Outcome::Skipped, why).finish()?;
                } else {
                    entries.push(Entry { from, to, arm, track });
                }
            }
        }
        self.passes(a, b, entries, true)
    }

    fn passes(&mut self, a: usize, b: usize, mut entries: Vec<Entry>, peer: bool) -> Result<(), Stop> {
        let mut trouble: Option<String> = None;
        for second in [false, true] {
            if second {
                entries.reverse();
            }
            for entry in &mut entries {
                if trouble.is_none() {
                    trouble = self.pass(a, b, entry, second)?.filter(|_| peer);
                    if let Some(why) = &trouble {
                        self.take_down(a, b, why)?;
                    }
                } else if let Some(why) = trouble.as_ref().filter(|_| entry.track.good()) {
                    entry.track.arm.outcome = Outcome::Skipped;
                    let begun = if entry.track.arm.samples.is_empty() { "" } else { "not finished: " };
                    entry.track.arm.why = format!("{begun}{why}");
                }
            }
        }
        // In the order of the first pass.
        entries.into_iter().rev().try_for_each(|entry| entry.track.finish())
    }

    /// One pass of one arm; the reason when peer arms must end.
    fn pass(&mut self, a: usize, b: usize, entry: &mut Entry, second: bool) -> Result<Option<String>, Stop> {
        let track = &mut entry.track;
        let (least, most, enough) = samples(entry.arm, self.session.quick, second);
        if !track.good() || most == 0 {
            return Ok(None);
        }
        if self.session.late() {
            if track.arm.samples.is_empty() {
                track.arm.outcome = Outcome::Skipped;
                "the budget is used up".clone_into(&mut track.arm.why);
            }
            return Ok(None);
        }
        let way = (entry.from, entry.to);
        self.session.sampler.begin(&self.indices_of(way.0, way.1));
        self.session.counters.start();
        self.small_samples((a, b), way, entry.arm, track, (least, most, enough))?;
        self.session.merge_links(&mut track.arm.links);
        self.session.count(track)?;
        Ok(match counters::faulted(&track.arm.deltas) {
            Some(fault) => Some(format!("{fault} during {}", track.arm.name)),
            None if track.arm.outcome == Outcome::Corrupt => {
                Some(format!("{}: {}", track.arm.name, track.arm.why))
            }
            None => None,
        })
    }

    fn small_samples(
        &mut self,
        (a, b): (usize, usize),
        (from, to): (usize, usize),
        arm: Small,
        track: &mut Track,
        (least, most, enough): (u32, u32, f64),
    ) -> Result<(), Stop> {
        let began = Instant::now();
        // The first one warms up.
        for sample in 0..=most {
            if sample > least && began.elapsed().as_secs_f64() > enough {
                break;
            }
            track.at()?;
            match self.small_sample(from, to, arm) {
                Ok(sampled) => {
                    track.arm.words_checked += sampled.words;
                    if !sampled.errors.is_empty() {
                        track.arm.outcome = Outcome::Corrupt;
                        track.arm.why = sampled.lost.unwrap_or_else(|| "wrong data".to_owned());
                        track.arm.errors = sampled.errors;
                        return Ok(());
                    }
                    if let Some(lost) = sampled.lost {
                        track.arm.outcome = Outcome::Failed;
                        track.arm.why = lost;
                        return Ok(());
                    }
                    if sample > 0 {
                        track.sample(sampled.value)?;
                    }
                }
                Err(error) => {
                    track.failed(&error);
                    return self.survive(track, a, b);
                }
            }
        }
        self.small_check(a, b, (from, to), arm, track)
    }
}
