//! Many pairs at once: rounds of disjoint pairs for contention on shared ports, and all ordered pairs (dense).

use super::Bench;
use super::pair::NOT_GRANTED;
use super::session::{Stop, Track};
use super::time::rate;
use crate::bench::check::{self, Checked};
use crate::bench::record::Outcome;
use crate::gpu::cuda::{CudaError, Event, Stream};
use std::collections::BTreeMap;

/// One transfer of the set, with its own stream and its own part of source and target.
struct Lane {
    from: usize,
    to: usize,
    stream: Stream,
    done: Event,
    /// Place in the target, bytes.
    offset: u64,
}

impl Bench {
    /// Runs the pairs in both directions at once; the value is the sum of all.
    pub(super) fn concurrent(&mut self, name: &str, pairs: &[(usize, usize)]) -> Result<(), Stop> {
        self.session.phase("concurrent")?;
        let pairs: Vec<(usize, usize)> =
            pairs.iter().copied().filter(|(a, b)| !self.down.contains_key(&(*a.min(b), *a.max(b)))).collect();
        let mut track = Track::new("", "", name, "GB/s", 0);
        if pairs.is_empty() {
            let why = "no pair of it may transfer";
            return track.skipped(Outcome::Skipped, why).finish();
        }
        track.at()?;
        let mut mapped = Vec::new();
        let opened = self.map_all(&pairs, &mut mapped);
        let watched: Vec<u32> = self.indices.clone();
        self.session.counters.watch(&watched);
        self.session.sampler.begin(&watched);
        let result = match opened {
            Ok(()) => self.lanes(&pairs, &mapped, &mut track)?,
            Err(error) => Err(error),
        };
        track.arm.links = self.session.links();
        for (who, whose) in mapped {
            if let (Some(rig), Some(peer)) = (self.rigs.get(who), self.rigs.get(whose)) {
                let _ = rig.context.disable_peer(&peer.context);
            }
        }
        if let Err(error) = result {
            track.failed(&error);
        }
        self.session.count(&mut track)?;
        let good = track.good();
        track.finish()?;
        if good { Ok(()) } else { pairs.iter().try_for_each(|(a, b)| self.still_works(*a, *b)) }
    }

    fn map_all(&self, pairs: &[(usize, usize)], mapped: &mut Vec<(usize, usize)>) -> Result<(), CudaError> {
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
    fn lanes(
        &mut self,
        pairs: &[(usize, usize)],
        mapped: &[(usize, usize)],
        track: &mut Track,
    ) -> Result<Result<(), CudaError>, Stop> {
        let (ways, left_out): (Vec<_>, Vec<_>) =
            pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).partition(|way| mapped.contains(way));
        if !left_out.is_empty() {
            let name = |at: &usize| self.rigs.get(*at).map_or("?", |rig| rig.bdf.as_str());
            let names: Vec<String> =
                left_out.iter().map(|(from, to)| format!("{} to {}", name(from), name(to))).collect();
            track.arm.why = format!("without {}: {NOT_GRANTED}", names.join(", "));
        }
        if ways.is_empty() {
            track.arm.outcome = Outcome::Refused;
            return Ok(Ok(()));
        }
        let mut incoming: BTreeMap<usize, u64> = BTreeMap::new();
        for (_, to) in &ways {
            *incoming.entry(*to).or_default() += 1;
        }
        let most = incoming.values().copied().max().unwrap_or(1);
        let bulk = self.rigs.iter().map(crate::bench::rig::Rig::bulk).min().unwrap_or(0);
        let slice = bulk / most / 4096 * 4096;
        track.arm.bytes = slice;
        let mut used: BTreeMap<usize, u64> = BTreeMap::new();
        let mut lanes = Vec::new();
        for (from, to) in ways {
            let Some(rig) = self.rigs.get(from) else { continue };
            let place = used.entry(to).or_default();
            let offset = *place * slice;
            *place += 1;
            let made = Stream::new(&rig.context).and_then(|s| Ok((s, Event::untimed(&rig.context)?)));
            match made {
                Ok((stream, done)) => lanes.push(Lane { from, to, stream, done, offset }),
                Err(error) => return Ok(Err(error)),
            }
        }
        let first = self.session.pattern(0);
        match self.verify_lanes(&lanes, slice, first.iteration) {
            Ok(checked) => track.checked(checked),
            Err(error) => return Ok(Err(error)),
        }
        let (samples, count) = if self.session.quick { (3, 2) } else { (7, 4) };
        for sample in 0..=samples {
            if !track.good() {
                break;
            }
            track.at()?;
            match self.time_lanes(&lanes, slice, count) {
                Ok(seconds) if sample > 0 => {
                    let bytes = slice * u64::from(count) * lanes.len() as u64;
                    track.sample(rate(bytes, seconds))?;
                }
                Ok(_) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    fn verify_lanes(&self, lanes: &[Lane], slice: u64, iteration: u16) -> Result<Checked, CudaError> {
        let pattern = |lane: &Lane| crate::bench::pattern::Pattern {
            key: self.session.key,
            tag: self.tag(lane.from, lane.from),
            iteration,
        };
        for lane in lanes {
            let (Some(from), Some(to)) = (self.rigs.get(lane.from), self.rigs.get(lane.to)) else { continue };
            from.fill(from.source.address(), slice / 8, &pattern(lane), 0)?;
            to.poison(to.target.address() + lane.offset, slice / 8)?;
        }
        for rig in &self.rigs {
            rig.stream.synchronize()?;
        }
        self.queue(lanes, slice, 1)?;
        let mut sum = Checked::default();
        for lane in lanes {
            lane.stream.synchronize()?;
        }
        for lane in lanes {
            let (Some(from), Some(to)) = (self.rigs.get(lane.from), self.rigs.get(lane.to)) else { continue };
            let checked =
                check::destination(to, &self.host, &to.target, lane.offset, slice, &pattern(lane), None)?;
            sum.words += checked.words;
            for mut error in checked.errors {
                error.detail = format!("{} to {}: {}", from.bdf, to.bdf, error.detail);
                sum.errors.push(error);
            }
        }
        Ok(sum)
    }

    fn queue(&self, lanes: &[Lane], slice: u64, count: u32) -> Result<(), CudaError> {
        for _ in 0..count {
            for lane in lanes {
                if let (Some(from), Some(to)) = (self.rigs.get(lane.from), self.rigs.get(lane.to)) {
                    lane.stream.copy_peer(&to.target, lane.offset, &from.source, 0, slice)?;
                }
            }
        }
        Ok(())
    }

    /// Seconds until the last lane has finished. All lanes wait for one gate.
    fn time_lanes(&self, lanes: &[Lane], slice: u64, count: u32) -> Result<f64, CudaError> {
        let Some(lead) = lanes.first().and_then(|lane| self.rigs.get(lane.from)) else { return Ok(0.0) };
        self.host.close(lead)?;
        let queued = (|| {
            lead.start.record(&lead.stream)?;
            for lane in lanes {
                lane.stream.wait(&lead.start)?;
            }
            self.queue(lanes, slice, count)?;
            for lane in lanes {
                lane.done.record(&lane.stream)?;
                lead.stream.wait(&lane.done)?;
            }
            lead.stop.record(&lead.stream)
        })();
        self.host.open();
        queued?;
        lead.stop.synchronize()?;
        lead.stop.seconds_since(&lead.start)
    }
}
