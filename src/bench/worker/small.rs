//! The small arms of a pair: latency, the resident consumer, the all-reduce; and what the driver stages. One sample of each.

use super::Bench;
use super::session::{Stop, Track};
use super::time::rate;
use crate::bench::arms::Access;
use crate::bench::arms::bulk::Bulk;
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
    Loop,
    Resident,
    Reduce(u64),
    /// The bulk transfer that the driver stages.
    Driver,
    /// A small copy that the driver stages.
    DriverCopy(u64),
}

impl Small {
    pub(super) fn name(self) -> String {
        match self {
            Self::Load => "latency-load".to_owned(),
            Self::Copy(bytes) => format!("latency-copy-{bytes}"),
            Self::Loop => "latency-loop-2048x32".to_owned(),
            Self::Resident => "resident".to_owned(),
            Self::Reduce(bytes) => format!("allreduce-{bytes}"),
            Self::Driver => Bulk::DriverStaged.name().to_owned(),
            Self::DriverCopy(bytes) => format!("driver-staged-{bytes}"),
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Load => "ns",
            Self::Driver => "GB/s",
            _ => "us",
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::Load => 8,
            Self::Copy(bytes) | Self::DriverCopy(bytes) | Self::Reduce(bytes) => bytes,
            // That of the pair; set by whoever knows it.
            Self::Driver => 0,
            Self::Loop => 32,
            Self::Resident => 4096,
        }
    }

    pub(super) fn allowed(self, access: Access) -> bool {
        match self {
            Self::Load => access.read,
            Self::Copy(_) | Self::Loop | Self::Resident => access.write,
            Self::Reduce(_) => access.read && access.write,
            Self::Driver | Self::DriverCopy(_) => true,
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

    /// What is timed while peer access is off: what the peer's copies are judged against.
    pub(super) fn driver_list(&self) -> Vec<Small> {
        let copies: &[u64] = if self.session.quick { &COPIES_QUICK } else { &COPIES };
        let copies = copies.iter().map(|bytes| Small::DriverCopy(*bytes));
        std::iter::once(Small::Driver).chain(copies).collect()
    }

    /// Names the small copies by the driver that do not run.
    pub(super) fn skip_by_driver(&self, from: usize, to: usize, why: &str) -> Result<(), Stop> {
        for arm in self.driver_list().into_iter().skip(1) {
            if let Some(track) = self.small_track(from, to, arm) {
                track.skipped(Outcome::Skipped, why).finish()?;
            }
        }
        Ok(())
    }

    pub(super) fn small_track(&self, from: usize, to: usize, arm: Small) -> Option<Track> {
        let way = self.way(from, to)?;
        let bytes = if matches!(arm, Small::Driver) { way.bytes(Bulk::DriverStaged) } else { arm.bytes() };
        Some(Track::new(&way.from.bdf, &way.to.bdf, arm.name(), arm.unit(), bytes))
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
            Small::Driver => {
                let bytes = way.bytes(Bulk::DriverStaged);
                Ok(Sampled::time(rate(bytes, way.batch(Bulk::DriverStaged, 1)?)))
            }
            Small::Copy(bytes) | Small::DriverCopy(bytes) => {
                let count = if bytes > 100_000 || quick { 3 } else { 5 };
                Ok(Sampled::time(way.small_copy(bytes, count, if quick { 6 } else { 16 })?))
            }
            Small::Loop => Ok(Sampled::time(way.copy_loop(4)?)),
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
}
