//! GPUs and host become a record: arms, patterns, statistics, children with deadlines.

mod arms;
mod check;
pub mod counters;
pub mod errors;
pub mod pattern;
pub mod protocol;
pub mod record;
mod rig;
mod sampler;
pub mod stats;
pub mod worker;
