//! Stands before the C library (`LD_PRELOAD`) and makes reads of a drive into device memory go wrong (`PEERFIX_FAKE`).
//!
//! Drives are ordinary files `dev/nvmeNn1`, device memory ordinary files `p2pmem/allocate` of the function
//! `0000:BB:00.0`, where drive N has the bus N + 3. Of all calls only `mmap` of the latter is noted, and `pread` of
//! the former changed.

mod fault;

use fault::{Fault, Path};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::Mutex;

const ALIGNED: usize = 4096;
const O_DIRECT: c_int = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
const EINVAL: c_int = 22;
const EREMOTEIO: c_int = 121;
const NEXT: *mut c_void = -1isize as *mut c_void;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

type Pread = unsafe extern "C" fn(c_int, *mut c_void, usize, i64) -> isize;
type Mmap = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, c_long) -> *mut c_void;
type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;

/// Regions of device memory: first address, bytes, number of the device.
static REGIONS: Mutex<Vec<(usize, usize, u32)>> = Mutex::new(Vec::new());
/// Where each drive was read last, and before at another place.
static OFFSETS: Mutex<BTreeMap<u32, (i64, i64)>> = Mutex::new(BTreeMap::new());

fn next<F: Copy>(name: &CStr) -> F {
    // SAFETY: the C library has every function that is asked for here, of the type that its manual gives.
    unsafe {
        let found = dlsym(NEXT, name.as_ptr());
        assert!(!found.is_null());
        std::mem::transmute_copy(&found)
    }
}

fn path_of(fd: c_int) -> String {
    let link = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    link.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The number of a drive by the path of its file.
fn drive(path: &str) -> Option<u32> {
    path.rsplit_once("/dev/nvme")?.1.strip_suffix("n1")?.parse().ok()
}

/// The number of a device by the path of its memory.
fn provider(path: &str) -> Option<u32> {
    let (before, _) = path.rsplit_once("/p2pmem/allocate")?;
    let bus = before.rsplit('/').next()?.split(':').nth(1)?;
    u32::from_str_radix(bus, 16).ok()?.checked_sub(3)
}

fn set_errno(value: c_int) -> isize {
    // SAFETY: the C library's own place for it.
    unsafe { *__errno_location() = value };
    -1
}

/// File systems in memory may know no O_DIRECT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    let real: Open = next(c"open64");
    // SAFETY: the caller's arguments.
    unsafe {
        let fd = real(path, flags, mode);
        if fd < 0 && flags & O_DIRECT != 0 && *__errno_location() == EINVAL {
            return real(path, flags & !O_DIRECT, mode);
        }
        fd
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    at: *mut c_void,
    length: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: c_long,
) -> *mut c_void {
    let real: Mmap = next(c"mmap");
    // SAFETY: the caller's arguments.
    let base = unsafe { real(at, length, access, flags, fd, offset) };
    if fd >= 0
        && base as isize != -1
        && let Some(number) = provider(&path_of(fd))
    {
        REGIONS.lock().unwrap().push((base as usize, length, number));
    }
    base
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    at: *mut c_void,
    length: usize,
    access: c_int,
    flags: c_int,
    fd: c_int,
    offset: c_long,
) -> *mut c_void {
    // SAFETY: the caller's arguments; both are one on 64-bit machines.
    unsafe { mmap(at, length, access, flags, fd, offset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(fd: c_int, buffer: *mut c_void, count: usize, offset: i64) -> isize {
    let real: Pread = next(c"pread64");
    let Some(from) = drive(&path_of(fd)) else {
        // SAFETY: the caller's arguments.
        return unsafe { real(fd, buffer, count, offset) };
    };
    let start = buffer as usize;
    let region = REGIONS.lock().unwrap().iter().find(|(at, length, _)| (*at..at + length).contains(&start)).copied();
    let path = match region {
        None => Path::Host,
        Some((.., to)) if to == from => Path::Own,
        Some((.., to)) => Path::Peer(to),
    };
    let mut content = Aligned::new(count);
    let before = other_place(from, offset);
    for fault in fault::active(from, path, count) {
        match fault.kind.as_str() {
            "refuse" => return set_errno(EREMOTEIO),
            "error" => return set_errno(i32::try_from(fault.number).unwrap()),
            "crash" => std::process::abort(),
            "hang" => loop {
                std::thread::park();
            },
            "slow" => std::thread::sleep(std::time::Duration::from_micros(fault.number)),
            "iommu" => fault::log(from),
            _ => {}
        }
        content.faults.push(fault);
    }
    let has = |content: &Aligned, kind: &str| content.faults.iter().any(|fault| fault.kind == kind);
    if has(&content, "drop") {
        return isize::try_from(count).unwrap();
    }
    let from_where = if has(&content, "stale") {
        before
    } else if has(&content, "shift") && count > ALIGNED {
        offset + 4096
    } else {
        offset
    };
    // SAFETY: the buffer holds that many bytes.
    let read = unsafe { real(fd, content.base.cast(), count, from_where) };
    if read < 0 {
        return read;
    }
    // SAFETY: as above, and the caller's buffer holds as many.
    unsafe {
        let target = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), count);
        let source = std::slice::from_raw_parts_mut(content.base, count);
        content.faults.iter().for_each(|fault| fault.bend(source));
        let lost = content.faults.iter().find(|fault| fault.kind == "drop-sector");
        for (number, (target, source)) in target.chunks_mut(512).zip(source.chunks(512)).enumerate() {
            if lost.is_none_or(|fault| number as u64 % fault.number.max(1) != fault.number.max(1) - 1) {
                target.copy_from_slice(source);
            }
        }
    }
    isize::try_from(count).unwrap()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread(fd: c_int, buffer: *mut c_void, count: usize, offset: i64) -> isize {
    // SAFETY: the caller's arguments; both are one on 64-bit machines.
    unsafe { pread64(fd, buffer, count, offset) }
}

/// Where this drive was read last at another place than this one.
fn other_place(drive: u32, offset: i64) -> i64 {
    let mut offsets = OFFSETS.lock().unwrap();
    let entry = offsets.entry(drive).or_insert((offset, offset));
    if entry.0 != offset {
        *entry = (offset, entry.0);
    }
    entry.1
}

/// Memory that O_DIRECT takes, and what is to go wrong with it.
struct Aligned {
    base: *mut u8,
    layout: Layout,
    faults: Vec<Fault>,
}

impl Aligned {
    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNED).unwrap();
        // SAFETY: the layout has a size.
        Self { base: unsafe { alloc_zeroed(layout) }, layout, faults: Vec::new() }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base, self.layout) };
    }
}
