//! amdgpu: module parameter, per-device memory and link files, and the KFD topology.

mod device;
mod kfd;

use super::modprobe::live_bool;
use crate::root::{Fact, Root, Why};
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
    /// `pp_dpm_pcie` marks a level as the present one. A card that prints no link state at all is itself a
    /// finding: the file is there, and no line of it has a star. Absent without the file.
    pub prints_link_state: Fact<bool>,
    /// Starred level of `pp_dpm_pcie`: generation; unknown (malformed) when no level has a star.
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
    /// `simd_count` > 0. Also true for a node whose properties may not be read: the kernel refuses only GPU
    /// nodes (kfd_topology.c, `kfd_devcgroup_check_permission`).
    pub is_gpu: bool,
    /// BDF from `domain` and `location_id`; empty for CPU nodes and for nodes that could not be read.
    pub bdf: String,
    /// `properties` could not be read, so that processor or GPU is not known.
    pub unread: bool,
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
    /// `flags`: 0x1 enabled, 0x10 no peer-to-peer DMA; 0 where a link to a processor has no such line.
    pub flags: i64,
    /// `weight`.
    pub weight: i64,
}

impl Amdgpu {
    /// Reads the module parameter and the KFD topology.
    pub fn read(root: &Root) -> Self {
        Self { pcie_p2p: live_bool(root, "amdgpu", "pcie_p2p"), kfd: kfd::read(root) }
    }
}

/// Link flag: no peer-to-peer DMA (`CRAT_IOLINK_FLAGS_NO_PEER_TO_PEER_DMA`, kfd_crat.h).
const NO_PEER_DMA: i64 = 0x10;
/// Link type xGMI (`CRAT_IOLINK_TYPE_XGMI`, kfd_crat.h).
const XGMI: i64 = 11;

impl Amdgpu {
    /// GPUs that `bdf` has a link to as initiator or owner of the entry: `p2p_links`, or `io_links` of xGMI
    /// type, to another GPU node. Unknown as long as one GPU node could not be read, because an entry may stand
    /// in the directory of its peer; directories of processors hold no link between GPUs (kfd_topology.c,
    /// `kfd_add_peer_prop`).
    pub(super) fn peers(&self, bdf: &str) -> Fact<Vec<String>> {
        let (nodes, evidence) = match &self.kfd {
            Fact::Known { value, evidence } => (value, evidence),
            Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
            Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
        };
        let mut links: Vec<&KfdLink> = Vec::new();
        let mut shown = Vec::new();
        for node in nodes {
            match &node.links {
                Fact::Known { value, evidence } => {
                    links.extend(value);
                    if node.bdf == bdf {
                        shown.extend(evidence.iter().cloned());
                    }
                }
                Fact::Unknown(reason) if node.is_gpu || node.unread => return Fact::Unknown(reason.clone()),
                Fact::Absent { .. } | Fact::Unknown(_) => {}
            }
        }
        let own: Vec<i64> = nodes.iter().filter(|n| n.is_gpu && n.bdf == bdf).map(|n| n.id).collect();
        if own.is_empty() {
            return Fact::Absent { evidence: evidence.clone() };
        }
        let mut peers = Vec::new();
        for link in links {
            let to_peer = link.table == "p2p" || link.kind == XGMI;
            if !to_peer || !own.contains(&link.from) || link.flags & NO_PEER_DMA != 0 {
                continue;
            }
            let Some(node) = nodes.iter().find(|node| node.id == link.to) else {
                let path = format!("{}/{}", kfd::PLACES[0], link.to);
                return Fact::unknown(path, Why::NotCaptured, format!("{bdf} has a link to this node"));
            };
            if node.is_gpu && node.bdf != bdf {
                peers.push(node.bdf.clone());
            }
        }
        peers.sort();
        peers.dedup();
        Fact::from_lines(peers, shown)
    }
}
