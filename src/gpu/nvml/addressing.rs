//! How GPU and host share addresses: newer than the wrapper's own calls, so asked for by its symbol.

use super::{Answer, NvmlGpu, NvmlRefusal};
use crate::gpu::table::dl_api;
use std::ffi::{c_int, c_uint, c_void};

/// `nvmlDeviceAddressingMode_v1_t`.
#[repr(C)]
struct Mode {
    version: c_uint,
    value: c_uint,
}

/// `NVML_STRUCT_VERSION(DeviceAddressingMode, 1)`: size and version.
const VERSION: c_uint = 8 | 1 << 24;
/// `NVML_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: c_int = 3;

dl_api! {
    /// nvml.h of R575 and later.
    struct Table from ["libnvidia-ml.so.1"] {
        fn mode = "nvmlDeviceGetAddressingMode" (*mut c_void, *mut Mode) -> c_int;
    }
}

impl NvmlGpu<'_> {
    /// `None`, `HMM` or `ATS`, as `nvidia-smi -q` names them (`nvmlDeviceAddressingModeType_t`).
    pub fn addressing_mode(&self) -> Answer<&'static str> {
        let table = Table::open().map_err(|error| NvmlRefusal::Failed(error.to_string()))?;
        let mut mode = Mode { version: VERSION, value: c_uint::MAX };
        // SAFETY: the handle is live as long as the library that `self` borrows; the call fills one structure of the
        // version named in it.
        let code = unsafe { (table.mode)(self.device.handle().cast(), &raw mut mode) };
        match (code, mode.value) {
            (0, 0) => Ok("None"),
            (0, 1) => Ok("HMM"),
            (0, 2) => Ok("ATS"),
            (0, other) => Err(NvmlRefusal::Failed(format!("addressing mode {other}"))),
            (NOT_SUPPORTED, _) => Err(NvmlRefusal::NotSupported),
            (code, _) => Err(NvmlRefusal::Failed(format!("nvmlDeviceGetAddressingMode: {code}"))),
        }
    }
}
