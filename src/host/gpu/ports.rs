//! The bridges above a GPU: root port, switches, and the card's own switch.

use crate::host::pci::PciDevice;
use crate::root::{Fact, Unknown, Why};

/// A GPU's way up to its root bus.
pub(super) struct Ports<'a> {
    pub(super) gpu: &'a PciDevice,
    /// From the root port down to the parent, as the PCI tree lists them.
    above: Vec<&'a PciDevice>,
    /// A bridge that `upstream` names and the tree does not hold, or links that the tree lost.
    pub(super) lost: Option<Unknown>,
}

impl<'a> Ports<'a> {
    pub(super) fn new(gpu: &'a PciDevice, pci: &'a [PciDevice]) -> Self {
        let (mut above, mut lost) = (Vec::new(), None);
        for bdf in &gpu.upstream {
            match pci.iter().find(|device| device.bdf == *bdf) {
                Some(port) => above.push(port),
                None => {
                    lost.get_or_insert(Unknown {
                        path: format!("sys/bus/pci/devices/{bdf}"),
                        line: None,
                        why: Why::Derived,
                        detail: format!("bridge above {} is not in the PCI tree", gpu.bdf),
                    });
                }
            }
        }
        if let (Fact::Unknown(reason), true) = (&gpu.root_bus, gpu.upstream.is_empty()) {
            lost = Some(reason.clone());
        }
        Self { gpu, above, lost }
    }

    /// Bridges from the root port down to the parent.
    pub(super) fn bridges(&self) -> &[&'a PciDevice] {
        &self.above
    }

    /// The port on the root bus; none for a device on the root bus itself.
    pub(super) fn root_port(&self) -> Option<&'a PciDevice> {
        let first = self.gpu.upstream.first()?;
        self.above.first().copied().filter(|port| port.bdf == *first)
    }

    /// Index into `bridges` of the topmost bridge of the card: the run of bridges of the GPU's own vendor (or
    /// of a vendor that could not be read) that ends at its parent and stays below the root port.
    fn card_index(&self) -> usize {
        let vendor = self.gpu.vendor.value();
        let mut index = self.above.len();
        while index > 1 {
            let Some(port) = self.above.get(index - 1) else { break };
            if port.vendor.value().is_some() && port.vendor.value() != vendor {
                break;
            }
            index -= 1;
        }
        index
    }

    /// Topmost function of the card.
    pub(super) fn card_port(&self) -> &'a PciDevice {
        self.above.get(self.card_index()).copied().unwrap_or(self.gpu)
    }

    /// The port that the card is plugged into: root port, or downstream port of a switch.
    pub(super) fn slot_port(&self) -> Option<&'a PciDevice> {
        self.above.get(self.card_index().checked_sub(1)?).copied()
    }

    /// Upstream port of a switch between root port and card.
    pub(super) fn switch_uplink(&self) -> Option<&'a PciDevice> {
        (self.card_index() > 1).then(|| self.above.get(1).copied()).flatten()
    }

    /// Behind a Thunderbolt or USB4 tunnel or another external port: `removable` on the way, or a bridge of a
    /// Thunderbolt controller (kernels before 5.14 have no `removable`).
    pub(super) fn external(&self) -> bool {
        let mut way = self.above.iter().copied().chain([self.gpu]);
        way.any(|device| device.external.value() == Some(&true) || is_thunderbolt_bridge(device))
    }

    /// A root port that a hypervisor emulates (Red Hat, VMware, Microsoft): its link figures are invented.
    pub(super) fn emulated(&self) -> bool {
        let vendor = self.root_port().and_then(|port| port.vendor.value().copied());
        vendor.is_some_and(|vendor| [0x1b36, 0x15ad, 0x1414].contains(&vendor))
    }
}

/// PCIe bridges of Intel's Thunderbolt controllers (drivers/thunderbolt/nhi.h, `*_BRIDGE`).
fn is_thunderbolt_bridge(device: &PciDevice) -> bool {
    const BRIDGES: [i64; 17] = [
        0x1513, 0x151a, 0x151b, 0x1547, 0x1548, 0x1549, 0x1567, 0x1569, 0x156b, 0x156d, 0x1576, 0x1578,
        0x15c0, 0x15d3, 0x15da, 0x15e7, 0x15ea,
    ];
    let id = device.device.value().copied();
    device.vendor.value() == Some(&0x8086)
        && device.class.value().is_some_and(|class| class >> 8 == 0x0604)
        && id
            .is_some_and(|id| BRIDGES.contains(&id) || [0x15ef, 0x0b26, 0x1136, 0x5786, 0x57a4].contains(&id))
}
