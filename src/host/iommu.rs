//! IOMMU units and what the boot log says about the default domain.

use super::log::KernelLog;
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of DMA remapping as a whole; the domain type is a fact of each device.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Iommu {
    /// Active remapping units, `sys/class/iommu/*`; an empty list means that none is active.
    pub units: Fact<Vec<IommuUnit>>,
    /// True when at least one unit is active or one device has a group.
    pub active: Fact<bool>,
    /// Word of `iommu: Default domain type: X`: a policy, printed even where no IOMMU is active.
    pub default_domain: Fact<String>,
    /// `Intel-IOMMU force enabled due to platform opt in` was logged.
    pub platform_opt_in: Fact<bool>,
    /// The kernel printed `Warning: PCIe ACS overrides enabled`, which only a patched kernel does.
    pub acs_override_active: Fact<bool>,
    /// Option words that the kernel logged as unknown (`AMD-Vi: Unknown option - 'on'`).
    pub unknown_options: Fact<Vec<String>>,
}

/// One remapping unit.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct IommuUnit {
    /// `dmar0`, `ivhd0`, `smmu3.0x…`.
    pub name: String,
    /// `intel`, `amd`, `arm`, `other`.
    pub vendor: String,
    /// Intel: ECAP bit 6, pass-through supported (`intel-iommu/ecap`). Without it `iommu=pt` keeps DMA
    /// domains. Absent for other vendors.
    pub passthrough: Fact<bool>,
}

impl Iommu {
    /// Reads units from sysfs and words from the kernel log.
    pub fn read(root: &Root, log: &KernelLog) -> Self {
        let _ = (root, log);
        Self::default()
    }
}
