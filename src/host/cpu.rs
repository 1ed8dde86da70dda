//! CPU identity from `proc/cpuinfo`.

use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the processors.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Cpu {
    /// `vendor_id`: `GenuineIntel`, `AuthenticAMD`, `HygonGenuine`, `CentaurHauls`, `  Shanghai  `; absent on
    /// other architectures.
    pub vendor: Fact<String>,
    /// `cpu family`, decimal (23 is 0x17).
    pub family: Fact<i64>,
    /// `model`, decimal.
    pub model: Fact<i64>,
    /// `model name`.
    pub name: Fact<String>,
    /// Number of different `physical id` values.
    pub sockets: Fact<i64>,
    /// Number of `processor` entries.
    pub threads: Fact<i64>,
    /// Largest `apicid` or `initial apicid`.
    pub highest_apic_id: Fact<i64>,
    /// `hypervisor` is among the flags.
    pub hypervisor_flag: Fact<bool>,
}

impl Cpu {
    /// Reads `proc/cpuinfo`.
    pub fn read(root: &Root) -> Self {
        let _ = root;
        Self::default()
    }
}
