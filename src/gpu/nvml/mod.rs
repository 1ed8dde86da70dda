//! NVML, opened at run time through `nvml-wrapper`: what the driver says of GPUs, their links and their users.

mod addressing;
mod gpu;
mod pair;

pub use gpu::{LinkNow, Process, Remote};
pub use pair::Topology;

use nvml_wrapper::error::NvmlError;

/// Why NVML gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvmlRefusal {
    /// The GPU or this driver has no such thing.
    #[error("not supported")]
    NotSupported,
    /// Anything else: library, driver, permission, lost GPU.
    #[error("{0}")]
    Failed(String),
}

impl From<NvmlError> for NvmlRefusal {
    fn from(error: NvmlError) -> Self {
        match error {
            NvmlError::NotSupported => Self::NotSupported,
            // The wrapper's own sentence hides what the loader said.
            NvmlError::LibloadingError(error) => {
                let why =
                    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                Self::Failed(why)
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

/// An answer of NVML.
pub type Answer<T> = Result<T, NvmlRefusal>;

/// The opened library.
pub struct Nvml {
    library: nvml_wrapper::Nvml,
}

impl Nvml {
    /// Opens `libnvidia-ml.so.1` and initialises it.
    pub fn open() -> Answer<Self> {
        let name = std::ffi::OsStr::new("libnvidia-ml.so.1");
        Ok(Self { library: nvml_wrapper::Nvml::builder().lib_path(name).init()? })
    }

    /// Version of the driver.
    pub fn driver_version(&self) -> Answer<String> {
        Ok(self.library.sys_driver_version()?)
    }

    /// Number of GPUs.
    pub fn count(&self) -> Answer<u32> {
        Ok(self.library.device_count()?)
    }

    /// The GPU at an index of NVML's order (PCI bus order).
    pub fn gpu(&self, index: u32) -> Answer<NvmlGpu<'_>> {
        Ok(NvmlGpu { device: self.library.device_by_index(index)? })
    }
}

/// One GPU.
pub struct NvmlGpu<'a> {
    device: nvml_wrapper::Device<'a>,
}
