//! Every allocation, device or pinned host: an anonymous mapping, found by address.

use crate::code::{ILLEGAL_ADDRESS, OUT_OF_MEMORY};
use crate::config::Config;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: c_long)
    -> *mut c_void;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
}

/// Where memory lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Device(usize),
    Host,
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) place: Place,
    owned: bool,
    /// What a device sees behind a window that is only a mirror, by device.
    mirrors: Mutex<HashMap<usize, Arc<Block>>>,
}

static BLOCKS: RwLock<BTreeMap<u64, Arc<Block>>> = RwLock::new(BTreeMap::new());
static USED: [AtomicU64; 32] = [const { AtomicU64::new(0) }; 32];

impl Block {
    fn map(len: u64, place: Place) -> Option<Self> {
        // PROT_READ | PROT_WRITE; MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE.
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap(std::ptr::null_mut(), usize::try_from(len).ok()?, 3, 0x4022, -1, 0) };
        (at as isize != -1).then(|| Self {
            start: at as u64,
            len,
            place,
            owned: true,
            mirrors: Mutex::default(),
        })
    }

    /// Memory of this process for the length of a call.
    pub(crate) fn borrowed(start: u64, len: u64) -> Self {
        Self { start, len, place: Place::Host, owned: false, mirrors: Mutex::default() }
    }

    /// The block that `device` sees in place of this one.
    pub(crate) fn mirror(&self, device: usize) -> Arc<Self> {
        let mut mirrors = self.mirrors.lock().unwrap();
        let new = || Arc::new(Self::map(self.len, self.place).expect("memory for a mirror"));
        mirrors.entry(device).or_insert_with(new).clone()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: mapped by `map` with this length; nobody holds the block any more.
            unsafe { munmap(self.start as *mut c_void, self.len as usize) };
        }
    }
}

/// Allocates; device memory counts against what is free.
pub(crate) fn allocate(len: u64, place: Place) -> Result<u64, i32> {
    let whole = len.div_ceil(4096) * 4096;
    if let Place::Device(device) = place
        && USED[device].fetch_add(whole, Ordering::Relaxed) + whole > Config::get().free
    {
        USED[device].fetch_sub(whole, Ordering::Relaxed);
        return Err(OUT_OF_MEMORY);
    }
    let block = Block::map(whole, place).ok_or(OUT_OF_MEMORY)?;
    let start = block.start;
    BLOCKS.write().unwrap().insert(start, Arc::new(block));
    Ok(start)
}

/// Makes memory of the process known as pinned.
pub(crate) fn register(start: u64, len: u64) {
    BLOCKS.write().unwrap().insert(start, Arc::new(Block::borrowed(start, len)));
}

/// Frees the allocation that begins at `start` if it is of this kind.
pub(crate) fn free(start: u64, device: bool) -> bool {
    let mut blocks = BLOCKS.write().unwrap();
    let Some(block) = blocks.get(&start) else { return false };
    if (block.place != Place::Host) != device {
        return false;
    }
    if let Place::Device(d) = block.place {
        USED[d].fetch_sub(block.len, Ordering::Relaxed);
    }
    blocks.remove(&start);
    true
}

/// Frees all that a device holds, as the end of its context does.
pub(crate) fn free_device(device: usize) {
    BLOCKS.write().unwrap().retain(|_, b| b.place != Place::Device(device));
    USED[device].store(0, Ordering::Relaxed);
}

/// Bytes free on a device.
pub(crate) fn available(device: usize) -> u64 {
    Config::get().free.saturating_sub(USED[device].load(Ordering::Relaxed))
}

/// The allocation that holds all of `addr..addr + len`.
pub(crate) fn find(addr: u64, len: u64) -> Result<Arc<Block>, i32> {
    let blocks = BLOCKS.read().unwrap();
    let (_, block) = blocks.range(..=addr).next_back().ok_or(ILLEGAL_ADDRESS)?;
    let end = addr.checked_add(len).ok_or(ILLEGAL_ADDRESS)?;
    (end <= block.start + block.len).then(|| block.clone()).ok_or(ILLEGAL_ADDRESS)
}

/// Another allocation of the same place, the largest.
pub(crate) fn another(than: &Block) -> Option<Arc<Block>> {
    let blocks = BLOCKS.read().unwrap();
    blocks.values().filter(|b| b.place == than.place && b.start != than.start).max_by_key(|b| b.len).cloned()
}
