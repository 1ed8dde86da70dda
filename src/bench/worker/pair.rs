//! All arms of two GPUs, in both directions, in an order that never hides a fault behind a figure: control first,
//! one page, verified transfers, then time.

use super::Bench;
use super::measure::{batch_size, verified, warm_up};
use super::session::{Stop, Track};
use crate::bench::arms::bulk::Bulk;
use crate::bench::arms::{Access, Way};
use crate::bench::check::{self, Checked};
use crate::bench::counters;
use crate::bench::pattern::Pattern;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use crate::gpu::cuda::CudaError;
use std::time::Instant;

/// Bytes of the first transfer.
const PAGE: u64 = 4096;

/// Why a peer arm is refused.
pub(super) const NOT_GRANTED: &str = "the driver grants no peer access";

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

/// One arm in one direction while it is being timed.
struct Timed {
    forth: bool,
    arm: Bulk,
    count: u32,
    track: Track,
}

impl Bench {
    pub(super) fn way(&self, from: usize, to: usize) -> Option<Way<'_>> {
        Some(Way { from: self.rigs.get(from)?, to: self.rigs.get(to)?, host: &self.host })
    }

    /// A number for each ordered pair; the pattern carries it.
    pub(super) fn tag(&self, from: usize, to: usize) -> u16 {
        u16::try_from((from * self.rigs.len() + to) & 0xfff).unwrap_or(0)
    }

    pub(super) fn patterns(&mut self, from: usize, to: usize) -> (Pattern, Pattern) {
        let (forth, back) = (self.tag(from, to), self.tag(to, from));
        let pattern = self.session.pattern(forth);
        (pattern, Pattern { tag: back, ..pattern })
    }

    fn bulk_track(&self, from: usize, to: usize, arm: Bulk) -> Option<Track> {
        let way = self.way(from, to)?;
        Some(Track::new(&way.from.bdf, &way.to.bdf, arm.name(), "GB/s", way.bytes(arm)))
    }

    /// What a worker before this one left of a pair: no peer access, and the staged ways if they may run.
    pub(super) fn rest(
        &mut self,
        a: usize,
        b: usize,
        full: bool,
        staged: bool,
        why: &str,
    ) -> Result<(), Stop> {
        self.skip_peers(a, b, full, Outcome::Skipped, why)?;
        if full {
            self.skip_small(a, b, why)?;
        }
        self.take_down(a, b, why)?;
        let mut timed = Vec::new();
        if staged {
            self.session.phase("verify")?;
            self.verify(a, b, full, (Access::default(), Access::default()), false, &mut timed)?;
            self.time(a, b, timed)?;
        } else {
            self.skip_staged(a, b, full, why)?;
        }
        self.session.phase("")
    }

    /// Names the staged and local arms that do not run.
    fn skip_staged(&mut self, a: usize, b: usize, full: bool, why: &str) -> Result<(), Stop> {
        let arms: &[Bulk] =
            if full { &[Bulk::DriverStaged, Bulk::Staged, Bulk::StagedDouble, Bulk::Own] } else { &[] };
        for (from, to) in [(a, b), (b, a)] {
            for arm in arms {
                if let Some(track) = self.bulk_track(from, to, *arm) {
                    self.session.finish(track.skipped(Outcome::Skipped, why))?;
                }
            }
        }
        Ok(())
    }

    /// Runs one pair.
    pub(super) fn pair(&mut self, a: usize, b: usize, full: bool) -> Result<(), Stop> {
        let watched: Vec<u32> = [a, b].iter().filter_map(|at| self.indices.get(*at).copied()).collect();
        self.session.counters.watch(&watched);
        if !self.control(a, b, full)? {
            return Ok(());
        }
        self.session.phase("peer access")?;
        let (forth, back) = self.open_access(a, b)?;
        let result = self.peers(a, b, full, forth, back);
        self.close_access(a, b, forth, back);
        self.session.phase("")?;
        result
    }

    /// The staged way must be right, else the verdict is about the host and no peer arm runs.
    fn control(&mut self, a: usize, b: usize, full: bool) -> Result<bool, Stop> {
        self.session.phase("control")?;
        let mut clean = true;
        for (from, to) in [(a, b), (b, a)] {
            let mut tracks = vec![Bulk::Staged];
            if full {
                tracks.extend([Bulk::StagedDouble, Bulk::DriverStaged]);
            }
            for arm in tracks {
                let patterns = self.patterns(from, to);
                let Some(mut track) = self.bulk_track(from, to, arm) else { return Ok(false) };
                self.session.at(&track)?;
                self.session.counters.start();
                let result = self.way(from, to).map(|way| verified(way, arm, &patterns.0, &patterns.1));
                self.outcome(&mut track, result, a, b)?;
                self.session.count(&mut track)?;
                let good = track.good();
                if arm == Bulk::DriverStaged {
                    // Timed here, while peer access is still off.
                    if good {
                        self.session.phase("driver-staged")?;
                        self.time_alone(from, to, &mut track)?;
                        self.session.phase("control")?;
                    }
                    self.session.finish(track)?;
                } else if !good {
                    clean = false;
                    self.session.finish(track)?;
                }
            }
        }
        if !clean {
            let why = "the control arm failed: transfers through host memory are not right on this host, so nothing can be said about peer transfers";
            self.session.tell(&Event::Note { text: why.to_owned() })?;
            self.skip_peers(a, b, full, Outcome::Skipped, "the control arm failed")?;
            self.take_down(a, b, "the control arm failed")?;
        }
        Ok(clean)
    }

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
            self.session.tell(&Event::Arm {
                from: track.from.clone(),
                to: track.to.clone(),
                arm: track.arm.clone(),
            })?;
            return Err(stop);
        }
        Ok(())
    }

    fn time_alone(&mut self, from: usize, to: usize, track: &mut Track) -> Result<(), Stop> {
        let samples = if self.session.quick { 3 } else { 9 };
        let Some(way) = self.way(from, to) else { return Ok(()) };
        let bytes = way.bytes(Bulk::DriverStaged);
        let mut count = 1;
        for sample in 0..=samples {
            self.session.at(track)?;
            match way.batch(Bulk::DriverStaged, count) {
                // The first one warms up and says how many fit.
                Ok(seconds) if sample == 0 => {
                    count = batch_size(Bulk::DriverStaged, seconds, self.session.quick)
                }
                Ok(seconds) => self.session.sample(track, rate(bytes, seconds))?,
                Err(error) => {
                    track.failed(&error);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Asks the driver and maps. Both ways are tried: one may be granted alone.
    fn open_access(&mut self, a: usize, b: usize) -> Result<(Access, Access), Stop> {
        let mut granted = [false; 2];
        let mut mapped = [false; 2];
        for (at, (who, whose)) in [(a, b), (b, a)].into_iter().enumerate() {
            let (Some(rig), Some(peer)) = (self.rigs.get(who), self.rigs.get(whose)) else { continue };
            let can = rig.context.device().can_access(peer.context.device());
            self.session.tell(&Event::Granted {
                from: peer.bdf.clone(),
                to: rig.bdf.clone(),
                granted: matches!(can, Ok(true)),
            })?;
            granted[at] = match can {
                Ok(can) => can,
                Err(error) => {
                    let text = format!("{} to {}: {error}", rig.bdf, peer.bdf);
                    self.session.tell(&Event::Note { text })?;
                    false
                }
            };
            if granted[at] {
                match rig.context.enable_peer(&peer.context) {
                    Ok(()) => mapped[at] = true,
                    Err(error) => {
                        let text = format!("{} to {}: {error}", rig.bdf, peer.bdf);
                        self.session.tell(&Event::Note { text })?;
                    }
                }
            }
        }
        let [a_maps_b, b_maps_a] = mapped;
        Ok((Access { read: b_maps_a, write: a_maps_b }, Access { read: a_maps_b, write: b_maps_a }))
    }

    fn close_access(&self, a: usize, b: usize, forth: Access, back: Access) {
        for (who, whose, mapped) in [(a, b, forth.write), (b, a, back.write)] {
            if let (Some(rig), Some(peer), true) = (self.rigs.get(who), self.rigs.get(whose), mapped) {
                // A context that no longer works ends with the worker.
                let _ = rig.context.disable_peer(&peer.context);
            }
        }
    }

    fn peers(&mut self, a: usize, b: usize, full: bool, forth: Access, back: Access) -> Result<(), Stop> {
        self.session.phase("first page")?;
        let mut trouble = None;
        for (from, to, access) in [(a, b, forth), (b, a, back)] {
            let (why, fault) = self.first_page(from, to, access, a, b)?;
            trouble = trouble.or(why);
            // Wrong data still lets the other direction be tried, which tells a fault of one direction.
            if fault {
                break;
            }
        }
        if let Some(why) = &trouble {
            self.skip_peers(a, b, full, Outcome::Skipped, why)?;
            self.take_down(a, b, why)?;
        }
        self.session.phase("verify")?;
        let mut timed = Vec::new();
        if trouble.is_none() {
            trouble = self.verify(a, b, full, (forth, back), true, &mut timed)?;
            if let Some(why) = &trouble {
                // What is not timed any more is told now; staging goes on.
                for entry in std::mem::take(&mut timed) {
                    self.not_timed(entry, why)?;
                }
                self.take_down(a, b, why)?;
            }
        }
        self.verify(a, b, full, (forth, back), false, &mut timed)?;
        if let Some(why) = self.time(a, b, timed)? {
            self.take_down(a, b, &why)?;
            trouble.get_or_insert(why);
        }
        if full {
            match trouble {
                None => self.small_arms(a, b, forth, back)?,
                Some(why) => self.skip_small(a, b, &why)?,
            }
        }
        Ok(())
    }

    /// One verified transfer of each arm in each direction; the reason when the peer arms must end.
    fn verify(
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
                    self.session.finish(refused)?;
                    continue;
                }
                if faulted {
                    let why = trouble.clone().unwrap_or_default();
                    self.session.finish(track.skipped(Outcome::Skipped, why))?;
                    continue;
                }
                let patterns = self.patterns(from, to);
                self.session.at(&track)?;
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

    /// Tells an arm that was verified and will not be timed.
    fn not_timed(&mut self, mut entry: Timed, why: &str) -> Result<(), Stop> {
        if entry.track.good() {
            entry.track.arm.outcome = Outcome::Skipped;
            entry.track.arm.why = format!("not timed: {why}");
        }
        self.session.finish(entry.track)
    }

    /// One page, after everything was written to disk; the reason when the peer arms must end, and whether it
    /// is a fault rather than wrong data.
    fn first_page(
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
            self.session.finish(refused)?;
            return Ok((None, false));
        }
        self.session.at(&track)?;
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
        self.session.finish(track)?;
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
                    self.session.finish(track.skipped(outcome, why))?;
                }
            }
        }
        Ok(())
    }

    /// Samples of all arms in turn, forwards and backwards, so that drift falls on all alike. The reason when a
    /// fault ended the peer arms.
    fn time(&mut self, a: usize, b: usize, mut timed: Vec<Timed>) -> Result<Option<String>, Stop> {
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
        let indices: Vec<u32> = [a, b].iter().filter_map(|at| self.indices.get(*at).copied()).collect();
        self.session.sampler.begin(&indices);
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
            self.session.tell(&Event::Note { text })?;
        }
        for mut entry in timed {
            let (from, to) = if entry.forth { (a, b) } else { (b, a) };
            if entry.track.good() && !(entry.arm.peer() && fault.is_some()) {
                // The timed transfers all left the same words: one more, on poison, with words of its own.
                let patterns = self.patterns(from, to);
                let result = self.way(from, to).map(|way| verified(way, entry.arm, &patterns.0, &patterns.1));
                self.outcome(&mut entry.track, result, a, b)?;
            }
            entry.track.arm.links.clone_from(&links);
            self.session.count(&mut entry.track)?;
            let late = counters::faulted(&entry.track.arm.deltas).filter(|_| entry.arm.peer());
            fault = fault.or(late.map(|late| format!("{late} during {}", entry.arm.name())));
            self.session.finish(entry.track)?;
        }
        Ok(fault)
    }

    /// One sample; the reason when a fault must end the peer arms.
    fn timed_sample(&mut self, a: usize, b: usize, entry: &mut Timed) -> Result<Option<String>, Stop> {
        let (from, to) = if entry.forth { (a, b) } else { (b, a) };
        let Some(way) = self.way(from, to) else { return Ok(None) };
        self.session.at(&entry.track)?;
        match way.batch(entry.arm, entry.count) {
            Ok(seconds) => {
                let both = if entry.arm == Bulk::Bidirectional { 2 } else { 1 };
                let value = rate(way.bytes(entry.arm) * both, seconds);
                self.session.sample(&mut entry.track, value)?;
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
