//! What a change says beforehand that it takes away: such losses are no surprise and do not count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One announced loss.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Announced {
    /// A driver that no longer binds (`vfio-pci` without an IOMMU).
    Driver(String),
    /// A unit that fails.
    Unit(String),
    /// A rule whose findings may come.
    Finding(String),
}

impl Announced {
    /// What words of a kernel command line take away by their nature. Without an IOMMU no device can be given to
    /// a guest, so that `vfio-pci` does not bind; passthrough leaves that as it is.
    pub fn of_words<'w>(added: impl IntoIterator<Item = &'w str>) -> Vec<Self> {
        let off = ["intel_iommu=off", "amd_iommu=off"];
        if added.into_iter().any(|word| off.contains(&word)) {
            vec![Self::Driver("vfio-pci".to_owned()), Self::Finding("isolation/in-use".to_owned())]
        } else {
            Vec::new()
        }
    }
}
