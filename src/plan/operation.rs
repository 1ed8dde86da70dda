//! What a change does to a host, as data. Only `ledger` carries it out.

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Replace or create a file.
    Write {
        /// Path relative to the root.
        path: String,
        /// Bytes the plan was made against; none when the file must not exist.
        before: Option<Vec<u8>>,
        /// Bytes afterwards.
        after: Vec<u8>,
    },
    /// Run a program in the target.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// What it does.
        why: String,
    },
}
