//! PCIe and NVLink.

use crate::code::{INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::config::Config;
use crate::device::{PciInfo, pci};
use crate::{answer, gpu, put};
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};

/// Links that the library knows of (`NVML_NVLINK_MAX_LINKS`).
const MOST: c_uint = 18;

fn pcie(name: &str, device: usize, to: *mut c_uint, value: u32) -> c_int {
    answer(name, || gpu(device).and_then(|_| put(to, value)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCurrPcieLinkGeneration(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetCurrPcieLinkGeneration", device, to, Config::get().link.0)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCurrPcieLinkWidth(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetCurrPcieLinkWidth", device, to, Config::get().link.1)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetMaxPcieLinkGeneration", device, to, Config::get().link_max.0)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGpuMaxPcieLinkGeneration(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetGpuMaxPcieLinkGeneration", device, to, Config::get().link_max.0)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetMaxPcieLinkWidth", device, to, Config::get().link_max.1)
}

/// MT/s of a generation.
fn speed(generation: u32) -> u32 {
    [0, 2500, 5000, 8000, 16000, 32000, 64000].get(generation as usize).copied().unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPcieSpeed(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetPcieSpeed", device, to, speed(Config::get().link.0))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPcieLinkMaxSpeed(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetPcieLinkMaxSpeed", device, to, speed(Config::get().link_max.0))
}

/// The replay counter of all GPUs; grows by what is configured at every question.
pub(crate) fn replays() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(7);
    COUNT.fetch_add(Config::get().replays, Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPcieReplayCounter(device: usize, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetPcieReplayCounter", device, to, replays())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPcieThroughput(device: usize, _counter: c_uint, to: *mut c_uint) -> c_int {
    pcie("nvmlDeviceGetPcieThroughput", device, to, 0)
}

/// Whether link `link` of a GPU is there, and active.
pub(crate) fn active(link: c_uint) -> Result<bool, i32> {
    let config = Config::get();
    match link {
        MOST.. => Err(INVALID_ARGUMENT),
        _ if link >= config.nvlinks => Err(NOT_SUPPORTED),
        _ => Ok(link < config.nvlinks - config.nvlinks_down.min(config.nvlinks)),
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkState(device: usize, link: c_uint, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetNvLinkState", || {
        gpu(device)?;
        put(to, u32::from(active(link)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkVersion(device: usize, link: c_uint, to: *mut c_uint) -> c_int {
    answer("nvmlDeviceGetNvLinkVersion", || {
        gpu(device)?;
        active(link)?;
        put(to, 7)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkCapability(
    device: usize,
    link: c_uint,
    _capability: c_uint,
    to: *mut c_uint,
) -> c_int {
    answer("nvmlDeviceGetNvLinkCapability", || {
        gpu(device)?;
        put(to, u32::from(active(link)?))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkErrorCounter(
    device: usize,
    link: c_uint,
    _counter: c_uint,
    to: *mut u64,
) -> c_int {
    answer("nvmlDeviceGetNvLinkErrorCounter", || {
        gpu(device)?;
        active(link)?;
        put(to, 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: usize, link: c_uint, to: *mut PciInfo) -> c_int {
    answer("nvmlDeviceGetNvLinkRemotePciInfo_v2", || {
        let me = gpu(device)?;
        if !active(link)? {
            return Err(NOT_SUPPORTED);
        }
        // Links go round: to the peers in turn.
        let gpus = Config::get().gpus;
        let other = (me + 1 + link as usize % (gpus - 1).max(1)) % gpus;
        put(to, pci(other))
    })
}
