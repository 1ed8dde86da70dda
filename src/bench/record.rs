//! The benchmark record: every number with the state that produced it. `peerfix/record`, version 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the document.
pub const SCHEMA: &str = "peerfix/record";
/// Major version: a reader refuses a newer one.
pub const MAJOR: u32 = 1;
/// Minor version: additive.
pub const MINOR: u32 = 1;

/// One run of the benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version.
    pub version: Version,
    /// Program version that measured.
    pub program: String,
    /// `20261130T201500Z-1a2b3c4d`.
    pub id: String,
    /// Start, UTC, RFC 3339.
    pub started: String,
    /// Wall seconds of the whole run, start-up of the driver included.
    pub seconds: f64,
    /// `full` or `quick`, and the budget in seconds that was set (0: none).
    pub mode: String,
    /// Budget in seconds, 0 for none.
    pub budget_s: f64,
    /// Seed of the patterns.
    pub seed: u64,
    /// What moves the data. Since 1.1; records before it are of CUDA.
    #[serde(default)]
    pub backend: Backend,
    /// How buffers were allocated; part of the method.
    pub method: Vec<String>,
    /// State of the host that produced the numbers.
    pub state: State,
    /// GPUs in the driver's order; with `p2pmem` the drives and the devices whose memory they read into, by BDF.
    pub gpus: Vec<GpuState>,
    /// Arms of every ordered pair.
    pub pairs: Vec<PairRecord>,
    /// Arms over all GPUs (dense, round-robin rounds).
    pub fabric: Vec<Arm>,
    /// Where the time went, seconds by phase.
    pub phases: BTreeMap<String, f64>,
    /// What could not be done, in words.
    pub notes: Vec<String>,
    /// SHA-256 of this document's text with this field empty, without the line end behind the last brace.
    pub hash: String,
}

/// What moves the data from one device to the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// NVIDIA GPUs, through their driver.
    #[default]
    Cuda,
    /// NVMe drives that read into memory which another device publishes, through the kernel's own p2pdma.
    P2pmem,
}

impl Backend {
    /// The devices that it measures, in words.
    pub fn devices(self) -> &'static str {
        match self {
            Self::Cuda => "GPUs",
            Self::P2pmem => "drives and peer memory",
        }
    }
}

/// Version of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// Breaking.
    pub major: u32,
    /// Additive.
    pub minor: u32,
}

/// State of the host. Two records compare only where no configuration explains a difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Kernel release.
    pub kernel: Option<String>,
    /// Command line, values of words that name disks or addresses left out.
    pub cmdline: Option<String>,
    /// Boot id.
    pub boot_id: Option<String>,
    /// CPU model name.
    pub cpu: Option<String>,
    /// Board and firmware version.
    pub firmware: Option<String>,
    /// Hypervisor.
    pub hypervisor: Option<String>,
    /// `nvidia` driver version, or amdgpu's kernel release.
    pub driver: Option<String>,
    /// CUDA driver API version, `13000`.
    pub api: Option<i64>,
    /// Live driver parameters that matter, name to value.
    pub parameters: BTreeMap<String, String>,
    /// Allow-listed environment of this process.
    pub environment: BTreeMap<String, String>,
    /// Facts that could not be read: path and reason.
    pub unknown: Vec<String>,
}

/// State of one GPU, or of one device of a `p2pmem` record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuState {
    /// BDF.
    pub bdf: String,
    /// Salted hash of the UUID, of a drive of its serial number: matches records of one installation, identifies nothing outside.
    pub uuid_hash: String,
    /// Name.
    pub name: String,
    /// Compute capability, `9.0`.
    pub capability: String,
    /// Bytes of memory; with `p2pmem` of the memory for peers, 0 for a drive without any.
    pub memory: u64,
    /// BAR1 bytes; none when not known.
    pub bar1: Option<u64>,
    /// IOMMU domain type; `none` behind no active IOMMU.
    pub domain_type: Option<String>,
    /// Highest PCIe generation and width of the link, and the NVLinks active and their MB/s each.
    pub link_max: LinkSample,
    /// NVLinks that are active.
    pub nvlinks: u32,
    /// MB/s (10^6) of one NVLink and direction.
    pub nvlink_mb_s: u32,
    /// NUMA node.
    pub numa_node: Option<i64>,
    /// Display attached.
    pub display: Option<bool>,
}

/// A link as it was while bytes moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSample {
    /// PCIe generation; 0 unknown.
    pub generation: u32,
    /// Lanes; 0 unknown.
    pub width: u32,
    /// Performance state; -1 unknown.
    pub pstate: i32,
}

/// Arms of one ordered pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairRecord {
    /// Source: whose memory is read from.
    pub from: String,
    /// Destination: whose memory is written.
    pub to: String,
    /// `NV18`, `PIX`, `PHB`, ...
    pub route: String,
    /// The driver says that `to` may access `from` (`cuDeviceCanAccessPeer`), and NVML's status per direction; with
    /// `p2pmem` whether the kernel mapped the path.
    pub granted: Option<bool>,
    /// NVML's P2P status for reads.
    pub p2p_read: String,
    /// NVML's P2P status for writes.
    pub p2p_write: String,
    /// GB/s (10^9) that the negotiated path can carry per direction after line code; 0 when not known.
    pub ceiling_gb_s: f64,
    /// Arms.
    pub arms: Vec<Arm>,
}

/// One arm: samples, and whether the data was right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// Stable name: `ce-read`, `ce-write`, `sm-read`, `sm-write`, `bidirectional`, `staged`,
    /// `staged-double`, `driver-staged`, `latency-load`, `latency-copy-4` ... `latency-copy-1048576`,
    /// `latency-loop-2048x32`, `allreduce-256` ... `allreduce-262144`, `resident`, `first-page`,
    /// `round-ce-write` (beside disjoint pairs), `round-N`, `dense`, `self` (a device-local copy),
    /// `nccl-start`, `nccl-allreduce-N`, `driver-staged-N`; with `p2pmem` `p2p-read`, `p2p-read-4096` (the source's DMA
    /// engine writes to the destination), `staged`, `staged-4096`, `self` (into the source's own memory), `first-page`.
    pub name: String,
    /// `measured`, `refused`, `skipped`, `failed`, `hang`, `crash`, `corrupt`.
    pub outcome: Outcome,
    /// Why, unless measured.
    pub why: String,
    /// `GB/s` (larger is better) or `us`, `ns` (smaller is better).
    pub unit: String,
    /// Bytes per transfer.
    pub bytes: u64,
    /// Raw samples in the order taken.
    pub samples: Vec<f64>,
    /// Median.
    pub median: f64,
    /// 95 % confidence interval of the median, by order statistics.
    pub interval: [f64; 2],
    /// Share of the ceiling, 0 when it is not known.
    pub share: f64,
    /// Words checked at the destination.
    pub words_checked: u64,
    /// Words that were wrong, by mechanism.
    pub errors: Vec<DataError>,
    /// Links of source and destination while bytes moved.
    pub links: Vec<LinkSample>,
    /// Counters that grew during the arm; lower bounds.
    pub deltas: Deltas,
}

/// How an arm ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Samples taken, data right.
    Measured,
    /// The driver refuses the path.
    Refused,
    /// Not run (budget, an earlier arm of the pair failed).
    #[default]
    Skipped,
    /// An API call failed.
    Failed,
    /// No heartbeat before the deadline.
    Hang,
    /// The worker died.
    Crash,
    /// Samples taken, data wrong.
    Corrupt,
}

/// Wrong words of one mechanism.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataError {
    /// `untouched`, `stale`, `zero`, `shifted`, `foreign-buffer`, `one-direction`, `mirror`, `torn`, `other`.
    pub mechanism: String,
    /// In words, with the shift or iteration.
    pub detail: String,
    /// Words.
    pub words: u64,
    /// Byte offset of the first.
    pub first: u64,
    /// Byte offset of the last.
    pub last: u64,
}

/// Counters over one arm. None where the counter could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deltas {
    /// IOMMU fault lines and suppressed counts that name a device of the arm, or none.
    pub iommu_faults: Option<u64>,
    /// AER correctable errors on the paths.
    pub aer_correctable: Option<u64>,
    /// AER uncorrectable errors on the paths.
    pub aer_uncorrectable: Option<u64>,
    /// Xid lines: codes.
    pub xids: Option<Vec<u64>>,
    /// NVML replay counters.
    pub replays: Option<u64>,
}
