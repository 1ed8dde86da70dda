//! The `libcuda.so.1` of a driver that is too old: it starts, and lacks most of what came later.

use std::ffi::{c_int, c_uint};

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    // SAFETY: the caller of the driver API gives a valid pointer.
    unsafe { *version = 4020 };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { *count = 2 };
    0
}
