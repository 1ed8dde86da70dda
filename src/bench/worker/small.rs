//! The small arms of a pair: latency, the resident consumer, the all-reduce.

use super::Bench;
use super::pair::NOT_GRANTED;
use super::session::{Stop, Track};
use crate::bench::arms::Access;
use crate::bench::arms::latency::LOOP;
use crate::bench::check;
use crate::bench::counters;
use crate::bench::record::{DataError, Outcome};
use crate::gpu::cuda::CudaError;
use std::time::Instant;

/// Bytes of the small copies.
const COPIES: [u64; 5] = [4, 256, 4096, 65_536, 1 << 20];
const COPIES_QUICK: [u64; 2] = [4, 65_536];
/// Bytes of the all-reduce.
const REDUCES: [u64; 6] = [256, 1024, 4096, 16_384, 65_536, 262_144];
const REDUCES_QUICK: [u64; 2] = [256, 65_536];

/// One small arm.
#[derive(Clone, Copy)]
enum Small {
    Load,
    Copy(u64),
    Loop,
    Resident,
    Reduce(u64),
}

impl Small {
    fn name(self) -> String {
        match self {
            Self::Load => "latency-load".to_owned(),
            Self::Copy(bytes) => format!("latency-copy-{bytes}"),
            Self::Loop => "latency-loop-2048x32".to_owned(),
            Self::Resident => "resident".to_owned(),
            Self::Reduce(bytes) => format!("allreduce-{bytes}"),
        }
    }

    fn unit(self) -> &'static str {
        if matches!(self, Self::Load) { "ns" } else { "us" }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Load => 8,
            Self::Copy(bytes) | Self::Reduce(bytes) => bytes,
            Self::Loop => 32,
            Self::Resident => 4096,
        }
    }

    fn allowed(self, access: Access) -> bool {
        match self {
            Self::Load => access.read,
            Self::Copy(_) | Self::Loop | Self::Resident => access.write,
            Self::Reduce(_) => access.read && access.write,
        }
    }

    fn system(self) -> bool {
        matches!(self, Self::Resident | Self::Reduce(_))
    }
}

/// What one sample of a small arm gave.
struct Sampled {
    value: f64,
    words: u64,
    errors: Vec<DataError>,
    /// The kernels lost each other without any wrong data seen.
    lost: Option<String>,
}

impl Sampled {
    fn time(value: f64) -> Self {
        Self { value, words: 0, errors: Vec::new(), lost: None }
    }
}

impl Bench {
    fn list(&self, forth: bool) -> Vec<Small> {
        let (copies, reduces): (&[u64], &[u64]) =
            if self.session.quick { (&COPIES_QUICK, &REDUCES_QUICK) } else { (&COPIES, &REDUCES) };
        let mut list = vec![Small::Resident, Small::Load];
        list.extend(copies.iter().map(|bytes| Small::Copy(*bytes)));
        list.push(Small::Loop);
        if forth {
            // Both ranks read: once a pair is both directions.
            list.extend(reduces.iter().map(|bytes| Small::Reduce(*bytes)));
        }
        list
    }

    /// Small copies while peer access is off: what the driver makes of them. The copies of the peer arms are judged
    /// against these.
    pub(super) fn small_by_driver(&mut self, from: usize, to: usize) -> Result<(), Stop> {
        self.session.phase("driver-staged")?;
        let copies: &[u64] = if self.session.quick { &COPIES_QUICK } else { &COPIES };
        for bytes in copies {
            let arm = Small::Copy(*bytes);
            let Some(mut track) = self.small_track(from, to, arm) else { continue };
            track.arm.name = format!("driver-staged-{bytes}");
            if self.session.late() {
                track.skipped(Outcome::Skipped, "the budget is used up").finish()?;
                continue;
            }
            self.session.counters.start();
            self.small_samples(from, to, (from, to), arm, &mut track)?;
            self.session.count(&mut track)?;
            track.finish()?;
        }
        Ok(())
    }

    fn small_track(&self, from: usize, to: usize, arm: Small) -> Option<Track> {
        let way = self.way(from, to)?;
        Some(Track::new(&way.from.bdf, &way.to.bdf, arm.name(), arm.unit(), arm.bytes()))
    }

    /// Names the small arms that do not run.
    pub(super) fn skip_small(&mut self, a: usize, b: usize, why: &str) -> Result<(), Stop> {
        for (from, to) in [(a, b), (b, a)] {
            for arm in self.list(from == a) {
                if let Some(track) = self.small_track(from, to, arm) {
                    track.skipped(Outcome::Skipped, why).finish()?;
                }
            }
        }
        Ok(())
    }

    /// Runs them in both directions. Wrong data ends them.
    pub(super) fn small_arms(&mut self, a: usize, b: usize, forth: Access, back: Access) -> Result<(), Stop> {
        self.session.phase("small")?;
        self.rounds = 0;
        if let Some(way) = self.way(a, b)
            && let Err(error) = way.clear_flags()
        {
            return Err(Stop::Broken(error.to_string()));
        }
        let indices: Vec<u32> = [a, b].iter().filter_map(|at| self.indices.get(*at).copied()).collect();
        let mut trouble: Option<String> = None;
        for (from, to, access) in [(a, b, forth), (b, a, back)] {
            for arm in self.list(from == a) {
                let Some(mut track) = self.small_track(from, to, arm) else { continue };
                if let Some(why) = &trouble {
                    track.skipped(Outcome::Skipped, why.as_str()).finish()?;
                    continue;
                }
                if !arm.allowed(access) {
                    track.skipped(Outcome::Refused, NOT_GRANTED).finish()?;
                    continue;
                }
                let system = self
                    .way(from, to)
                    .is_some_and(|way| way.from.kernels.has_system() && way.to.kernels.has_system());
                if arm.system() && !system {
                    let why = "needs a GPU of compute capability 7.0 or later";
                    track.skipped(Outcome::Skipped, why).finish()?;
                    continue;
                }
                if self.session.late() {
                    track.skipped(Outcome::Skipped, "the budget is used up").finish()?;
                    continue;
                }
                self.session.sampler.begin(&indices);
                self.session.counters.start();
                self.small_samples(a, b, (from, to), arm, &mut track)?;
                track.arm.links = self.session.links();
                self.session.count(&mut track)?;
                trouble = match counters::faulted(&track.arm.deltas) {
                    Some(fault) => Some(format!("{fault} during {}", track.arm.name)),
                    None if track.arm.outcome == Outcome::Corrupt => {
                        Some(format!("{}: {}", track.arm.name, track.arm.why))
                    }
                    None => None,
                };
                if let Some(why) = &trouble {
                    self.take_down(a, b, why)?;
                }
                track.finish()?;
            }
        }
        Ok(())
    }

    fn small_samples(
        &mut self,
        a: usize,
        b: usize,
        (from, to): (usize, usize),
        arm: Small,
        track: &mut Track,
    ) -> Result<(), Stop> {
        let quick = self.session.quick;
        let (least, most) = match arm {
            Small::Loop if quick => (3, 3),
            _ if quick => (5, 5),
            _ => (9, 21),
        };
        let began = Instant::now();
        let enough = if quick { 0.02 } else { 0.06 };
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

    fn small_sample(&mut self, from: usize, to: usize, arm: Small) -> Result<Sampled, CudaError> {
        let quick = self.session.quick;
        let pattern = self.patterns(from, to).0;
        let run = self.session.next_run();
        let rounds: u32 = if quick { 100 } else { 300 };
        let first = self.rounds;
        if matches!(arm, Small::Reduce(_)) {
            self.rounds = self.rounds.wrapping_add(rounds);
        }
        let Some(way) = self.way(from, to) else { return Ok(Sampled::time(0.0)) };
        match arm {
            Small::Load => {
                let chase = way.chase(if quick { 4000 } else { 10_000 })?;
                let mut sampled = Sampled { words: 1, ..Sampled::time(chase.nanoseconds) };
                if chase.ended != chase.expected {
                    sampled.errors.push(DataError {
                        mechanism: "other".to_owned(),
                        detail: format!(
                            "the chain of loads ended at {:#x}, expected {:#x}",
                            chase.ended, chase.expected
                        ),
                        words: 1,
                        first: 0,
                        last: 0,
                    });
                }
                Ok(sampled)
            }
            Small::Copy(bytes) => {
                let count = if bytes > 100_000 || quick { 5 } else { 9 };
                Ok(Sampled::time(way.small_copy(bytes, count)?))
            }
            Small::Loop => Ok(Sampled::time(way.copy_loop()?)),
            Small::Resident => {
                let found = way.resident(&pattern, run, if quick { 256 } else { 1024 })?;
                Ok(Sampled {
                    value: found.microseconds,
                    words: found.map.checked,
                    errors: found.map.errors("the resident consumer"),
                    lost: found.lost,
                })
            }
            Small::Reduce(bytes) => {
                let seed = u32::try_from(run & 0xffff_ffff).unwrap_or(0);
                let found = way.allreduce(bytes, rounds, first, seed)?;
                Ok(Sampled {
                    value: found.microseconds,
                    words: found.map.checked,
                    errors: found.map.errors("the reducing kernel: sums are not exact"),
                    lost: found.lost,
                })
            }
        }
    }

    /// Small copies are verified after they were timed.
    fn small_check(
        &mut self,
        a: usize,
        b: usize,
        (from, to): (usize, usize),
        arm: Small,
        track: &mut Track,
    ) -> Result<(), Stop> {
        let (bytes, copies) = match arm {
            Small::Copy(bytes) => (bytes, 1),
            Small::Loop => (32, LOOP),
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
            if bytes < 8 {
                return check::half_word(way.to, way.host, &way.to.target, &pattern);
            }
            check::destination(way.to, way.host, &way.to.target, 0, bytes, &pattern, Some(way.from))
        });
        self.outcome(track, result, a, b)
    }
}
