//! Topology of a pair in the terms of `nvidia-smi topo -m`.

use crate::host::Host;
use crate::host::gpu::Gpu;
use crate::host::nvidia_smi::SmiPair;

/// The route between two GPUs: `NV#`, `XGMI`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS`, or `?`.
pub(super) fn of(host: &Host, a: &Gpu, b: &Gpu, cross_socket: bool) -> String {
    if let Some(level) = cell(host.smi.topology.value(), a, b) {
        return level.to_owned();
    }
    if xgmi(host, a, b) {
        return "XGMI".to_owned();
    }
    if let Some(level) = by_bridges(&a.upstream, &b.upstream) {
        return level.to_owned();
    }
    match (a.root_bus.value(), b.root_bus.value()) {
        (Some(x), Some(y)) if x == y => "PHB",
        (Some(_), Some(_)) if cross_socket => "SYS",
        (Some(_), Some(_)) if a.numa_node.value() == b.numa_node.value() => "NODE",
        (Some(_), Some(_)) => "SYS",
        _ => "?",
    }
    .to_owned()
}

/// `PIX` or `PXB` for two functions with a bridge in common, each given by the bridges above it; none without one.
pub fn by_bridges(a: &[String], b: &[String]) -> Option<&'static str> {
    let common = a.iter().rev().find(|bridge| b.contains(bridge))?;
    let below = |way: &[String]| way.iter().rev().take_while(|x| *x != common).count();
    // One switch: its upstream port is common and one downstream port is left on each side.
    Some(if below(a) <= 1 && below(b) <= 1 { "PIX" } else { "PXB" })
}

/// The cell of a captured matrix for two GPUs, row `a`, column `b`.
pub(super) fn cell<'a>(matrix: Option<&'a Vec<SmiPair>>, a: &Gpu, b: &Gpu) -> Option<&'a str> {
    if a.smi_index < 0 || b.smi_index < 0 {
        return None;
    }
    matrix?.iter().find(|c| c.from == a.smi_index && c.to == b.smi_index).map(|c| c.value.as_str())
}

/// Two sockets, as far as the NUMA nodes tell; false where a node is not known.
pub(super) fn cross_socket(host: &Host, a: &Gpu, b: &Gpu) -> bool {
    let socket = |gpu: &Gpu| host.numa.socket(*gpu.numa_node.value()?);
    match (socket(a), socket(b)) {
        (Some(x), Some(y)) => x != y,
        _ => {
            // Without a socket count two different nodes are two sockets only on hosts that have two.
            host.cpu.sockets.value().is_some_and(|s| *s > 1)
                && matches!((a.numa_node.value(), b.numa_node.value()), (Some(x), Some(y)) if x != y && *x >= 0 && *y >= 0)
        }
    }
}

/// An xGMI link (KFD link type 11) between the two.
pub(super) fn xgmi(host: &Host, a: &Gpu, b: &Gpu) -> bool {
    let Some(nodes) = host.amdgpu.kfd.value() else { return false };
    let id = |gpu: &Gpu| nodes.iter().find(|n| n.bdf == gpu.bdf).map(|n| n.id);
    let (Some(from), Some(to)) = (id(a), id(b)) else { return false };
    nodes
        .iter()
        .filter_map(|n| n.links.value())
        .flatten()
        .any(|l| l.kind == 11 && ((l.from == from && l.to == to) || (l.from == to && l.to == from)))
}
