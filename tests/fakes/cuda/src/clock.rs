//! Modelled device time: a clock per stream, one for the host, and the occupancy of every port.

use crate::config::Config;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nanoseconds that the host has seen pass.
static NOW: AtomicU64 = AtomicU64::new(1_000_000);
/// Nanoseconds that one call into the driver takes.
const CALL: u64 = 400;
/// Nanoseconds before an operation of a stream moves its first byte.
const START: f64 = 1_500.0;

/// The time at which an operation is submitted.
pub(crate) fn submit() -> u64 {
    NOW.fetch_add(CALL, Ordering::Relaxed)
}

/// The host waited for something that ended at `t`.
pub(crate) fn seen(t: u64) {
    NOW.fetch_max(t + CALL, Ordering::Relaxed);
}

/// One direction of the port of a GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Port {
    PeerOut(usize),
    PeerIn(usize),
    HostOut(usize),
    HostIn(usize),
}

impl Port {
    fn slot(self) -> usize {
        let config = Config::get();
        // Without NVLink, peer and host traffic leave by the same PCIe link.
        let base = if config.nvlinks > 0 { 2 } else { 0 };
        let (kind, gpu) = match self {
            Self::HostOut(g) => (0, g),
            Self::HostIn(g) => (1, g),
            Self::PeerOut(g) => (base, g),
            Self::PeerIn(g) => (base + 1, g),
        };
        kind * 32 + gpu / config.per_port
    }
}

static BUSY: Mutex<[u64; 128]> = Mutex::new([0; 128]);

/// Time in which `bytes` pass the ports at `gb_s`, from `start`; returns the end.
pub(crate) fn pass(start: u64, ports: &[Port], bytes: u64, gb_s: f64) -> u64 {
    let length = noisy(bytes as f64 / gb_s);
    let mut busy = BUSY.lock().unwrap();
    let from = ports.iter().map(|p| busy[p.slot()]).fold(start, u64::max);
    let end = from + length;
    for port in ports {
        busy[port.slot()] = end;
    }
    end + noisy(START)
}

/// Time of work that no port limits.
pub(crate) fn work(start: u64, ns: f64) -> u64 {
    start + noisy(START + ns)
}

/// `ns` with the configured relative noise (uniform, seeded).
pub(crate) fn noisy(ns: f64) -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(0);
    let n = STATE.fetch_add(1, Ordering::Relaxed);
    let config = Config::get();
    let uniform = (mix64(n ^ config.seed << 32) >> 11) as f64 / (1_u64 << 53) as f64;
    (ns * (1.0 + config.noise * (2.0 * uniform - 1.0))).max(1.0) as u64
}

/// The bijection of the pattern; here it serves as a generator too.
pub(crate) fn mix64(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
