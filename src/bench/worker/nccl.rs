//! All-reduces by NCCL over all GPUs, where it is installed: what applications get, beside what the link can do.

use super::Bench;
use super::session::{Stop, Track, tell};
use super::time::rate;
use crate::bench::check::Checked;
use crate::bench::errors::{ErrorMap, Mechanism};
use crate::bench::pattern::Pattern;
use crate::bench::protocol::Event;
use crate::bench::record::Outcome;
use crate::bench::rig::Host;
use crate::gpu::nccl::{Nccl, Rank};
use std::time::Instant;

/// Bytes of each rank; the last is a bandwidth.
const SIZES: [u64; 4] = [8, 4096, 262_144, 128 << 20];
/// From here on the figure is a bus bandwidth (2 (n - 1) / n times the bytes over the time, as nccl-tests has it).
const BULK: u64 = 1 << 20;

impl Bench {
    /// Runs them; a library that is not there is no word worth.
    pub(super) fn nccl(&mut self) -> Result<(), Stop> {
        self.session.phase("NCCL")?;
        let starting = Track::new("", "", "nccl-start", "", 0);
        if let Some(why) = self.down.values().next() {
            return starting.skipped(Outcome::Skipped, format!("a pair may not transfer: {why}")).finish();
        }
        starting.at()?;
        let contexts: Vec<_> = self.rigs.iter().map(|rig| &rig.context).collect();
        let nccl = match Nccl::open(&contexts) {
            None => return Ok(()),
            Some(Ok(nccl)) => nccl,
            Some(Err(error)) => {
                let mut track = starting;
                track.arm.outcome = Outcome::Failed;
                track.arm.why = error.to_string();
                return track.finish();
            }
        };
        if let Some(version) = nccl.version() {
            tell(&Event::Method {
                text: format!("NCCL {version}, one process, one communicator for each GPU"),
            })?;
        }
        for bytes in SIZES {
            let bytes = bytes.min(self.rigs.iter().map(crate::bench::rig::Rig::bulk).min().unwrap_or(0));
            let unit = if bytes >= BULK { "GB/s" } else { "us" };
            let mut track = Track::new("", "", format!("nccl-allreduce-{bytes}"), unit, bytes);
            track.at()?;
            self.session.counters.start();
            if let Err(why) = self.reduce(&nccl, bytes, &mut track)? {
                track.arm.outcome = Outcome::Failed;
                track.arm.why = why;
            }
            self.session.count(&mut track)?;
            track.finish()?;
        }
        self.session.phase("")
    }

    fn reduce(&mut self, nccl: &Nccl, bytes: u64, track: &mut Track) -> Result<Result<(), String>, Stop> {
        let words = bytes / 8;
        let pattern = self.session.pattern(0);
        let patterns: Vec<Pattern> =
            (0..self.rigs.len()).map(|at| Pattern { tag: self.tag(at, at), ..pattern }).collect();
        let ranks: Vec<Rank<'_>> = self
            .rigs
            .iter()
            .map(|rig| Rank { send: &rig.source, receive: &rig.target, stream: &rig.stream })
            .collect();
        let settle = || self.rigs.iter().try_for_each(|rig| rig.stream.synchronize());
        let prepared = self.rigs.iter().zip(&patterns).try_for_each(|(rig, pattern)| {
            rig.fill(rig.source.address(), words, pattern, 0)?;
            rig.poison(rig.target.address(), words)
        });
        if let Err(error) = prepared.and_then(|()| settle()) {
            return Ok(Err(error.to_string()));
        }
        let (samples, count) = match bytes {
            BULK.. => (7, 8),
            _ => (9, 100),
        };
        for sample in 0..=samples {
            track.at()?;
            let before = Instant::now();
            for _ in 0..count {
                if let Err(error) = nccl.all_reduce(&ranks, words) {
                    return Ok(Err(error.to_string()));
                }
            }
            if let Err(error) = settle() {
                return Ok(Err(error.to_string()));
            }
            let seconds = before.elapsed().as_secs_f64() / f64::from(count);
            let value = if bytes >= BULK {
                let ranks = u64::try_from(ranks.len()).unwrap_or(1).max(1);
                rate(bytes * 2 * (ranks - 1) / ranks, seconds)
            } else {
                seconds * 1e6
            };
            if sample > 0 {
                track.sample(value)?;
            }
        }
        for rig in &self.rigs {
            match sums(rig, &self.host, words, &patterns) {
                Ok(checked) => track.checked(checked),
                Err(error) => return Ok(Err(error.to_string())),
            }
        }
        Ok(Ok(()))
    }
}

/// Compares the first and the last words of a rank with the sums that they must be.
fn sums(
    rig: &crate::bench::rig::Rig,
    host: &Host,
    words: u64,
    patterns: &[Pattern],
) -> Result<Checked, crate::gpu::cuda::CudaError> {
    let window = words.min(Host::INBOX / 8);
    let mut map = ErrorMap::default();
    for first in [0, words - window] {
        rig.stream.copy_to_host(&host.inbox, 0, &rig.target, first * 8, window * 8)?;
        rig.stream.synchronize()?;
        for (at, word) in (first..).zip(host.inbox.get(0, usize::try_from(window).unwrap_or(0))) {
            let index = u32::try_from(at).unwrap_or(u32::MAX);
            let sum = patterns.iter().fold(0u64, |sum, pattern| sum.wrapping_add(pattern.word(index)));
            if word != sum {
                map.note(Mechanism::Other, at * 8, 1, None);
            }
        }
        map.checked += window;
    }
    Ok(Checked { words: map.checked, errors: map.errors("NCCL's sums are not exact"), only_untouched: false })
}
