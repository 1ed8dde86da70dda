//! Streams, events, and the copies that run in streams.

use super::api::Handle;
use super::memory::size;
use super::{Buffer, Context, CudaError, HostBuffer};
use std::ffi::c_uint;

/// `CU_STREAM_NON_BLOCKING`: no order with the default stream.
const NON_BLOCKING: c_uint = 0x1;

/// A stream of one GPU.
pub struct Stream {
    context: Context,
    handle: Handle,
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Stream {}

impl Stream {
    /// Creates a stream.
    pub fn new(context: &Context) -> Result<Self, CudaError> {
        context.enter()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: stores one handle; creates in the current context.
        let code = unsafe { (context.api().stream_create)(&raw mut handle, NON_BLOCKING) };
        context.api().check("cuStreamCreate", code)?;
        Ok(Self { context: context.clone(), handle })
    }

    /// Its context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle
    }

    /// Waits until everything in the stream has finished.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is live.
        let code = unsafe { (self.context.api().stream_synchronize)(self.handle) };
        self.context.api().check("cuStreamSynchronize", code)
    }

    /// What follows in this stream waits for `event`, which may belong to another GPU.
    pub fn wait(&self, event: &Event) -> Result<(), CudaError> {
        self.context.enter()?;
        // SAFETY: both are live; the flags must be 0.
        let code = unsafe { (self.context.api().stream_wait)(self.handle, event.handle, 0) };
        self.context.api().check("cuStreamWaitEvent", code)
    }

    /// Copies between two GPUs by a copy engine. Which GPU's engine moves the data follows from the stream.
    pub fn copy_peer(
        &self,
        to: &Buffer,
        to_offset: u64,
        from: &Buffer,
        from_offset: u64,
        bytes: u64,
    ) -> Result<(), CudaError> {
        inside(to, to_offset, bytes)?;
        inside(from, from_offset, bytes)?;
        let count = size(bytes, "cuMemcpyPeerAsync")?;
        // SAFETY: both regions lie in live allocations of the contexts given.
        let code = unsafe {
            (self.context.api().copy_peer)(
                to.address() + to_offset,
                to.context().inner.handle,
                from.address() + from_offset,
                from.context().inner.handle,
                count,
                self.handle,
            )
        };
        self.context.api().check("cuMemcpyPeerAsync", code)
    }

    /// Copies inside one GPU.
    pub fn copy_local(&self, to: &Buffer, from: &Buffer, bytes: u64) -> Result<(), CudaError> {
        inside(to, 0, bytes)?;
        inside(from, 0, bytes)?;
        self.context.enter()?;
        let count = size(bytes, "cuMemcpyDtoDAsync_v2")?;
        // SAFETY: both regions lie in live allocations.
        let code =
            unsafe { (self.context.api().copy_local)(to.address(), from.address(), count, self.handle) };
        self.context.api().check("cuMemcpyDtoDAsync_v2", code)
    }

    /// Copies to pinned memory of the host.
    pub fn copy_to_host(
        &self,
        to: &HostBuffer,
        to_offset: u64,
        from: &Buffer,
        from_offset: u64,
        bytes: u64,
    ) -> Result<(), CudaError> {
        inside(from, from_offset, bytes)?;
        let pointer = to.at(to_offset, bytes)?;
        self.context.enter()?;
        let count = size(bytes, "cuMemcpyDtoHAsync_v2")?;
        // SAFETY: both regions lie in live allocations; the host's is freed only after its context is idle, and
        // is never lent out while a device writes.
        let code = unsafe {
            (self.context.api().copy_to_host)(pointer, from.address() + from_offset, count, self.handle)
        };
        self.context.api().check("cuMemcpyDtoHAsync_v2", code)
    }

    /// Copies from pinned memory of the host.
    pub fn copy_to_device(
        &self,
        to: &Buffer,
        to_offset: u64,
        from: &HostBuffer,
        from_offset: u64,
        bytes: u64,
    ) -> Result<(), CudaError> {
        inside(to, to_offset, bytes)?;
        let pointer = from.at(from_offset, bytes)?;
        self.context.enter()?;
        let count = size(bytes, "cuMemcpyHtoDAsync_v2")?;
        // SAFETY: both regions lie in live allocations.
        let code = unsafe {
            (self.context.api().copy_to_device)(to.address() + to_offset, pointer, count, self.handle)
        };
        self.context.api().check("cuMemcpyHtoDAsync_v2", code)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: created once, destroyed once; the driver finishes what is queued.
        let _ = unsafe { (self.context.api().stream_destroy)(self.handle) };
    }
}

/// A point in a stream, with its time on the GPU's clock.
pub struct Event {
    context: Context,
    handle: Handle,
}

// SAFETY: events may be used from any thread.
unsafe impl Send for Event {}

impl Event {
    /// Creates an event that keeps time.
    pub fn new(context: &Context) -> Result<Self, CudaError> {
        Self::with(context, 0)
    }

    /// Creates an event that only orders streams, which costs them less (`CU_EVENT_DISABLE_TIMING`).
    pub fn untimed(context: &Context) -> Result<Self, CudaError> {
        Self::with(context, 2)
    }

    fn with(context: &Context, flags: u32) -> Result<Self, CudaError> {
        context.enter()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: stores one handle.
        let code = unsafe { (context.api().event_create)(&raw mut handle, flags) };
        context.api().check("cuEventCreate", code)?;
        Ok(Self { context: context.clone(), handle })
    }

    /// Records the event in a stream of its own context.
    pub fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        self.context.enter()?;
        // SAFETY: both are live.
        let code = unsafe { (self.context.api().event_record)(self.handle, stream.handle()) };
        self.context.api().check("cuEventRecord", code)
    }

    /// Waits until it has happened.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the event is live.
        let code = unsafe { (self.context.api().event_synchronize)(self.handle) };
        self.context.api().check("cuEventSynchronize", code)
    }

    /// Seconds from `earlier` to this event; both have happened.
    pub fn seconds_since(&self, earlier: &Self) -> Result<f64, CudaError> {
        let mut milliseconds = 0f32;
        // SAFETY: stores one float; both events are live.
        let code =
            unsafe { (self.context.api().event_elapsed)(&raw mut milliseconds, earlier.handle, self.handle) };
        self.context.api().check("cuEventElapsedTime", code)?;
        if !milliseconds.is_finite() || milliseconds < 0.0 {
            return Err(CudaError::Nonsense {
                call: "cuEventElapsedTime",
                what: format!("{milliseconds} ms"),
            });
        }
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: created once, destroyed once.
        let _ = unsafe { (self.context.api().event_destroy)(self.handle) };
    }
}

/// `bytes` at `offset` lie inside the buffer.
fn inside(buffer: &Buffer, offset: u64, bytes: u64) -> Result<(), CudaError> {
    if offset.checked_add(bytes).is_some_and(|end| end <= buffer.bytes()) {
        return Ok(());
    }
    Err(CudaError::Nonsense {
        call: "copy",
        what: format!("{bytes} bytes at {offset} of a buffer of {}", buffer.bytes()),
    })
}
