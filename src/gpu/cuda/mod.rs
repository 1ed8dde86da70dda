//! The CUDA driver API behind safe types. The library is opened at run time and never linked.

mod api;
mod context;
mod device;
mod error;
mod launch;
mod memory;
mod stream;

pub use context::Context;
pub use device::Device;
pub use error::CudaError;
pub use launch::{Arg, Grid, Kernels};
pub use memory::{Buffer, HostBuffer};
pub use stream::{Event, Stream};

use api::Api;
pub(super) use device::normal_bdf;
use std::sync::Arc;

/// The opened and initialised driver.
#[derive(Clone)]
pub struct Cuda {
    api: Arc<Api>,
    version: i32,
}

impl Cuda {
    /// Opens `libcuda.so.1` and initialises the driver.
    pub fn open() -> Result<Self, CudaError> {
        let api = Api::open()?;
        // SAFETY: the flags must be 0.
        api.check("cuInit", unsafe { (api.init)(0) })?;
        let mut version = 0;
        // SAFETY: stores one int.
        api.check("cuDriverGetVersion", unsafe { (api.driver_version)(&raw mut version) })?;
        Ok(Self { api: Arc::new(api), version })
    }

    /// Version of the driver API, 13000 for 13.0.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The GPUs in the driver's order.
    pub fn devices(&self) -> Result<Vec<Device>, CudaError> {
        let mut count = 0;
        // SAFETY: stores one int.
        self.api.check("cuDeviceGetCount", unsafe { (self.api.device_count)(&raw mut count) })?;
        (0..count).map(|ordinal| Device::get(&self.api, ordinal)).collect()
    }
}
