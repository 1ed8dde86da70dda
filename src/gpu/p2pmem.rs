//! Memory of a device mapped into this process, and reads of a drive straight into it.
//!
//! `mmap` of `/sys/bus/pci/devices/BDF/p2pmem/allocate` takes pages out of what the device publishes for its peers
//! (`p2pmem_alloc_mmap`, drivers/pci/p2pdma.c, Linux 6.2) and gives them back with `munmap`. An unbuffered read of an NVMe
//! drive into that mapping makes the drive's own DMA engine write to the other device: no byte passes host memory.
//!
//! It lives here because a mapping is `unsafe`. The memory is accessed in words of 8 bytes, volatile: it is slow, not
//! cached, and behind an emulated device wider accesses need not work. A drive is opened for reading only.

use nix::fcntl::OFlag;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a word.
const WORD: usize = 8;

/// A drive, open for unbuffered reads.
#[derive(Debug)]
pub struct Drive(File);

impl Drive {
    /// Opens a block device (`/dev/nvme0n1`) past the page cache.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).custom_flags(OFlag::O_DIRECT.bits()).open(path).map(Self)
    }
}

/// Opens `p2pmem/allocate` of a device; nothing is allocated before it is mapped.
pub fn allocation(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Memory for transfers, in words: pages of a device, or of the host.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u64>,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone and is no thread's own.
unsafe impl Send for Memory {}

impl Memory {
    /// Takes `bytes` (whole pages) of the memory behind `p2pmem/allocate`. `ENOMEM` when so much is not free in one piece.
    pub fn device(allocate: &File, bytes: usize) -> io::Result<Self> {
        let length = length(bytes)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses takes nothing from anybody. Nothing else in this
        // process maps the file; what a device writes there arrives only while `read_from` waits for it.
        let base = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, allocate, 0) }?;
        Ok(Self { base: base.cast(), words: bytes / WORD })
    }

    /// `bytes` (whole pages) of host memory, for staging.
    pub fn host(bytes: usize) -> io::Result<Self> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: as above; anonymous pages are nobody else's.
        let base = unsafe { mmap_anonymous(None, length(bytes)?, access, MapFlags::MAP_PRIVATE) }?;
        Ok(Self { base: base.cast(), words: bytes / WORD })
    }

    /// Words that it holds.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Writes words to its start, and waits until they are in the memory itself. What does not fit is left out.
    pub fn put(&mut self, words: &[u64]) {
        for (at, word) in words.iter().enumerate().take(self.words) {
            // SAFETY: `at` is below the words of the mapping, which is aligned to a page.
            unsafe { self.base.add(at).write_volatile(*word) };
        }
        self.settle(words.len());
    }

    /// Its first `count` words, out of the memory itself.
    pub fn get(&self, count: usize) -> Vec<u64> {
        self.settle(count);
        // SAFETY: as in `put`.
        (0..count.min(self.words)).map(|at| unsafe { self.base.add(at).read_volatile() }).collect()
    }

    /// One word, out of what [`Memory::put`] or [`Memory::copy`] left there; none beyond the end.
    pub fn word(&self, at: usize) -> Option<u64> {
        // SAFETY: as in `put`.
        (at < self.words).then(|| unsafe { self.base.add(at).read_volatile() })
    }

    /// Copies the first `count` words of other memory, by the processor, and waits until they are in the memory itself.
    pub fn copy(&mut self, from: &Self, count: usize) {
        let count = count.min(self.words).min(from.words);
        for at in 0..count {
            // SAFETY: `at` is below the words of both.
            unsafe { self.base.add(at).write_volatile(from.base.add(at).read_volatile()) };
        }
        self.settle(count);
    }

    /// Reads `bytes` of a drive to its start. With memory of a device the drive's DMA engine writes there.
    ///
    /// `EREMOTEIO`: the kernel knows no peer-to-peer path between the two, or the drive's driver takes no peer memory.
    pub fn read_from(&mut self, drive: &Drive, offset: u64, bytes: usize) -> io::Result<()> {
        let bytes = bytes.min(self.words * WORD);
        // SAFETY: the mapping holds that many bytes, and `&mut self` keeps everybody else out while the slice lives.
        let target = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast::<u8>(), bytes) };
        let read = drive.0.read_at(target, offset)?;
        // Nothing may be assumed about the words from before.
        fence(Ordering::SeqCst);
        if read == bytes {
            return Ok(());
        }
        let why = format!("{read} of {bytes} bytes came");
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, why))
    }

    /// Empties the processor's caches and write buffers of the first words. The kernel leaves the caching of this
    /// mapping to the processor's ranges; a line that stayed behind would hide what the device wrote, or overwrite it.
    fn settle(&self, words: usize) {
        let words = words.min(self.words);
        fence(Ordering::SeqCst);
        for at in (0..words).step_by(LINE / WORD) {
            // SAFETY: the address is inside the mapping.
            unsafe { flush(self.base.add(at).as_ptr().cast()) };
        }
        fence(Ordering::SeqCst);
        if let Some(last) = words.checked_sub(1) {
            // A read from a device pushes the writes before it there (PCI Express Base, 2.4.1).
            // SAFETY: as in `put`.
            let _ = unsafe { self.base.add(last).read_volatile() };
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by this value and nothing points into it any more. A refusal leaves it to the
        // end of the process.
        let _ = unsafe { munmap(self.base.cast(), self.words * WORD) };
    }
}

fn length(bytes: usize) -> io::Result<NonZeroUsize> {
    NonZeroUsize::new(bytes).ok_or_else(|| io::Error::other("no bytes asked for"))
}

/// Bytes that one flush reaches at least.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
#[cfg(not(target_arch = "x86_64"))]
const LINE: usize = 16;

#[cfg(target_arch = "x86_64")]
unsafe fn flush(address: *const u8) {
    // SAFETY: the caller gives an address inside a mapping; every 64-bit processor has the instruction.
    unsafe { std::arch::x86_64::_mm_clflush(address) };
}

#[cfg(target_arch = "aarch64")]
unsafe fn flush(address: *const u8) {
    // SAFETY: as above; Linux allows the instruction to programs (SCTLR_EL1.UCI).
    unsafe { std::arch::asm!("dc civac, {0}", "dsb sy", in(reg) address, options(nostack, preserves_flags)) };
}

/// Elsewhere mappings of device memory are taken to be coherent.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn flush(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_no_more_than_fit() {
        let mut memory = Memory::host(4096).unwrap();
        memory.put(&[7; 600]);
        assert_eq!(memory.get(600), vec![7; 512]);
        let mut other = Memory::host(8192).unwrap();
        other.copy(&memory, 4096);
        assert_eq!(other.get(513), [vec![7; 512], vec![0]].concat());
        assert!(Memory::host(0).is_err());
    }
}
