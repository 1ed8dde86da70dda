//! The arms: ways to move data from one GPU to another, each timed on the GPU's clock where that is possible.

pub(super) mod allreduce;
pub(super) mod bulk;
pub(super) mod latency;
pub(super) mod resident;
pub(super) mod staged;

use super::rig::{Host, Rig};

/// One ordered pair.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) from: &'a Rig,
    pub(super) to: &'a Rig,
    pub(super) host: &'a Host,
}

/// What the driver mapped for an ordered pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    /// The destination's GPU reads the source's memory.
    pub(super) read: bool,
    /// The source's GPU writes the destination's memory.
    pub(super) write: bool,
}
