//! Facts: what the machine is. Everything here is read through [`crate::root::Root`].

pub mod amdgpu;
pub mod cmdline;
pub mod cpu;
pub mod environment;
pub mod faults;
pub mod gpu;
pub mod iommu;
pub mod isolation;
pub mod kernel;
pub mod log;
pub mod modprobe;
pub mod names;
pub mod nvidia;
pub mod nvidia_smi;
pub mod pci;
mod presence;
mod project;
pub mod virt;

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
    /// Guest or bare metal.
    pub virt: virt::Virt,
    /// All PCI functions; empty when `pci_readable` is not known.
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
    /// Captured `nvidia-smi` output.
    pub smi: nvidia_smi::NvidiaSmi,
    /// amdgpu driver.
    pub amdgpu: amdgpu::Amdgpu,
    /// Module configuration.
    pub modprobe: modprobe::Modprobe,
    /// Users of isolation.
    pub isolation: isolation::Isolation,
    /// Environment.
    pub env: environment::Environment,
}

impl Host {
    /// Reads all facts of a host. Never fails: what cannot be read is an unknown fact.
    pub fn read(root: &Root) -> Self {
        let kernel = kernel::Kernel::read(root);
        let cpu = cpu::Cpu::read(root);
        let virt = virt::Virt::read(root, &cpu, &kernel);
        let log = log::KernelLog::read(root);
        let tree = pci::read(root);
        let pci_readable = tree.as_ref().map(|_| true);
        let pci = tree.value().cloned().unwrap_or_default();
        let smi = nvidia_smi::NvidiaSmi::read(root);
        let amdgpu = amdgpu::Amdgpu::read(root);
        let gpus = gpu::read(root, &pci, &amdgpu, &smi);
        let names: Vec<String> = gpus.iter().map(|g| g.bdf.clone()).collect();
        let faults = faults::Faults::read(&log, &pci, &names);
        Self {
            live: root.is_live(),
            iommu: iommu::Iommu::read(root, &log),
            nvidia: nvidia::Nvidia::read(root),
            modprobe: modprobe::Modprobe::read(root, &kernel.cmdline),
            isolation: isolation::Isolation::read(root, &pci),
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
        }
    }
}
