//! amdgpu: module parameter, per-device memory and link files, and the KFD topology.

use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the amdgpu driver as a whole.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Amdgpu {
    /// `sys/module/amdgpu/parameters/pcie_p2p` is `Y`; absent when the module or parameter is not there.
    pub pcie_p2p: Fact<bool>,
    /// KFD nodes; absent when KFD is not loaded.
    pub kfd: Fact<Vec<KfdNode>>,
}

/// Per-device files of one amdgpu function. Sizes in bytes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct AmdgpuDevice {
    /// `mem_info_vram_total`.
    pub vram: Fact<i64>,
    /// `mem_info_vis_vram_total`.
    pub visible_vram: Fact<i64>,
    /// Starred level of `pp_dpm_pcie`: generation.
    pub link_generation: Fact<i64>,
    /// Starred level of `pp_dpm_pcie`: lanes.
    pub link_width: Fact<i64>,
    /// Highest generation that `pp_dpm_pcie` lists.
    pub link_max_generation: Fact<i64>,
}

/// One node of `sys/class/kfd/kfd/topology/nodes`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct KfdNode {
    /// Directory number.
    pub id: i64,
    /// `simd_count` > 0.
    pub is_gpu: bool,
    /// BDF from `domain` and `location_id`; empty for CPU nodes.
    pub bdf: String,
    /// Links of `io_links` and `p2p_links`; unknown when a file could not be read.
    pub links: Fact<Vec<KfdLink>>,
}

/// One link between KFD nodes, by its own `node_from` and `node_to`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KfdLink {
    /// `io` or `p2p`, the directory it stands in.
    pub table: String,
    /// 2 PCI Express, 11 xGMI, ...
    pub kind: i64,
    /// `node_from`.
    pub from: i64,
    /// `node_to`.
    pub to: i64,
    /// `flags`: 0x1 enabled, 0x10 no peer-to-peer DMA.
    pub flags: i64,
    /// `weight`.
    pub weight: i64,
}

impl Amdgpu {
    /// Reads the module parameter and the KFD topology.
    pub fn read(root: &Root) -> Self {
        let _ = root;
        Self::default()
    }
}

impl AmdgpuDevice {
    /// Reads the files of one function, `device` being its directory (`sys/bus/pci/devices/BDF`).
    pub fn read(root: &Root, device: &str) -> Self {
        let _ = (root, device);
        Self::default()
    }
}
