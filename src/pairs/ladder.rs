//! The verdict ladder of a pair: the first rung that fails is the answer.

use super::route::cell as matrix_cell;
use super::{Outcome, Pair, Rung};
use crate::host::Host;
use crate::host::gpu::Gpu;

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

/// Builds the rungs from facts; the data rungs need a benchmark record and stay unknown without one, unless
/// the log already proves that writes were rejected.
pub(super) fn climb(host: &Host, a: &Gpu, b: &Gpu, pair: &Pair) -> Vec<Rung> {
    let mut rungs = vec![topology(pair), permission(host, a, b, pair), grant(host, a, b, &pair.route), copied(host, a, b)];
    for name in &RUNGS[4..] {
        rungs.push(rung(name, Outcome::Unknown, Outcome::Unknown, "not measured: needs a benchmark record"));
    }
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

fn permission(host: &Host, a: &Gpu, b: &Gpu, pair: &Pair) -> Rung {
    const NAME: &str = "kernel-permission";
    if pair.uses_p2pdma {
        let both = |reach: Outcome| match (pair.p2pdma, reach) {
            (Outcome::Fail, _) | (_, Outcome::Fail) => Outcome::Fail,
            (Outcome::Pass, Outcome::Pass) => Outcome::Pass,
            _ => Outcome::Unknown,
        };
        let why = if pair.p2pdma == Outcome::Pass {
            format!("{}; {}", pair.p2pdma_why, pair.reach_why)
        } else {
            pair.p2pdma_why.clone()
        };
        return rung(NAME, both(pair.a_reaches_b), both(pair.b_reaches_a), why);
    }
    if is_direct(&pair.route) {
        return rung(NAME, Outcome::NotApplicable, Outcome::NotApplicable, "a GPU link, not the PCI fabric");
    }
    let way = |from: &Gpu, to: &Gpu| match rejected(host, from, to) {
        Some(true) => Outcome::Fail,
        Some(false) if matches!(from.translation.value().map(String::as_str), Some("none" | "identity")) => {
            Outcome::Pass
        }
        _ => Outcome::Unknown,
    };
    let (out, back) = (way(a, b), way(b, a));
    let why = if out == Outcome::Fail || back == Outcome::Fail {
        "the IOMMU rejected requests to the peer's BAR".to_owned()
    } else if out == Outcome::Pass && back == Outcome::Pass {
        "no translation stands between the two, and the log names no rejected request".to_owned()
    } else {
        match (a.translation.value(), host.log.available.is_unknown()) {
            (_, true) => "the kernel log could not be read".to_owned(),
            (Some(kind), _) => format!("domain of {}: {kind}; only verified data tells", a.bdf),
            (None, _) => "the IOMMU domain is not known".to_owned(),
        }
    };
    rung(NAME, out, back, why)
}

fn grant(host: &Host, a: &Gpu, b: &Gpu, route: &str) -> Rung {
    const NAME: &str = "driver-grant";
    match a.vendor.as_str() {
        "nvidia" => nvidia_grant(host, a, b, route),
        "amd" => {
            let way = |from: &Gpu, to: &Gpu| match from.kfd_peers.value() {
                Some(peers) if peers.contains(&to.bdf) => Outcome::Pass,
                Some(_) => Outcome::Fail,
                None => Outcome::Unknown,
            };
            let (out, back) = (way(a, b), way(b, a));
            let why = match (out, back) {
                (Outcome::Pass, Outcome::Pass) => "KFD links the two GPUs",
                (Outcome::Unknown, _) | (_, Outcome::Unknown) => "the KFD topology could not be read",
                _ => "KFD shows no link between the two GPUs",
            };
            rung(NAME, out, back, why)
        }
        _ => rung(NAME, Outcome::Unknown, Outcome::Unknown, "this driver does not tell"),
    }
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
    let forced = host
        .nvidia
        .registry
        .value()
        .is_some_and(|keys| keys.iter().any(|k| k.key == "ForceP2P"));
    let mut seen = Vec::new();
    let mut way = |from: &Gpu, to: &Gpu| {
        let read = matrix_cell(host.smi.p2p_read.value(), from, to);
        let write = matrix_cell(host.smi.p2p_write.value(), from, to);
        let cells: Vec<&str> = [read, write].into_iter().flatten().collect();
        seen.extend(cells.iter().map(|c| (*c).to_owned()));
        if cells.is_empty() {
            Outcome::Unknown
        } else if cells.iter().any(|c| *c != "OK") {
            Outcome::Fail
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
        let outcome =
            if host.nvidia.patched.is_absent() { Outcome::Fail } else { Outcome::Unknown };
        return rung(NAME, outcome, outcome, why);
    }
    let why = if seen.is_empty() {
        "the driver's peer matrix was not captured".to_owned()
    } else if out == Outcome::Fail || back == Outcome::Fail {
        format!("the driver answers {}", seen.join(", "))
    } else if forced {
        "the driver answers OK because ForceP2P skips its checks: not evidence".to_owned()
    } else {
        "the driver grants peer access; a capability, not a proof of data".to_owned()
    };
    rung(NAME, out, back, why)
}

fn copied(host: &Host, a: &Gpu, b: &Gpu) -> Rung {
    let way = |from: &Gpu, to: &Gpu| {
        if rejected(host, from, to) == Some(true) { Outcome::Fail } else { Outcome::Unknown }
    };
    let (out, back) = (way(a, b), way(b, a));
    let why = if out == Outcome::Fail || back == Outcome::Fail {
        "requests to the peer were rejected in this boot: data was lost without an error"
    } else {
        "not measured: needs a benchmark record"
    };
    rung("copy-engine-data", out, back, why)
}

/// Whether the IOMMU rejected requests of `from` to a BAR of `to`; none when the log is not known.
fn rejected(host: &Host, from: &Gpu, to: &Gpu) -> Option<bool> {
    let devices = host.faults.devices.value()?;
    Some(devices.iter().any(|d| {
        d.bdf == from.bdf && d.in_peer_bar + d.in_masked_peer_bar > 0 && d.peers.contains(&to.bdf)
    }))
}

/// GeForce RTX, whose stock driver grants peers over NVLink only.
fn consumer_product(gpu: &Gpu) -> bool {
    gpu.name.value().is_some_and(|name| name.contains("GeForce RTX"))
}

/// A GPU-to-GPU link rather than PCI.
fn is_direct(route: &str) -> bool {
    route.starts_with("NV") || route == "XGMI"
}
