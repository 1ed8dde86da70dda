//! KFD topology: nodes and links (drivers/gpu/drm/amd/amdkfd/kfd_topology.c).

use super::{KfdLink, KfdNode};
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use std::collections::HashMap;

/// The class link, and the device it points to for captures that lost links.
pub(super) const PLACES: [&str; 2] =
    ["sys/class/kfd/kfd/topology/nodes", "sys/devices/virtual/kfd/kfd/topology/nodes"];

/// Reads all nodes, by number. Absent when KFD is not loaded; a capture shows that by a `sys/class` without it.
pub(super) fn read(root: &Root) -> Fact<Vec<KfdNode>> {
    for place in PLACES {
        match root.list(place) {
            Fact::Known { value, evidence } => {
                let mut nodes: Vec<KfdNode> = value
                    .iter()
                    .filter_map(|name| name.parse().ok())
                    .filter(|id| *id >= 0)
                    .map(|id| node(root, &format!("{place}/{id}"), id))
                    .collect();
                nodes.sort_by_key(|node| node.id);
                return Fact::from_lines(nodes, evidence);
            }
            Fact::Unknown(reason) => return Fact::Unknown(reason),
            Fact::Absent { .. } => {}
        }
    }
    if root.is_live() || root.exists("sys/class") {
        return Fact::absent(PLACES[0]);
    }
    Fact::unknown(PLACES[0], Why::NotCaptured, "copy sys/class/kfd with what it points to")
}

fn node(root: &Root, directory: &str, id: i64) -> KfdNode {
    let path = format!("{directory}/properties");
    let properties = match Properties::read(root, &path) {
        Ok(properties) => properties,
        Err(reason) => {
            let is_gpu = reason.why == Why::Permission;
            return KfdNode { id, is_gpu, bdf: String::new(), unread: true, links: Fact::Unknown(reason) };
        }
    };
    let is_gpu = properties.get("simd_count").is_some_and(|count| count > 0);
    let bdf = if is_gpu { properties.bdf() } else { String::new() };
    KfdNode { id, is_gpu, bdf, unread: false, links: links(root, directory, &properties) }
}

/// The links of both tables. Every entry that the node counts must be there, else the list is unknown.
fn links(root: &Root, directory: &str, node: &Properties) -> Fact<Vec<KfdLink>> {
    let (mut links, mut evidence) = (Vec::new(), Vec::new());
    for (table, count) in [("io", "io_links_count"), ("p2p", "p2p_links_count")] {
        let place = format!("{directory}/{table}_links");
        let names = match root.list(&place) {
            Fact::Known { value, .. } => value,
            // Kernels before 6.0 have no p2p_links.
            Fact::Absent { .. } => Vec::new(),
            Fact::Unknown(reason) => return Fact::Unknown(reason),
        };
        let mut numbers: Vec<i64> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let present = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
        if let Some(expected) = node.get(count).filter(|expected| *expected > present) {
            let detail = format!("properties counts {expected} links, {present} are there");
            return Fact::unknown(place, Why::NotCaptured, detail);
        }
        for number in numbers {
            let path = format!("{place}/{number}/properties");
            match link(root, &path, table) {
                Ok(link) => {
                    let text = format!("type {} node_from {} node_to {}", link.kind, link.from, link.to);
                    evidence.push(Evidence::new(path, text));
                    links.push(link);
                }
                Err(reason) => return Fact::Unknown(reason),
            }
        }
    }
    Fact::from_lines(links, evidence)
}

fn link(root: &Root, path: &str, table: &str) -> Result<KfdLink, Unknown> {
    let properties = Properties::read(root, path)?;
    Ok(KfdLink {
        table: table.to_owned(),
        kind: properties.need("type")?,
        from: properties.need("node_from")?,
        to: properties.need("node_to")?,
        // Of an io_links entry of PCI Express type nobody asks for the flags.
        flags: match properties.get("flags") {
            None if table == "io" && properties.get("type") == Some(2) => 0,
            _ => properties.need("flags")?,
        },
        weight: properties.get("weight").unwrap_or(0),
    })
}

/// `key value` lines, decimal.
struct Properties {
    path: String,
    values: HashMap<String, i64>,
}

impl Properties {
    fn read(root: &Root, path: &str) -> Result<Self, Unknown> {
        let unknown = |line: Option<usize>, why: Why, detail: String| Unknown {
            path: path.to_owned(),
            line: line.and_then(|n| u32::try_from(n).ok()),
            why,
            detail,
        };
        let text = match root.text(path) {
            Fact::Known { value, .. } => value,
            Fact::Unknown(reason) => return Err(reason),
            Fact::Absent { .. } => {
                let detail = "the directory is there and this file is not".to_owned();
                return Err(unknown(None, Why::NotCaptured, detail));
            }
        };
        let mut values = HashMap::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut words = line.split_whitespace();
            let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else {
                let detail = "expected `key value`".to_owned();
                return Err(unknown(Some(index + 1), Why::Malformed, detail));
            };
            // `unique_id` and `hive_id` are 64 bits wide without sign; no link needs them.
            let number = value.parse().or_else(|_| value.parse::<u64>().map(|_| i64::MAX));
            let Ok(number) = number else {
                let detail = format!("{key}: expected a decimal number");
                return Err(unknown(Some(index + 1), Why::Malformed, detail));
            };
            values.insert(key.to_owned(), number);
        }
        if values.is_empty() {
            return Err(unknown(None, Why::Malformed, "empty; expected `key value` lines".to_owned()));
        }
        Ok(Self { path: path.to_owned(), values })
    }

    fn get(&self, key: &str) -> Option<i64> {
        self.values.get(key).copied()
    }

    fn need(&self, key: &str) -> Result<i64, Unknown> {
        self.get(key).ok_or_else(|| Unknown {
            path: self.path.clone(),
            line: None,
            why: Why::Malformed,
            detail: format!("no `{key}` line"),
        })
    }

    /// `location_id` is bus << 8 | devfn; bits 31 to 28 may hold a partition. Kernels before 5.4 have no
    /// `domain`.
    fn bdf(&self) -> String {
        let location = self.get("location_id").unwrap_or(0);
        let domain = self.get("domain").unwrap_or(0);
        let (bus, device, function) = ((location >> 8) & 0xff, (location >> 3) & 0x1f, location & 7);
        format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}
