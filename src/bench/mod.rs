//! GPUs and host become a record: arms, patterns, statistics, children with deadlines.
//!
//! Where there are no GPUs, drives that read into memory of other devices are measured in the same way ([`drives`]).

mod arms;
mod arrival;
pub mod assemble;
mod check;
mod child;
pub mod choose;
pub mod counters;
mod cpus;
pub mod drives;
pub mod errors;
pub mod pattern;
pub mod protocol;
pub mod record;
mod rig;
pub mod run;
mod sampler;
pub mod schedule;
mod state;
pub mod stats;
pub mod store;
mod supervise;
pub mod view;
pub mod worker;

pub use child::{DRIVES, WORKER};
pub use supervise::DEADLINE_VARIABLE;
