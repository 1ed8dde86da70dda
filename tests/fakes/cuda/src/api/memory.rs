//! Allocation of device memory and pinned host memory.

use super::{answer, put};
use crate::code::INVALID_VALUE;
use crate::config::Config;
use crate::memory::{self, Place};
use crate::world;
use std::ffi::{c_int, c_uint};

#[unsafe(no_mangle)]
extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    answer("cuMemGetInfo_v2", || {
        let context = world::current()?;
        put(free, memory::available(context.device) as usize)?;
        put(total, Config::get().memory as usize)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> c_int {
    answer("cuMemAlloc_v2", || {
        let context = world::current()?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        put(at, memory::allocate(bytes as u64, Place::Device(context.device))?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(at: u64) -> c_int {
    answer("cuMemFree_v2", || {
        let context = world::current()?;
        // The real call waits for work under way.
        for stream in context.streams() {
            stream.synchronise();
        }
        if at == 0 || memory::free(at, true) { Ok(()) } else { Err(INVALID_VALUE) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostAlloc(at: *mut u64, bytes: usize, flags: c_uint) -> c_int {
    answer("cuMemHostAlloc", || {
        world::current()?;
        if bytes == 0 || flags > 7 {
            return Err(INVALID_VALUE);
        }
        put(at, memory::allocate(bytes as u64, Place::Host)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(at: u64) -> c_int {
    answer("cuMemFreeHost", || {
        world::current()?;
        if memory::free(at, false) { Ok(()) } else { Err(INVALID_VALUE) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostGetDevicePointer_v2(device: *mut u64, host: u64, flags: c_uint) -> c_int {
    answer("cuMemHostGetDevicePointer_v2", || {
        world::current()?;
        let block = memory::find(host, 1).map_err(|_| INVALID_VALUE)?;
        if flags != 0 || block.place != Place::Host {
            return Err(INVALID_VALUE);
        }
        put(device, host)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostRegister_v2(at: u64, bytes: usize, _flags: c_uint) -> c_int {
    answer("cuMemHostRegister_v2", || {
        world::current()?;
        memory::register(at, bytes as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemHostUnregister(at: u64) -> c_int {
    answer("cuMemHostUnregister", || {
        world::current()?;
        if memory::free(at, false) { Ok(()) } else { Err(INVALID_VALUE) }
    })
}
