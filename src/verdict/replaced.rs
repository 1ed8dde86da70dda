//! What a newly possible peer arm takes the place of: staging, by the driver or by us.
//!
//! Bulk arms are compared with the fastest staging of bulk; copies of up to 64 KiB only with staging of the
//! same size, because there start-up costs decide and a bulk figure says nothing.

use super::stats::median::median;
use crate::bench::record::{Arm, Outcome};

/// Largest copy that counts as small.
pub const SMALL: u64 = 64 << 10;

/// Arms of one direction of bulk data, which staging carries as well. (`bidirectional` adds up two.)
const BULK: [&str; 5] = ["ce-read", "ce-write", "sm-read", "sm-write", "p2p-read"];

/// Staging through host memory, by us or by the driver.
pub fn is_staged(arm: &str) -> bool {
    arm.starts_with("staged") || arm.starts_with("driver-staged")
}

/// The fastest arm of the pair's `before` arms that `arm` replaces.
pub fn by<'a>(arm: &Arm, before: &'a [Arm]) -> Option<&'a Arm> {
    let small =
        (arm.name.starts_with("latency-copy-") || arm.name.starts_with("p2p-read-")) && arm.bytes <= SMALL;
    // Memory for peers may be so small that even its bulk is.
    let same_size = small || arm.name == "p2p-read";
    if !small && !BULK.contains(&arm.name.as_str()) {
        return None;
    }
    let larger_is_better = arm.unit == "GB/s";
    before
        .iter()
        .filter(|b| b.outcome == Outcome::Measured && b.unit == arm.unit)
        .filter(|b| is_staged(&b.name))
        .filter(|b| if same_size { b.bytes == arm.bytes } else { b.bytes > SMALL })
        .filter_map(|b| median(&b.samples).map(|m| (if larger_is_better { m } else { -m }, b)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, b)| b)
}
