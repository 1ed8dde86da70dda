//! Samples the links of the GPUs while bytes move: a thread that reads NVML and keeps the worst of each arm.

use super::record::LinkSample;
use crate::gpu::nvml::{LinkNow, Nvml};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(4);

#[derive(Default)]
struct Watch {
    /// NVML's indices; empty while nothing moves.
    indices: Vec<u32>,
    /// The lowest of each GPU since the arm began.
    lowest: Vec<Option<LinkSample>>,
    /// Counts the arms, so that a slow look is not booked to the next one.
    arm: u64,
}

/// The sampling thread; it ends with this value.
pub(super) struct Sampler {
    watch: Arc<Mutex<Watch>>,
    over: Arc<AtomicBool>,
}

impl Sampler {
    /// Starts sampling; without NVML nothing is ever sampled.
    pub(super) fn start(nvml: Option<Arc<Nvml>>) -> Self {
        let sampler = Self { watch: Arc::default(), over: Arc::default() };
        if let Some(nvml) = nvml {
            let (watch, over) = (Arc::clone(&sampler.watch), Arc::clone(&sampler.over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    look(&nvml, &watch);
                    std::thread::sleep(PAUSE);
                }
            });
        }
        sampler
    }

    /// Bytes move between these GPUs from now on.
    pub(super) fn begin(&self, indices: &[u32]) {
        if let Ok(mut watch) = self.watch.lock() {
            watch.indices = indices.to_vec();
            watch.lowest = vec![None; indices.len()];
            watch.arm += 1;
        }
    }

    /// They have stopped: the lowest state of each GPU since `begin`, where it was seen.
    pub(super) fn end(&self) -> Vec<Option<LinkSample>> {
        match self.watch.lock() {
            Ok(mut watch) => {
                watch.indices.clear();
                std::mem::take(&mut watch.lowest)
            }
            Err(_) => Vec::new(),
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn look(nvml: &Nvml, watch: &Mutex<Watch>) {
    let (indices, arm) = match watch.lock() {
        Ok(watch) => (watch.indices.clone(), watch.arm),
        Err(_) => return,
    };
    for (place, index) in indices.iter().enumerate() {
        let Ok(gpu) = nvml.gpu(*index) else { continue };
        let now = of(gpu.link_now());
        if let Ok(mut watch) = watch.lock()
            && watch.arm == arm
            && let Some(lowest) = watch.lowest.get_mut(place)
        {
            *lowest = Some(lowest.map_or(now, |before| lower(before, now)));
        }
    }
}

fn of(now: LinkNow) -> LinkSample {
    LinkSample {
        generation: now.generation.unwrap_or(0),
        width: now.width.unwrap_or(0),
        pstate: now.pstate.and_then(|state| i32::try_from(state).ok()).unwrap_or(-1),
    }
}

/// The worse of two states, field by field.
pub(super) fn lower(a: LinkSample, b: LinkSample) -> LinkSample {
    let known = |x: u32, y: u32| if x == 0 || y == 0 { x.max(y) } else { x.min(y) };
    LinkSample {
        generation: known(a.generation, b.generation),
        width: known(a.width, b.width),
        pstate: a.pstate.max(b.pstate),
    }
}
