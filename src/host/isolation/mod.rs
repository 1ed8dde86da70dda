//! Who depends on DMA isolation, and how disks are unlocked: what a change would break.

mod gather;
mod guest_files;
mod guests;
mod thunderbolt;
pub mod unlock;

use super::pci::PciDevice;
use crate::root::{Evidence, Fact, Root, Why};
use schemars::JsonSchema;
use serde::Serialize;
use unlock::Unlock;

/// Users of isolation.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Isolation {
    /// Functions bound to `vfio-pci`, or to a variant driver of VFIO.
    pub vfio: Fact<Vec<String>>,
    /// Running guests (qemu processes, `run/libvirt/qemu/*.xml`) and defined ones with a `hostdev`
    /// (`etc/libvirt/qemu/*.xml`, `etc/pve/qemu-server/*.conf` with `hostpci`), in words.
    pub guests: Fact<Vec<String>>,
    /// Attached Thunderbolt or USB4 devices (`sys/bus/thunderbolt/devices`, host routers `N-0` left out).
    pub thunderbolt: Fact<Vec<String>>,
    /// Thunderbolt domains present, used or not (`domainN`).
    pub thunderbolt_ports: Fact<Vec<String>>,
    /// How encrypted volumes are opened, and what a changed command line or boot entry does to that.
    pub unlock: Unlock,
    /// Functions whose DMA mask is at most 32 bits, with a driver bound. Bridges are left out: they carry the
    /// kernel's default mask and move no data of their own.
    pub mask32: Vec<String>,
}

impl Isolation {
    /// Reads sysfs, running processes and the configuration of guests and disk unlock.
    pub fn read(root: &Root, pci: &[PciDevice]) -> Self {
        let vfio = vfio(pci);
        let (thunderbolt, thunderbolt_ports) = thunderbolt::read(root);
        Self {
            guests: guests::read(root, &vfio),
            unlock: Unlock::read(root),
            mask32: mask32(pci),
            vfio,
            thunderbolt,
            thunderbolt_ports,
        }
    }

    /// The same with disk unlock as it is configured below `config`: that system is the one that boots.
    #[must_use]
    pub fn unlocked_by(self, config: &Root) -> Self {
        Self { unlock: Unlock::read(config), ..self }
    }
}

/// One bound function is an answer; none is one only when the driver of every function is known.
fn vfio(pci: &[PciDevice]) -> Fact<Vec<String>> {
    const PATH: &str = "sys/bus/pci/devices";
    if pci.is_empty() {
        return Fact::unknown(PATH, Why::Derived, "the PCI tree is not known");
    }
    let bound = |d: &&PciDevice| d.driver.value().is_some_and(|name| name.contains("vfio"));
    let found: Vec<&PciDevice> = pci.iter().filter(bound).collect();
    if found.is_empty()
        && let Some(reason) = pci.iter().find_map(|d| d.driver.reason())
    {
        return Fact::unknown(
            reason.path.as_str(),
            Why::Derived,
            format!("a function's driver is not known: {reason}"),
        );
    }
    let mut evidence: Vec<Evidence> =
        found.iter().filter_map(|d| d.driver.evidence().first().cloned()).collect();
    if evidence.is_empty() {
        evidence.push(Evidence::new(PATH, format!("none of {} functions is bound to vfio-pci", pci.len())));
    }
    Fact::from_lines(found.into_iter().map(|d| d.bdf.clone()).collect(), evidence)
}

fn mask32(pci: &[PciDevice]) -> Vec<String> {
    pci.iter()
        .filter(|d| d.driver.value().is_some())
        .filter(|d| d.class.value().is_none_or(|class| class >> 16 != 0x06))
        .filter(|d| d.dma_mask_bits.value().is_some_and(|bits| *bits <= 32))
        .map(|d| d.bdf.clone())
        .collect()
}
