//! Devices and what they say of each other.

use super::{answer, put};
use crate::code::{INVALID_DEVICE, INVALID_VALUE, NOT_INITIALIZED};
use crate::config::Config;
use crate::world::{self, INITIALISED};
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    answer("cuDeviceGetCount", || {
        if !INITIALISED.load(Ordering::Relaxed) {
            return Err(NOT_INITIALIZED);
        }
        put(count, Config::get().gpus as c_int)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    answer("cuDeviceGet", || world::device(ordinal).and_then(|_| put(device, ordinal)))
}

fn put_text(to: *mut c_char, room: c_int, text: &str) -> Result<(), i32> {
    let room = usize::try_from(room).ok().filter(|r| *r > 0 && !to.is_null()).ok_or(INVALID_VALUE)?;
    let n = text.len().min(room - 1);
    // SAFETY: the caller gives `room` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, n);
        *to.add(n) = 0;
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) -> c_int {
    answer("cuDeviceGetName", || {
        world::device(device)?;
        put_text(name, room, &Config::get().name)
    })
}

fn uuid(to: *mut [u8; 16], device: c_int) -> Result<(), i32> {
    let mut uuid = [0xfa; 16];
    uuid[15] = world::device(device)? as u8;
    put(to, uuid)
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetUuid(to: *mut [u8; 16], device: c_int) -> c_int {
    answer("cuDeviceGetUuid", || uuid(to, device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetUuid_v2(to: *mut [u8; 16], device: c_int) -> c_int {
    answer("cuDeviceGetUuid_v2", || uuid(to, device))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> c_int {
    answer("cuDeviceTotalMem_v2", || {
        world::device(device)?;
        put(bytes, Config::get().memory as usize)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    answer("cuDeviceGetAttribute", || {
        let config = Config::get();
        let (domain, bus, slot) = Config::address(world::device(device)?);
        // Numbers of `enum CUdevice_attribute_enum`.
        let found = match attribute {
            1 | 2 => 1024,
            10 => 32,
            13 => 1_755_000,
            16 => 24,
            19 | 31 | 41 | 83 => 1,
            33 => bus as c_int,
            34 => slot as c_int,
            36 => 2_619_000,
            37 => 5120,
            38 => 32 << 20,
            39 => 2048,
            40 => 3,
            50 => domain as c_int,
            75 => config.capability.0,
            76 => config.capability.1,
            17 | 18 | 20 | 35 => 0,
            _ => return Err(INVALID_VALUE),
        };
        put(value, found)
    })
}

fn address(index: usize) -> String {
    let (domain, bus, slot) = Config::address(index);
    format!("{domain:04X}:{bus:02X}:{slot:02X}.0")
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetPCIBusId(to: *mut c_char, room: c_int, device: c_int) -> c_int {
    answer("cuDeviceGetPCIBusId", || put_text(to, room, &address(world::device(device)?)))
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetByPCIBusId(device: *mut c_int, text: *const c_char) -> c_int {
    answer("cuDeviceGetByPCIBusId", || {
        world::device(0)?;
        // SAFETY: the caller gives a string.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().to_uppercase();
        let found = (0..Config::get().gpus).find(|i| text.ends_with(&address(*i))).ok_or(INVALID_DEVICE)?;
        put(device, world::ordinal(found))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> c_int {
    answer("cuDeviceCanAccessPeer", || {
        let (device, peer) = (world::device(device)?, world::device(peer)?);
        put(can, c_int::from(device != peer && Config::get().grants(peer, device)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetP2PAttribute(
    value: *mut c_int,
    attribute: c_int,
    device: c_int,
    peer: c_int,
) -> c_int {
    answer("cuDeviceGetP2PAttribute", || {
        let (device, peer) = (world::device(device)?, world::device(peer)?);
        if device == peer {
            return Err(INVALID_DEVICE);
        }
        let config = Config::get();
        // 1 performance rank, 2 access supported, 3 native atomics, 4 arrays.
        let found = match attribute {
            1 => false,
            2 | 4 => config.grants(peer, device),
            3 => config.nvlinks > 0 && config.grants(peer, device),
            _ => return Err(INVALID_VALUE),
        };
        put(value, c_int::from(found))
    })
}
