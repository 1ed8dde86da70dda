//! The verdict ladder of a pair: the first rung that fails is the answer.

use super::measured::Measured;
use super::route::cell as matrix_cell;
use super::{Outcome, Pair, Rung};
use crate::host::Host;
use crate::host::gpu::Gpu;
use crate::root::{Fact, Why};

/// All rungs, in order.
pub const RUNGS: [&str; 7] = [
    "topology",
    "kernel-permission",
    "driver-grant",
    "copy-engine-data",
    "sm-data",
    "resident-consumer",
    "throughput",
];

/// Builds the rungs from facts; the data rungs need a benchmark record of this boot and stay unknown without
/// one, unless the log already proves that writes were rejected.
pub(super) fn climb(host: &Host, a: &Gpu, b: &Gpu, pair: &Pair) -> Vec<Rung> {
    let measured = Measured::of(host, a, b);
    let mut rungs = vec![topology(pair), permission(pair), grant(host, a, b, pair)];
    rungs.push(copied(host, a, b, measured.rung("copy-engine-data")));
    rungs.extend(RUNGS[4..].iter().map(|name| measured.rung(name)));
    rungs
}

fn rung(name: &str, a_to_b: Outcome, b_to_a: Outcome, why: impl Into<String>) -> Rung {
    Rung { rung: name.to_owned(), a_to_b, b_to_a, why: why.into() }
}

fn topology(pair: &Pair) -> Rung {
    let (outcome, why) = match pair.route.as_str() {
        "?" => (Outcome::Unknown, "the path between the two is not known".to_owned()),
        "SYS" if pair.cross_socket && pair.p2pdma_reason == "same-host-bridge-only" => (
            Outcome::Fail,
            "on two sockets whose link does not route peer requests; staging through host memory is the transport"
                .to_owned(),
        ),
        route => (Outcome::Pass, format!("route {route}")),
    };
    rung("topology", outcome, outcome, why)
}

/// The kernel's p2pdma answer; the NVIDIA driver does not ask for it.
fn permission(pair: &Pair) -> Rung {
    rung("kernel-permission", pair.p2pdma, pair.p2pdma, pair.p2pdma_why.clone())
}

fn grant(host: &Host, a: &Gpu, b: &Gpu, pair: &Pair) -> Rung {
    const NAME: &str = "driver-grant";
    match a.vendor.as_str() {
        "nvidia" => nvidia_grant(host, a, b, &pair.route),
        "amd" => amd_grant(a, b, pair),
        _ => rung(NAME, Outcome::Unknown, Outcome::Unknown, "this driver does not tell"),
    }
}

/// What KFD shows, and the gate of amdgpu that explains it: addressability, then visible memory.
fn amd_grant(a: &Gpu, b: &Gpu, pair: &Pair) -> Rung {
    const NAME: &str = "driver-grant";
    let hidden = |target: &Gpu| matches!((target.amd.visible_vram.value(), target.amd.vram.value()), (Some(x), Some(y)) if x < y);
    let way = |from: &Gpu, to: &Gpu, reach: Outcome| match from.kfd_peers.value() {
        Some(peers) if peers.contains(&to.bdf) => Outcome::Pass,
        Some(_) => Outcome::Fail,
        None if reach == Outcome::Fail || hidden(to) => Outcome::Fail,
        None => Outcome::Unknown,
    };
    let (out, back) = (way(a, b, pair.a_reaches_b), way(b, a, pair.b_reaches_a));
    let why = if out == Outcome::Pass && back == Outcome::Pass {
        "KFD links the two GPUs".to_owned()
    } else if pair.a_reaches_b == Outcome::Fail || pair.b_reaches_a == Outcome::Fail {
        format!("amdgpu refuses: {}", pair.reach_why)
    } else if hidden(a) || hidden(b) {
        "amdgpu refuses: not all memory of the target is visible".to_owned()
    } else if out == Outcome::Unknown || back == Outcome::Unknown {
        "the KFD topology could not be read".to_owned()
    } else {
        "KFD shows no link between the two GPUs".to_owned()
    };
    rung(NAME, out, back, why)
}

fn nvidia_grant(host: &Host, a: &Gpu, b: &Gpu, route: &str) -> Rung {
    const NAME: &str = "driver-grant";
    match a.driver.value().map(String::as_str) {
        Some("nvidia") => {}
        Some(other) => {
            let why = format!("the driver {other} has no peer access between GPUs");
            return rung(NAME, Outcome::Fail, Outcome::Fail, why);
        }
        None if a.driver.is_absent() => {
            return rung(NAME, Outcome::Fail, Outcome::Fail, "no driver is bound");
        }
        None => return rung(NAME, Outcome::Unknown, Outcome::Unknown, "the bound driver is not known"),
    }
    let forced = host.nvidia.registry.value().is_some_and(|keys| keys.iter().any(|k| k.key == "ForceP2P"));
    let mut seen = Vec::new();
    let mut way = |from: &Gpu, to: &Gpu| {
        let read = matrix_cell(host.smi.p2p_read.value(), from, to);
        let write = matrix_cell(host.smi.p2p_write.value(), from, to);
        let cells: Vec<&str> = [read, write].into_iter().flatten().collect();
        seen.extend(cells.iter().map(|c| (*c).to_owned()));
        if cells.is_empty() {
            Outcome::Unknown
        } else if cells.iter().any(|c| !matches!(*c, "OK" | "U")) {
            Outcome::Fail
        } else if cells.contains(&"U") {
            Outcome::Unknown
        } else if forced {
            // With the key present every check is skipped and OK says nothing (p2p_caps.c).
            Outcome::Unknown
        } else {
            Outcome::Pass
        }
    };
    let (out, back) = (way(a, b), way(b, a));
    seen.sort();
    seen.dedup();
    if seen.is_empty() && consumer_product(a) && consumer_product(b) && !is_direct(route) {
        let why = match &host.nvidia.patched {
            fact if fact.is_absent() => "the stock driver refuses PCIe peer access on GeForce RTX products",
            fact if fact.value().is_some() => "a patched driver may grant it; its matrix was not captured",
            _ => "whether the driver is a stock build is not known",
        };
        let outcome = if host.nvidia.patched.is_absent() { Outcome::Fail } else { Outcome::Unknown };
        return rung(NAME, outcome, outcome, why);
    }
    let why = if seen.is_empty() {
        unanswered(host)
    } else if out == Outcome::Fail || back == Outcome::Fail {
        format!("the driver answers {}", seen.join(", "))
    } else if seen.iter().any(|c| c == "U") {
        "the driver answers U: it does not know".to_owned()
    } else if forced {
        "the driver answers OK because ForceP2P skips its checks: not evidence".to_owned()
    } else {
        "the driver grants peer access; a capability, not a proof of data".to_owned()
    };
    rung(NAME, out, back, why)
}

/// Why there is no cell of the driver's peer matrix.
fn unanswered(host: &Host) -> String {
    match &host.smi.p2p_read {
        Fact::Unknown(reason) if reason.why != Why::NotCaptured => {
            format!("the driver's peer matrix is not known: {reason}")
        }
        Fact::Known { .. } => "the driver's peer matrix has no answer for this pair".to_owned(),
        _ => "the driver's peer matrix was not captured".to_owned(),
    }
}

/// The log of this boot outranks a measurement that went well.
fn copied(host: &Host, a: &Gpu, b: &Gpu, measured: Rung) -> Rung {
    let lost = |from: &Gpu, to: &Gpu| rejected(host, from, to) == Some(true);
    let (out, back) = (lost(a, b), lost(b, a));
    if !out && !back {
        return measured;
    }
    let or = |lost: bool, measured: Outcome| if lost { Outcome::Fail } else { measured };
    let why = "requests to the peer were rejected in this boot: data was lost without an error";
    rung(&measured.rung, or(out, measured.a_to_b), or(back, measured.b_to_a), why)
}

/// Whether the IOMMU rejected requests of `from` to a BAR of `to`; none when the log is not known.
fn rejected(host: &Host, from: &Gpu, to: &Gpu) -> Option<bool> {
    let devices = host.faults.devices.value()?;
    Some(
        devices.iter().any(|d| {
            d.bdf == from.bdf && d.in_peer_bar + d.in_masked_peer_bar > 0 && d.peers.contains(&to.bdf)
        }),
    )
}

/// GeForce RTX, whose stock driver grants peers over NVLink only.
fn consumer_product(gpu: &Gpu) -> bool {
    gpu.name.value().is_some_and(|name| name.contains("GeForce RTX"))
}

/// A GPU-to-GPU link rather than PCI.
fn is_direct(route: &str) -> bool {
    route.starts_with("NV") || route == "XGMI"
}
