//! What NVML says of the GPUs to be measured: users, MIG, links, peer status.

use crate::gpu::nvml::{Nvml, NvmlRefusal, Process, Remote};

/// NVML's view of the machine.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Why there is none.
    pub refusal: Option<String>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// GPUs in bus order.
    pub gpus: Vec<ViewGpu>,
    /// Ordered pairs.
    pub pairs: Vec<ViewPair>,
}

/// One GPU.
#[derive(Clone, Debug)]
pub struct ViewGpu {
    /// BDF.
    pub bdf: String,
    /// MIG is on.
    pub mig: bool,
    /// BAR1 in bytes.
    pub bar1: Option<u64>,
    /// A display shows something.
    pub display: Option<bool>,
    /// Highest generation of GPU and slot.
    pub max_generation: u32,
    /// Most lanes.
    pub max_width: u32,
    /// NVLinks.
    pub nvlinks: Vec<Remote>,
    /// MB/s of one NVLink and direction.
    pub nvlink_mb_s: u32,
    /// Users, and why they are not known.
    pub processes: Result<Vec<Process>, String>,
}

impl Default for ViewGpu {
    fn default() -> Self {
        Self {
            bdf: String::new(),
            mig: false,
            bar1: None,
            display: None,
            max_generation: 0,
            max_width: 0,
            nvlinks: Vec::new(),
            nvlink_mb_s: 0,
            processes: Ok(Vec::new()),
        }
    }
}

/// One ordered pair.
#[derive(Clone, Debug, Default)]
pub struct ViewPair {
    /// Source: whose memory is read.
    pub from: String,
    /// Destination.
    pub to: String,
    /// Status of reads.
    pub read: String,
    /// Status of writes.
    pub write: String,
    /// Level of the closest common ancestor.
    pub level: String,
}

impl View {
    /// Asks NVML. Without the library everything is empty and says why.
    pub fn take() -> Self {
        let nvml = match Nvml::open() {
            Ok(nvml) => nvml,
            Err(why) => return Self { refusal: Some(why.to_string()), ..Self::default() },
        };
        let mut view = Self { driver: nvml.driver_version().ok(), ..Self::default() };
        let mut indices = Vec::new();
        for index in 0..nvml.count().unwrap_or(0) {
            let Ok(gpu) = nvml.gpu(index) else { continue };
            let Ok(bdf) = gpu.bdf() else { continue };
            let (generation, width) = gpu.link_max();
            view.gpus.push(ViewGpu {
                bdf,
                mig: gpu.mig().unwrap_or(false),
                bar1: gpu.bar1().ok(),
                display: gpu.display_active().ok(),
                max_generation: generation.unwrap_or(0),
                max_width: width.unwrap_or(0),
                nvlinks: gpu.nvlinks(),
                nvlink_mb_s: gpu.nvlink_mb_s().ok().and_then(|v| u32::try_from(v).ok()).unwrap_or(0),
                processes: gpu.processes().map_err(|why| why.to_string()),
            });
            indices.push(index);
        }
        for (from, source) in indices.iter().zip(&view.gpus) {
            for (to, target) in indices.iter().zip(&view.gpus).filter(|(to, _)| *to != from) {
                view.pairs.push(ViewPair {
                    from: source.bdf.clone(),
                    to: target.bdf.clone(),
                    read: status(&nvml, *from, *to, false),
                    write: status(&nvml, *from, *to, true),
                    level: level(&nvml, *from, *to),
                });
            }
        }
        view
    }

    /// One GPU.
    pub fn gpu(&self, bdf: &str) -> Option<&ViewGpu> {
        self.gpus.iter().find(|gpu| gpu.bdf == bdf)
    }

    /// NVLinks that lead from one GPU to the other: directly, or all of them where they lead to a switch.
    pub fn nvlinks(&self, from: &str, to: &str) -> u32 {
        let Some(gpu) = self.gpu(from) else { return 0 };
        let active = || gpu.nvlinks.iter().filter(|link| link.active);
        let direct = active().filter(|link| link.bdf.as_deref() == Some(to)).count();
        if direct > 0 {
            return u32::try_from(direct).unwrap_or(0);
        }
        let elsewhere = active().any(|link| link.bdf.as_deref().is_some_and(|bdf| self.gpu(bdf).is_some()));
        if elsewhere { 0 } else { u32::try_from(active().count()).unwrap_or(0) }
    }
}

fn status(nvml: &Nvml, from: u32, to: u32, write: bool) -> String {
    match nvml.gpu(from).and_then(|from| from.p2p(&nvml.gpu(to)?, write)) {
        Ok(word) => word.to_owned(),
        Err(NvmlRefusal::NotSupported) => "NS".to_owned(),
        Err(NvmlRefusal::Failed(why)) => why,
    }
}

fn level(nvml: &Nvml, from: u32, to: u32) -> String {
    let level = nvml.gpu(from).and_then(|from| from.topology(nvml.gpu(to)?));
    level.map(|level| level.word().to_owned()).unwrap_or_default()
}
