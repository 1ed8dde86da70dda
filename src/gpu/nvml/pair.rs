//! Two GPUs: topology level, and whether the driver grants peer transfers.

use super::{Answer, NvmlGpu};
use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus, TopologyLevel};

/// What two GPUs have in common on the way to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Same board.
    Internal,
    /// One PCIe switch (`PIX`).
    Switch,
    /// Several PCIe switches, no host bridge (`PXB`).
    Switches,
    /// One host bridge (`PHB`).
    HostBridge,
    /// One NUMA node (`NODE`).
    Node,
    /// Several NUMA nodes (`SYS`).
    System,
}

impl Topology {
    /// The word of `nvidia-smi topo -m`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Internal | Self::Switch => "PIX",
            Self::Switches => "PXB",
            Self::HostBridge => "PHB",
            Self::Node => "NODE",
            Self::System => "SYS",
        }
    }
}

impl NvmlGpu<'_> {
    /// The closest common ancestor.
    pub fn topology(&self, other: NvmlGpu<'_>) -> Answer<Topology> {
        Ok(match self.device.topology_common_ancestor(other.device)? {
            TopologyLevel::Internal => Topology::Internal,
            TopologyLevel::Single => Topology::Switch,
            TopologyLevel::Multiple => Topology::Switches,
            TopologyLevel::HostBridge => Topology::HostBridge,
            TopologyLevel::Node => Topology::Node,
            TopologyLevel::System => Topology::System,
        })
    }

    /// Peer status from this GPU towards `other`, as `nvidia-smi topo -p2p` abbreviates it.
    pub fn p2p(&self, other: &NvmlGpu<'_>, write: bool) -> Answer<&'static str> {
        let index = if write { P2pCapabilitiesIndex::Write } else { P2pCapabilitiesIndex::Read };
        Ok(match self.device.p2p_status(&other.device, index)? {
            P2pStatus::Ok => "OK",
            P2pStatus::ChipsetNotSupported => "CNS",
            P2pStatus::GpuNotSupported => "GNS",
            P2pStatus::IohTopologyNotSupported => "TNS",
            P2pStatus::DisabledByRegkey => "DR",
            P2pStatus::NotSupported => "NS",
            P2pStatus::Unknown => "U",
        })
    }
}
