//! The result of a comparison: `peerfix/verdict`, version 1.

use crate::bench::record::{Outcome, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the document.
pub const SCHEMA: &str = "peerfix/verdict";
/// Version of the document.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// What two records say about the change between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version.
    pub version: Version,
    /// The record before.
    pub before: Source,
    /// The record after.
    pub after: Source,
    /// The verdict.
    pub verdict: Overall,
    /// One sentence why.
    pub reason: String,
    /// What the verdict is about.
    pub about: About,
    /// The only thing that is worse: a path impossible before is slower than what it replaces.
    pub possible_but_slower: bool,
    /// The measure that speeds were judged with.
    pub measure: Measure,
    /// Fields that forbid a comparison; not empty exactly when the verdict is `incomparable`.
    pub incomparable: Vec<Difference>,
    /// Fields that differ and may: what the change did to the host.
    pub differs: Vec<Difference>,
    /// Every arm that was measured, or could not be, in either record.
    pub arms: Vec<ArmVerdict>,
}

/// A record as the verdict names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Id.
    pub id: String,
    /// Start, UTC.
    pub started: String,
    /// Program version that measured.
    pub program: String,
}

/// Verdict over all arms; the earlier one outranks the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overall {
    /// The records are not of one machine and method.
    Incomparable,
    /// Data is wrong after the change.
    Corrupt,
    /// An arm hangs after the change that did not before.
    Hang,
    /// Slower beyond doubt, lost, or with new faults.
    Worse,
    /// The evidence does not suffice.
    Inconclusive,
    /// Right where it was wrong, possible where it was not, or faster beyond doubt.
    Better,
    /// No difference that matters.
    Same,
}

/// Verdict of one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// Data is wrong after the change.
    Corrupt,
    /// Slower, lost, or with new faults.
    Worse,
    /// The evidence does not suffice.
    Inconclusive,
    /// Measured before and not run after.
    OnlyBefore,
    /// Faster, or right where it was wrong.
    Better,
    /// No difference that matters.
    Same,
    /// Not measured before.
    OnlyAfter,
}

/// What the verdict of an arm rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Words that were wrong, before or after.
    Data,
    /// How the arm ended.
    Outcome,
    /// Faults, Xids or link errors that are new.
    Counters,
    /// The samples.
    Speed,
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The transfer between GPUs.
    Peer,
    /// The host: the control arm (staged through host memory) is wrong too.
    Host,
}

/// The measure that speeds were judged with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Practical threshold in percent.
    pub threshold_percent: f64,
    /// Practical threshold of latencies in microseconds, where that is the larger one.
    pub threshold_us: f64,
    /// Noise floor of throughput in percent.
    pub floor_bulk_percent: f64,
    /// Noise floor of latencies in percent.
    pub floor_latency_percent: f64,
    /// Chance that any of the speeds is called better or worse although nothing changed.
    pub family_error: f64,
    /// Speeds judged, which share that chance.
    pub judged: usize,
}

/// A field in which two records differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Path of the field: `state.cpu`, `gpus[0].bdf`.
    pub field: String,
    /// Value before; empty when there was none.
    pub before: String,
    /// Value after.
    pub after: String,
    /// What it means.
    pub why: String,
}

/// One arm of one pair, or of the fabric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmVerdict {
    /// Source GPU; null for an arm over all GPUs.
    pub from: Option<String>,
    /// Destination GPU.
    pub to: Option<String>,
    /// Arm.
    pub arm: String,
    /// Unit of the medians.
    pub unit: String,
    /// Verdict.
    pub verdict: Call,
    /// Why; empty when the change says it all.
    pub why: String,
    /// What the verdict rests on.
    pub cause: Cause,
    /// Arm of the before record that this one replaces, when it is not itself.
    pub replaces: Option<String>,
    /// Before.
    pub before: Option<Side>,
    /// After.
    pub after: Option<Side>,
    /// The change of the median, when both have one.
    pub change: Option<Change>,
}

/// One arm in one record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// How it ended.
    pub outcome: Outcome,
    /// Median, recomputed from the samples; null without samples.
    pub median: Option<f64>,
    /// Interval of the median by order statistics; null without samples.
    pub interval: Option<[f64; 2]>,
    /// Samples.
    pub samples: usize,
}

/// The change of a median, in percent of before; positive means a larger number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Ratio of the medians.
    pub percent: f64,
    /// Interval that holds for all judged speeds together.
    pub interval: [f64; 2],
    /// 95 % interval of this arm alone.
    pub alone: [f64; 2],
    /// Shift by Hodges and Lehmann.
    pub shift_percent: f64,
    /// Two-sided p-value of the rank test, this arm alone.
    pub rank_p: f64,
    /// Threshold of this arm: the larger of practical threshold and noise floor.
    pub threshold_percent: f64,
}
