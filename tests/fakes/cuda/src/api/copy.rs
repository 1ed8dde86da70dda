//! Copies and fills.

use super::answer;
use crate::code::{INVALID_CONTEXT, INVALID_VALUE, SUCCESS};
use crate::memory::{self, Place};
use crate::stream::Stream;
use crate::world::{self, Context};
use crate::{clock, transfer};
use std::ffi::c_int;
use std::sync::Arc;

/// The side of a copy that must be in device memory.
fn on_device(at: u64, len: usize) -> Result<(), i32> {
    let block = memory::find(at, len as u64).map_err(|_| INVALID_VALUE)?;
    if block.place == Place::Host { Err(INVALID_VALUE) } else { Ok(()) }
}

fn queue(stream: &Arc<Stream>, dst: u64, src: u64, len: usize) {
    // The copy engine is that of the stream's device.
    let context: Arc<Context> = stream.context.clone();
    stream.give(Box::new(move |start| transfer::by_engine(&context, dst, src, len as u64, start)));
}

fn wait(stream: &Stream) -> Result<(), i32> {
    match stream.synchronise() {
        SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// Host memory is pinned; if not, the call does not return before the copy is done.
fn with_host(host: u64, dst: u64, src: u64, len: usize, stream: &Arc<Stream>) -> Result<(), i32> {
    if memory::find(host, len as u64).is_ok() {
        queue(stream, dst, src, len);
        return Ok(());
    }
    memory::register(host, len as u64);
    queue(stream, dst, src, len);
    let done = wait(stream);
    memory::free(host, false);
    done
}

fn between(dst: u64, src: u64, len: usize, stream: usize) -> Result<Arc<Stream>, i32> {
    let stream = Stream::of(stream, &world::current()?)?;
    stream.context.alive()?;
    if len > 0 {
        on_device(dst, len)?;
        on_device(src, len)?;
        queue(&stream, dst, src, len);
    }
    Ok(stream)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyPeerAsync(
    dst: u64,
    dst_context: usize,
    src: u64,
    src_context: usize,
    len: usize,
    stream: usize,
) -> c_int {
    answer("cuMemcpyPeerAsync", || {
        if world::context(dst_context).is_none() || world::context(src_context).is_none() {
            return Err(INVALID_CONTEXT);
        }
        between(dst, src, len, stream).map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyPeer(dst: u64, dst_context: usize, src: u64, src_context: usize, len: usize) -> c_int {
    answer("cuMemcpyPeer", || {
        if world::context(dst_context).is_none() || world::context(src_context).is_none() {
            return Err(INVALID_CONTEXT);
        }
        wait(&*between(dst, src, len, 0)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(dst: u64, src: u64, len: usize, stream: usize) -> c_int {
    answer("cuMemcpyDtoDAsync_v2", || between(dst, src, len, stream).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoD_v2(dst: u64, src: u64, len: usize) -> c_int {
    answer("cuMemcpyDtoD_v2", || wait(&*between(dst, src, len, 0)?))
}

fn host(device: u64, host: u64, len: usize, stream: usize, up: bool) -> Result<Arc<Stream>, i32> {
    let stream = Stream::of(stream, &world::current()?)?;
    stream.context.alive()?;
    if len > 0 {
        on_device(device, len)?;
        let (dst, src) = if up { (device, host) } else { (host, device) };
        with_host(host, dst, src, len, &stream)?;
    }
    Ok(stream)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(dst: u64, src: u64, len: usize, stream: usize) -> c_int {
    answer("cuMemcpyDtoHAsync_v2", || host(src, dst, len, stream, false).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoDAsync_v2(dst: u64, src: u64, len: usize, stream: usize) -> c_int {
    answer("cuMemcpyHtoDAsync_v2", || host(dst, src, len, stream, true).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoH_v2(dst: u64, src: u64, len: usize) -> c_int {
    answer("cuMemcpyDtoH_v2", || wait(&*host(src, dst, len, 0, false)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoD_v2(dst: u64, src: u64, len: usize) -> c_int {
    answer("cuMemcpyHtoD_v2", || wait(&*host(dst, src, len, 0, true)?))
}

fn fill<T: Copy + Send + 'static>(at: u64, value: T, n: usize, stream: usize) -> Result<Arc<Stream>, i32> {
    let stream = Stream::of(stream, &world::current()?)?;
    let len = n * size_of::<T>();
    on_device(at, len)?;
    stream.give(Box::new(move |start| {
        let block = memory::find(at, len as u64)?;
        // SAFETY: inside a live block that is held here.
        let all = unsafe { std::slice::from_raw_parts_mut(at as *mut T, n) };
        all.fill(value);
        drop(block);
        Ok(clock::work(start, len as f64 / 2000.0))
    }));
    Ok(stream)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32Async(at: u64, value: u32, n: usize, stream: usize) -> c_int {
    answer("cuMemsetD32Async", || {
        if !at.is_multiple_of(4) {
            return Err(INVALID_VALUE);
        }
        fill(at, value, n, stream).map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(at: u64, value: u8, n: usize, stream: usize) -> c_int {
    answer("cuMemsetD8Async", || fill(at, value, n, stream).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8_v2(at: u64, value: u8, n: usize) -> c_int {
    answer("cuMemsetD8_v2", || wait(&*fill(at, value, n, 0)?))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32_v2(at: u64, value: u32, n: usize) -> c_int {
    answer("cuMemsetD32_v2", || wait(&*fill(at, value, n, 0)?))
}
