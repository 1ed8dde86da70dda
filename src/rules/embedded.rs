//! The rule files in the binary. `tests/rules_engine.rs` compares this list with the folder.

/// Name and text of each file, in the order of findings.
pub const FILES: &[(&str, &str)] = &[
    ("rules/host.toml", include_str!("../../rules/host.toml")),
    ("rules/topology.toml", include_str!("../../rules/topology.toml")),
];
