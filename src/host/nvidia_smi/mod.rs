//! Captured `nvidia-smi` text: `-q`, `topo -m`, `topo -p2p r|w`, `nvlink -s`.

mod matrix;
mod nvlink;
mod query;

use crate::root::{Fact, Root, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// What captured `nvidia-smi` output says; each fact is unknown when not captured.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct NvidiaSmi {
    /// `-q`: one entry per GPU.
    pub gpus: Fact<Vec<SmiGpu>>,
    /// `-q`: `Driver Version`.
    pub driver_version: Fact<String>,
    /// `topo -m`: level per ordered pair of indices, GPU columns only.
    pub topology: Fact<Vec<SmiPair>>,
    /// `topo -p2p r`: status per ordered pair (`OK`, `CNS`, `GNS`, `TNS`, `DR`, `NS`, `U`).
    pub p2p_read: Fact<Vec<SmiPair>>,
    /// `topo -p2p w`.
    pub p2p_write: Fact<Vec<SmiPair>>,
    /// `nvlink -s`: links per GPU index.
    pub nvlinks: Fact<Vec<SmiNvlink>>,
}

/// One GPU of `nvidia-smi -q`. Sizes in bytes. A value of `N/A` is absent; a line that the output lacks is
/// unknown, because older drivers and `-d` leave lines out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SmiGpu {
    /// The driver's own number; -1 where only the order of the output tells.
    pub index: i64,
    /// BDF, normalised to four-digit domain and lower case.
    pub bdf: String,
    /// `Product Name`.
    pub name: Fact<String>,
    /// `FB Memory Usage` / `Total`.
    pub vram: Fact<i64>,
    /// `BAR1 Memory Usage` / `Total`.
    pub bar1: Fact<i64>,
    /// `Addressing Mode`.
    pub addressing_mode: Fact<String>,
    /// `Display Active` is `Enabled`.
    pub display_active: Fact<bool>,
    /// `MIG Mode` / `Current` is `Enabled`.
    pub mig: Fact<bool>,
    /// `Performance State`, `P0` is 0.
    pub pstate: Fact<i64>,
    /// Virtualization mode (`None`, `Pass-Through`, …).
    pub virtualization: Fact<String>,
    /// `PCIe Generation` / `Current`, which drops while the GPU idles.
    pub generation: Fact<i64>,
    /// `Link Width` / `Current`, lanes.
    pub width: Fact<i64>,
    /// `PCIe Generation` / `Max`, of GPU and slot together.
    pub max_generation: Fact<i64>,
    /// `Link Width` / `Max`.
    pub max_width: Fact<i64>,
    /// `Replays Since Reset`.
    pub replays: Fact<i64>,
}

/// One cell of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmiPair {
    /// Row index. A cell of a GPU with itself is left out.
    pub from: i64,
    /// Column index.
    pub to: i64,
    /// The cell.
    pub value: String,
}

/// One NVLink of one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmiNvlink {
    /// GPU index.
    pub gpu: i64,
    /// Link number; -1 for all links of a GPU of which the tool only says that they are inactive.
    pub link: i64,
    /// Active, with a speed.
    pub active: bool,
    /// GB/s per direction times 1000, 0 when inactive.
    pub mb_per_s: i64,
}

impl NvidiaSmi {
    /// Reads `captured/nvidia-smi-*.txt`. Nothing is run on the live machine.
    pub fn read(root: &Root) -> Self {
        let query = query::Query::read(root);
        Self {
            gpus: query.gpus,
            driver_version: query.driver_version,
            topology: matrix::read(root, "nvidia-smi-topo-m.txt"),
            p2p_read: matrix::read(root, "nvidia-smi-topo-p2p-r.txt"),
            p2p_write: matrix::read(root, "nvidia-smi-topo-p2p-w.txt"),
            nvlinks: nvlink::read(root),
        }
    }

    /// The entry of `nvidia-smi -q` for one GPU; unknown when not captured or not listed there.
    pub(super) fn gpu(&self, bdf: &str) -> Fact<&SmiGpu> {
        match &self.gpus {
            Fact::Known { value, .. } => match value.iter().find(|gpu| gpu.bdf == bdf) {
                Some(gpu) => Fact::Known { value: gpu, evidence: Vec::new() },
                None => self.unlisted(bdf),
            },
            Fact::Absent { evidence } => Fact::Absent { evidence: evidence.clone() },
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
        }
    }

    /// The driver answers, and not about this GPU.
    fn unlisted<T>(&self, bdf: &str) -> Fact<T> {
        let lines = self.gpus.evidence();
        match lines.first() {
            Some(first) if first.source != query::PATH => {
                let said: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                let detail = format!("the driver lists no GPU {bdf}: {}", said.join("; "));
                Fact::unknown(&first.source, Why::Unreadable, detail)
            }
            _ => Fact::unknown(query::PATH, Why::NotCaptured, format!("nvidia-smi -q lists no GPU {bdf}")),
        }
    }
}

/// Text of a captured command; a sentence in place of output is malformed and quoted.
fn captured(root: &Root, name: &str) -> Fact<String> {
    let text = root.captured(name);
    let Fact::Known { value, .. } = &text else { return text };
    match refusal(value) {
        Some((line, sentence)) => {
            Fact::malformed(format!("captured/{name}"), line, format!("nvidia-smi says: {sentence}"))
        }
        None => text,
    }
}

/// What nvidia-smi prints instead of an answer when the driver does not talk to it: line and sentence.
fn refusal(text: &str) -> Option<(usize, String)> {
    const BEGINNINGS: [&str; 4] = [
        "NVIDIA-SMI has failed because",
        "Failed to initialize NVML",
        "NVIDIA-SMI couldn't find",
        "Unable to determine the device handle",
    ];
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)) {
            let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
            return Some((index + 1, sentence.chars().take(200).collect()));
        }
    }
    None
}

/// Userspace library version that a failing nvidia-smi names (`NVML library version: 580.95`).
pub(super) fn library_version(root: &Root) -> Option<(String, usize)> {
    let text = root.captured(query::FILE);
    let text = text.value()?;
    text.lines().enumerate().find_map(|(index, line)| {
        let version = line.trim().strip_prefix("NVML library version:")?.trim();
        Some((version.to_owned(), index + 1))
    })
}
