//! The primary context of a GPU, current in whichever thread uses it.

use super::api::{Api, Handle};
use super::{CudaError, Device};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Number of the context that this thread made current last; 0 for none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// A retained primary context; released with its last owner.
#[derive(Clone)]
pub struct Context {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) device: Device,
    pub(super) handle: Handle,
    /// Unique in the process: the driver may hand out the handle of a context that has ended once more.
    number: u64,
}

// SAFETY: a CUcontext may be made current in any thread, and the driver API locks inside.
unsafe impl Send for Inner {}
// SAFETY: as above; nothing in `Inner` changes after it was made.
unsafe impl Sync for Inner {}

/// Number of the next context.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Context {
    /// Retains the primary context of `device`: the driver starts the GPU up here.
    pub fn retain(device: &Device) -> Result<Self, CudaError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: stores one handle; the device came from `cuDeviceGet`.
        let code = unsafe { (device.api.retain)(&raw mut handle, device.handle) };
        device.api.check("cuDevicePrimaryCtxRetain", code)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let context = Self { inner: Arc::new(Inner { device: device.clone(), handle, number }) };
        context.enter()?;
        Ok(context)
    }

    /// The GPU.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    pub(super) fn api(&self) -> &Api {
        &self.inner.device.api
    }

    /// Makes the context current in this thread. Nobody else does so in our threads, so the driver is asked only when
    /// another one is: this stands before every small copy that is timed.
    pub(super) fn enter(&self) -> Result<(), CudaError> {
        if CURRENT.get() == self.inner.number {
            return Ok(());
        }
        // SAFETY: the handle is a live context.
        self.api().check("cuCtxSetCurrent", unsafe { (self.api().set_current)(self.inner.handle) })?;
        CURRENT.set(self.inner.number);
        Ok(())
    }

    /// Waits for all work of the context.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.enter()?;
        // SAFETY: acts on the current context.
        self.api().check("cuCtxSynchronize", unsafe { (self.api().synchronize)() })
    }

    /// Free and total bytes of memory.
    pub fn memory(&self) -> Result<(u64, u64), CudaError> {
        self.enter()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: stores two size_t.
        let code = unsafe { (self.api().memory_info)(&raw mut free, &raw mut total) };
        self.api().check("cuMemGetInfo_v2", code)?;
        Ok((free as u64, total as u64))
    }

    /// Maps the memory of `peer`, present and future, into this context. Standing access is no error.
    pub fn enable_peer(&self, peer: &Self) -> Result<(), CudaError> {
        self.enter()?;
        // SAFETY: acts on the current context; the flags must be 0.
        let code = unsafe { (self.api().enable_peer)(peer.inner.handle, 0) };
        match self.api().check("cuCtxEnablePeerAccess", code) {
            Err(error) if error.peer_already_enabled() => Ok(()),
            other => other,
        }
    }

    /// Takes the mapping back.
    pub fn disable_peer(&self, peer: &Self) -> Result<(), CudaError> {
        self.enter()?;
        // SAFETY: acts on the current context.
        let code = unsafe { (self.api().disable_peer)(peer.inner.handle) };
        self.api().check("cuCtxDisablePeerAccess", code)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: retained once. An error at the end of everything changes nothing.
        let _ = unsafe { (self.device.api.release)(self.device.handle) };
    }
}
