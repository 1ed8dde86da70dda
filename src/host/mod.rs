//! Facts: what the machine is. Everything here is read through [`crate::root::Root`].

pub mod allowlist;
pub mod amdgpu;
pub mod cmdline;
pub mod cpu;
pub mod driver_drift;
pub mod environment;
pub mod faults;
pub mod gpu;
pub mod health;
pub mod iommu;
pub mod isolation;
pub mod kernel;
pub mod log;
pub mod measured;
pub mod modprobe;
pub mod names;
pub mod numa;
pub mod nvidia;
pub mod nvidia_smi;
pub mod nvml;
pub mod p2pmem;
pub mod pci;
mod presence;
mod project;
mod subprocess;
pub mod summary;
pub mod virt;
pub mod words;

pub use project::{Projected, project};

use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Everything that is known about one host.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Host {
    /// The running machine, not a capture.
    pub live: bool,
    /// Kernel.
    pub kernel: kernel::Kernel,
    /// Processors.
    pub cpu: cpu::Cpu,
    /// NUMA nodes.
    pub numa: numa::Numa,
    /// The p2pdma allow-list that decides on this kernel.
    pub allow_list: Fact<allowlist::AllowList>,
    /// Guest or bare metal.
    pub virt: virt::Virt,
    /// All PCI functions; empty when `pci_readable` is not known. Rules see what concerns a GPU through
    /// `gpus` and `pairs`, not three hundred functions.
    #[serde(skip)]
    #[schemars(skip)]
    pub pci: Vec<pci::PciDevice>,
    /// Whether the PCI tree could be read, and where.
    pub pci_readable: Fact<bool>,
    /// GPUs of NVIDIA, AMD and Intel, by BDF; BMC graphics are left out.
    pub gpus: Vec<gpu::Gpu>,
    /// IOMMU.
    pub iommu: iommu::Iommu,
    /// Kernel log.
    pub log: log::KernelLog,
    /// Census of the log.
    pub faults: faults::Faults,
    /// NVIDIA driver.
    pub nvidia: nvidia::Nvidia,
    /// What the driver says through NVML, or captured `nvidia-smi` output.
    pub smi: nvidia_smi::NvidiaSmi,
    /// amdgpu driver.
    pub amdgpu: amdgpu::Amdgpu,
    /// Module configuration.
    pub modprobe: modprobe::Modprobe,
    /// Users of isolation.
    pub isolation: isolation::Isolation,
    /// Environment.
    pub env: environment::Environment,
    /// Configured module options against the loaded ones.
    pub drift: driver_drift::DriverDrift,
    /// Words of the running command line that do nothing or contradict each other.
    pub words: Fact<Vec<words::WordVerdict>>,
    /// Measured transfers; absent without a benchmark record.
    pub measured: Fact<Vec<measured::MeasuredPair>>,
    /// Counts and platform.
    pub summary: summary::Summary,
}

impl Host {
    /// Reads all facts of a host. Never fails: what cannot be read is an unknown fact. Hardware and the
    /// running kernel come from `root`, module configuration from `config`.
    pub fn read(root: &Root, config: &Root) -> Self {
        Self::with(root, config, &|pci| {
            let nvidia = |device: &pci::PciDevice| device.vendor.value() == Some(&0x10de);
            if root.is_live() && pci.iter().any(nvidia) {
                nvml::read()
            } else {
                nvidia_smi::NvidiaSmi::read(root)
            }
        })
    }

    /// The same, where `smi` says what the NVIDIA driver answers of these functions.
    pub fn with(
        root: &Root,
        config: &Root,
        smi: &dyn Fn(&[pci::PciDevice]) -> nvidia_smi::NvidiaSmi,
    ) -> Self {
        let kernel = kernel::Kernel::read(root);
        let cpu = cpu::Cpu::read(root);
        let virt = virt::Virt::read(root, &cpu, &kernel);
        let log = log::KernelLog::read(root);
        let tree = pci::read(root);
        let pci_readable = tree.as_ref().map(|_| true);
        let pci = match tree {
            Fact::Known { value, .. } => value,
            _ => Vec::new(),
        };
        let smi = smi(&pci);
        let amdgpu = amdgpu::Amdgpu::read(root);
        let gpus = gpu::read(root, &pci, &amdgpu, &smi);
        let names: Vec<String> = gpus.iter().map(|g| g.bdf.clone()).collect();
        let faults = faults::Faults::read(&log, &pci, &names);
        let mut host = Self {
            live: root.is_live(),
            numa: numa::Numa::read(root, &cpu),
            allow_list: allowlist::AllowList::read(&kernel),
            iommu: iommu::Iommu::read(root, &log),
            nvidia: nvidia::Nvidia::read(root),
            modprobe: modprobe::Modprobe::read(config, &kernel.cmdline),
            isolation: isolation::Isolation::read(root, &pci).unlocked_by(config),
            env: environment::Environment::read(root),
            kernel,
            cpu,
            virt,
            pci,
            pci_readable,
            gpus,
            log,
            faults,
            smi,
            amdgpu,
            ..Self::default()
        };
        host.drift = driver_drift::DriverDrift::read(root, &host);
        host.summary = summary::Summary::derive(&host);
        host.words = host.judge_words(&host.kernel.cmdline);
        host.measured = measured::read(config, &host);
        host
    }

    /// Judges the words of a command line of this host, running or configured.
    pub fn judge_words(&self, line: &Fact<cmdline::Cmdline>) -> Fact<Vec<words::WordVerdict>> {
        let platform = self.summary.platform.value().map(String::as_str);
        let overrides = self.iommu.acs_override_active.value() == Some(&true);
        line.clone().map(|line| words::judge(&line, platform, overrides))
    }
}
