//! What the tasks of one worker share: the way to the parent, patterns, counters, link samples, the clock.

use super::super::check::Checked;
use super::super::counters::{self, AFTER_FAULTS, Counters};
use super::super::pattern::Pattern;
use super::super::protocol::Event;
use super::super::record::{Arm, Deltas, LinkSample, Outcome};
use super::super::sampler::{Sampler, lower};
use super::super::stats;
use crate::gpu::cuda::CudaError;
use std::io::Write;
use std::time::{Duration, Instant};

/// Ends the task.
#[derive(Debug)]
pub(super) enum Stop {
    /// The driver's state is lost: only a new process can go on.
    Broken(String),
    /// The parent is gone.
    Orphaned,
}

/// Shared by all tasks.
pub(super) struct Session {
    pub(super) quick: bool,
    pub(super) key: u64,
    pub(super) deadline: Option<Instant>,
    pub(super) counters: Counters,
    pub(super) sampler: Sampler,
    iteration: u16,
    run: u64,
    phase: Option<(&'static str, Instant)>,
}

/// An arm that is being measured.
pub(super) struct Track {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) arm: Arm,
}

impl Track {
    pub(super) fn new(from: &str, to: &str, name: impl Into<String>, unit: &str, bytes: u64) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            arm: Arm {
                name: name.into(),
                outcome: Outcome::Measured,
                unit: unit.to_owned(),
                bytes,
                ..Arm::default()
            },
        }
    }

    /// Adds a check of the destination.
    pub(super) fn checked(&mut self, checked: Checked) {
        self.arm.words_checked += checked.words;
        if !checked.errors.is_empty() {
            self.arm.outcome = Outcome::Corrupt;
            "wrong data at the destination".clone_into(&mut self.arm.why);
            self.arm.errors.extend(checked.errors);
        }
    }

    /// Notes a failed call.
    pub(super) fn failed(&mut self, error: &CudaError) {
        if self.arm.outcome != Outcome::Corrupt {
            self.arm.outcome = if error.peer_refused() { Outcome::Refused } else { Outcome::Failed };
        }
        self.arm.why = error.to_string();
    }

    /// Not run.
    pub(super) fn skipped(mut self, outcome: Outcome, why: impl Into<String>) -> Self {
        self.arm.outcome = outcome;
        self.arm.why = why.into();
        self
    }

    /// Still worth measuring.
    pub(super) fn good(&self) -> bool {
        self.arm.outcome == Outcome::Measured
    }

    /// A sample of an arm begins.
    pub(super) fn at(&self) -> Result<(), Stop> {
        tell(&Event::At {
            from: self.from.clone(),
            to: self.to.clone(),
            arm: self.arm.name.clone(),
            unit: self.arm.unit.clone(),
            bytes: self.arm.bytes,
        })
    }

    /// A sample was taken.
    pub(super) fn sample(&mut self, value: f64) -> Result<(), Stop> {
        self.arm.samples.push(value);
        tell(&Event::Sample {
            from: self.from.clone(),
            to: self.to.clone(),
            arm: self.arm.name.clone(),
            value,
        })
    }

    /// The arm is complete.
    pub(super) fn finish(mut self) -> Result<(), Stop> {
        self.arm.median = stats::median(&self.arm.samples);
        self.arm.interval = stats::interval(&self.arm.samples);
        tell(&Event::Arm { from: self.from, to: self.to, arm: self.arm })
    }
}

impl Session {
    pub(super) fn new(quick: bool, key: u64, counters: Counters, sampler: Sampler) -> Self {
        Self { quick, key, deadline: None, counters, sampler, iteration: 0, run: 0, phase: None }
    }

    /// Books what the counters grew to an arm; after faults waits for what comes late.
    pub(super) fn count(&mut self, track: &mut Track) -> Result<(), Stop> {
        let grown = self.counters.grown();
        self.book(track, grown)
    }

    /// Books what grew during one sample; after the first faults waits for what comes late.
    pub(super) fn book(&mut self, track: &mut Track, grown: Deltas) -> Result<(), Stop> {
        let first = counters::faulted(&track.arm.deltas).is_none();
        let faulted = counters::faulted(&grown).is_some();
        counters::add(&mut track.arm.deltas, grown);
        if faulted && first {
            let until = Instant::now() + AFTER_FAULTS;
            while Instant::now() < until {
                tell(&Event::Beat)?;
                std::thread::sleep(Duration::from_millis(500));
            }
            let late = self.counters.grown();
            counters::add(&mut track.arm.deltas, late);
        }
        Ok(())
    }

    /// A pattern for a buffer that no earlier transfer used.
    pub(super) fn pattern(&mut self, tag: u16) -> Pattern {
        self.iteration = (self.iteration + 1) & 0xfff;
        Pattern { key: self.key, tag, iteration: self.iteration }
    }

    /// Number of the next run of a kernel pair.
    pub(super) fn next_run(&mut self) -> u64 {
        self.run += 1;
        self.run
    }

    /// Time is up.
    pub(super) fn late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// Ends the phase before and begins another; an empty name begins none.
    pub(super) fn phase(&mut self, name: &'static str) -> Result<(), Stop> {
        let ended = self.phase.take();
        if !name.is_empty() {
            self.phase = Some((name, Instant::now()));
        }
        if let Some((name, since)) = ended {
            tell(&Event::Phase { name: name.to_owned(), seconds: since.elapsed().as_secs_f64() })?;
        }
        Ok(())
    }

    /// The same, the worse of these and those seen before.
    pub(super) fn merge_links(&self, known: &mut Vec<LinkSample>) {
        let seen = self.links();
        if known.len() == seen.len() {
            for (known, seen) in known.iter_mut().zip(seen) {
                *known = lower(*known, seen);
            }
        } else if known.len() < seen.len() {
            *known = seen;
        }
    }

    /// Links since the sampler began, those that were seen.
    pub(super) fn links(&self) -> Vec<LinkSample> {
        self.sampler.end().into_iter().flatten().collect()
    }
}

/// Tells the parent. Without a parent there is nobody to work for.
pub(super) fn tell(event: &Event) -> Result<(), Stop> {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).map_err(|_| Stop::Orphaned)
}
