//! Two records become a verdict. Pure: values in, values out; `compare` uses it alone.
//!
//! - [`read`]: bytes become a record, or the reason why not
//! - [`comparable`]: may the two be compared, and what differs between them
//! - [`outcome`]: how an arm ended before and after
//! - [`counters`]: faults, Xids and link errors that are new
//! - [`noise`]: what the samples do by themselves
//! - [`spread`]: what they do from boot to boot
//! - [`speed`]: the interval of a change against threshold and noise
//! - [`replaced`]: what a newly possible arm takes the place of
//! - [`mod@compare`]: all arms
//! - [`overall`]: one verdict and one sentence
//! - [`document`]: the result, `peerfix/verdict`
//! - [`gate`]: all evidence of a trial becomes one judgement: kept, rejected, or left open

pub mod comparable;
pub mod compare;
pub mod counters;
pub mod document;
pub mod gate;
pub mod noise;
pub mod outcome;
pub mod overall;
pub mod read;
pub mod replaced;
pub mod speed;
pub mod spread;
pub mod stats;

pub use compare::{Settings, compare};
pub use document::Verdict;
