//! Two records become a verdict. Pure: values in, values out; `compare` uses it alone.
//!
//! - [`read`]: bytes become a record, or the reason why not
//! - [`comparable`]: may the two be compared, and what differs between them
//! - [`outcome`]: how an arm ended before and after
//! - [`counters`]: faults, Xids and link errors that are new
//! - [`noise`]: what the samples do by themselves
//! - [`speed`]: the interval of a change against threshold and noise
//! - [`replaced`]: what a newly possible arm takes the place of
//! - [`mod@compare`]: all arms
//! - [`overall`]: one verdict and one sentence
//! - [`document`]: the result, `peerfix/verdict`

pub mod comparable;
pub mod compare;
pub mod counters;
pub mod document;
pub mod noise;
pub mod outcome;
pub mod overall;
pub mod read;
pub mod replaced;
pub mod speed;
pub mod stats;

pub use compare::{Settings, compare};
pub use document::Verdict;
