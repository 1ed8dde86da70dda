//! Events and the time between them.

use super::{answer, put};
use crate::code::{INVALID_HANDLE, INVALID_VALUE, SUCCESS};
use crate::stream::{EVENTS, Event, Stream};
use crate::world;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

fn code(result: i32) -> Result<(), i32> {
    if result == SUCCESS { Ok(()) } else { Err(result) }
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: *mut usize, flags: c_uint) -> c_int {
    answer("cuEventCreate", || {
        let context = world::current()?;
        if flags > 7 {
            return Err(INVALID_VALUE);
        }
        put(event, EVENTS.add(|_| Event::new(context, flags & 2 == 0)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: usize) -> c_int {
    answer("cuEventDestroy_v2", || EVENTS.remove(event).map(|_| ()).ok_or(INVALID_HANDLE))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: usize, stream: usize) -> c_int {
    answer("cuEventRecord", || {
        let stream = Stream::of(stream, &world::current()?)?;
        let event = EVENTS.get(event).ok_or(INVALID_HANDLE)?;
        // Event and stream must be of the same context.
        if !Arc::ptr_eq(&event.context, &stream.context) {
            return Err(INVALID_HANDLE);
        }
        event.record(&stream);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: usize) -> c_int {
    answer("cuEventSynchronize", || code(EVENTS.get(event).ok_or(INVALID_HANDLE)?.synchronise()))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: usize) -> c_int {
    answer("cuEventQuery", || code(EVENTS.get(event).ok_or(INVALID_HANDLE)?.query()))
}

fn elapsed(ms: *mut f32, from: usize, to: usize) -> Result<(), i32> {
    let (from, to) = (EVENTS.get(from).ok_or(INVALID_HANDLE)?, EVENTS.get(to).ok_or(INVALID_HANDLE)?);
    if !from.timed || !to.timed || !Arc::ptr_eq(&from.context, &to.context) {
        return Err(INVALID_HANDLE);
    }
    let ns = to.time()? as f64 - from.time()? as f64;
    put(ms, (ns / 1e6) as f32)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime(ms: *mut f32, from: usize, to: usize) -> c_int {
    answer("cuEventElapsedTime", || elapsed(ms, from, to))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime_v2(ms: *mut f32, from: usize, to: usize) -> c_int {
    answer("cuEventElapsedTime_v2", || elapsed(ms, from, to))
}
