//! Latency: dependent loads over the link, and small copies that the host waits for.

use super::Way;
use crate::bench::rig::small;
use crate::gpu::cuda::{Arg, CudaError, Grid};
use crate::gpu::kernels;
use std::time::Instant;

/// Bytes from one link of the chain to the next: more than any cache line or sector.
const STRIDE: u64 = 256;
/// Links of the chain.
const LINKS: u64 = small::CHAIN_BYTES / STRIDE;
/// Step from one link to the next, odd so that the chain visits all of them, and large so that no prefetcher follows.
const STEP: u64 = 2731;

/// Copies of the loop that are waited for together.
pub(in crate::bench) const LOOP: u32 = 2048;

/// What a chase found.
pub(in crate::bench) struct Chase {
    /// Nanoseconds of one load.
    pub(in crate::bench) nanoseconds: f64,
    /// Address at which it ended, and at which it should have.
    pub(in crate::bench) ended: u64,
    pub(in crate::bench) expected: u64,
}

impl Way<'_> {
    /// Follows the chain in the source's memory from the destination's GPU.
    pub(in crate::bench) fn chase(&self, hops: u32) -> Result<Chase, CudaError> {
        let start = self.from.small.address() + small::CHAIN;
        let out = self.to.small.address() + small::CHASE_OUT;
        self.from.awake(20_000)?;
        self.to.start.record(&self.to.stream)?;
        self.to.kernels.launch(
            &self.to.stream,
            kernels::CHASE,
            Grid::ONE,
            &[Arg::U64(start), Arg::U32(hops), Arg::U64(out)],
        )?;
        self.to.stop.record(&self.to.stream)?;
        self.to.stream.copy_to_host(&self.host.inbox, 0, &self.to.small, small::CHASE_OUT, 24)?;
        self.to.stream.synchronize()?;
        let ended = self.host.inbox.get(0, 1).first().copied().unwrap_or(0);
        let last = (u64::from(hops) * STEP) % LINKS;
        Ok(Chase {
            nanoseconds: self.to.stop.seconds_since(&self.to.start)? * 1e9 / f64::from(hops.max(1)),
            ended,
            expected: start + last * STRIDE,
        })
    }

    /// Microseconds of one copy of `bytes`, waited for each time: the median of `count`, on the best of some CPUs.
    pub(in crate::bench) fn small_copy(&self, bytes: u64, count: u32, cpus: usize) -> Result<f64, CudaError> {
        self.host.cpus.least(cpus, || {
            let mut times = Vec::new();
            // The first two bring the CPU's caches up.
            for number in 0..count + 2 {
                let before = Instant::now();
                self.from.stream.copy_peer(&self.to.target, 0, &self.from.source, 0, bytes)?;
                self.from.stream.synchronize()?;
                if number >= 2 {
                    times.push(before.elapsed().as_secs_f64() * 1e6);
                }
            }
            Ok(crate::bench::stats::median(&times))
        })
    }

    /// Microseconds of one of 2048 copies of 32 bytes that are waited for together, on the best of some CPUs.
    pub(in crate::bench) fn copy_loop(&self, cpus: usize) -> Result<f64, CudaError> {
        self.host.cpus.least(cpus, || {
            let before = Instant::now();
            for _ in 0..LOOP {
                self.from.stream.copy_peer(&self.to.target, 0, &self.from.source, 0, 32)?;
            }
            self.from.stream.synchronize()?;
            Ok(before.elapsed().as_secs_f64() * 1e6 / f64::from(LOOP))
        })
    }
}

/// The chain for memory at `base`: each word of a link's place holds the address of the next link.
pub(in crate::bench) fn chain(base: u64) -> Vec<u64> {
    let words = small::CHAIN_BYTES / 8;
    let mut chain = vec![base; usize::try_from(words).unwrap_or(0)];
    for link in 0..LINKS {
        let next = (link + STEP) % LINKS;
        if let Some(word) = usize::try_from(link * STRIDE / 8).ok().and_then(|at| chain.get_mut(at)) {
            *word = base + next * STRIDE;
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_visits_every_link_and_comes_back() {
        let base = 0x7f00_0000_0000;
        let chain = chain(base);
        let mut at = base;
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..LINKS {
            seen.insert(at);
            at = chain[usize::try_from((at - base) / 8).unwrap()];
        }
        assert_eq!((seen.len() as u64, at), (LINKS, base));
    }
}
