//! The symbols, one file per topic of the driver API.

mod context;
mod copy;
mod device;
mod error;
mod event;
mod memory;
mod module;
mod stream;

/// Turns the result of a call into its code. First come the faults that are bound to the call's name.
fn answer(name: &str, call: impl FnOnce() -> Result<(), i32>) -> i32 {
    match crate::fault::at_call(name) {
        crate::code::SUCCESS => call().err().unwrap_or(crate::code::SUCCESS),
        code => code,
    }
}

/// Writes through a pointer of the caller.
fn put<T>(to: *mut T, value: T) -> Result<(), i32> {
    if to.is_null() {
        return Err(crate::code::INVALID_VALUE);
    }
    // SAFETY: the caller of the driver API gives a valid pointer.
    unsafe { to.write_unaligned(value) };
    Ok(())
}
