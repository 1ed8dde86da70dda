//! Memory that devices publish for their peers (p2pmem), and the NVMe drives that can read into it: what the kernel's
//! own p2pdma (drivers/pci/p2pdma.c, drivers/nvme/host/pci.c) can be tried with.
//!
//! A provider is a PCI function with the sysfs group `p2pmem`: an NVMe drive with a controller memory buffer (CMB), or
//! any other device whose driver registers memory. Since Linux 6.2 `p2pmem/allocate` hands that memory to a process.

use super::pci::{Bdf, Link, read_link};
use super::presence::{always_made, not_captured};
use crate::root::{Evidence, Fact, Root, Why};

const DEVICES: &str = "sys/bus/pci/devices";
const NVME: &str = "sys/class/nvme";
/// The unit of `size` of a block device (Documentation/ABI/stable/sysfs-block), whatever the drive's own blocks.
const SECTOR: i64 = 512;

/// Who publishes memory, and who can read into it.
#[derive(Clone, Debug, Default)]
pub struct P2pmem {
    /// Functions with memory for peers, by BDF. A captured tree without any proves nothing.
    pub providers: Fact<Vec<Provider>>,
    /// NVMe drives on PCI Express, by BDF.
    pub drives: Fact<Vec<Drive>>,
}

/// A function with memory for its peers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provider {
    /// BDF.
    pub bdf: String,
    /// Bytes of memory, `p2pmem/size`.
    pub size: Fact<i64>,
    /// Bytes that nobody uses, `p2pmem/available`.
    pub available: Fact<i64>,
    /// Its driver offers it to peers, `p2pmem/published`. NVMe publishes only a CMB that takes reads and writes of data.
    pub published: Fact<bool>,
    /// A process may map it: `p2pmem/allocate` is there (Linux 6.2).
    pub allocate: Fact<bool>,
}

/// An NVMe drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drive {
    /// BDF of the controller.
    pub bdf: String,
    /// `nvme0`.
    pub controller: String,
    /// Model.
    pub model: Fact<String>,
    /// Serial number.
    pub serial: Fact<String>,
    /// Namespaces that are block devices.
    pub namespaces: Vec<Namespace>,
}

/// A namespace as a block device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Namespace {
    /// Name below `/dev`: `nvme0n1`.
    pub block: String,
    /// Bytes.
    pub bytes: Fact<i64>,
    /// Bytes of a logical block, the unit of unbuffered reads.
    pub logical_block: Fact<i64>,
    /// Another controller leads to it as well, so a read may take either way.
    pub shared: bool,
}

impl P2pmem {
    /// Reads both lists.
    pub fn read(root: &Root) -> Self {
        Self { providers: providers(root), drives: drives(root) }
    }

    /// Ordered pairs of a drive and another function's memory, as BDFs: who reads, whose memory. A drive that reads into
    /// its own memory is no pair.
    pub fn ways(&self) -> Fact<Vec<(String, String)>> {
        let (providers, drives) = match (&self.providers, &self.drives) {
            (Fact::Known { value: providers, .. }, Fact::Known { value: drives, .. }) => (providers, drives),
            (Fact::Unknown(reason), _) | (_, Fact::Unknown(reason)) => return Fact::Unknown(reason.clone()),
            (Fact::Absent { evidence }, _) | (_, Fact::Absent { evidence }) => {
                return Fact::Absent { evidence: evidence.clone() };
            }
        };
        let mut ways = Vec::new();
        for drive in drives.iter().filter(|drive| !drive.namespaces.is_empty()) {
            let others = providers.iter().filter(|provider| provider.bdf != drive.bdf);
            ways.extend(others.map(|provider| (drive.bdf.clone(), provider.bdf.clone())));
        }
        let text = format!("{} drives, {} providers", drives.len(), providers.len());
        Fact::known(ways, Evidence::new(DEVICES, text))
    }
}

/// The link of a function as it is now, read from the device.
pub fn link(root: &Root, bdf: &str) -> Link {
    match root.dir(&format!("{DEVICES}/{bdf}")) {
        Fact::Known { value, .. } => read_link(&value),
        _ => Link::default(),
    }
}

fn providers(root: &Root) -> Fact<Vec<Provider>> {
    let (names, evidence) = match always_made(root, root.list(DEVICES)) {
        Fact::Known { value, evidence } => (value, evidence),
        Fact::Absent { evidence } => return Fact::Absent { evidence },
        Fact::Unknown(reason) => return Fact::Unknown(reason),
    };
    let with_memory = names.into_iter().filter(|bdf| root.exists(&format!("{DEVICES}/{bdf}/p2pmem")));
    let found: Vec<Provider> = with_memory.map(|bdf| provider(root, bdf)).collect();
    if found.is_empty() && !root.is_live() {
        let detail = "no function has it here, which a capture that left it out shows as well";
        return not_captured(root, &format!("{DEVICES}/*/p2pmem"), detail);
    }
    Fact::from_lines(found, evidence)
}

fn provider(root: &Root, bdf: String) -> Provider {
    let path = |name: &str| format!("{DEVICES}/{bdf}/p2pmem/{name}");
    let allocate = path("allocate");
    Provider {
        size: bytes(root, &path("size")),
        available: bytes(root, &path("available")),
        published: always_made(root, root.line(&path("published"))).parse(|text| match text.as_str() {
            "1" => Ok(true),
            "0" => Ok(false),
            other => Err(format!("expected 0 or 1, found {other:?}")),
        }),
        allocate: if root.exists(&allocate) {
            Fact::known(true, Evidence::new(&allocate, "there"))
        } else {
            Fact::absent(allocate)
        },
        bdf,
    }
}

/// A number of bytes, never negative.
fn bytes(root: &Root, path: &str) -> Fact<i64> {
    always_made(root, root.line(path)).parse(|text| match text.parse::<i64>() {
        Ok(bytes) if bytes >= 0 => Ok(bytes),
        _ => Err(format!("expected a number of bytes, found {text:?}")),
    })
}

fn drives(root: &Root) -> Fact<Vec<Drive>> {
    let (names, evidence) = match root.list(NVME) {
        Fact::Known { value, evidence } => (value, evidence),
        // A kernel without NVMe, or without its module loaded, makes no such class.
        Fact::Absent { evidence } if root.is_live() && root.exists("sys/class") => (Vec::new(), evidence),
        Fact::Absent { .. } => return not_captured(root, NVME, "an empty directory says that there is none"),
        Fact::Unknown(reason) => return Fact::Unknown(reason),
    };
    let mut drives: Vec<Drive> = names.into_iter().filter_map(|name| drive(root, name)).collect();
    let blocks: Vec<String> =
        drives.iter().flat_map(|drive| &drive.namespaces).map(|space| space.block.clone()).collect();
    for space in drives.iter_mut().flat_map(|drive| &mut drive.namespaces) {
        space.shared = blocks.iter().filter(|block| **block == space.block).count() > 1;
    }
    drives.sort_by(|a, b| a.bdf.cmp(&b.bdf));
    Fact::from_lines(drives, evidence)
}

/// A controller on PCI Express; none for one over a network, whose `address` is no BDF.
fn drive(root: &Root, controller: String) -> Option<Drive> {
    let path = format!("{NVME}/{controller}");
    let address = root.line(&format!("{path}/address"));
    let bdf = address.value()?.parse::<Bdf>().ok()?.to_string();
    let entries = root.list(&path).value().cloned().unwrap_or_default();
    let mut blocks: Vec<String> = entries.iter().filter_map(|entry| block(entry)).collect();
    blocks.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    Some(Drive {
        model: root.line(&format!("{path}/model")),
        serial: root.line(&format!("{path}/serial")),
        namespaces: blocks.into_iter().map(|block| namespace(root, block)).collect(),
        bdf,
        controller,
    })
}

/// The block device of an entry below a controller: `nvme0n1` itself, or for `nvme0c1n1`, one path of a namespace under
/// native multipathing, its head `nvme0n1`.
fn block(entry: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (controller, number) = entry.strip_prefix("nvme")?.rsplit_once('n')?;
    let subsystem = match controller.split_once('c') {
        Some((subsystem, path)) if digits(path) => subsystem,
        Some(_) => return None,
        None => controller,
    };
    (digits(subsystem) && digits(number)).then(|| format!("nvme{subsystem}n{number}"))
}

fn namespace(root: &Root, block: String) -> Namespace {
    let path = format!("sys/class/block/{block}");
    Namespace {
        bytes: bytes(root, &format!("{path}/size")).parse(|sectors| {
            sectors.checked_mul(SECTOR).ok_or_else(|| format!("{sectors} sectors are more than a drive has"))
        }),
        logical_block: bytes(root, &format!("{path}/queue/logical_block_size")),
        shared: false,
        block,
    }
}

/// Why a list is empty or not known, in one sentence; none when it has entries.
pub fn missing<T>(what: &str, list: &Fact<Vec<T>>) -> Option<String> {
    match list {
        Fact::Known { value, .. } if !value.is_empty() => None,
        Fact::Unknown(reason) if reason.why == Why::Permission => Some(format!("{reason}")),
        Fact::Unknown(reason) => Some(format!("{what}: not known: {reason}")),
        _ => Some(format!("{what}: none")),
    }
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn a_path_names_the_head_of_its_namespace() {
        for (entry, name) in [
            ("nvme0n1", Some("nvme0n1")),
            ("nvme12n3", Some("nvme12n3")),
            ("nvme0c1n2", Some("nvme0n2")),
            ("nvme0", None),
            ("ng0n1", None),
            ("nvme0cn1", None),
            ("nvmen1", None),
            ("nvme0n", None),
            ("numa_node", None),
        ] {
            assert_eq!(block(entry).as_deref(), name, "{entry}");
        }
    }
}
