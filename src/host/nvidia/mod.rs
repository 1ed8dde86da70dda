//! The NVIDIA driver: version, live parameters, registry, HMM, userspace version.

mod module;
mod params;
mod registry;
mod userspace;

pub use registry::parse_registry;

use super::modprobe::live_bool;
use super::nvidia_smi::NvidiaSmi;
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the loaded NVIDIA driver.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Nvidia {
    /// Version of the loaded module, `proc/driver/nvidia/version`; absent when not loaded. A vendor's suffix
    /// (`-p2p`, `-aorus.5`) is left off, so that it compares with the userspace version; the evidence has it.
    pub version: Fact<String>,
    /// First number of the version.
    pub branch: Fact<i64>,
    /// The open kernel module is loaded.
    pub open_module: Fact<bool>,
    /// Name of a patched build that grants peer access on consumer cards (version suffix such as `-p2p`,
    /// `aikitoria`, `tinygrad` in version or build lines); absent for a stock build.
    pub patched: Fact<String>,
    /// `RegistryDwords` in force, `proc/driver/nvidia/params`; absent when empty. One entry per key: the
    /// driver keeps the last.
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
    /// Userspace library version: `nvidia-smi -q`, or `usr/lib/*/libnvidia-ml.so.VERSION`; absent when no
    /// library is installed.
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
    /// Reads the driver's proc files, the uvm module parameter and what is installed beside them.
    pub fn read(root: &Root) -> Self {
        let smi = NvidiaSmi::read(root);
        let module = module::Module::read(root);
        let params = params::Params::read(root, &module.version);
        let registry_text = params.text("RegistryDwords");
        Self {
            registry: registry(&registry_text),
            registry_text,
            dynamic_power: params.number("DynamicPowerManagement"),
            enable_resizable_bar: params.number("EnableResizableBar"),
            dma_remap_peer_mmio: params.number("DmaRemapPeerMmio"),
            grdma_topo_override: params.number("GrdmaPciTopoCheckOverride"),
            parameters: params.list(),
            uvm_disable_hmm: live_bool(root, "nvidia_uvm", "uvm_disable_hmm"),
            userspace_version: userspace::library(root, &smi),
            fabric_manager_version: userspace::fabric_manager(root),
            addressing_mode: addressing_mode(&smi),
            branch: module.branch(),
            version: module.version,
            open_module: module.open,
            patched: module.patched,
        }
    }
}

fn registry(text: &Fact<String>) -> Fact<Vec<RegistryKey>> {
    match text {
        Fact::Known { value, evidence } if value.trim().is_empty() => {
            Fact::Absent { evidence: evidence.clone() }
        }
        other => other.as_ref().map(|value| parse_registry(value)),
    }
}

/// One mode for all GPUs that report one; GPUs of which `nvidia-smi` says `N/A` (display cards) are left out.
fn addressing_mode(smi: &NvidiaSmi) -> Fact<String> {
    let gpus = match &smi.gpus {
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
    };
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut mode: Option<&String> = None;
    for gpu in gpus {
        match &gpu.addressing_mode {
            Fact::Known { value, .. } if mode.is_some_and(|mode| mode != value) => {
                let (path, line) = gpu
                    .addressing_mode
                    .evidence()
                    .first()
                    .map_or_else(Default::default, |e| (e.source.clone(), e.line));
                let detail = format!("GPUs differ: {value} at {}", gpu.bdf);
                return Fact::Unknown(Unknown { path, line, why: Why::Malformed, detail });
            }
            Fact::Known { value, .. } => mode = Some(value),
            Fact::Absent { .. } => {}
            Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
        }
        evidence.extend(gpu.addressing_mode.evidence().iter().cloned());
    }
    match mode {
        Some(mode) => Fact::from_lines(mode.clone(), evidence),
        None => Fact::Absent { evidence },
    }
}
