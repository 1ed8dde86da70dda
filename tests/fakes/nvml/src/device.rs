//! Facts of one GPU.

use crate::code::{ARGUMENT_VERSION_MISMATCH, NOT_SUPPORTED};
use crate::config::Config;
use crate::{answer, gpu, processes, put, put_text};
use std::ffi::{c_char, c_int, c_uint};

/// `nvmlPciInfo_t`.
#[repr(C)]
pub(crate) struct PciInfo {
    legacy: [u8; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    id: c_uint,
    subsystem: c_uint,
    text: [u8; 32],
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
struct Memory {
    version: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// The UUID: the bytes that the CUDA side gives, in NVML's form.
pub(crate) fn uuid(index: usize) -> String {
    format!("GPU-fafafafa-fafa-fafa-fafa-fafafafafa{index:02x}")
}

pub(crate) fn pci(index: usize) -> PciInfo {
    let (domain, bus, device) = Config::address(index);
    let fixed = |text: String, to: &mut [u8]| to[..text.len()].copy_from_slice(text.as_bytes());
    let mut info = PciInfo {
        legacy: [0; 16],
        domain,
        bus,
        device,
        id: 0x2335_10de,
        subsystem: 0x18be_10de,
        text: [0; 32],
    };
    fixed(format!("{domain:04X}:{bus:02X}:{device:02X}.0"), &mut info.legacy);
    fixed(format!("{domain:08X}:{bus:02X}:{device:02X}.0"), &mut info.text);
    info
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPciInfo_v3(device: usize, to: *mut PciInfo) -> c_int {
    answer("nvmlDeviceGetPciInfo_v3", || put(to, pci(gpu(device)?)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetIndex(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetIndex", || put(to, gpu(device)? as c_uint))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMinorNumber(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetMinorNumber", || put(to, gpu(device)? as c_uint))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetName(device: usize, to: *mut c_char, room: c_uint) -> c_int {
    answer("nvmlDeviceGetName", || {
        gpu(device)?;
        put_text(to, room, &Config::get().name)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUUID(device: usize, to: *mut c_char, room: c_uint) -> c_int {
    answer("nvmlDeviceGetUUID", || put_text(to, room, &uuid(gpu(device)?)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetBAR1MemoryInfo(device: usize, to: *mut [u64; 3]) -> c_int {
    answer("nvmlDeviceGetBAR1MemoryInfo", || {
        gpu(device)?;
        let total = Config::get().bar1;
        put(to, [total, total - total / 64, total / 64])
    })
}

/// Bytes of a GPU that are free: less what other programs and the fake's own reserve hold.
fn free(index: usize) -> u64 {
    let config = Config::get();
    config.free.saturating_sub(processes::busy(index))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo(device: usize, to: *mut [u64; 3]) -> c_int {
    answer("nvmlDeviceGetMemoryInfo", || {
        let (total, free) = (Config::get().memory, free(gpu(device)?));
        put(to, [total, free, total - free])
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: usize, to: *mut Memory) -> c_int {
    answer("nvmlDeviceGetMemoryInfo_v2", || {
        let (total, free) = (Config::get().memory, free(gpu(device)?));
        // SAFETY: the caller sets the version first.
        let version = unsafe { (*to).version };
        if version != size_of::<Memory>() as u32 | 2 << 24 {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        put(to, Memory { version, total, reserved: 0, free, used: total - free })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPerformanceState(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetPerformanceState", || {
        gpu(device)?;
        put(to, Config::get().pstate)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetDisplayActive(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetDisplayActive", || put(to, u32::from(Config::get().display && gpu(device)? == 0)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetDisplayMode(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetDisplayMode", || put(to, u32::from(Config::get().display && gpu(device)? == 0)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPersistenceMode(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetPersistenceMode", || {
        gpu(device)?;
        put(to, 1)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigMode(device: usize, current: *mut c_uint, pending: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetMigMode", || {
        gpu(device)?;
        let config = Config::get();
        // Cards without MIG say that they do not support the question.
        if !config.mig && config.capability.0 < 8 {
            return Err(NOT_SUPPORTED);
        }
        put(current, u32::from(config.mig))?;
        put(pending, u32::from(config.mig))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: usize,
    major: *mut c_int,
    minor: *mut c_int,
) -> c_int {
    answer("nvmlDeviceGetCudaComputeCapability", || {
        gpu(device)?;
        put(major, Config::get().capability.0)?;
        put(minor, Config::get().capability.1)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeMode(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetComputeMode", || {
        gpu(device)?;
        put(to, 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNumaNodeId(device: usize, _to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetNumaNodeId", || gpu(device).and(Err(NOT_SUPPORTED)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUtilizationRates(device: usize, to: *mut [c_uint; 2]) -> c_int {
    answer("nvmlDeviceGetUtilizationRates", || {
        let busy = if processes::busy(gpu(device)?) > 0 { 97 } else { 0 };
        put(to, [busy, busy / 2])
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetVirtualizationMode(device: usize, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetVirtualizationMode", || {
        gpu(device)?;
        put(to, 0)
    })
}

/// `nvmlDeviceAddressingMode_v1_t`.
#[repr(C)]
struct Addressing {
    version: c_uint,
    value: c_uint,
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetAddressingMode(device: usize, to: *mut Addressing) -> c_int {
    answer("nvmlDeviceGetAddressingMode", || {
        gpu(device)?;
        // SAFETY: the caller's structure begins with its version.
        if to.is_null() || unsafe { (*to).version } != 8 | 1 << 24 {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let value = Config::get().addressing.ok_or(NOT_SUPPORTED)?;
        put(to, Addressing { version: 8 | 1 << 24, value })
    })
}
