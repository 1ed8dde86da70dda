//! A `libnvidia-ml.so.1` that says of the fake GPUs what `PEERFIX_FAKE` tells it to.
//!
//! Symbols, structures and codes are those of `nvml.h`; the versions exported are those that current programs
//! bind, with the older names beside them where the layout is the same.

#[path = "../../config.rs"]
mod config;
mod device;
mod fields;
mod links;
mod peers;
mod processes;
mod system;

/// Result codes of NVML (`nvmlReturn_t`).
mod code {
    pub(crate) const SUCCESS: i32 = 0;
    pub(crate) const UNINITIALIZED: i32 = 1;
    pub(crate) const INVALID_ARGUMENT: i32 = 2;
    pub(crate) const NOT_SUPPORTED: i32 = 3;
    pub(crate) const NOT_FOUND: i32 = 6;
    pub(crate) const INSUFFICIENT_SIZE: i32 = 7;
    pub(crate) const ARGUMENT_VERSION_MISMATCH: i32 = 25;
}

use code::{INVALID_ARGUMENT, SUCCESS, UNINITIALIZED};
use config::Config;
use std::ffi::{c_char, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls of `nvmlInit` without one of `nvmlShutdown`.
static USERS: AtomicU32 = AtomicU32::new(0);

/// Turns the result of a call into its code; faults that are bound to the call's name come first.
fn answer(name: &str, call: impl FnOnce() -> Result<(), i32>) -> i32 {
    if let Some(code) = Config::get().at_call(name) {
        return code;
    }
    if USERS.load(Ordering::Relaxed) == 0 && !name.starts_with("nvmlInit") {
        return UNINITIALIZED;
    }
    call().err().unwrap_or(SUCCESS)
}

/// Index of the GPU behind a handle: handles are index + 1.
fn gpu(handle: usize) -> Result<usize, i32> {
    handle.checked_sub(1).filter(|i| *i < Config::get().gpus).ok_or(INVALID_ARGUMENT)
}

/// Writes through a pointer of the caller.
fn put<T>(to: *mut T, value: T) -> Result<(), i32> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: the caller gives a valid pointer.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a string and its end into a buffer of `room` bytes.
fn put_text(to: *mut c_char, room: c_uint, text: &str) -> Result<(), i32> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= room as usize {
        return Err(code::INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller gives `room` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len());
        *to.add(text.len()) = 0;
    }
    Ok(())
}
