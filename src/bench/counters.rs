//! Counters around an arm: what the kernel logged, what the ports counted, what the GPUs replayed.

use super::record::Deltas;
use crate::gpu::nvml::Nvml;
use crate::host::faults::Faults;
use crate::host::log::Follower;
use crate::root::Root;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names a file of kernel log records to be followed in place of `/dev/kmsg`; for tests.
pub const KMSG_VARIABLE: &str = "PEERFIX_KMSG";

/// Left after an arm with faults: the kernel prints suppressed counts late.
pub(super) const AFTER_FAULTS: Duration = Duration::from_secs(6);

/// Sources of the counters of some GPUs.
pub struct Counters {
    log: Option<Follower>,
    root: Root,
    gpus: Vec<String>,
    /// PCI functions with AER files.
    ports: Vec<String>,
    nvml: Option<Arc<Nvml>>,
    /// NVML's indices of the GPUs watched now.
    indices: Vec<u32>,
    /// Counters at the last look.
    aer: Option<(u64, u64)>,
    replays: Option<u64>,
    /// Asking for the replays takes so little that it can be done after every sample.
    replays_cheap: bool,
}

/// Longest question for the replays that may stand between two samples.
const CHEAP: Duration = Duration::from_micros(500);

impl Counters {
    /// Opens all sources. `gpus` are BDFs, `paths` the functions above them.
    pub fn open(gpus: &[String], paths: &[String], nvml: Option<Arc<Nvml>>) -> Self {
        let log = match std::env::var_os(KMSG_VARIABLE) {
            Some(path) => Follower::at(Path::new(&path)),
            None => Follower::open(),
        };
        let root = Root::live();
        let ports = paths
            .iter()
            .filter(|bdf| root.exists(&format!("sys/bus/pci/devices/{bdf}/aer_dev_correctable")))
            .cloned()
            .collect();
        Self {
            log,
            root,
            gpus: gpus.to_vec(),
            ports,
            nvml,
            indices: Vec::new(),
            aer: None,
            replays: None,
            replays_cheap: false,
        }
    }

    /// Chooses whose replays are read, by index in NVML's order.
    pub fn watch(&mut self, indices: &[u32]) {
        self.indices = indices.to_vec();
        let began = Instant::now();
        self.replays = self.read_replays();
        self.replays_cheap = began.elapsed() < CHEAP;
        self.start();
    }

    /// Forgets what was counted before this moment.
    pub fn start(&mut self) {
        if let Some(log) = &mut self.log {
            let _ = log.since();
        }
        self.aer = self.read_aer();
        self.replays = self.read_replays();
    }

    /// What grew since the last look.
    pub fn grown(&mut self) -> Deltas {
        let mut deltas = self.without_replays();
        let replays = self.read_replays();
        if let (Some(now), Some(before)) = (replays, self.replays) {
            deltas.replays = Some(now.saturating_sub(before));
        }
        self.replays = replays;
        deltas
    }

    /// The same between two samples: replays only where the question is quick.
    pub fn grown_quickly(&mut self) -> Deltas {
        if self.replays_cheap { self.grown() } else { self.without_replays() }
    }

    fn without_replays(&mut self) -> Deltas {
        let mut deltas = self.logged();
        let aer = self.read_aer();
        if let (Some(now), Some(before)) = (aer, self.aer) {
            deltas.aer_correctable = Some(now.0.saturating_sub(before.0));
            deltas.aer_uncorrectable = Some(now.1.saturating_sub(before.1));
        }
        self.aer = aer;
        deltas
    }

    /// Faults and Xids that the kernel logged since the last look.
    fn logged(&mut self) -> Deltas {
        let Some(follower) = &mut self.log else { return Deltas::default() };
        let mut deltas = Deltas { iommu_faults: Some(0), xids: Some(Vec::new()), ..Deltas::default() };
        let Some(log) = follower.since() else { return deltas };
        let faults = Faults::read(&log, &[], &self.gpus);
        let mut count = faults.suppressed.value().copied().unwrap_or(0);
        for device in faults.devices.value().into_iter().flatten() {
            // A line that names another device of the host is not about this transfer.
            if device.is_gpu || device.bdf.is_empty() {
                count = count.saturating_add(device.count);
            }
        }
        deltas.iommu_faults = Some(u64::try_from(count).unwrap_or(0));
        let xids = faults.xids.value().into_iter().flatten();
        deltas.xids = Some(xids.filter_map(|xid| u64::try_from(xid.code).ok()).collect());
        deltas
    }

    /// Correctable and uncorrectable errors of all ports; none where Linux counts none.
    fn read_aer(&self) -> Option<(u64, u64)> {
        if self.ports.is_empty() {
            return None;
        }
        let total = |bdf: &String, file: &str| {
            let text = self.root.text(&format!("sys/bus/pci/devices/{bdf}/{file}"));
            let line = text.value()?.lines().rev().find(|line| line.starts_with("TOTAL_ERR_"))?;
            line.rsplit(' ').next()?.parse::<u64>().ok()
        };
        let sum = |file: &str| self.ports.iter().map(|bdf| total(bdf, file).unwrap_or(0)).sum::<u64>();
        Some((sum("aer_dev_correctable"), sum("aer_dev_nonfatal") + sum("aer_dev_fatal")))
    }

    fn read_replays(&self) -> Option<u64> {
        let nvml = self.nvml.as_ref()?;
        let mut sum = None;
        for index in &self.indices {
            if let Ok(count) = nvml.gpu(*index).and_then(|gpu| gpu.replays()) {
                sum = Some(sum.unwrap_or(0) + count);
            }
        }
        sum
    }
}

/// Adds one look to another.
pub fn add(sum: &mut Deltas, more: Deltas) {
    let plus = |a: &mut Option<u64>, b: Option<u64>| {
        if let Some(b) = b {
            *a = Some(a.unwrap_or(0).saturating_add(b));
        }
    };
    plus(&mut sum.iommu_faults, more.iommu_faults);
    plus(&mut sum.aer_correctable, more.aer_correctable);
    plus(&mut sum.aer_uncorrectable, more.aer_uncorrectable);
    plus(&mut sum.replays, more.replays);
    if let Some(xids) = more.xids {
        sum.xids.get_or_insert_default().extend(xids);
    }
}

/// The kernel rejected DMA, or the GPU reported an error.
pub fn faulted(deltas: &Deltas) -> Option<String> {
    let faults = deltas.iommu_faults.unwrap_or(0);
    let xids = deltas.xids.as_deref().unwrap_or_default();
    match (faults, xids) {
        (0, []) => None,
        (0, xids) => Some(format!("Xid {}", words(xids))),
        (faults, []) => Some(format!("{faults} IOMMU faults")),
        (faults, xids) => Some(format!("{faults} IOMMU faults, Xid {}", words(xids))),
    }
}

fn words(codes: &[u64]) -> String {
    codes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
