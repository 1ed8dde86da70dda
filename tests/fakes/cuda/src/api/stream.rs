//! Streams.

use super::{answer, put};
use crate::code::{INVALID_HANDLE, INVALID_VALUE, SUCCESS};
use crate::stream::{EVENTS, STREAMS, Stream};
use crate::world;
use std::ffi::{c_int, c_uint};

fn create(to: *mut usize, flags: c_uint) -> Result<(), i32> {
    let context = world::current()?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    let stream = Stream::start(&context, flags == 0);
    context.add_stream(&stream);
    put(to, STREAMS.add(|_| stream))
}

fn code(result: i32) -> Result<(), i32> {
    if result == SUCCESS { Ok(()) } else { Err(result) }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(stream: *mut usize, flags: c_uint) -> c_int {
    answer("cuStreamCreate", || create(stream, flags))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreateWithPriority(stream: *mut usize, flags: c_uint, _priority: c_int) -> c_int {
    answer("cuStreamCreateWithPriority", || create(stream, flags))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: usize) -> c_int {
    answer("cuStreamDestroy_v2", || {
        let stream = STREAMS.remove(stream).ok_or(INVALID_HANDLE)?;
        stream.context.drop_stream(&stream);
        stream.close();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: usize) -> c_int {
    answer("cuStreamSynchronize", || code(Stream::of(stream, &world::current()?)?.synchronise()))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(stream: usize) -> c_int {
    answer("cuStreamQuery", || code(Stream::of(stream, &world::current()?)?.query()))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) -> c_int {
    answer("cuStreamWaitEvent", || {
        let stream = Stream::of(stream, &world::current()?)?;
        EVENTS.get(event).ok_or(INVALID_HANDLE)?.hold(&stream);
        Ok(())
    })
}
