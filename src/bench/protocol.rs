//! What parent and worker say to each other: one JSON object per line, the job to the worker's standard input,
//! events from its standard output. Every event is a heartbeat.

use super::record::Arm;
use serde::{Deserialize, Serialize};

/// What a worker is to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Fewer and smaller samples.
    pub quick: bool,
    /// Key of the patterns.
    pub seed: u64,
    /// Seconds that the measurements may take; 0 without limit.
    pub budget_s: f64,
    /// GPUs by BDF; tasks name them by their place here.
    pub gpus: Vec<JobGpu>,
    /// In place of GPUs: drives, and devices with memory for them.
    #[serde(default)]
    pub drives: Vec<JobDrive>,
    /// In order.
    pub tasks: Vec<Task>,
}

/// One GPU of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobGpu {
    /// BDF.
    pub bdf: String,
    /// PCI functions from the root port to the GPU, whose AER counters are watched.
    pub path: Vec<String>,
}

/// A drive, or a device with memory that drives can read into, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDrive {
    /// BDF.
    pub bdf: String,
    /// PCI functions from the root port to the device.
    pub path: Vec<String>,
    /// Block device to read; none for a device that is no drive, or none that can be used.
    pub block: Option<String>,
    /// Bytes of the block device.
    pub bytes: u64,
    /// File that hands its memory out; none for a device without memory for peers.
    pub allocate: Option<String>,
    /// Bytes of that memory to take.
    pub memory: u64,
}

/// One piece of work that a hang or crash ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// All arms of two GPUs in both directions, nothing else running.
    Pair {
        /// First GPU.
        a: usize,
        /// Second GPU.
        b: usize,
        /// Every arm; else first page and copy engine only.
        full: bool,
    },
    /// What is left of a pair whose worker hung or died: staging and local copies are measured, everything else is
    /// named as skipped.
    Rest {
        /// First GPU.
        a: usize,
        /// Second GPU.
        b: usize,
        /// Every arm was planned.
        full: bool,
        /// The staged ways were not what ended it, so they are measured.
        staged: bool,
        /// What ended it.
        why: String,
    },
    /// Disjoint pairs at once, both directions.
    Round {
        /// Number, from 1.
        number: usize,
        /// Pairs.
        pairs: Vec<(usize, usize)>,
    },
    /// All ordered pairs at once.
    Dense {
        /// Pairs, each for both directions.
        pairs: Vec<(usize, usize)>,
    },
    /// All-reduces by NCCL over all GPUs, where it is installed.
    Nccl,
}

/// A GPU as the driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// BDF.
    pub bdf: String,
    /// Name.
    pub name: String,
    /// UUID, hexadecimal; empty where the driver gives none.
    pub uuid: String,
    /// Compute capability.
    pub capability: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Shares the processor's memory.
    pub integrated: bool,
}

/// An event of a worker.
#[allow(clippy::large_enum_variant)] // one at a time
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The driver is up.
    Devices {
        /// Version of the driver API.
        api: i32,
        /// GPUs in the driver's order.
        devices: Vec<DeviceFacts>,
    },
    /// A worker for drives is up.
    Ready,
    /// The driver cannot be used.
    NoDriver {
        /// Why.
        why: String,
        /// The library is there and lacks a function.
        old: bool,
    },
    /// A task begins.
    Task {
        /// Its place in the job.
        index: usize,
    },
    /// An arm, or one sample of it, begins.
    At {
        /// Source; empty for arms over all GPUs.
        from: String,
        /// Destination.
        to: String,
        /// Name.
        arm: String,
        /// Unit.
        unit: String,
        /// Bytes.
        bytes: u64,
    },
    /// A sample was taken.
    Sample {
        /// Source.
        from: String,
        /// Destination.
        to: String,
        /// Name of the arm.
        arm: String,
        /// Value.
        value: f64,
    },
    /// Alive.
    Beat,
    /// An arm is finished.
    Arm {
        /// Source; empty for arms over all GPUs.
        from: String,
        /// Destination.
        to: String,
        /// The arm.
        arm: Arm,
    },
    /// The driver's answer for `to` accessing `from`.
    Granted {
        /// Source.
        from: String,
        /// Destination.
        to: String,
        /// Granted.
        granted: bool,
    },
    /// Directions that take part in an arm over several pairs; the others are named in the arm's `why`.
    Ways {
        /// Name of the arm.
        arm: String,
        /// Source and destination of each.
        ways: Vec<(String, String)>,
    },
    /// A pair whose peer arms have ended.
    PairDown {
        /// One GPU.
        a: usize,
        /// The other.
        b: usize,
        /// Why.
        why: String,
    },
    /// Time that a phase took.
    Phase {
        /// Name.
        name: String,
        /// Seconds, added to earlier ones of that name.
        seconds: f64,
    },
    /// A remark for the record.
    Note {
        /// In words.
        text: String,
    },
    /// How buffers were allocated.
    Method {
        /// In words.
        text: String,
    },
    /// The driver's state is lost; the worker ends and another one has to go on.
    Broken {
        /// Why.
        why: String,
    },
    /// All tasks are done.
    Done,
}
