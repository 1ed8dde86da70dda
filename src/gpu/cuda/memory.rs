//! Memory of a GPU, and pinned memory of the host that every GPU can address.

use super::{Context, CudaError};
use std::ffi::{c_uint, c_void};

/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`.
const PORTABLE_MAPPED: c_uint = 0x01 | 0x02;

/// Memory on a GPU; freed on drop, after the work of its context.
pub struct Buffer {
    context: Context,
    address: u64,
    bytes: u64,
}

impl Buffer {
    /// Allocates.
    pub fn new(context: &Context, bytes: u64) -> Result<Self, CudaError> {
        context.enter()?;
        let mut address = 0;
        let size = size(bytes, "cuMemAlloc_v2")?;
        // SAFETY: stores one device pointer; allocates in the current context.
        context.api().check("cuMemAlloc_v2", unsafe { (context.api().alloc)(&raw mut address, size) })?;
        Ok(Self { context: context.clone(), address, bytes })
    }

    /// Device address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The context that owns it.
    pub fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // Copies into it may still be on their way when an error ended an arm.
        let _ = self.context.synchronize();
        // SAFETY: allocated once, freed once; the context outlives it.
        let _ = unsafe { (self.context.api().free)(self.address) };
    }
}

/// Pinned memory of the host; its contents are copied in and out, never lent, because devices write to it.
pub struct HostBuffer {
    context: Context,
    pointer: *mut c_void,
    device_address: u64,
    bytes: u64,
}

// SAFETY: the memory belongs to this value alone; devices write to it asynchronously, which is why no reference
// to it is ever handed out.
unsafe impl Send for HostBuffer {}

impl HostBuffer {
    /// Allocates pinned memory that all contexts can copy from and map. Fresh pages of the kernel are zero.
    pub fn new(context: &Context, bytes: u64) -> Result<Self, CudaError> {
        context.enter()?;
        let api = context.api();
        let size = size(bytes, "cuMemHostAlloc")?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: stores one pointer to `size` bytes.
        api.check("cuMemHostAlloc", unsafe { (api.host_alloc)(&raw mut pointer, size, PORTABLE_MAPPED) })?;
        if pointer.is_null() {
            return Err(CudaError::Nonsense { call: "cuMemHostAlloc", what: "a null pointer".to_owned() });
        }
        let mut buffer = Self { context: context.clone(), pointer, device_address: 0, bytes };
        // SAFETY: stores one device pointer; the memory was allocated as mapped.
        let code = unsafe { (api.host_pointer)(&raw mut buffer.device_address, pointer, 0) };
        api.check("cuMemHostGetDevicePointer_v2", code)?;
        Ok(buffer)
    }

    /// Size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Address that kernels use.
    pub fn device_address(&self) -> u64 {
        self.device_address
    }

    /// Writes 64-bit words from word `first` on; what does not fit is left out.
    pub fn put(&mut self, first: u64, words: &[u64]) {
        let count = self.fits(first, words.len());
        // SAFETY: `fits` keeps `first + count` words inside the allocation; regions do not overlap.
        unsafe {
            std::ptr::copy_nonoverlapping(words.as_ptr(), self.word(first), count);
        }
    }

    /// Reads up to `count` 64-bit words from word `first` on.
    pub fn get(&self, first: u64, count: usize) -> Vec<u64> {
        let count = self.fits(first, count);
        let mut words = vec![0; count];
        // SAFETY: `fits` keeps the region inside the allocation, and `words` has room for `count`. The caller
        // has waited for the copy; if it did not, the words are mixed and no memory rule of ours is broken.
        unsafe { std::ptr::copy_nonoverlapping(self.word(first).cast_const(), words.as_mut_ptr(), count) };
        words
    }

    /// Stores one 32-bit flag that a kernel polls.
    pub fn signal(&self, word: u64, value: u32) {
        if self.fits(word, 1) == 1 {
            // SAFETY: inside the allocation and aligned; volatile, because a device reads it at the same time.
            unsafe { self.word(word).cast::<u32>().write_volatile(value) };
        }
    }

    fn fits(&self, first: u64, count: usize) -> usize {
        let room = (self.bytes / 8).saturating_sub(first);
        count.min(usize::try_from(room).unwrap_or(usize::MAX))
    }

    fn word(&self, index: u64) -> *mut u64 {
        // `index` was checked by `fits`; a wrapping offset computes no wild pointer by itself.
        self.pointer.cast::<u64>().wrapping_add(usize::try_from(index).unwrap_or(0))
    }

    pub(super) fn at(&self, offset: u64, bytes: u64) -> Result<*mut c_void, CudaError> {
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end > self.bytes) {
            return Err(CudaError::Nonsense {
                call: "host copy",
                what: format!("{bytes} bytes at {offset} of a host buffer of {}", self.bytes),
            });
        }
        let offset = size(offset, "host copy")?;
        Ok(self.pointer.cast::<u8>().wrapping_add(offset).cast())
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let _ = self.context.synchronize();
        // SAFETY: allocated once, freed once, after the work of its context.
        let _ = unsafe { (self.context.api().host_free)(self.pointer) };
    }
}

pub(super) fn size(bytes: u64, call: &'static str) -> Result<usize, CudaError> {
    usize::try_from(bytes).map_err(|_| CudaError::Nonsense { call, what: format!("{bytes} bytes") })
}
