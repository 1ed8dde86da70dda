//! Memory as one device sees it: its own, pinned host memory, and that of peers to which it has access.

use crate::code::{ILLEGAL_ADDRESS, MISALIGNED_ADDRESS};
use crate::fault::{Engine, Operation, Struck};
use crate::memory::{self, Block, Place};
use crate::world::Context;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The view of a kernel that runs on the device of `context`. Faults are drawn once per kernel and direction.
pub(crate) struct View {
    pub(crate) context: Arc<Context>,
    pub(crate) bytes: u64,
    last: Option<Arc<Block>>,
    struck: HashMap<(Option<usize>, bool), Struck>,
}

/// An address resolved: the memory behind it, and the faults on the way.
pub(crate) struct Spot {
    /// Keeps the memory alive while it is used.
    pub(crate) block: Arc<Block>,
    /// Address where the bytes are.
    pub(crate) at: u64,
    /// In the memory of a peer.
    pub(crate) peer: bool,
    pub(crate) struck: Struck,
}

impl View {
    /// A kernel that moves `bytes` in all.
    pub(crate) fn new(context: &Arc<Context>, bytes: u64) -> Self {
        Self { context: context.clone(), bytes, last: None, struck: HashMap::new() }
    }

    /// Resolves `len` bytes at `addr`, which must be aligned to `align`.
    pub(crate) fn spot(&mut self, addr: u64, len: u64, align: u64, write: bool) -> Result<Spot, i32> {
        if !addr.is_multiple_of(align) {
            return Err(MISALIGNED_ADDRESS);
        }
        let hit = |b: &&Arc<Block>| addr >= b.start && addr + len <= b.start + b.len;
        let block = match self.last.as_ref().filter(hit) {
            Some(block) => block.clone(),
            None => memory::find(addr, len)?,
        };
        self.last = Some(block.clone());
        let me = self.context.device;
        let peer = match block.place {
            Place::Device(d) => (d != me).then_some(d),
            Place::Host => None,
        };
        if peer.is_some_and(|d| !self.context.reaches(d)) {
            return Err(ILLEGAL_ADDRESS);
        }
        if block.place == Place::Device(me) {
            return Ok(Spot { block, at: addr, peer: false, struck: Struck::default() });
        }
        let struck = self.draw(block.place, peer, write)?;
        if struck.has("mirror") && peer.is_some() {
            let mirror = block.mirror(me);
            return Ok(Spot { at: mirror.start + (addr - block.start), block: mirror, peer: true, struck });
        }
        Ok(Spot { block, at: addr, peer: peer.is_some(), struck })
    }

    fn draw(&mut self, place: Place, peer: Option<usize>, write: bool) -> Result<Struck, i32> {
        if let Some(struck) = self.struck.get(&(peer, write)) {
            return Ok(struck.clone());
        }
        let me = Place::Device(self.context.device);
        let (from, to) = if write { (me, place) } else { (place, me) };
        let operation =
            Operation { engine: Engine::Sm, actor: self.context.device, from, to, bytes: self.bytes };
        let struck = operation.begin()?;
        self.struck.insert((peer, write), struck.clone());
        Ok(struck)
    }

    /// How much longer the kernel takes for the faults that struck.
    pub(crate) fn slowness(&self) -> f64 {
        self.struck.values().map(Struck::slowness).fold(1.0, f64::max)
    }

    /// The 64-bit word at `addr`.
    pub(crate) fn load(&mut self, addr: u64) -> Result<u64, i32> {
        let spot = self.spot(addr, 8, 8, false)?;
        // SAFETY: inside a live block, aligned.
        let word = unsafe { (spot.at as *const u64).read_volatile() };
        Ok(if spot.struck.has("zeros") { 0 } else { word })
    }

    /// `words` 64-bit words from `addr` on, as a copy.
    pub(crate) fn words(&mut self, addr: u64, words: u64) -> Result<Vec<u64>, i32> {
        let spot = self.spot(addr, words * 8, 8, false)?;
        let mut found = vec![0_u64; words as usize];
        if !spot.struck.has("zeros") {
            // SAFETY: inside a live block, aligned; the vector has the length.
            unsafe {
                std::ptr::copy_nonoverlapping(spot.at as *const u64, found.as_mut_ptr(), found.len());
            }
        }
        Ok(found)
    }

    /// Stores a 64-bit word.
    pub(crate) fn store(&mut self, addr: u64, word: u64) -> Result<(), i32> {
        let spot = self.spot(addr, 8, 8, true)?;
        if !spot.struck.has("drop") {
            // SAFETY: inside a live block, aligned.
            unsafe { (spot.at as *mut u64).write_volatile(word) };
        }
        Ok(())
    }

    /// Loads the 32-bit flag at `addr` with acquire.
    pub(crate) fn flag(&mut self, addr: u64) -> Result<u32, i32> {
        let spot = self.spot(addr, 4, 4, false)?;
        // SAFETY: inside a live block, aligned; flags are accessed atomically by every kernel.
        Ok(unsafe { AtomicU32::from_ptr(spot.at as *mut u32) }.load(Ordering::Acquire))
    }

    /// Stores the 32-bit flag at `addr` with release.
    pub(crate) fn raise(&mut self, addr: u64, value: u32) -> Result<(), i32> {
        let spot = self.spot(addr, 4, 4, true)?;
        if !spot.struck.has("drop") {
            // SAFETY: as in `flag`.
            unsafe { AtomicU32::from_ptr(spot.at as *mut u32) }.store(value, Ordering::Release);
        }
        Ok(())
    }
}
