//! GPUs: PCI function, driver files and captured tool output joined by BDF.

mod join;
mod kind;
mod link;
mod memory;
mod name;
mod path;
mod ports;

pub use join::read;

use super::amdgpu::AmdgpuDevice;
use super::pci::{Aer, Bar};
use crate::root::Fact;
use schemars::JsonSchema;
use serde::Serialize;

/// One GPU.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Gpu {
    /// BDF.
    pub bdf: String,
    /// `nvidia`, `amd`, `intel`.
    pub vendor: String,
    /// Device id.
    pub device: i64,
    /// Marketing name: driver's own (`proc/driver/nvidia/gpus/BDF/information`, `nvidia-smi -q`), else hwdb.
    pub name: Fact<String>,
    /// Bound driver; absent when none.
    pub driver: Fact<String>,
    /// Part of the processor (Intel on bus 00, AMD APU), or a card. See `kind.rs` for how that is told.
    pub integrated: bool,
    /// A small card that only drives a display: VRAM of 2 GiB or less; where VRAM is unknown, a largest
    /// resizable BAR above 256 MiB and up to 2 GiB (256 MiB is what cards without large BARs offer, whatever
    /// their memory); or a known display-only name (GT 710, GT 1030, T400 ...).
    pub display_only: bool,
    /// Takes part in peer transfers: a card, with its vendor's compute driver or none yet, not bound to
    /// vfio-pci, not display-only.
    pub compute: bool,
    /// Root bus `DDDD:BB`.
    pub root_bus: Fact<String>,
    /// Root port above the card; empty in guests that put the card on the root bus.
    pub root_port: String,
    /// Topmost function of the card: the upstream port of the switch inside it (bridges of the GPU's own
    /// vendor directly above it, below the root port), else the GPU itself. A switch of the mainboard or a
    /// riser does not belong to the card.
    pub card_port: String,
    /// Bridges from the root port down to the parent.
    pub upstream: Vec<String>,
    /// NUMA node.
    pub numa_node: Fact<i64>,
    /// DMA mask.
    pub dma_mask_bits: Fact<i64>,
    /// The aperture: largest 64-bit prefetchable BAR (NVIDIA's BAR1, AMD's BAR0).
    pub aperture: Fact<Bar>,
    /// Bits needed to address the end of the aperture.
    pub aperture_bits: Fact<i64>,
    /// Size the driver reports for BAR1 or visible VRAM, else the aperture's size. Bytes.
    pub bar1: Fact<i64>,
    /// Largest size that the aperture's Resizable BAR capability offers. Bytes; absent without it.
    pub bar1_largest: Fact<i64>,
    /// Size of the prefetchable window of the root port. Bytes.
    pub window: Fact<i64>,
    /// VRAM in bytes.
    pub vram: Fact<i64>,
    /// The largest `bar1` among GPUs of the same model in this host; 0 when alone.
    pub sibling_bar1: i64,
    /// IOMMU domain type; absent when behind no active IOMMU.
    pub domain_type: Fact<String>,
    /// `identity`, `translated` (DMA, DMA-FQ), `none`, `other`.
    pub translation: Fact<String>,
    /// Behind a Thunderbolt or USB4 tunnel or another external port.
    pub external: bool,
    /// The link of the card, judged at the card port against what both ends support.
    pub link: CardLink,
    /// Counters of the root port and the ports of the card added up; absent where Linux does not own AER.
    pub aer: Fact<Aer>,
    /// Runtime PM (`power/control`) of the ports above: BDFs that read `auto`.
    pub ports_may_suspend: Fact<Vec<String>>,
    /// ASPM is enabled on a link of the path.
    pub aspm_enabled: Fact<bool>,
    /// Ports on the path that have ACS redirect set.
    pub acs_redirect: Fact<Vec<String>>,
    /// amdgpu files.
    pub amd: AmdgpuDevice,
    /// KFD: BDFs of GPUs this GPU has a link to (p2p_links, or io_links of type 11).
    pub kfd_peers: Fact<Vec<String>>,
    /// Index in nvidia-smi's order (PCI bus order); -1 for other vendors.
    pub smi_index: i64,
    /// Display attached and active.
    pub display_active: Fact<bool>,
    /// MIG on.
    pub mig: Fact<bool>,
}

/// A card's link as it can be judged.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CardLink {
    /// Where it was read: the BDF of the port. The card port, or the uplink of a switch above it when only
    /// that one is below what both its ends support.
    pub port: String,
    /// Generation now.
    pub generation: Fact<i64>,
    /// Lanes now.
    pub width: Fact<i64>,
    /// Highest generation that both ends support.
    pub both_generation: Fact<i64>,
    /// Most lanes that both ends support.
    pub both_width: Fact<i64>,
    /// The generation now means something: not an idle NVIDIA GPU (which drops to Gen1), not a tunnel.
    pub speed_judgeable: bool,
    /// The width now means something: not a tunnel, not a guest, not a part of the processor.
    pub width_judgeable: bool,
    /// Why not, and where two sources contradict each other, in words.
    pub caveat: String,
}

impl Gpu {
    /// The name, or the device id where none is known.
    pub fn label(&self) -> String {
        self.name.value().cloned().unwrap_or_else(|| format!("{:04x}", self.device))
    }
}
