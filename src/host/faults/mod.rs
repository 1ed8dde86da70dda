//! Census of IOMMU faults, AER and Xid lines of this boot, attributed to devices and classed by address.

mod amd_vi;
mod bars;
mod census;
mod classing;
mod dmar;
mod link;
mod notes;
mod read;
mod requester;
mod smmu;
mod xid;

pub(super) use requester::parse_bdf;

use crate::root::Fact;
use schemars::JsonSchema;
use serde::Serialize;

/// What the log says about rejected DMA and GPU errors.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Faults {
    /// One entry per faulting device, most faults first; unknown when the log could not be read.
    pub devices: Fact<Vec<FaultyDevice>>,
    /// Sum of `dmar_fault: N callbacks suppressed` and of the AMD and SMMU equivalents: faults that the
    /// kernel counted and did not print, of no known device.
    pub suppressed: Fact<i64>,
    /// The largest single burst among them.
    pub largest_burst: Fact<i64>,
    /// Xid lines per GPU (NVIDIA): `0000:02:00.0` and the codes seen.
    pub xids: Fact<Vec<XidCount>>,
    /// `NVRM: API mismatch` in this boot.
    pub api_mismatch: Fact<bool>,
    /// `nvidia 0000:…: BAR 1: can't assign`-like lines whose last state is still unassigned: BDFs.
    pub bars_unassigned: Fact<Vec<String>>,
    /// `platform does not support [AER …]`, or AER not among the granted `_OSC` features.
    pub aer_not_owned: Fact<bool>,
    /// `MODULE: unknown parameter 'NAME' ignored` lines: `module.name`.
    pub unknown_parameters: Fact<Vec<String>>,
    /// `PCIe P2P access from peer device … is not supported by the chipset`: `target<-initiator`.
    pub kfd_refusals: Fact<Vec<String>>,
    /// Surprise Link Down or AER replay storms in the log, by BDF.
    pub link_trouble: Fact<Vec<String>>,
}

/// Faults of one requester.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct FaultyDevice {
    /// Requester as a BDF; the segment is taken as 0000 where the line has none. Empty when the line names
    /// no PCI function (SMMU stream, AMD command errors).
    pub bdf: String,
    /// The requester is one of the host's GPUs.
    pub is_gpu: bool,
    /// What it is, in words: `GPU (NVIDIA …)`, `USB controller`, `not in this host's PCI tree`.
    pub what: String,
    /// The requester was found in the PCI tree and its class is known.
    pub identified: bool,
    /// `dmar`, `amd-vi`, `smmu`, `interrupt-remapping`.
    pub unit: String,
    /// Lines printed.
    pub count: i64,
    /// Of which reads.
    pub reads: i64,
    /// Of which writes.
    pub writes: i64,
    /// Reasons, normalised to hexadecimal as `0x71`, most frequent first, with their meaning.
    pub reasons: Vec<ReasonCount>,
    /// Addresses inside another GPU's BAR.
    pub in_peer_bar: i64,
    /// Addresses equal to an address in another GPU's BAR cut to the requester's DMA mask.
    pub in_masked_peer_bar: i64,
    /// Addresses inside the requester's own BAR.
    pub in_own_bar: i64,
    /// Addresses in no GPU's BAR.
    pub elsewhere: i64,
    /// Faults whose address could not be classed (BARs not known, no address in the line).
    pub unclassed: i64,
    /// Peers whose BARs were hit.
    pub peers: Vec<String>,
    /// All faults came before the device's driver was bound: DMA left in flight by the previous kernel.
    pub before_driver: bool,
    /// The first line, for the report.
    pub first: Fact<String>,
}

/// A fault reason and how often it came.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ReasonCount {
    /// `0x71`, or the AMD event name.
    pub code: String,
    /// Meaning in words.
    pub meaning: String,
    /// Lines.
    pub count: i64,
}

/// Xid codes of one GPU.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct XidCount {
    /// GPU (function 0, as Xid lines carry no function).
    pub bdf: String,
    /// Xid number.
    pub code: i64,
    /// Lines.
    pub count: i64,
}
