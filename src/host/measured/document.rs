//! The parts of a benchmark record (`schema/record.json`, major version 1) that say something about a host.

use super::{End, MeasuredArm, MeasuredPair};
use crate::format::sealed::{self, Hash};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Name and major version of the document.
const SCHEMA: &str = "peerfix/record";
const MAJOR: u64 = 1;

/// Peer copies, and staging through host memory, that compare.
const PEER: [&str; 2] = ["ce-read", "ce-write"];
const STAGED: [&str; 3] = ["staged", "staged-double", "driver-staged"];
/// Arms that are evidence for a rung, by the beginning of their names.
const EVIDENCE: [&str; 8] =
    ["first-page", "ce-read", "ce-write", "bidirectional", "sm-read", "sm-write", "allreduce-", "resident"];

#[derive(Deserialize)]
struct Head {
    schema: String,
    version: Version,
    #[serde(default)]
    program: String,
}

#[derive(Deserialize)]
struct Version {
    major: u64,
}

/// The record.
#[derive(Deserialize)]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) started: String,
    pub(super) state: State,
    pub(super) gpus: Vec<Gpu>,
    pub(super) pairs: Vec<Pair>,
    #[serde(default)]
    hash: String,
}

/// State of the host that decides whether the record is of it, and still fits.
#[derive(Deserialize)]
pub(super) struct State {
    pub(super) boot_id: Option<String>,
    pub(super) driver: Option<String>,
    pub(super) cpu: Option<String>,
}

/// One GPU.
#[derive(Deserialize)]
pub(super) struct Gpu {
    pub(super) bdf: String,
    pub(super) name: String,
    pub(super) domain_type: Option<String>,
}

/// One ordered pair.
#[derive(Deserialize)]
pub(super) struct Pair {
    from: String,
    to: String,
    arms: Vec<Arm>,
}

#[derive(Deserialize)]
struct Arm {
    name: String,
    outcome: String,
    why: String,
    unit: String,
    #[serde(default)]
    median: Option<f64>,
    words_checked: u64,
    errors: Vec<Wrong>,
    deltas: Deltas,
}

#[derive(Deserialize)]
struct Wrong {
    mechanism: String,
    words: u64,
}

#[derive(Deserialize)]
struct Deltas {
    iommu_faults: Option<u64>,
    aer_uncorrectable: Option<u64>,
    xids: Option<Vec<IgnoredAny>>,
}

/// Reads a record, or says why not.
pub(super) fn read(bytes: &[u8]) -> Result<Document, String> {
    let malformed = |error: serde_json::Error| format!("not a readable record: {error}; measure again");
    let head: Head = serde_json::from_slice(bytes).map_err(malformed)?;
    if head.schema != SCHEMA {
        return Err(format!("expected a {SCHEMA} document, found {}", short(&head.schema)));
    }
    if head.version.major > MAJOR {
        return Err(format!(
            "record version {}, written by peerfix {}; this program reads up to {MAJOR}",
            head.version.major,
            short(&head.program)
        ));
    }
    let document: Document = serde_json::from_slice(bytes).map_err(malformed)?;
    if sealed::check(bytes, &document.hash) != Hash::Matches {
        return Err("hash mismatch: edited or damaged since it was written; measure again".to_owned());
    }
    Ok(document)
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

impl Pair {
    /// What it says of the pair.
    pub(super) fn measured(&self, record: &str, outdated: &str) -> MeasuredPair {
        let fastest = |names: &[&str]| {
            let right = self.arms.iter().filter(|arm| names.contains(&arm.name.as_str()));
            right.filter(|arm| arm.end().0 == End::Right).map(Arm::mb_s).max().unwrap_or(0)
        };
        let (peer_mb_s, staged_mb_s) = (fastest(&PEER), fastest(&STAGED));
        let is_evidence = |arm: &&Arm| EVIDENCE.iter().any(|name| arm.name.starts_with(name));
        MeasuredPair {
            from: self.from.clone(),
            to: self.to.clone(),
            peer_mb_s,
            staged_mb_s,
            verified: peer_mb_s > 0 && staged_mb_s > 0,
            record: short(record),
            outdated: outdated.to_owned(),
            arms: self.arms.iter().filter(is_evidence).map(Arm::measured).collect(),
        }
    }
}

impl Arm {
    fn measured(&self) -> MeasuredArm {
        let (end, why) = self.end();
        MeasuredArm { name: self.name.clone(), end, why }
    }

    fn end(&self) -> (End, String) {
        let because = |lead: &str| {
            if self.why.is_empty() { lead.to_owned() } else { format!("{lead}: {}", self.why) }
        };
        if self.outcome == "corrupt" || !self.errors.is_empty() {
            let list: Vec<String> =
                self.errors.iter().map(|e| format!("{} words {}", e.words, e.mechanism)).collect();
            let lead = if list.is_empty() { "wrong data".to_owned() } else { list.join(", ") };
            return (End::Wrong, lead);
        }
        let grown = |count: Option<u64>| count.is_some_and(|count| count > 0);
        for (name, any) in [
            ("IOMMU faults", grown(self.deltas.iommu_faults)),
            ("uncorrectable PCIe errors", grown(self.deltas.aer_uncorrectable)),
            ("an Xid", self.deltas.xids.as_ref().is_some_and(|codes| !codes.is_empty())),
        ] {
            if any {
                return (End::Wrong, format!("{name} while it ran"));
            }
        }
        match self.outcome.as_str() {
            "measured" if self.words_checked > 0 => (End::Right, String::new()),
            "measured" => (End::Open, "no word was checked".to_owned()),
            "hang" | "crash" | "failed" => (End::Broken, because(&self.outcome)),
            "refused" => (End::Refused, because("refused")),
            _ => (End::Open, because("not run")),
        }
    }

    /// MB/s of an arm in GB/s; 0 for any other.
    fn mb_s(&self) -> i64 {
        let value = self.median.unwrap_or(0.0) * 1000.0;
        let sound = self.unit == "GB/s" && value.is_finite() && (0.0..1e12).contains(&value);
        #[allow(clippy::cast_possible_truncation)]
        if sound { value.round() as i64 } else { 0 }
    }
}
