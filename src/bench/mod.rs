//! GPUs and host become a record: arms, patterns, statistics, children with deadlines.

mod arms;
pub mod assemble;
mod check;
mod child;
pub mod choose;
pub mod counters;
mod cpus;
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

pub use child::WORKER;
pub use supervise::DEADLINE_VARIABLE;
