//! The PCI tree from sysfs: identity, topology, BARs, links, AER, ACS, power, IOMMU group.

mod aer;
mod bdf;
mod buses;
mod capability;
mod config;
mod device;
mod enumerate;
mod group;
mod link;
mod resizable;
mod resource;

pub use bdf::Bdf;
pub(super) use link::read as read_link;

use crate::root::{Fact, Root};
use enumerate::Place;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;

/// One PCI function. What is read only of bridges, GPUs, accelerators and the first function of each root bus is
/// marked "on GPU paths" and unknown elsewhere.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PciDevice {
    /// `DDDD:BB:DD.F`, lower case.
    pub bdf: String,
    /// Root bus, `DDDD:BB` of `sys/devices/pciDDDD:BB`; unknown when the tree lost its links.
    pub root_bus: Fact<String>,
    /// Bridges from the root bus down to the parent, as BDFs; empty for a device on a root bus.
    pub upstream: Vec<String>,
    /// 24-bit class code, `0x030000`.
    pub class: Fact<i64>,
    /// Vendor id.
    pub vendor: Fact<i64>,
    /// Device id.
    pub device: Fact<i64>,
    /// On GPU paths: Subsystem `vendor << 16 | device`.
    pub subsystem: Fact<i64>,
    /// Name of the bound driver; absent when none is bound.
    pub driver: Fact<String>,
    /// On GPU paths: `numa_node`, -1 for none.
    pub numa_node: Fact<i64>,
    /// `dma_mask_bits`.
    pub dma_mask_bits: Fact<i64>,
    /// Lines 0 to 5 of `resource` that are set or asked for.
    pub bars: Fact<Vec<Bar>>,
    /// Prefetchable bridge window (bridges only), from `resource` after the ROM and SR-IOV lines.
    pub window: Fact<Bar>,
    /// On GPU paths: Resizable BARs, from `resourceN_resize` and the capability in config space.
    pub resizable: Fact<Vec<Resizable>>,
    /// On GPU paths: Link state now and maximum.
    pub link: Link,
    /// On GPU paths: AER counters; absent where Linux does not own AER.
    pub aer: Fact<Aer>,
    /// On GPU paths: ACS control; absent when config space was read whole and has no such capability; unknown when config
    /// space is cut at 64 bytes (not root) or not captured.
    pub acs: Fact<Acs>,
    /// On GPU paths: PCI Express port type from the capability in config space: `endpoint`, `legacy-endpoint`,
    /// `root-port`, `upstream-port`, `downstream-port`, `pcie-to-pci`, `rc-integrated`, `rc-event`.
    pub port_type: Fact<String>,
    /// On GPU paths: `power/control`: `auto` or `on`.
    pub power_control: Fact<String>,
    /// On GPU paths: `power/runtime_status`.
    pub runtime_status: Fact<String>,
    /// On GPU paths: L1 or L0s enabled on this function's link (`link/l1_aspm`, `link/l0s_aspm`).
    pub aspm_enabled: Fact<bool>,
    /// Number of the IOMMU group; absent when the device is behind no active IOMMU.
    pub iommu_group: Fact<String>,
    /// `sys/kernel/iommu_groups/N/type`; absent without a group.
    pub domain_type: Fact<String>,
    /// `removable` attribute is `removable` (behind an external-facing port).
    pub external: Fact<bool>,
    /// `boot_vga` is 1.
    pub boot_vga: Fact<bool>,
}

/// One base address register or bridge window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bar {
    /// Line of `resource`, from 0.
    pub index: i64,
    /// First address.
    pub start: i64,
    /// Last address.
    pub end: i64,
    /// Bytes; 0 when unassigned.
    pub size: i64,
    /// IORESOURCE_PREFETCH (0x2000).
    pub prefetch: bool,
    /// IORESOURCE_MEM_64 (0x100000).
    pub mem64: bool,
    /// IORESOURCE_UNSET (0x2000_0000), or flags set and no address.
    pub unassigned: bool,
}

/// One BAR with the Resizable BAR capability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resizable {
    /// BAR number.
    pub bar: i64,
    /// Largest supported size in bytes.
    pub largest: i64,
    /// Supported sizes in bytes, ascending.
    pub sizes: Vec<i64>,
}

/// PCI Express link of the port above this function, as sysfs prints it.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Link {
    /// Generation now: 1 (2.5 GT/s) to 6 (64 GT/s); unknown for `Unknown`.
    pub generation: Fact<i64>,
    /// Highest generation of this function.
    pub max_generation: Fact<i64>,
    /// Lanes now; unknown for 0 and 255.
    pub width: Fact<i64>,
    /// Most lanes of this function.
    pub max_width: Fact<i64>,
}

/// AER counters of one device (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Aer {
    /// `RxErr`.
    pub rx_err: i64,
    /// `BadTLP`.
    pub bad_tlp: i64,
    /// `BadDLLP`.
    pub bad_dllp: i64,
    /// `Rollover` (replay number).
    pub rollover: i64,
    /// `Timeout` (replay timer).
    pub timeout: i64,
    /// `SDES` (surprise down), non-fatal and fatal together.
    pub surprise_down: i64,
    /// `TOTAL_ERR_COR`.
    pub correctable: i64,
    /// `TOTAL_ERR_NONFATAL`.
    pub nonfatal: i64,
    /// `TOTAL_ERR_FATAL`.
    pub fatal: i64,
}

/// ACS control word of one port or function (PCI Express Base, 7.7.8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Acs {
    /// The control word.
    pub control: i64,
    /// P2P request redirect, completion redirect or egress control is set (mask 0x2c).
    pub redirect: bool,
}

/// Reads every function below `sys/bus/pci/devices` (and `sys/devices/pci*`), sorted by BDF.
///
/// Unknown when neither directory can be read; a host without PCI has an empty list. What cannot be read of
/// one function is unknown there and hides nothing else.
pub fn read(root: &Root) -> Fact<Vec<PciDevice>> {
    let places = enumerate::places(root);
    let shared = device::Shared::new(root);
    places.map(|places| {
        // Kernels from 6.1 make `resourceN_resize` for every resizable BAR, so that its absence says something.
        let resize_files = shared.kernel_makes_resize_files()
            || places.iter().any(|p| p.dir.value().is_some_and(resizable::has_files));
        let mut buses = HashSet::new();
        let mut is_first = |place: &Place| {
            place.upstream.is_empty() && place.root_bus.value().is_some_and(|bus| buses.insert(bus.clone()))
        };
        let read = |place| {
            let first = is_first(&place);
            device::read(place, &shared, first, resize_files)
        };
        places.into_iter().map(read).collect()
    })
}

impl PciDevice {
    /// A PCI-to-PCI bridge: root ports, switch ports, conventional bridges (class 0x0604xx).
    pub fn is_bridge(&self) -> bool {
        self.class.value().is_some_and(|class| class >> 8 == 0x0604)
    }

    /// A bridge, GPU or accelerator, or of unknown class: every fact of it is read. Of other functions, unless
    /// they are the first on their root bus, link, AER, ACS, port type, resizable BARs, power, ASPM,
    /// subsystem and NUMA node are unknown, since no judgement needs them and a server has hundreds.
    fn is_looked_at_closely(&self) -> bool {
        let (display, accelerator) = (0x03, 0x12);
        self.is_bridge() || self.class.value().is_none_or(|c| c >> 16 == display || c >> 16 == accelerator)
    }

    /// A bridge directly on a root bus: a root port, or what stands for one in a virtual machine.
    pub fn is_root_port_like(&self) -> bool {
        self.is_bridge() && self.upstream.is_empty() && self.root_bus.value().is_some()
    }
}
