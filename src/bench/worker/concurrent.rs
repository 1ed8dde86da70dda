//! Many pairs at once: rounds of disjoint pairs for contention on shared ports, and all ordered pairs (dense).

use super::Bench;
use super::lanes::{Lane, Ordered};
use super::pair::NOT_GRANTED;
use super::session::{Stop, Track, tell};
use super::time::rate;
use crate::bench::arms::Access;
use crate::bench::counters;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use crate::gpu::cuda::CudaError;

impl Bench {
    /// Runs the pairs in both directions at once; the value is the sum of all.
    pub(super) fn concurrent(&mut self, name: &str, pairs: &[(usize, usize)]) -> Result<(), Stop> {
        self.session.phase("concurrent")?;
        let key = |(a, b): &(usize, usize)| (*a.min(b), *a.max(b));
        let (down, pairs): (Vec<_>, Vec<_>) =
            pairs.iter().copied().partition(|pair| self.down.contains_key(&key(pair)));
        let mut left_out: Vec<String> = down
            .iter()
            .filter_map(|pair| Some((pair, self.down.get(&key(pair))?)))
            .map(|((a, b), why)| format!("{} and {} ({why})", self.name(*a), self.name(*b)))
            .collect();
        let mut track = Track::new("", "", name, "GB/s", 0);
        if pairs.is_empty() {
            let why = format!("no pair of it may transfer: {}", left_out.join(", "));
            return track.skipped(Outcome::Skipped, why).finish();
        }
        track.at()?;
        let mut mapped = Vec::new();
        let opened = self.map_all(&pairs, &mut mapped);
        let watched: Vec<u32> = self.indices.clone();
        self.session.counters.watch(&watched);
        self.session.sampler.begin(&watched);
        let mut wrong = Vec::new();
        let result = match opened {
            Ok(()) => self.at_once(&pairs, &mapped, &mut track, &mut left_out, &mut wrong)?,
            Err(error) => Err(error),
        };
        track.arm.links = self.session.links();
        for (who, whose) in mapped {
            if let (Some(rig), Some(peer)) = (self.rigs.get(who), self.rigs.get(whose)) {
                let _ = rig.context.disable_peer(&peer.context);
            }
        }
        let called = result.is_ok();
        if let Err(error) = result {
            track.failed(&error);
        }
        self.session.count(&mut track)?;
        if !left_out.is_empty() {
            let without = format!("without {}", left_out.join(", "));
            track.arm.why =
                if track.arm.why.is_empty() { without } else { format!("{}; {without}", track.arm.why) };
        }
        let lost = self.lost();
        if lost.is_none() {
            if let Some(fault) = counters::faulted(&track.arm.deltas) {
                // Nobody knows whose it was.
                for (a, b) in &pairs {
                    self.take_down(*a, *b, &format!("{fault} during {name}"))?;
                }
            } else if !called && track.arm.outcome == Outcome::Failed {
                self.check_each(&pairs, &track)?;
            }
            for (from, to) in wrong {
                self.take_down(from, to, &format!("{name}: wrong data at the destination"))?;
            }
        }
        track.finish()?;
        lost.map_or(Ok(()), |why| Err(Stop::Broken(why)))
    }

    fn name(&self, at: usize) -> &str {
        self.rigs.get(at).map_or("?", |rig| rig.bdf.as_str())
    }

    /// GPUs whose contexts no longer work, all of them.
    fn lost(&self) -> Option<String> {
        let lost: Vec<String> = self
            .rigs
            .iter()
            .filter_map(|rig| {
                let error = rig.context.synchronize().err()?;
                Some(format!("GPU {} is lost to this process: {error}", rig.bdf))
            })
            .collect();
        (!lost.is_empty()).then(|| lost.join("; "))
    }

    /// After a call that failed for some of them: one page of every pair and direction, alone.
    fn check_each(&mut self, pairs: &[(usize, usize)], track: &Track) -> Result<(), Stop> {
        for (a, b) in pairs {
            let (forth, back) = self.open_access(*a, *b)?;
            for (from, to, access) in [(*a, *b, forth), (*b, *a, back)] {
                if access == Access::default() {
                    continue;
                }
                track.at()?;
                let pattern = self.patterns(from, to).0;
                let wrong = match self.one_page(from, to, access, &pattern) {
                    Some(Ok(checked)) => checked.errors.first().map(|error| error.mechanism.clone()),
                    Some(Err(error)) => Some(error.to_string()),
                    None => None,
                };
                let what = wrong.as_deref().unwrap_or("right");
                let (from, to) = (self.name(from), self.name(to));
                let text = format!("after {} failed, one page from {from} to {to}: {what}", track.arm.name);
                tell(&Event::Note { text: text.clone() })?;
                if wrong.is_some() {
                    self.take_down(*a, *b, &text)?;
                }
            }
            self.close_access(*a, *b, forth, back);
        }
        Ok(())
    }

    fn map_all(&self, pairs: &[Ordered], mapped: &mut Vec<Ordered>) -> Result<(), CudaError> {
        for (a, b) in pairs {
            for (who, whose) in [(*a, *b), (*b, *a)] {
                let (Some(rig), Some(peer)) = (self.rigs.get(who), self.rigs.get(whose)) else { continue };
                if !rig.context.device().can_access(peer.context.device())? {
                    continue;
                }
                rig.context.enable_peer(&peer.context)?;
                mapped.push((who, whose));
            }
        }
        Ok(())
    }

    /// A direction counts when its source may write: otherwise the driver would stage it, which is another figure.
    /// Every destination is checked before and after the samples.
    fn at_once(
        &mut self,
        pairs: &[Ordered],
        mapped: &[Ordered],
        track: &mut Track,
        left_out: &mut Vec<String>,
        wrong: &mut Vec<Ordered>,
    ) -> Result<Result<(), CudaError>, Stop> {
        let (ways, refused): (Vec<_>, Vec<_>) =
            pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).partition(|way| mapped.contains(way));
        left_out.extend(
            refused
                .iter()
                .map(|(from, to)| format!("{} to {} ({NOT_GRANTED})", self.name(*from), self.name(*to))),
        );
        if ways.is_empty() {
            track.arm.outcome = Outcome::Refused;
            return Ok(Ok(()));
        }
        let named = |way: &Ordered| (self.name(way.0).to_owned(), self.name(way.1).to_owned());
        tell(&Event::Ways { arm: track.arm.name.clone(), ways: ways.iter().map(named).collect() })?;
        let (lanes, slice) = match self.lay(&ways) {
            Ok(laid) => laid,
            Err(error) => return Ok(Err(error)),
        };
        track.arm.bytes = slice;
        if let Err(error) = self.check_lanes(&lanes, slice, track, wrong) {
            return Ok(Err(error));
        }
        let round = track.arm.name.starts_with("round-");
        let mut alone: Vec<Track> = if round {
            ways.iter().filter_map(|way| self.lane_track(*way, slice)).collect()
        } else {
            Vec::new()
        };
        let (samples, count) = if self.session.quick { (5, 2) } else { (7, 4) };
        for sample in 0..=samples {
            if !track.good() {
                return Ok(Ok(()));
            }
            track.at()?;
            match self.time_lanes(&lanes, slice, count) {
                Ok(seconds) if sample > 0 => {
                    let bytes = slice * u64::from(count) * lanes.len() as u64;
                    track.sample(rate(bytes, seconds))?;
                    if let Err(error) = self.lane_samples(&lanes, slice * u64::from(count), &mut alone)? {
                        return Ok(Err(error));
                    }
                }
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        track.at()?;
        let checked = self.check_lanes(&lanes, slice, track, wrong);
        if checked.is_ok() && track.good() {
            alone.into_iter().try_for_each(Track::finish)?;
        }
        Ok(checked)
    }

    /// The arm of one direction in a round: nothing else moves from its source or to its destination.
    fn lane_track(&self, (from, to): Ordered, slice: u64) -> Option<Track> {
        let (from, to) = (self.rigs.get(from)?, self.rigs.get(to)?);
        Some(Track::new(&from.bdf, &to.bdf, "round-ce-write", "GB/s", slice))
    }

    fn lane_samples(
        &self,
        lanes: &[Lane],
        bytes: u64,
        tracks: &mut [Track],
    ) -> Result<Result<(), CudaError>, Stop> {
        if tracks.is_empty() {
            return Ok(Ok(()));
        }
        let seconds = match Self::lane_seconds(lanes) {
            Ok(seconds) => seconds,
            Err(error) => return Ok(Err(error)),
        };
        for ((from, to), seconds) in seconds {
            let (from, to) = (self.name(from), self.name(to));
            if let Some(track) = tracks.iter_mut().find(|track| track.from == from && track.to == to) {
                track.sample(rate(bytes, seconds))?;
            }
        }
        Ok(Ok(()))
    }

    /// One verified transfer of all lanes at once, with words of its own.
    fn check_lanes(
        &mut self,
        lanes: &[Lane],
        slice: u64,
        track: &mut Track,
        wrong: &mut Vec<Ordered>,
    ) -> Result<(), CudaError> {
        let pattern = self.session.pattern(0);
        let checked = self.verify_lanes(lanes, slice, &pattern, wrong)?;
        track.checked(checked);
        Ok(())
    }
}
