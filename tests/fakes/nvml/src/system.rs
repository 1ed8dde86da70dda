//! Start, end, versions and the way to a device.

use crate::code::{INVALID_ARGUMENT, NOT_FOUND, SUCCESS};
use crate::config::Config;
use crate::{USERS, answer, put, put_text};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

fn start() -> Result<(), i32> {
    USERS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> c_int {
    answer("nvmlInit_v2", start)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> c_int {
    answer("nvmlInitWithFlags", start)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> c_int {
    answer("nvmlShutdown", || {
        USERS.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: c_int) -> *const c_char {
    let text = match code {
        SUCCESS => c"The operation was successful",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        9 => c"Driver Not Loaded",
        15 => c"GPU is lost",
        18 => c"Driver/library version mismatch",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(to: *mut c_char, room: c_uint) -> c_int {
    answer("nvmlSystemGetDriverVersion", || put_text(to, room, &Config::get().driver))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetNVMLVersion(to: *mut c_char, room: c_uint) -> c_int {
    answer("nvmlSystemGetNVMLVersion", || {
        let config = Config::get();
        put_text(to, room, &format!("{}.{}", config.api / 1000, config.driver))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetCudaDriverVersion_v2(to: *mut c_int) -> c_int {
    answer("nvmlSystemGetCudaDriverVersion_v2", || put(to, Config::get().api))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetCount_v2", || put(to, Config::get().gpus as c_uint))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut usize) -> c_int {
    answer("nvmlDeviceGetHandleByIndex_v2", || {
        if index as usize >= Config::get().gpus {
            return Err(INVALID_ARGUMENT);
        }
        put(to, index as usize + 1)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(text: *const c_char, to: *mut usize) -> c_int {
    answer("nvmlDeviceGetHandleByPciBusId_v2", || {
        // SAFETY: the caller gives a string.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().to_uppercase();
        let same = |i: &usize| {
            let (domain, bus, slot) = Config::address(*i);
            [format!("{domain:04X}:{bus:02X}:{slot:02X}.0"), format!("{domain:08X}:{bus:02X}:{slot:02X}.0")]
                .contains(&text)
        };
        let found = (0..Config::get().gpus).find(same).ok_or(NOT_FOUND)?;
        put(to, found + 1)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByUUID(text: *const c_char, to: *mut usize) -> c_int {
    answer("nvmlDeviceGetHandleByUUID", || {
        // SAFETY: the caller gives a string.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        let found = (0..Config::get().gpus).find(|i| crate::device::uuid(*i) == text).ok_or(NOT_FOUND)?;
        put(to, found + 1)
    })
}
