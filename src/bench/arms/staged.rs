//! Staging through pinned memory of the host by our own hand.

use super::Way;
use crate::bench::rig::RING;
use crate::gpu::cuda::CudaError;

/// Largest chunk of the double-buffered way.
const CHUNK: u64 = 8 << 20;

impl Way<'_> {
    /// The whole transfer to the host, then the whole of it on.
    pub(super) fn staged(&self, bytes: u64, count: u32) -> Result<(), CudaError> {
        for _ in 0..count {
            self.from.stream.copy_to_host(&self.host.staging, 0, &self.from.source, 0, bytes)?;
            self.from.mark.record(&self.from.stream)?;
            self.to.stream.wait(&self.from.mark)?;
            self.to.stream.copy_to_device(&self.to.target, 0, &self.host.staging, 0, bytes)?;
            self.to.mark.record(&self.to.stream)?;
            self.from.stream.wait(&self.to.mark)?;
        }
        Ok(())
    }

    /// In chunks through a ring: while one chunk goes on, the next arrives. The ring runs on from one transfer to
    /// the next, so that a batch fills the pipe once.
    pub(super) fn staged_double(&self, bytes: u64, count: u32) -> Result<(), CudaError> {
        let chunk = (bytes / 16).clamp(1 << 20, CHUNK);
        let chunks = bytes.div_ceil(chunk);
        let mut number = 0u64;
        for _ in 0..count {
            for part in 0..chunks {
                let offset = part * chunk;
                let length = chunk.min(bytes - offset);
                let slot = number % RING;
                let (Some(full), Some(empty)) = (event(&self.from.ring, slot), event(&self.to.ring, slot))
                else {
                    return Ok(());
                };
                if number >= RING {
                    self.from.stream.wait(empty)?;
                }
                let at = slot * chunk;
                self.from.stream.copy_to_host(&self.host.staging, at, &self.from.source, offset, length)?;
                full.record(&self.from.stream)?;
                self.to.stream.wait(full)?;
                self.to.stream.copy_to_device(&self.to.target, offset, &self.host.staging, at, length)?;
                empty.record(&self.to.stream)?;
                number += 1;
            }
        }
        self.to.mark.record(&self.to.stream)?;
        self.from.stream.wait(&self.to.mark)
    }
}

fn event(ring: &[crate::gpu::cuda::Event], slot: u64) -> Option<&crate::gpu::cuda::Event> {
    usize::try_from(slot).ok().and_then(|slot| ring.get(slot))
}
