//! Errors of the driver API. Codes stay integers: a newer driver returns ones that no header here knows.

use super::api::Api;
use crate::gpu::LoadError;
use std::ffi::{CStr, c_char, c_int};

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: c_int = 2;
/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`.
const PEER_ACCESS_UNSUPPORTED: c_int = 217;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
const PEER_ACCESS_ALREADY_ENABLED: c_int = 704;
/// `CUDA_ERROR_TOO_MANY_PEERS`.
const TOO_MANY_PEERS: c_int = 711;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// The library cannot be used.
    #[error("the NVIDIA driver library cannot be used: {0}")]
    Load(#[from] LoadError),
    /// The driver returned an error.
    #[error("{call}: {name} ({code})")]
    Call {
        /// Function of the driver API.
        call: &'static str,
        /// `CUresult`.
        code: i32,
        /// Its name and meaning by the driver, or that it has none.
        name: String,
    },
    /// The driver returned success and a value that cannot be.
    #[error("{call}: {what}")]
    Nonsense {
        /// Function of the driver API.
        call: &'static str,
        /// What came back.
        what: String,
    },
}

impl CudaError {
    /// The code, unless the library could not be loaded.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Call { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Memory is short.
    pub fn out_of_memory(&self) -> bool {
        self.code() == Some(OUT_OF_MEMORY)
    }

    /// The driver sees no GPU.
    pub fn no_device(&self) -> bool {
        self.code() == Some(NO_DEVICE)
    }

    /// The driver refuses peer access, as opposed to failing.
    pub fn peer_refused(&self) -> bool {
        matches!(self.code(), Some(PEER_ACCESS_UNSUPPORTED | TOO_MANY_PEERS))
    }

    /// Peer access stood already.
    pub fn peer_already_enabled(&self) -> bool {
        self.code() == Some(PEER_ACCESS_ALREADY_ENABLED)
    }
}

impl Api {
    /// `Ok` for `CUDA_SUCCESS`, else the error with the driver's own words for it.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<(), CudaError> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: both functions take a code and store a pointer to a static string, or null for unknown codes.
        let name = text(|out| unsafe { (self.error_name)(code, out) });
        // SAFETY: as above.
        let meaning = text(|out| unsafe { (self.error_string)(code, out) });
        let name = match (name, meaning) {
            (Some(name), Some(meaning)) => format!("{name}, {meaning}"),
            (Some(name), None) => name,
            _ => "an error code that this driver does not name".to_owned(),
        };
        Err(CudaError::Call { call, code, name })
    }
}

fn text(call: impl FnOnce(*mut *const c_char) -> c_int) -> Option<String> {
    let mut pointer: *const c_char = std::ptr::null();
    if call(&raw mut pointer) != 0 || pointer.is_null() {
        return None;
    }
    // SAFETY: on success the driver stores the address of a NUL-terminated string of static lifetime.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
