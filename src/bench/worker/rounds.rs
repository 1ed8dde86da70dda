//! The small arms of a pair in rounds: one sample of each in turn, forwards and backwards, so that a noisy moment falls
//! on all alike and never fills one arm alone.

use super::Bench;
use super::pair::NOT_GRANTED;
use super::session::{Stop, Track, tell};
use super::small::Small;
use crate::bench::arms::Access;
use crate::bench::arms::latency::LOOP;
use crate::bench::check;
use crate::bench::counters;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use std::time::Instant;

/// One arm in one direction between its first and its last sample.
struct Open {
    from: usize,
    to: usize,
    arm: Small,
    track: Track,
}

impl Open {
    /// Ends before its time: what was measured until then stands and is not judged.
    fn not_finished(mut self, why: &str) -> Result<(), Stop> {
        if self.track.good() {
            self.track.arm.outcome = Outcome::Skipped;
            self.track.arm.why = format!("not finished: {why}");
        }
        self.track.finish()
    }
}

impl Bench {
    /// What the driver makes of transfers while peer access is off. `bulk` were checked before.
    pub(super) fn driver_arms(
        &mut self,
        a: usize,
        b: usize,
        bulk: Vec<(usize, usize, Track)>,
    ) -> Result<(), Stop> {
        self.session.phase("driver-staged")?;
        let mut open = Vec::new();
        for (from, to, track) in bulk {
            if !track.good() {
                self.skip_by_driver(from, to, &format!("driver-staged: {}", track.arm.why))?;
                track.finish()?;
                continue;
            }
            open.push(Open { from, to, arm: Small::Driver, track });
            for arm in self.driver_list().into_iter().skip(1) {
                let Some(mut track) = self.small_track(from, to, arm) else { continue };
                if self.session.late() {
                    track.skipped(Outcome::Skipped, "the budget is used up").finish()?;
                    continue;
                }
                track.at()?;
                self.session.counters.start();
                self.small_check((from, to), arm, &mut track, a, b)?;
                self.session.count(&mut track)?;
                open.push(Open { from, to, arm, track });
            }
        }
        self.rounds_of(a, b, open, false)?;
        Ok(())
    }

    /// Runs the small peer arms in both directions. Wrong data ends them.
    pub(super) fn small_arms(&mut self, a: usize, b: usize, forth: Access, back: Access) -> Result<(), Stop> {
        self.session.phase("small")?;
        self.rounds = 0;
        if let Some(way) = self.way(a, b)
            && let Err(error) = way.clear_flags()
        {
            return Err(Stop::Broken(error.to_string()));
        }
        let mut open = Vec::new();
        let mut trouble: Option<String> = None;
        for (from, to, access) in [(a, b, forth), (b, a, back)] {
            for arm in self.list(from == a) {
                let Some(mut track) = self.small_track(from, to, arm) else { continue };
                let system = self
                    .way(from, to)
                    .is_some_and(|way| way.from.kernels.has_system() && way.to.kernels.has_system());
                if let Some(why) = &trouble {
                    track.skipped(Outcome::Skipped, why.as_str()).finish()?;
                } else if !arm.allowed(access) {
                    track.skipped(Outcome::Refused, NOT_GRANTED).finish()?;
                } else if arm.system() && !system {
                    let why = "needs a GPU of compute capability 7.0 or later";
                    track.skipped(Outcome::Skipped, why).finish()?;
                } else if self.session.late() {
                    track.skipped(Outcome::Skipped, "the budget is used up").finish()?;
                } else {
                    track.at()?;
                    self.session.counters.start();
                    self.small_check((from, to), arm, &mut track, a, b)?;
                    self.session.count(&mut track)?;
                    trouble = ended(&track);
                    open.push(Open { from, to, arm, track });
                }
            }
        }
        let trouble = match trouble {
            None => self.rounds_of(a, b, open, true)?,
            Some(why) => {
                open.into_iter().try_for_each(|entry| entry.not_finished(&why))?;
                Some(why)
            }
        };
        trouble.map_or(Ok(()), |why| self.take_down(a, b, &why))
    }

    /// Samples until there are enough. The reason when a fault or a wrong word ended the peer's arms.
    fn rounds_of(
        &mut self,
        a: usize,
        b: usize,
        mut open: Vec<Open>,
        peer: bool,
    ) -> Result<Option<String>, Stop> {
        self.session.sampler.begin(&self.indices_of(a, b));
        self.session.counters.start();
        let (least, most, enough) = if self.session.quick { (5, 5, 0.0) } else { (9, 21, 1.5) };
        let began = Instant::now();
        let mut trouble = None;
        // The first round warms up.
        for round in 0..=most {
            if round > least && (began.elapsed().as_secs_f64() > enough || self.session.late()) {
                break;
            }
            for place in 0..open.len() {
                let place = if round % 2 == 0 { place } else { open.len() - 1 - place };
                let Some(entry) = open.get_mut(place) else { continue };
                if !entry.track.good() || (peer && trouble.is_some()) {
                    continue;
                }
                self.round_sample(entry, round > 0, a, b)?;
                if peer {
                    trouble = ended(&entry.track).or(trouble);
                }
            }
        }
        let links = self.session.links();
        let left = self.session.counters.grown().replays.unwrap_or(0);
        if left > 0 {
            let text = format!("{left} PCIe replays during the small arms, of no known arm");
            tell(&Event::Note { text })?;
        }
        for entry in &mut open {
            entry.track.arm.links.clone_from(&links);
            if entry.from != a {
                // Source before destination.
                entry.track.arm.links.reverse();
            }
            if entry.track.good() && !(peer && trouble.is_some()) {
                // Once more: what went wrong only later must not pass.
                self.small_check((entry.from, entry.to), entry.arm, &mut entry.track, a, b)?;
                self.session.count(&mut entry.track)?;
                if peer {
                    trouble = ended(&entry.track).or(trouble);
                }
            }
        }
        for entry in open {
            match &trouble {
                Some(why) if peer => entry.not_finished(why)?,
                _ => entry.track.finish()?,
            }
        }
        Ok(trouble)
    }

    fn round_sample(&mut self, entry: &mut Open, keep: bool, a: usize, b: usize) -> Result<(), Stop> {
        entry.track.at()?;
        match self.small_sample(entry.from, entry.to, entry.arm) {
            Ok(sampled) => {
                entry.track.arm.words_checked += sampled.words;
                if !sampled.errors.is_empty() {
                    entry.track.arm.outcome = Outcome::Corrupt;
                    entry.track.arm.why = sampled.lost.unwrap_or_else(|| "wrong data".to_owned());
                    entry.track.arm.errors = sampled.errors;
                } else if let Some(lost) = sampled.lost {
                    entry.track.arm.outcome = Outcome::Failed;
                    entry.track.arm.why = lost;
                } else if keep {
                    entry.track.sample(sampled.value)?;
                }
            }
            Err(error) => {
                entry.track.failed(&error);
                self.survive(&mut entry.track, a, b)?;
            }
        }
        let grown = self.session.counters.grown_quickly();
        self.session.book(&mut entry.track, grown)
    }

    /// One copy, or the loop, on poison and with words of its own.
    fn small_check(
        &mut self,
        (from, to): (usize, usize),
        arm: Small,
        track: &mut Track,
        a: usize,
        b: usize,
    ) -> Result<(), Stop> {
        let (bytes, copies, peer) = match arm {
            Small::Copy(bytes) => (bytes, 1, true),
            Small::DriverCopy(bytes) => (bytes, 1, false),
            Small::Loop => (32, LOOP, true),
            // These check every sample.
            _ => return Ok(()),
        };
        let pattern = self.patterns(from, to).0;
        let result = self.way(from, to).map(|way| {
            way.from.fill(way.from.source.address(), bytes.div_ceil(8), &pattern, 0)?;
            way.to.poison(way.to.target.address(), bytes.div_ceil(8))?;
            way.settle()?;
            for _ in 0..copies {
                way.from.stream.copy_peer(&way.to.target, 0, &way.from.source, 0, bytes)?;
            }
            way.settle()?;
            let writer = peer.then_some(way.from);
            if bytes < 8 {
                return check::half_word(way.to, way.host, &way.to.target, &pattern, writer);
            }
            check::destination(way.to, way.host, &way.to.target, 0, bytes, &pattern, writer)
        });
        self.outcome(track, result, a, b)
    }
}

/// Why the peer's arms must end after this one.
fn ended(track: &Track) -> Option<String> {
    match counters::faulted(&track.arm.deltas) {
        Some(fault) => Some(format!("{fault} during {}", track.arm.name)),
        None if track.arm.outcome == Outcome::Corrupt => {
            Some(format!("{}: {}", track.arm.name, track.arm.why))
        }
        None => None,
    }
}
