//! Measured transfers of this host, from benchmark records in the state folder.

use crate::root::{Fact, Root, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// Where records are kept.
const FOLDER: &str = "var/lib/peerfix/records";

/// One ordered pair of one record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredPair {
    /// Source.
    pub from: String,
    /// Destination.
    pub to: String,
    /// Peer copy, MB/s (10^6), median.
    pub peer_mb_s: i64,
    /// Staged through pinned host memory, MB/s, median.
    pub staged_mb_s: i64,
    /// Every word arrived on both paths.
    pub verified: bool,
}

/// Reads the newest record. Absent without records; this version writes none and reads none, so that a record
/// of a newer version is unknown, not absent.
pub fn read(config: &Root) -> Fact<Vec<MeasuredPair>> {
    match config.list(FOLDER) {
        Fact::Known { value, .. } if value.is_empty() => Fact::absent(FOLDER),
        Fact::Known { .. } => Fact::unknown(FOLDER, Why::Malformed, "records of a newer version of peerfix"),
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(unknown) => Fact::Unknown(unknown),
    }
}
