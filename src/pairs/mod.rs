//! Per pair and direction: topology, kernel and driver gates, and the verdict ladder. Pure.

mod acs;
mod ladder;
mod measured;
mod p2pdma;
mod reach;
mod route;

pub use ladder::RUNGS;
pub use route::by_bridges;

use crate::host::Host;
use crate::host::gpu::Gpu;
use crate::root::Fact;
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
    /// Their ids alone, `VVVV:DDDD`; the last is the one that decided.
    pub representative_ids: Vec<String>,
    /// Release whose built-in table accepts what this one refuses, `5.18`; empty where none is known to.
    pub listed_from: String,
    /// Where the table came from.
    pub table: String,
    /// amdgpu: `a`'s DMA mask reaches `b`'s aperture, or a translating domain makes it irrelevant.
    pub a_reaches_b: Outcome,
    /// amdgpu: the other direction.
    pub b_reaches_a: Outcome,
    /// Numbers behind the two, in one sentence.
    pub reach_why: String,
    /// The driver's grant, the worse of both directions.
    pub granted: Outcome,
    /// What the driver answers, in its own codes (`GNS`) or words.
    pub grant_why: String,
    /// Ports below or at the shared bridge that redirect peer requests upward (ACS); empty without a shared
    /// bridge.
    pub acs_ports: Vec<String>,
    /// The same ports in the `pci:VVVV:DDDD` form of `pci=disable_acs_redir=`, without repetition.
    pub acs_models: Vec<String>,
    /// A port of a shared path whose ACS cannot be read.
    pub acs_unreadable: bool,
    /// The verdict ladder.
    pub rungs: Vec<Rung>,
}

/// Judges every pair of same-vendor compute GPUs.
pub fn judge(host: &Host) -> Vec<Pair> {
    let gpus: Vec<&Gpu> = host.gpus.iter().filter(|g| g.compute).collect();
    let mut pairs = Vec::new();
    for (index, a) in gpus.iter().enumerate() {
        for b in &gpus[index + 1..] {
            if a.vendor == b.vendor {
                pairs.push(judge_pair(host, a, b));
            }
        }
    }
    pairs
}

fn judge_pair(host: &Host, a: &Gpu, b: &Gpu) -> Pair {
    let cross_socket = route::cross_socket(host, a, b);
    let mut pair = Pair {
        a: a.bdf.clone(),
        b: b.bdf.clone(),
        vendor: a.vendor.clone(),
        route: route::of(host, a, b, cross_socket),
        same_switch: a.upstream.iter().any(|bridge| b.upstream.contains(bridge)),
        same_host_bridge: matches!((a.root_bus.value(), b.root_bus.value()), (Some(x), Some(y)) if x == y),
        cross_socket,
        uses_p2pdma: uses_p2pdma(a) && uses_p2pdma(b) && !route::xgmi(host, a, b),
        ..Pair::default()
    };
    if pair.uses_p2pdma {
        let answer = p2pdma::judge(host, a, b);
        pair.p2pdma = answer.outcome;
        pair.p2pdma_why = answer.why;
        answer.reason.clone_into(&mut pair.p2pdma_reason);
        pair.representatives = answer.representatives;
        pair.representative_ids = answer.representative_ids;
        if answer.outcome == Outcome::Fail {
            pair.listed_from = p2pdma::listed_from(host, a, b);
        }
        pair.table = host.allow_list.value().map(|list| list.source.clone()).unwrap_or_default();
        let (out, out_why) = reach::judge(host, a, b);
        let (back, back_why) = reach::judge(host, b, a);
        pair.a_reaches_b = out;
        pair.b_reaches_a = back;
        pair.reach_why = if out == Outcome::Pass { back_why } else { out_why };
    } else {
        pair.p2pdma = Outcome::NotApplicable;
        pair.a_reaches_b = Outcome::NotApplicable;
        pair.b_reaches_a = Outcome::NotApplicable;
        "not-used".clone_into(&mut pair.p2pdma_reason);
        pair.p2pdma_why = format!("the {} driver does not consult the kernel's list", driver(a));
    }
    let acs = acs::below_shared_bridge(host, a, b);
    pair.acs_models = acs.models;
    pair.acs_ports = acs.ports;
    pair.acs_unreadable = acs.unreadable;
    pair.rungs = ladder::climb(host, a, b, &pair);
    if let Some(grant) = pair.rungs.iter().find(|r| r.rung == "driver-grant") {
        pair.granted = worse(grant.a_to_b, grant.b_to_a);
        pair.grant_why.clone_from(&grant.why);
    }
    pair
}

/// `WHAT is not known`, with the file and the reason.
fn missing<T>(what: &str, fact: &Fact<T>) -> String {
    match fact.reason() {
        Some(reason) => format!("{what} is not known: {reason}"),
        None => format!("{what} is not known"),
    }
}

/// The worse of two directions: fail, then unknown, then pass.
fn worse(x: Outcome, y: Outcome) -> Outcome {
    [Outcome::Fail, Outcome::Unknown, Outcome::Pass].into_iter().find(|o| x == *o || y == *o).unwrap_or(x)
}

/// amdgpu and xe export peer memory through the kernel's p2pdma; the NVIDIA driver and nouveau do not.
fn uses_p2pdma(gpu: &Gpu) -> bool {
    match gpu.driver.value().map(String::as_str) {
        Some("amdgpu" | "xe") => true,
        Some(_) => false,
        None => gpu.vendor == "amd",
    }
}

fn driver(gpu: &Gpu) -> &str {
    gpu.driver.value().map_or("missing", String::as_str)
}
