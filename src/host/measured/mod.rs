//! Measured transfers of this host, from the newest benchmark record in the state folder.

mod document;

use super::Host;
use crate::root::{Evidence, Fact, Root, Why};
use document::Document;
use schemars::JsonSchema;
use serde::Serialize;

/// Where records are kept; the names of those about GPUs begin with the time of the measurement. Records of drives are
/// named `p2pmem-...` and say nothing about GPUs.
pub const FOLDER: &str = "var/lib/peerfix/records";
/// Largest record that is read.
const LIMIT: u64 = 64 << 20;

/// One ordered pair of one record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredPair {
    /// Source.
    pub from: String,
    /// Destination.
    pub to: String,
    /// Fastest peer copy, MB/s (10^6), median; 0 when none was measured.
    pub peer_mb_s: i64,
    /// Fastest staging through host memory, MB/s, median; 0 when none was measured.
    pub staged_mb_s: i64,
    /// Both were measured, and every word arrived on both paths.
    pub verified: bool,
    /// Id of the record.
    pub record: String,
    /// Why the record says nothing of the host as it runs; empty when it was taken in this boot, with this
    /// driver and these IOMMU domains.
    pub outdated: String,
    /// How the arms that prove or disprove a rung ended.
    pub arms: Vec<MeasuredArm>,
}

/// One arm of a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MeasuredArm {
    /// `ce-write`, `sm-read`, `resident` ...
    pub name: String,
    /// How it ended.
    pub end: End,
    /// Why, unless right.
    pub why: String,
}

/// How an arm ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Every word that was checked is right.
    Right,
    /// Wrong words, or faults while it ran.
    Wrong,
    /// It failed, hung or crashed.
    Broken,
    /// The driver refuses the path.
    Refused,
    /// Not run, or nothing was checked.
    #[default]
    Open,
}

/// Reads the newest record. Absent without records. A newest record that cannot be read, was edited, comes from
/// a newer version or another machine is unknown: an older one would not be the state of affairs.
pub(super) fn read(config: &Root, host: &Host) -> Fact<Vec<MeasuredPair>> {
    let names = match config.list(FOLDER) {
        Fact::Known { value, .. } => value,
        Fact::Absent { evidence } => return Fact::Absent { evidence },
        Fact::Unknown(unknown) => return Fact::Unknown(unknown),
    };
    let is_record = |name: &&String| {
        let stem = name.strip_suffix(".json");
        stem.is_some_and(|stem| stem.starts_with(|c: char| c.is_ascii_digit()))
    };
    let Some(newest) = names.iter().rev().find(is_record) else { return Fact::absent(FOLDER) };
    let path = format!("{FOLDER}/{newest}");
    let bytes = match config.bytes(&path, LIMIT) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } => return Fact::unknown(path, Why::Unreadable, "it was there a moment ago"),
        Fact::Unknown(unknown) => return Fact::Unknown(unknown),
    };
    let record = match document::read(&bytes) {
        Ok(record) => record,
        Err(detail) => return Fact::unknown(path, Why::Malformed, detail),
    };
    if let Some(why) = elsewhere(host, &record) {
        let detail = format!("the record is of another machine: {why}; measure again: peerfix bench");
        return Fact::unknown(path, Why::Derived, detail);
    }
    let outdated = outdated(host, &record);
    let text = format!("record {}, taken {}, {} pairs", record.id, record.started, record.pairs.len());
    let pairs = record.pairs.iter().map(|pair| pair.measured(&record.id, &outdated)).collect();
    Fact::known(pairs, Evidence::new(path, text))
}

/// Why the record is of another machine: its processor, or a GPU where this host has none. Names of GPUs depend
/// on who is asked, so they do not count.
fn elsewhere(host: &Host, record: &Document) -> Option<String> {
    if let (Some(here), Some(then)) = (host.cpu.name.value(), &record.state.cpu)
        && here != then
    {
        return Some(format!("it has {then}, this host has {here}"));
    }
    let lost = record.gpus.iter().find(|gpu| host.gpus.iter().all(|here| here.bdf != gpu.bdf))?;
    Some(format!("it has {} at {}, this host has no GPU there", lost.name, lost.bdf))
}

/// Why the record says nothing of the host as it runs now.
fn outdated(host: &Host, record: &Document) -> String {
    let (Some(boot), Some(then)) = (host.kernel.boot_id.value(), &record.state.boot_id) else {
        return "whether it was taken in this boot is not known".to_owned();
    };
    if boot != then {
        return "taken in another boot".to_owned();
    }
    if let (Some(driver), Some(then)) = (host.nvidia.version.value(), &record.state.driver)
        && driver != then
    {
        return format!("taken with driver {then}, {driver} is loaded now");
    }
    for gpu in &record.gpus {
        let here = host.gpus.iter().find(|here| here.bdf == gpu.bdf).and_then(|g| g.domain_type.value());
        if let (Some(here), Some(then)) = (here, &gpu.domain_type)
            && here != then
        {
            return format!("taken with IOMMU domain {then} at {}, now {here}", gpu.bdf);
        }
    }
    String::new()
}
