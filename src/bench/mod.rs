//! GPUs and host become a record: arms, patterns, statistics, children with deadlines.

pub mod errors;
pub mod pattern;
pub mod record;
pub mod stats;
