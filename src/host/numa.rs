//! NUMA nodes and the sockets they belong to.

use super::cpu::Cpu;
use crate::root::{Evidence, Fact, Root, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// Facts of the memory topology.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Numa {
    /// Number of online nodes, `sys/devices/system/node/online` (`0`, `0-1`, `0,2-3`).
    pub nodes: Fact<i64>,
    /// Nodes per socket; unknown where the nodes do not divide evenly.
    pub nodes_per_socket: Fact<i64>,
}

impl Numa {
    /// Reads the list of online nodes.
    pub fn read(root: &Root, cpu: &Cpu) -> Self {
        const PATH: &str = "sys/devices/system/node/online";
        let nodes = root.line(PATH).parse(|text| count(text));
        let nodes_per_socket = match (nodes.value(), cpu.sockets.value()) {
            (Some(&nodes), Some(&sockets)) if sockets > 0 && nodes % sockets == 0 => {
                let text = format!("{nodes} nodes on {sockets} sockets");
                Fact::known(nodes / sockets, Evidence::new(PATH, text))
            }
            (Some(_), Some(_)) => {
                Fact::unknown(PATH, Why::Malformed, "the nodes do not divide evenly among the sockets")
            }
            _ => Fact::unknown(PATH, Why::Derived, "needs the number of nodes and of sockets"),
        };
        Self { nodes, nodes_per_socket }
    }

    /// The socket of a node, as firmware numbers them: in order, the same number on each.
    pub fn socket(&self, node: i64) -> Option<i64> {
        let per = *self.nodes_per_socket.value()?;
        (node >= 0 && per > 0).then(|| node / per)
    }
}

/// Counts the members of a kernel list (`0-3,8`).
fn count(text: &str) -> Result<i64, String> {
    let mut sum = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<i64>(), last.trim().parse::<i64>()) {
            (Ok(first), Ok(last)) if last >= first && last < 1 << 20 => sum += last - first + 1,
            _ => return Err(format!("expected a list such as 0-1, found {text:?}")),
        }
    }
    Ok(sum)
}
