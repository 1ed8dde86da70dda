//! What the driver says of a pair.

use crate::code::INVALID_ARGUMENT;
use crate::config::{Config, P2p};
use crate::{answer, gpu, put};
use std::ffi::{c_int, c_uint};

/// Statuses of `nvmlGpuP2PStatus_t`: OK, and NOT_SUPPORTED.
const OK: u32 = 0;
const NOT_SUPPORTED: u32 = 5;

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetP2PStatus(a: usize, b: usize, which: c_uint, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetP2PStatus", || {
        let (a, b) = (gpu(a)?, gpu(b)?);
        let config = Config::get();
        // Reads by `a` bring data from `b`; writes by `a` take data to `b`.
        let (kind, from, to_gpu) = match which {
            0 => (P2p::Read, b, a),
            1 => (P2p::Write, a, b),
            2 => (P2p::Nvlink, b, a),
            3 | 4 => (P2p::Read, b, a),
            _ => return Err(INVALID_ARGUMENT),
        };
        let told =
            config.p2p.iter().find(|(k, _, pair)| *k == kind && pair.is_none_or(|p| p.covers(from, to_gpu)));
        // The access itself is always one of `a` to the memory of `b`.
        let usual = match kind {
            P2p::Nvlink if config.nvlinks == 0 => NOT_SUPPORTED,
            _ if !config.grants(b, a) => NOT_SUPPORTED,
            _ => OK,
        };
        put(to, told.map_or(usual, |(_, status, _)| *status))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTopologyCommonAncestor(a: usize, b: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetTopologyCommonAncestor", || {
        if gpu(a)? == gpu(b)? {
            return Err(INVALID_ARGUMENT);
        }
        put(to, Config::get().topology)
    })
}
