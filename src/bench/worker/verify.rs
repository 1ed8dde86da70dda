//! What must be right before anything is timed: the first page, then one verified transfer of each arm.

use super::Bench;
use super::measure::verified;
use super::pair::NOT_GRANTED;
use super::session::{Stop, Track, tell};
use super::time::Timed;
use crate::bench::arms::Access;
use crate::bench::arms::bulk::Bulk;
use crate::bench::check::{self, Checked};
use crate::bench::counters;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use crate::gpu::cuda::CudaError;

/// Bytes of the first transfer.
const PAGE: u64 = 4096;

/// Arms that are timed interleaved once peer access is on.
const INTERLEAVED: [Bulk; 8] = [
    Bulk::CeRead,
    Bulk::Staged,
    Bulk::CeWrite,
    Bulk::StagedDouble,
    Bulk::SmRead,
    Bulk::SmWrite,
    Bulk::Bidirectional,
    Bulk::Own,
];
/// Arms of pairs that only get the short treatment.
const SHORT: [Bulk; 2] = [Bulk::CeRead, Bulk::CeWrite];

impl Bench {
    /// Books the result of a check; a lost context ends the worker after the arm was told.
    pub(super) fn outcome(
        &mut self,
        track: &mut Track,
        result: Option<Result<Checked, CudaError>>,
        a: usize,
        b: usize,
    ) -> Result<(), Stop> {
        match result {
            Some(Ok(checked)) => track.checked(checked),
            Some(Err(error)) => {
                track.failed(&error);
                self.survive(track, a, b)?;
            }
            None => {}
        }
        Ok(())
    }

    /// After a failed call: goes on if the GPUs still work, else tells the arm and ends the worker.
    pub(super) fn survive(&mut self, track: &mut Track, a: usize, b: usize) -> Result<(), Stop> {
        if let Err(stop) = self.still_works(a, b) {
            self.session.count(track)?;
            tell(&Event::Arm { from: track.from.clone(), to: track.to.clone(), arm: track.arm.clone() })?;
            return Err(stop);
        }
        Ok(())
    }

    /// One verified transfer of each arm in each direction; the reason when the peer arms must end.
    pub(super) fn verify(
        &mut self,
        a: usize,
        b: usize,
        full: bool,
        access: (Access, Access),
        peer: bool,
        timed: &mut Vec<Timed>,
    ) -> Result<Option<String>, Stop> {
        let arms: &[Bulk] = if full { &INTERLEAVED } else { &SHORT };
        let mut trouble: Option<String> = None;
        let mut faulted = false;
        for (from, to, granted, other) in [(a, b, access.0, access.1), (b, a, access.1, access.0)] {
            for arm in arms.iter().copied().filter(|arm| arm.peer() == peer) {
                if arm == Bulk::Bidirectional && from > to {
                    continue;
                }
                let Some(mut track) = self.bulk_track(from, to, arm) else { continue };
                if !arm.allowed(granted, other) {
                    let refused = track.skipped(Outcome::Refused, NOT_GRANTED);
                    refused.finish()?;
                    continue;
                }
                if faulted {
                    let why = trouble.clone().unwrap_or_default();
                    track.skipped(Outcome::Skipped, why).finish()?;
                    continue;
                }
                let patterns = self.patterns(from, to);
                track.at()?;
                self.session.counters.start();
                let result = self.way(from, to).map(|way| verified(way, arm, &patterns.0, &patterns.1));
                self.outcome(&mut track, result, a, b)?;
                self.session.count(&mut track)?;
                if peer {
                    // Faults end it at once; wrong data alone lets the other ways be checked first.
                    let fault = counters::faulted(&track.arm.deltas);
                    faulted = fault.is_some();
                    if let Some(fault) = fault {
                        trouble = Some(format!("{fault} during {}", arm.name()));
                    } else if !track.good() {
                        trouble.get_or_insert_with(|| format!("{}: {}", arm.name(), track.arm.why));
                    }
                }
                timed.push(Timed { forth: from == a, arm, count: 1, track });
            }
        }
        Ok(trouble)
    }

    /// One page, after everything was written to disk; the reason when the peer arms must end, and whether it
    /// is a fault rather than wrong data.
    pub(super) fn first_page(
        &mut self,
        from: usize,
        to: usize,
        access: Access,
        a: usize,
        b: usize,
    ) -> Result<(Option<String>, bool), Stop> {
        let pattern = self.patterns(from, to).0;
        let Some(way) = self.way(from, to) else { return Ok((None, false)) };
        let mut track = Track::new(&way.from.bdf, &way.to.bdf, "first-page", "", PAGE);
        // Written by the source's engine; read by the destination's where only that is granted.
        if !access.write && !access.read {
            let refused = track.skipped(Outcome::Refused, NOT_GRANTED);
            refused.finish()?;
            return Ok((None, false));
        }
        track.at()?;
        nix::unistd::sync();
        self.session.counters.start();
        let result = self.way(from, to).map(|way| {
            way.from.fill(way.from.source.address(), PAGE / 8, &pattern, 0)?;
            way.to.poison(way.to.target.address(), PAGE / 8)?;
            way.settle()?;
            let initiator = if access.write { way.from } else { way.to };
            initiator.stream.copy_peer(&way.to.target, 0, &way.from.source, 0, PAGE)?;
            way.settle()?;
            let writer = access.write.then_some(way.from);
            check::destination(way.to, way.host, &way.to.target, 0, PAGE, &pattern, writer)
        });
        self.outcome(&mut track, result, a, b)?;
        self.session.count(&mut track)?;
        let (why, fault) = match (counters::faulted(&track.arm.deltas), track.good()) {
            (Some(fault), _) => (Some(format!("{fault} during the first page")), true),
            (None, false) => (Some(format!("the first page: {}", track.arm.why)), false),
            (None, true) => (None, false),
        };
        track.finish()?;
        Ok((why, fault))
    }

    /// Names every peer arm that does not run.
    pub(super) fn skip_peers(
        &mut self,
        a: usize,
        b: usize,
        full: bool,
        outcome: Outcome,
        why: &str,
    ) -> Result<(), Stop> {
        let arms: &[Bulk] = if full { &INTERLEAVED } else { &SHORT };
        for (from, to) in [(a, b), (b, a)] {
            for arm in arms.iter().filter(|arm| arm.peer()) {
                if *arm == Bulk::Bidirectional && from > to {
                    continue;
                }
                if let Some(track) = self.bulk_track(from, to, *arm) {
                    track.skipped(outcome, why).finish()?;
                }
            }
        }
        Ok(())
    }
}
