//! The only writer: executes operations; journal, backup, revert; history.
