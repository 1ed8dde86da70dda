//! Bulk transfers: by copy engines and by SMs, in one and in both directions.

use super::{Access, Way};
use crate::bench::rig::Rig;
use crate::gpu::cuda::{Arg, CudaError};
use crate::gpu::kernels;

/// A bulk arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) enum Bulk {
    /// The destination's copy engine reads.
    CeRead,
    /// The source's copy engine writes.
    CeWrite,
    /// The destination's SMs read.
    SmRead,
    /// The source's SMs write.
    SmWrite,
    /// Copy engines of both GPUs write at once.
    Bidirectional,
    /// To pinned memory and on, one after the other.
    Staged,
    /// The same in chunks, both hops at once.
    StagedDouble,
    /// Whatever the driver does without peer access.
    DriverStaged,
    /// Inside the source's GPU.
    Own,
}

impl Bulk {
    /// Stable name.
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Self::CeRead => "ce-read",
            Self::CeWrite => "ce-write",
            Self::SmRead => "sm-read",
            Self::SmWrite => "sm-write",
            Self::Bidirectional => "bidirectional",
            Self::Staged => "staged",
            Self::StagedDouble => "staged-double",
            Self::DriverStaged => "driver-staged",
            Self::Own => "self",
        }
    }

    /// It needs peer access.
    pub(in crate::bench) fn peer(self) -> bool {
        matches!(self, Self::CeRead | Self::CeWrite | Self::SmRead | Self::SmWrite | Self::Bidirectional)
    }

    /// The mapping it uses is there; `back` is that of the other direction.
    pub(in crate::bench) fn allowed(self, access: Access, back: Access) -> bool {
        match self {
            Self::CeRead | Self::SmRead => access.read,
            Self::CeWrite | Self::SmWrite => access.write,
            Self::Bidirectional => access.write && back.write,
            _ => true,
        }
    }
}

impl Way<'_> {
    /// Bytes that one transfer of the arm moves in one direction.
    pub(in crate::bench) fn bytes(&self, arm: Bulk) -> u64 {
        let bulk = self.from.bulk().min(self.to.bulk());
        match arm {
            Bulk::Staged => bulk.min(self.host.staging.bytes()),
            _ => bulk,
        }
    }

    /// The GPU whose main stream and clock the arm uses.
    fn lead(&self, arm: Bulk) -> &Rig {
        match arm {
            Bulk::CeRead | Bulk::SmRead => self.to,
            _ => self.from,
        }
    }

    /// Queues `count` transfers without waiting.
    pub(in crate::bench) fn enqueue(&self, arm: Bulk, count: u32) -> Result<(), CudaError> {
        let bytes = self.bytes(arm);
        match arm {
            Bulk::Staged => return self.staged(bytes, count),
            Bulk::StagedDouble => return self.staged_double(bytes, count),
            Bulk::Bidirectional => return self.both(bytes, count),
            _ => {}
        }
        let lead = self.lead(arm);
        if matches!(arm, Bulk::SmRead | Bulk::SmWrite) {
            let (to, from) = (self.to.target.address(), self.from.source.address());
            let args = [Arg::U64(to), Arg::U64(from), Arg::U64(bytes / 16), Arg::U32(count)];
            return lead.kernels.launch(&lead.stream, kernels::COPY, lead.grid(bytes / 16), &args);
        }
        for _ in 0..count {
            if arm == Bulk::Own {
                lead.stream.copy_local(&self.from.target, &self.from.source, bytes)?;
            } else {
                lead.stream.copy_peer(&self.to.target, 0, &self.from.source, 0, bytes)?;
            }
        }
        Ok(())
    }

    /// Both directions from the same moment; the lead's stream ends when both have.
    fn both(&self, bytes: u64, count: u32) -> Result<(), CudaError> {
        self.from.mark.record(&self.from.stream)?;
        self.to.stream.wait(&self.from.mark)?;
        for _ in 0..count {
            self.from.stream.copy_peer(&self.to.target, 0, &self.from.source, 0, bytes)?;
            self.to.stream.copy_peer(&self.from.target, 0, &self.to.source, 0, bytes)?;
        }
        self.to.mark.record(&self.to.stream)?;
        self.from.stream.wait(&self.to.mark)
    }

    /// Seconds of one transfer, averaged over a batch of `count` between two events. What is short is held back
    /// by a gate until all of it is queued, so that launches cost nothing.
    pub(in crate::bench) fn batch(&self, arm: Bulk, count: u32) -> Result<f64, CudaError> {
        const AWAKE_NS: u64 = 20_000;
        let lead = self.lead(arm);
        // The driver may block in a copy that it stages itself: a gate would then never open.
        let gated = arm.peer() || arm == Bulk::Own;
        self.from.awake(AWAKE_NS)?;
        self.to.awake(AWAKE_NS)?;
        if gated {
            self.host.close(lead)?;
        }
        // A link that idled during other arms needs a moment to reach full speed again: that is no part of the sample.
        let roused = if arm.peer() { self.enqueue(arm, 1) } else { Ok(()) };
        let queued = roused
            .and_then(|()| lead.start.record(&lead.stream))
            .and_then(|()| self.enqueue(arm, count))
            .and_then(|()| lead.stop.record(&lead.stream));
        self.host.open();
        queued?;
        lead.stop.synchronize()?;
        Ok(lead.stop.seconds_since(&lead.start)? / f64::from(count.max(1)))
    }

    /// Waits for both GPUs.
    pub(in crate::bench) fn settle(&self) -> Result<(), CudaError> {
        self.from.stream.synchronize()?;
        self.to.stream.synchronize()
    }
}
