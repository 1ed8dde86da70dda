//! The KFD topology (`drivers/gpu/drm/amd/amdkfd/kfd_topology.c`).

use super::Tree;
use std::fmt::Write as _;

/// PCI Express link.
pub const PCIE: u32 = 2;
/// QPI between sockets.
pub const QPI: u32 = 5;
/// xGMI inside a hive.
pub const XGMI: u32 = 11;

/// One link of a node.
#[derive(Clone, Copy, Debug)]
pub struct KfdLink {
    /// Type number.
    pub kind: u32,
    /// Node it leads to.
    pub to: u32,
    /// `weight`.
    pub weight: u32,
}

/// Nodes in order.
#[derive(Clone, Debug, Default)]
pub struct Kfd {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    gpu: Option<(String, u16)>,
    cores: u32,
    io: Vec<KfdLink>,
    p2p: Vec<KfdLink>,
}

impl Kfd {
    /// No nodes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A CPU node.
    pub fn cpu(mut self, cores: u32, io: &[KfdLink]) -> Self {
        self.nodes.push(Node { gpu: None, cores, io: io.to_vec(), p2p: Vec::new() });
        self
    }

    /// A GPU node for the function `bdf`.
    pub fn gpu(mut self, bdf: &str, device: u16, io: &[KfdLink], p2p: &[KfdLink]) -> Self {
        self.nodes.push(Node {
            gpu: Some((bdf.to_owned(), device)),
            cores: 0,
            io: io.to_vec(),
            p2p: p2p.to_vec(),
        });
        self
    }

    /// Writes the topology.
    pub fn write(&self, tree: Tree) -> Tree {
        let home = "sys/devices/virtual/kfd/kfd/topology";
        let mut tree = tree
            .link("sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd")
            .file(&format!("{home}/generation_id"), "2\n");
        for (number, node) in self.nodes.iter().enumerate() {
            let path = format!("{home}/nodes/{number}");
            let id = node.gpu.as_ref().map_or(0, |_| 40_000 + 411 * number);
            let name = if node.gpu.is_some() { "ip discovery" } else { "" };
            tree = tree
                .file(&format!("{path}/gpu_id"), format!("{id}\n"))
                .file(&format!("{path}/name"), format!("{name}\n"))
                .file(&format!("{path}/properties"), node.properties(number));
            for (table, links) in [("io_links", &node.io), ("p2p_links", &node.p2p)] {
                tree = tree.dir(&format!("{path}/{table}"));
                for (index, link) in links.iter().enumerate() {
                    tree = tree.file(&format!("{path}/{table}/{index}/properties"), link.properties(number));
                }
            }
        }
        tree
    }
}

impl Node {
    fn properties(&self, number: usize) -> String {
        let (domain, location, device) = self.gpu.as_ref().map_or((0, 0, 0), |(bdf, device)| {
            let hex = |range| u32::from_str_radix(&bdf[range], 16).unwrap();
            (hex(0..4), hex(5..7) << 8 | hex(8..10) << 3 | hex(11..12), *device)
        });
        let gpu = self.gpu.is_some();
        let pick = |yes: u64| if gpu { yes } else { 0 };
        let mut text = String::new();
        for (key, value) in [
            ("cpu_cores_count", u64::from(self.cores)),
            ("simd_count", pick(128)),
            ("mem_banks_count", 1),
            ("caches_count", pick(206)),
            ("io_links_count", self.io.len() as u64),
            ("p2p_links_count", self.p2p.len() as u64),
            ("gfx_target_version", pick(120_001)),
            ("vendor_id", pick(0x1002)),
            ("device_id", u64::from(device)),
            ("location_id", u64::from(location)),
            ("domain", u64::from(domain)),
            ("drm_render_minor", pick(126 + number as u64)),
            ("hive_id", 0),
            ("unique_id", pick(0x5b1e_0000_3a00_0000 + number as u64)),
        ] {
            writeln!(text, "{key} {value}").unwrap();
        }
        text
    }
}

impl KfdLink {
    /// A PCI Express link.
    pub fn pcie(to: u32, weight: u32) -> Self {
        Self { kind: PCIE, to, weight }
    }

    fn properties(self, from: usize) -> String {
        let Self { kind, to, weight } = self;
        format!(
            "type {kind}\nversion_major 0\nversion_minor 0\nnode_from {from}\nnode_to {to}\nweight {weight}\n\
             min_latency 0\nmax_latency 0\nmin_bandwidth 312\nmax_bandwidth 16000\n\
             recommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\nflags 3\n"
        )
    }
}
