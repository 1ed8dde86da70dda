//! The transfers of a concurrent arm: each with its own stream and its own part of the destination.

use super::Bench;
use crate::bench::check::{self, Checked};
use crate::bench::pattern::Pattern;
use crate::gpu::cuda::{CudaError, Event, Stream};
use std::collections::BTreeMap;

/// Source and destination.
pub(super) type Ordered = (usize, usize);

/// One transfer of the set.
pub(super) struct Lane {
    from: usize,
    to: usize,
    stream: Stream,
    begin: Event,
    done: Event,
    /// Place in the target, bytes.
    offset: u64,
}

impl Drop for Lane {
    fn drop(&mut self) {
        // When one lane fails, the others still run: whose GPU is lost shows only after them.
        let _ = self.stream.synchronize();
    }
}

impl Bench {
    /// A lane for each direction, and the bytes that one transfer of a lane moves.
    pub(super) fn lay(&self, ways: &[Ordered]) -> Result<(Vec<Lane>, u64), CudaError> {
        let mut incoming: BTreeMap<usize, u64> = BTreeMap::new();
        for (_, to) in ways {
            *incoming.entry(*to).or_default() += 1;
        }
        let most = incoming.values().copied().max().unwrap_or(1);
        let bulk = self.rigs.iter().map(crate::bench::rig::Rig::bulk).min().unwrap_or(0);
        let slice = bulk / most / 4096 * 4096;
        let mut used: BTreeMap<usize, u64> = BTreeMap::new();
        let mut lanes = Vec::new();
        for (from, to) in ways.iter().copied() {
            let Some(rig) = self.rigs.get(from) else { continue };
            let place = used.entry(to).or_default();
            let offset = *place * slice;
            *place += 1;
            let stream = Stream::new(&rig.context)?;
            let (begin, done) = (Event::new(&rig.context)?, Event::new(&rig.context)?);
            lanes.push(Lane { from, to, stream, begin, done, offset });
        }
        Ok((lanes, slice))
    }

    /// One transfer of every lane at once onto poison; every destination is checked by its owner. Directions with
    /// wrong words go to `wrong`.
    pub(super) fn verify_lanes(
        &self,
        lanes: &[Lane],
        slice: u64,
        first: &Pattern,
        wrong: &mut Vec<Ordered>,
    ) -> Result<Checked, CudaError> {
        // One source serves all lanes that begin there.
        let pattern = |lane: &Lane| Pattern { tag: self.tag(lane.from, lane.from), ..*first };
        for lane in lanes {
            let (Some(from), Some(to)) = (self.rigs.get(lane.from), self.rigs.get(lane.to)) else { continue };
            from.fill(from.source.address(), slice / 8, &pattern(lane), 0)?;
            to.poison(to.target.address() + lane.offset, slice / 8)?;
        }
        for rig in &self.rigs {
            rig.stream.synchronize()?;
        }
        self.queue(lanes, slice, 1)?;
        for lane in lanes {
            lane.stream.synchronize()?;
        }
        let mut sum = Checked::default();
        for lane in lanes {
            let (Some(from), Some(to)) = (self.rigs.get(lane.from), self.rigs.get(lane.to)) else { continue };
            let checked = check::destination(
                to,
                &self.host,
                &to.target,
                lane.offset,
                slice,
                &pattern(lane),
                Some(from),
            )?;
            sum.words += checked.words;
            if !checked.errors.is_empty() {
                wrong.push((lane.from, lane.to));
            }
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

    /// Seconds of each lane while all run. Call after [`Self::time_lanes`].
    pub(super) fn lane_seconds(lanes: &[Lane]) -> Result<Vec<(Ordered, f64)>, CudaError> {
        lanes.iter().map(|lane| Ok(((lane.from, lane.to), lane.done.seconds_since(&lane.begin)?))).collect()
    }

    /// Seconds until the last lane has finished. All lanes wait for one gate.
    pub(super) fn time_lanes(&self, lanes: &[Lane], slice: u64, count: u32) -> Result<f64, CudaError> {
        let Some(lead) = lanes.first().and_then(|lane| self.rigs.get(lane.from)) else { return Ok(0.0) };
        self.host.close(lead)?;
        let queued = (|| {
            lead.start.record(&lead.stream)?;
            for lane in lanes {
                lane.stream.wait(&lead.start)?;
                lane.begin.record(&lane.stream)?;
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
