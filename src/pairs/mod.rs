//! Per pair and direction: topology, kernel and driver gates, and the verdict ladder. Pure.

use crate::host::Host;
use schemars::JsonSchema;
use serde::Serialize;

/// Three-valued outcome of one rung in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Established as right.
    Pass,
    /// Established as wrong.
    Fail,
    /// Not established.
    #[default]
    Unknown,
    /// Does not concern this pair.
    NotApplicable,
}

/// One rung of the verdict ladder.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Rung {
    /// `topology`, `kernel-permission`, `driver-grant`, `copy-engine-data`, `sm-data`, `resident-consumer`,
    /// `throughput`.
    pub rung: String,
    /// `a` initiates transfers to memory of `b`.
    pub a_to_b: Outcome,
    /// `b` initiates transfers to memory of `a`.
    pub b_to_a: Outcome,
    /// The reason in one sentence.
    pub why: String,
}

/// Two GPUs of one vendor.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Pair {
    /// Lower BDF.
    pub a: String,
    /// Higher BDF.
    pub b: String,
    /// Vendor of both.
    pub vendor: String,
    /// `NV#`, `XGMI`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS`, or `?`.
    pub route: String,
    /// Common upstream bridge, below the host bridge.
    pub same_switch: bool,
    /// Both below one host bridge object (root bus).
    pub same_host_bridge: bool,
    /// On two sockets (NUMA nodes of different packages).
    pub cross_socket: bool,
    /// The transfer is judged by an in-kernel p2pdma user (amdgpu, xe), so that the allow-list decides.
    pub uses_p2pdma: bool,
    /// The kernel's answer, `pass`, `fail`, `unknown` or `not-applicable`.
    pub p2pdma: Outcome,
    /// Why, in one sentence.
    pub p2pdma_why: String,
    /// `allowed`, `bus-address`, `not-listed`, `same-host-bridge-only`, `no-representative`, `acs-redirect`,
    /// `cpu-family`, `kernel-config`, `unknown`, `not-used`.
    pub p2pdma_reason: String,
    /// Representative devices of the root buses that the kernel compares, `VVVV:DDDD at BDF`.
    pub representatives: Vec<String>,
    /// Where the table came from.
    pub table: String,
    /// amdgpu: `a`'s DMA mask reaches `b`'s aperture, or a translating domain makes it irrelevant.
    pub a_reaches_b: Outcome,
    /// amdgpu: the other direction.
    pub b_reaches_a: Outcome,
    /// Numbers behind the two, in one sentence.
    pub reach_why: String,
    /// The verdict ladder.
    pub rungs: Vec<Rung>,
}

/// Judges every pair of same-vendor compute GPUs.
pub fn judge(host: &Host) -> Vec<Pair> {
    let _ = host;
    Vec::new()
}
