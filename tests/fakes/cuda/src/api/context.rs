//! Primary contexts, the current one, and access to peers.

use super::{answer, put};
use crate::code::{
    INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED,
    PEER_ACCESS_UNSUPPORTED, SUCCESS, TOO_MANY_PEERS,
};
use crate::config::Config;
use crate::world;
use std::ffi::{c_int, c_uint};

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> c_int {
    answer("cuDevicePrimaryCtxRetain", || put(context, world::retain(world::device(device)?)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    answer("cuDevicePrimaryCtxRelease_v2", || match world::release(world::device(device)?) {
        SUCCESS => Ok(()),
        code => Err(code),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    answer("cuCtxSetCurrent", || match world::set_current(context) {
        SUCCESS => Ok(()),
        code => Err(code),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetCurrent(context: *mut usize) -> c_int {
    answer("cuCtxGetCurrent", || put(context, world::current_handle()))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetDevice(device: *mut c_int) -> c_int {
    answer("cuCtxGetDevice", || put(device, world::ordinal(world::current()?.device)))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> c_int {
    answer("cuCtxSynchronize", || {
        let context = world::current()?;
        for stream in context.streams() {
            stream.synchronise();
        }
        context.alive()
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxEnablePeerAccess(peer: usize, flags: c_uint) -> c_int {
    answer("cuCtxEnablePeerAccess", || {
        let context = world::current()?;
        let peer = world::context(peer).ok_or(INVALID_CONTEXT)?.device;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if peer == context.device {
            return Err(INVALID_DEVICE);
        }
        // `enable` lets the query say yes and the act say no.
        let config = Config::get();
        let denied = |f: &crate::config::Fault| {
            f.kind == "enable" && f.pair.is_none_or(|p| p.covers(peer, context.device))
        };
        if !config.grants(peer, context.device) || config.faults.iter().any(denied) {
            return Err(PEER_ACCESS_UNSUPPORTED);
        }
        if !context.reaches(peer) && context.peers() >= config.max_peers {
            return Err(TOO_MANY_PEERS);
        }
        if context.enable(peer) { Ok(()) } else { Err(PEER_ACCESS_ALREADY_ENABLED) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDisablePeerAccess(peer: usize) -> c_int {
    answer("cuCtxDisablePeerAccess", || {
        let context = world::current()?;
        let peer = world::context(peer).ok_or(INVALID_CONTEXT)?.device;
        // The real call waits for work under way.
        for stream in context.streams() {
            stream.synchronise();
        }
        if context.disable(peer) { Ok(()) } else { Err(PEER_ACCESS_NOT_ENABLED) }
    })
}
