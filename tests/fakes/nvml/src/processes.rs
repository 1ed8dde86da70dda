//! Processes on a GPU: those of the configuration, and those in which the other fake has a context.

use crate::code::INSUFFICIENT_SIZE;
use crate::config::Config;
use crate::{answer, gpu, put};
use std::ffi::{c_int, c_uint};

/// `nvmlProcessInfo_v2_t`, the layout of `_v2` and `_v3` of the calls.
#[repr(C)]
pub(crate) struct Process {
    pid: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// Bytes that other programs hold on a GPU.
pub(crate) fn busy(index: usize) -> u64 {
    Config::get().busy.iter().filter(|(gpu, ..)| *gpu == index).map(|(.., bytes)| bytes).sum()
}

fn on(index: usize) -> Vec<(u32, u64)> {
    let config = Config::get();
    let mut all: Vec<(u32, u64)> =
        config.busy.iter().filter(|(gpu, ..)| *gpu == index).map(|(_, pid, bytes)| (*pid, *bytes)).collect();
    let Some(folder) = &config.state else { return all };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(&format!("gpu{index}.pid")).and_then(|p| p.parse().ok());
        if let Some(pid) = pid.filter(|p: &u32| std::path::Path::new(&format!("/proc/{p}")).exists()) {
            all.push((pid, 300 << 20));
        }
    }
    all
}

fn list(name: &str, device: usize, count: *mut c_uint, to: *mut Process, compute: bool) -> c_int {
    answer(name, || {
        let all = if compute { on(gpu(device)?) } else { gpu(device).map(|_| Vec::new())? };
        // SAFETY: the caller gives the room that it has.
        let room = unsafe { *count } as usize;
        put(count, all.len() as c_uint)?;
        if all.len() > room || to.is_null() && !all.is_empty() {
            return Err(INSUFFICIENT_SIZE);
        }
        for (i, (pid, used)) in all.into_iter().enumerate() {
            let none = c_uint::MAX;
            let process = Process { pid, used, gpu_instance: none, compute_instance: none };
            // SAFETY: `i` is below the room.
            put(unsafe { to.add(i) }, process)?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: usize,
    n: *mut c_uint,
    to: *mut Process,
) -> c_int {
    list("nvmlDeviceGetComputeRunningProcesses_v3", device, n, to, true)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses_v2(
    device: usize,
    n: *mut c_uint,
    to: *mut Process,
) -> c_int {
    list("nvmlDeviceGetComputeRunningProcesses_v2", device, n, to, true)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v3(
    device: usize,
    n: *mut c_uint,
    to: *mut Process,
) -> c_int {
    list("nvmlDeviceGetGraphicsRunningProcesses_v3", device, n, to, false)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGraphicsRunningProcesses_v2(
    device: usize,
    n: *mut c_uint,
    to: *mut Process,
) -> c_int {
    list("nvmlDeviceGetGraphicsRunningProcesses_v2", device, n, to, false)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMPSComputeRunningProcesses_v3(
    device: usize,
    n: *mut c_uint,
    to: *mut Process,
) -> c_int {
    list("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, n, to, false)
}
