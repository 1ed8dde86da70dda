//! `peerfix/audit`.

use super::{VERSION, Version};
use crate::host::gpu::Gpu;
use crate::pairs::{Pair, Rung};
use crate::plan::{Audit, Change};
use crate::root::Unknown;
use crate::rules::Finding;
use schemars::JsonSchema;
use serde::Serialize;

/// `peerfix/audit`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AuditDocument<'a> {
    /// `peerfix/audit`.
    #[schemars(extend("const" = "peerfix/audit"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The host in short.
    pub host: HostDocument<'a>,
    /// Findings, most harmful first.
    pub findings: &'a [Finding],
    /// Pairs and their ladders.
    pub pairs: Vec<PairDocument<'a>>,
    /// Proposed changes.
    pub changes: &'a [Change],
    /// Facts that could not be established, with path and reason.
    pub unknown: &'a [Unknown],
}

/// The host in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HostDocument<'a> {
    /// Kernel release.
    pub kernel: Option<&'a str>,
    /// Running command line.
    pub cmdline: Option<&'a str>,
    /// Hypervisor; null on bare metal or when not known.
    #[serde(rename = "virtual")]
    pub hypervisor: Option<&'a str>,
    /// CPU vendor id.
    pub cpu: Option<&'a str>,
    /// Boot loader.
    pub loader: Option<&'a str>,
    /// Board.
    pub board: Option<&'a str>,
    /// GPUs.
    pub gpus: Vec<GpuDocument<'a>>,
}

/// One GPU in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GpuDocument<'a> {
    /// BDF.
    pub bdf: &'a str,
    /// `nvidia`, `amd`, `intel`.
    pub vendor: &'a str,
    /// Name.
    pub name: Option<&'a str>,
    /// Driver.
    pub driver: Option<&'a str>,
    /// Takes part in peer transfers.
    pub peer: bool,
    /// Root port.
    pub root_port: &'a str,
    /// NUMA node.
    pub numa_node: Option<i64>,
    /// IOMMU domain type.
    pub domain_type: Option<&'a str>,
    /// Aperture in bytes.
    pub bar1: Option<i64>,
    /// PCIe generation of the card's link now.
    pub link_generation: Option<i64>,
    /// Lanes of the card's link now.
    pub link_width: Option<i64>,
}

/// One pair in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PairDocument<'a> {
    /// Lower BDF.
    pub a: &'a str,
    /// Higher BDF.
    pub b: &'a str,
    /// Route.
    pub route: &'a str,
    /// The verdict ladder.
    pub rungs: &'a [Rung],
}

impl<'a> AuditDocument<'a> {
    /// The document of one audit.
    pub fn of(audit: &'a Audit) -> Self {
        Self {
            schema: "peerfix/audit",
            version: VERSION,
            host: HostDocument::of(audit),
            findings: &audit.findings,
            pairs: audit.pairs.iter().map(PairDocument::of).collect(),
            changes: &audit.changes,
            unknown: &audit.unknown,
        }
    }
}

impl<'a> HostDocument<'a> {
    fn of(audit: &'a Audit) -> Self {
        let host = &audit.host;
        Self {
            kernel: host.kernel.release.value().map(String::as_str),
            cmdline: host.kernel.cmdline.value().map(|line| line.text.as_str()),
            hypervisor: host.virt.hypervisor.value().map(String::as_str),
            cpu: host.cpu.vendor.value().map(String::as_str),
            loader: audit.boot.loader.value().map(String::as_str),
            board: host.virt.board.value().map(String::as_str),
            gpus: host.gpus.iter().map(GpuDocument::of).collect(),
        }
    }
}

impl<'a> GpuDocument<'a> {
    fn of(gpu: &'a Gpu) -> Self {
        Self {
            bdf: &gpu.bdf,
            vendor: &gpu.vendor,
            name: gpu.name.value().map(String::as_str),
            driver: gpu.driver.value().map(String::as_str),
            peer: gpu.compute,
            root_port: &gpu.root_port,
            numa_node: gpu.numa_node.value().copied(),
            domain_type: gpu.domain_type.value().map(String::as_str),
            bar1: gpu.bar1.value().copied(),
            link_generation: gpu.link.generation.value().copied(),
            link_width: gpu.link.width.value().copied(),
        }
    }
}

impl<'a> PairDocument<'a> {
    fn of(pair: &'a Pair) -> Self {
        Self { a: &pair.a, b: &pair.b, route: &pair.route, rungs: &pair.rungs }
    }
}
