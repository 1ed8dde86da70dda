//! peerfix makes GPU-to-GPU transfer on a Linux host right, proves it, and can take everything back.
//!
//! The map, from the ground floor up; a module uses only modules above it in this list
//! (`tests/architecture.rs` keeps it so):
//!
//! - [`root`]: the only reader of a host: the live machine or a captured tree
//! - [`mod@format`]: lossless parse and edit, one file per format
//! - [`gpu`]: function tables of libcuda and libnvidia-ml, mapped device memory; every `unsafe` lives here
//! - [`host`]: facts: what the machine is
//! - [`boot`]: one file per boot loader: configured command line, edits; never writes
//! - [`pairs`]: per pair and direction: which gate refuses, which rung fails
//! - [`rules`]: findings from facts; the rules themselves are data in `/rules`
//! - [`plan`]: findings and policy become changes made of operations
//! - [`mod@bench`]: gpu and host become a record: arms, patterns, statistics, children with deadlines
//! - [`verdict`]: two records become a verdict; pure
//! - [`ledger`]: the only writer: journal, backup, apply, revert; history
//! - [`mod@trial`]: one boot decides: baseline, arm, measure, judge, keep or take back
//! - [`report`]: presents values as text, JSON and Markdown
//! - [`cli`]: one file per command: parse, call one function, present

#![warn(missing_docs, unreachable_pub)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod bench;
pub mod boot;
pub mod cli;
pub mod format;
pub mod gpu;
pub mod host;
pub mod ledger;
pub mod pairs;
pub mod plan;
pub mod report;
pub mod root;
pub mod rules;
pub mod trial;
pub mod verdict;
