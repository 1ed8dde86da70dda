//! Field values.

use crate::code::{INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS};
use crate::config::Config;
use crate::links::{active, replays};
use crate::{answer, gpu};
use std::ffi::c_int;

/// `nvmlFieldValue_t`.
#[repr(C)]
pub(crate) struct Field {
    id: u32,
    scope: u32,
    timestamp: i64,
    latency: i64,
    kind: u32,
    result: c_int,
    value: u64,
}

/// `NVML_VALUE_TYPE_UNSIGNED_INT`.
const UNSIGNED_INT: u32 = 1;
/// `NVML_VALUE_TYPE_UNSIGNED_LONG_LONG`.
const UNSIGNED_LONG_LONG: u32 = 3;

fn value(id: u32, scope: u32) -> Result<(u32, u64), i32> {
    let config = Config::get();
    let speed = |link: u32| match active(link) {
        Ok(up) => Ok((UNSIGNED_INT, u64::from(if up { config.nvlink_mb_s } else { 0 }))),
        Err(_) => Err(NOT_SUPPORTED),
    };
    match id {
        // NVLINK_SPEED_MBPS_L0 to L5, COMMON, LINK_COUNT, L6 to L11.
        84..=89 => speed(id - 84),
        90 => speed(0),
        91 => Ok((UNSIGNED_INT, u64::from(config.nvlinks))),
        132..=137 => speed(id - 132 + 6),
        // PCIE_REPLAY_COUNTER and its rollover.
        94 => Ok((UNSIGNED_INT, u64::from(replays()))),
        95 => Ok((UNSIGNED_INT, 0)),
        // NVLINK_GET_SPEED, STATE, VERSION of the link in the scope.
        164 => speed(scope),
        165 => active(scope).map(|up| (UNSIGNED_INT, u64::from(up))),
        166 => active(scope).map(|_| (UNSIGNED_INT, 7)),
        // PCIE_COUNT_*: errors.
        173..=183 => Ok((UNSIGNED_INT, 0)),
        // PCIE_COUNT_TX_BYTES, RX_BYTES.
        197 | 198 => Ok((UNSIGNED_LONG_LONG, 0)),
        _ => Err(NOT_SUPPORTED),
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetFieldValues(device: usize, count: c_int, fields: *mut Field) -> c_int {
    answer("nvmlDeviceGetFieldValues", || {
        gpu(device)?;
        let count = usize::try_from(count).ok().filter(|_| !fields.is_null()).ok_or(INVALID_ARGUMENT)?;
        // SAFETY: the caller gives `count` fields.
        for field in unsafe { std::slice::from_raw_parts_mut(fields, count) } {
            match value(field.id, field.scope) {
                Ok((kind, value)) => (field.kind, field.value, field.result) = (kind, value, SUCCESS),
                Err(code) => field.result = code,
            }
        }
        Ok(())
    })
}
