//! Start-up, version and the names of errors.

use super::{answer, put};
use crate::code::{INVALID_VALUE, NO_DEVICE, SUCCESS};
use crate::config::Config;
use crate::world::INITIALISED;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> c_int {
    answer("cuInit", || match (flags, Config::get().gpus) {
        (1.., _) => Err(INVALID_VALUE),
        (_, 0) => Err(NO_DEVICE),
        _ => {
            INITIALISED.store(true, Ordering::Relaxed);
            Ok(())
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    answer("cuDriverGetVersion", || put(version, Config::get().api))
}

fn known(code: c_int) -> Option<(&'static CStr, &'static CStr)> {
    Some(match code {
        SUCCESS => (c"CUDA_SUCCESS", c"no error"),
        1 => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        2 => (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
        3 => (c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
        4 => (c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
        100 => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        101 => (c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
        201 => (c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
        209 => (c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for execution on the device"),
        217 => {
            (c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", c"peer access is not supported between these two devices")
        }
        218 => (c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
        222 => (
            c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
            c"the provided PTX was compiled with an unsupported toolchain.",
        ),
        400 => (c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
        500 => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        600 => (c"CUDA_ERROR_NOT_READY", c"device not ready"),
        700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        704 => (c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access is already enabled"),
        705 => (c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", c"peer access has not been enabled"),
        711 => (c"CUDA_ERROR_TOO_MANY_PEERS", c"peer mapping resources exhausted"),
        716 => (c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
        719 => (c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
        999 => (c"CUDA_ERROR_UNKNOWN", c"unknown error"),
        _ => return None,
    })
}

fn text(
    code: c_int,
    to: *mut *const c_char,
    which: fn((&'static CStr, &'static CStr)) -> &'static CStr,
) -> Result<(), i32> {
    // The real library sets the pointer to null for a code that it does not know.
    let Some(pair) = known(code) else { return put(to, std::ptr::null()).and(Err(INVALID_VALUE)) };
    put(to, which(pair).as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorName(code: c_int, to: *mut *const c_char) -> c_int {
    answer("cuGetErrorName", || text(code, to, |p| p.0))
}

#[unsafe(no_mangle)]
extern "C" fn cuGetErrorString(code: c_int, to: *mut *const c_char) -> c_int {
    answer("cuGetErrorString", || text(code, to, |p| p.1))
}
