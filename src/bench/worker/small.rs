//! The small arms of a pair: latency, the resident consumer, the all-reduce.

use super::Bench;
use super::session::{Stop, Track};
use crate::bench::arms::Access;
use crate::bench::arms::latency::LOOP;
use crate::bench::check;
use crate::bench::record::{DataError, Outcome};
use crate::gpu::cuda::CudaError;

/// Bytes of the small copies.
const COPIES: [u64; 5] = [4, 256, 4096, 65_536, 1 << 20];
const COPIES_QUICK: [u64; 2] = [4, 65_536];
/// Bytes of the all-reduce.
const REDUCES: [u64; 6] = [256, 1024, 4096, 16_384, 65_536, 262_144];
const REDUCES_QUICK: [u64; 2] = [256, 65_536];

/// One small arm.
#[derive(Clone, Copy)]
pub(super) enum Small {
    Load,
    Copy(u64),
    /// The same without peer access: what the driver makes of it.
    Driver(u64),
    Loop,
    Resident,
    Reduce(u64),
}

impl Small {
    fn name(self) -> String {
        match self {
            Self::Load => "latency-load".to_owned(),
            Self::Copy(bytes) => format!("latency-copy-{bytes}"),
            Self::Driver(bytes) => format!("driver-staged-{bytes}"),
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
            Self::Copy(bytes) | Self::Driver(bytes) | Self::Reduce(bytes) => bytes,
            Self::Loop => 32,
            Self::Resident => 4096,
        }
    }

    pub(super) fn allowed(self, access: Access) -> bool {
        match self {
            Self::Driver(_) => true,
            Self::Load => access.read,
            Self::Copy(_) | Self::Loop | Self::Resident => access.write,
            Self::Reduce(_) => access.read && access.write,
        }
    }

    pub(super) fn system(self) -> bool {
        matches!(self, Self::Resident | Self::Reduce(_))
    }
}

/// What one sample of a small arm gave.
pub(super) struct Sampled {
    pub(super) value: f64,
    pub(super) words: u64,
    pub(super) errors: Vec<DataError>,
    /// The kernels lost each other without any wrong data seen.
    pub(super) lost: Option<String>,
}

impl Sampled {
    fn time(value: f64) -> Self {
        Self { value, words: 0, errors: Vec::new(), lost: None }
    }
}

impl Bench {
    pub(super) fn list(&self, forth: bool) -> Vec<Small> {
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

    /// Small copies while peer access is off: the copies of the peer arms are judged against these.
    pub(super) fn by_driver(&self) -> Vec<Small> {
        let copies: &[u64] = if self.session.quick { &COPIES_QUICK } else { &COPIES };
        copies.iter().map(|bytes| Small::Driver(*bytes)).collect()
    }

    /// Names the small copies by the driver that do not run.
    pub(super) fn skip_by_driver(&self, from: usize, to: usize, why: &str) -> Result<(), Stop> {
        for arm in self.by_driver() {
            if let Some(track) = self.small_track(from, to, arm) {
                track.skipped(Outcome::Skipped, why).finish()?;
            }
        }
        Ok(())
    }

    pub(super) fn small_track(&self, from: usize, to: usize, arm: Small) -> Option<Track> {
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

    /// One sample of a small arm.
    pub(super) fn small_sample(&mut self, from: usize, to: usize, arm: Small) -> Result<Sampled, CudaError> {
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
            Small::Copy(bytes) | Small::Driver(bytes) => {
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
    pub(super) fn small_check(
        &mut self,
        a: usize,
        b: usize,
        (from, to): (usize, usize),
        arm: Small,
        track: &mut Track,
    ) -> Result<(), Stop> {
        let (bytes, copies) = match arm {
            Small::Copy(bytes) | Small::Driver(bytes) => (bytes, 1),
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
            // Without access the look through a mirror would itself be the fault.
            let peer = (!matches!(arm, Small::Driver(_))).then_some(way.from);
            if bytes < 8 {
                return check::half_word(way.to, way.host, &way.to.target, &pattern, peer);
            }
            check::destination(way.to, way.host, &way.to.target, 0, bytes, &pattern, peer)
        });
        self.outcome(track, result, a, b)
    }
}
