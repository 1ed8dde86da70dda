//! The NVIDIA driver: version, live parameters, registry, HMM, userspace version.

use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the loaded NVIDIA driver.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Nvidia {
    /// Version of the loaded module, `proc/driver/nvidia/version`; absent when not loaded.
    pub version: Fact<String>,
    /// First number of the version.
    pub branch: Fact<i64>,
    /// The open kernel module is loaded.
    pub open_module: Fact<bool>,
    /// Name of a patched build that grants peer access on consumer cards (version suffix such as `-p2p`,
    /// `aikitoria`, `tinygrad` in version or build lines); absent for a stock build.
    pub patched: Fact<String>,
    /// `RegistryDwords` in force, `proc/driver/nvidia/params`; absent when empty.
    pub registry: Fact<Vec<RegistryKey>>,
    /// The string as it stands in `params`.
    pub registry_text: Fact<String>,
    /// `DynamicPowerManagement`.
    pub dynamic_power: Fact<i64>,
    /// `EnableResizableBar`.
    pub enable_resizable_bar: Fact<i64>,
    /// `DmaRemapPeerMmio`.
    pub dma_remap_peer_mmio: Fact<i64>,
    /// `GrdmaPciTopoCheckOverride`.
    pub grdma_topo_override: Fact<i64>,
    /// Parameter names of the loaded branch, as `params` lists them.
    pub parameters: Fact<Vec<NvidiaParameter>>,
    /// `sys/module/nvidia_uvm/parameters/uvm_disable_hmm` is `Y`; absent when the module is not loaded.
    pub uvm_disable_hmm: Fact<bool>,
    /// Userspace library version: `nvidia-smi -q`, or `usr/lib/*/libnvidia-ml.so.VERSION`.
    pub userspace_version: Fact<String>,
    /// Fabric Manager version, from its binary's package or log; absent when not installed.
    pub fabric_manager_version: Fact<String>,
    /// Addressing mode in `nvidia-smi -q` (`HMM`, `ATS`, `None`), the same for all GPUs.
    pub addressing_mode: Fact<String>,
}

/// One key of `RegistryDwords`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryKey {
    /// Key as written.
    pub key: String,
    /// Value, decimal, hexadecimal or octal as the driver reads it; -1 when it is no number.
    pub value: i64,
    /// Value as written.
    pub text: String,
}

/// A live driver parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NvidiaParameter {
    /// Name without `NVreg_`.
    pub name: String,
    /// Value as printed, quotes removed.
    pub value: String,
}

impl Nvidia {
    /// Reads the driver's proc files and the uvm module parameter.
    pub fn read(root: &Root) -> Self {
        let _ = root;
        Self::default()
    }
}

/// Parses a `RegistryDwords` string: `;`-separated `key=value`, blanks dropped, a token with a second `=`
/// ignored (os-registry.c, `rm_parse_option_string`).
pub fn parse_registry(text: &str) -> Vec<RegistryKey> {
    let _ = text;
    Vec::new()
}
