//! GPUs and host become a record: arms, patterns, statistics, children with deadlines.

pub mod record;
