//! The rule files in the binary. `tests/rules_engine.rs` compares this list with the folder.

/// Name and text of each file, in the order of findings.
pub const FILES: &[(&str, &str)] = &[
    ("rules/iommu.toml", include_str!("../../rules/iommu.toml")),
    ("rules/p2pdma.toml", include_str!("../../rules/p2pdma.toml")),
    ("rules/kfd.toml", include_str!("../../rules/kfd.toml")),
    ("rules/gpu.toml", include_str!("../../rules/gpu.toml")),
    ("rules/nvidia.toml", include_str!("../../rules/nvidia.toml")),
    ("rules/nvlink.toml", include_str!("../../rules/nvlink.toml")),
    ("rules/bar.toml", include_str!("../../rules/bar.toml")),
    ("rules/pcie.toml", include_str!("../../rules/pcie.toml")),
    ("rules/boot.toml", include_str!("../../rules/boot.toml")),
    ("rules/modprobe.toml", include_str!("../../rules/modprobe.toml")),
    ("rules/environment.toml", include_str!("../../rules/environment.toml")),
    ("rules/bench.toml", include_str!("../../rules/bench.toml")),
    ("rules/isolation.toml", include_str!("../../rules/isolation.toml")),
    ("rules/topology.toml", include_str!("../../rules/topology.toml")),
    ("rules/host.toml", include_str!("../../rules/host.toml")),
];
