//! One GPU: memory, link, state, NVLinks, processes.

use super::{Answer, NvmlGpu, NvmlRefusal};
use crate::gpu::cuda::normal_bdf;
use nvml_wrapper::enum_wrappers::device::{GpuVirtualizationMode, PerformanceState};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;

/// `NVML_DEVICE_MIG_ENABLE`.
const MIG_ENABLED: u32 = 1;
/// MB/s of one NVLink and direction: `NVML_FI_DEV_NVLINK_GET_SPEED` (of link 0), `NVML_FI_DEV_NVLINK_SPEED_MBPS_L0` and
/// `NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON`. Which of them answers depends on driver and product.
const NVLINK_SPEED: [u32; 3] = [164, 84, 90];
/// More links than any product has.
const MOST_LINKS: u32 = 64;

/// The PCIe link and the performance state at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkNow {
    /// Generation.
    pub generation: Option<u32>,
    /// Lanes.
    pub width: Option<u32>,
    /// Performance state, 0 the fastest.
    pub pstate: Option<u32>,
}

/// A process that uses a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Bytes of GPU memory; none where the driver does not say.
    pub memory: Option<u64>,
    /// It computes, rather than drawing.
    pub compute: bool,
}

/// What is at the other end of an NVLink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Link number.
    pub link: u32,
    /// Active.
    pub active: bool,
    /// PCI function at the other end, a GPU or an NVSwitch; none where the driver does not say.
    pub bdf: Option<String>,
}

impl NvmlGpu<'_> {
    /// BDF.
    pub fn bdf(&self) -> Answer<String> {
        let info = self.device.pci_info()?;
        normal_bdf(&info.bus_id).ok_or_else(|| NvmlRefusal::Failed(format!("bus id {:?}", info.bus_id)))
    }

    /// Product name.
    pub fn name(&self) -> Answer<String> {
        Ok(self.device.name()?)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> Answer<u64> {
        Ok(self.device.memory_info()?.total)
    }

    /// Bytes of BAR1.
    pub fn bar1(&self) -> Answer<u64> {
        Ok(self.device.bar1_memory_info()?.total)
    }

    /// A display shows something.
    pub fn display_active(&self) -> Answer<bool> {
        Ok(self.device.is_display_active()?)
    }

    /// MIG is on.
    pub fn mig(&self) -> Answer<bool> {
        Ok(self.device.mig_mode()?.current == MIG_ENABLED)
    }

    /// Performance state, 0 the fastest.
    pub fn pstate(&self) -> Answer<u32> {
        pstate(self.device.performance_state()?)
    }

    /// As `nvidia-smi -q` names it.
    pub fn virtualization(&self) -> Answer<&'static str> {
        Ok(match self.device.virtualization_mode()? {
            GpuVirtualizationMode::Bare => "None",
            GpuVirtualizationMode::PassThrough => "Pass-Through",
            GpuVirtualizationMode::Vgpu => "VGPU",
            GpuVirtualizationMode::HostVgpu => "Host VGPU",
            GpuVirtualizationMode::HostVsga => "Host VSGA",
        })
    }

    /// The link as it is at this moment; it drops when the GPU idles.
    pub fn link_now(&self) -> LinkNow {
        LinkNow {
            generation: self.device.current_pcie_link_gen().ok(),
            width: self.device.current_pcie_link_width().ok(),
            pstate: self.pstate().ok(),
        }
    }

    /// Highest generation and width of GPU and slot together.
    pub fn link_max(&self) -> (Option<u32>, Option<u32>) {
        (self.device.max_pcie_link_gen().ok(), self.device.max_pcie_link_width().ok())
    }

    /// PCIe replays since the driver started.
    pub fn replays(&self) -> Answer<u64> {
        Ok(u64::from(self.device.pcie_replay_counter()?))
    }

    /// The NVLinks that the product has; empty where it has none.
    pub fn nvlinks(&self) -> Vec<Remote> {
        let mut links = Vec::new();
        for number in 0..MOST_LINKS {
            let link = self.device.link_wrapper_for(number);
            match link.is_active() {
                Ok(active) => {
                    let bdf = if active {
                        link.remote_pci_info().ok().and_then(|info| normal_bdf(&info.bus_id))
                    } else {
                        None
                    };
                    links.push(Remote { link: number, active, bdf });
                }
                // Some products leave gaps that are not supported; past the last link the argument is refused.
                Err(NvmlError::NotSupported) if number < 18 => {}
                Err(_) => break,
            }
        }
        links
    }

    /// MB/s (10^6) of one NVLink and direction.
    pub fn nvlink_mb_s(&self) -> Answer<u64> {
        let mut last = NvmlRefusal::NotSupported;
        for answer in self.device.field_values_for(&NVLINK_SPEED.map(FieldId))? {
            match answer.and_then(|sample| sample.value) {
                Ok(SampleValue::U32(value)) if value > 0 => return Ok(u64::from(value)),
                Ok(SampleValue::U64(value)) if value > 0 => return Ok(value),
                Ok(other) => last = NvmlRefusal::Failed(format!("NVLink speed {other:?}")),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    /// Processes that hold memory of this GPU, one entry each.
    pub fn processes(&self) -> Answer<Vec<Process>> {
        let compute = match self.device.running_compute_processes() {
            Err(NvmlError::FailedToLoadSymbol(_)) => self.device.running_compute_processes_v2(),
            other => other,
        };
        let graphics = match self.device.running_graphics_processes() {
            Err(NvmlError::FailedToLoadSymbol(_)) => self.device.running_graphics_processes_v2(),
            other => other,
        };
        let mut processes: Vec<Process> = Vec::new();
        for (list, compute) in [(compute?, true), (graphics.unwrap_or_default(), false)] {
            for process in list {
                if processes.iter().any(|known| known.pid == process.pid) {
                    continue;
                }
                let memory = match process.used_gpu_memory {
                    UsedGpuMemory::Used(bytes) => Some(bytes),
                    UsedGpuMemory::Unavailable => None,
                };
                processes.push(Process { pid: process.pid, memory, compute });
            }
        }
        Ok(processes)
    }
}

fn pstate(state: PerformanceState) -> Answer<u32> {
    Ok(match state {
        PerformanceState::Zero => 0,
        PerformanceState::One => 1,
        PerformanceState::Two => 2,
        PerformanceState::Three => 3,
        PerformanceState::Four => 4,
        PerformanceState::Five => 5,
        PerformanceState::Six => 6,
        PerformanceState::Seven => 7,
        PerformanceState::Eight => 8,
        PerformanceState::Nine => 9,
        PerformanceState::Ten => 10,
        PerformanceState::Eleven => 11,
        PerformanceState::Twelve => 12,
        PerformanceState::Thirteen => 13,
        PerformanceState::Fourteen => 14,
        PerformanceState::Fifteen => 15,
        PerformanceState::Unknown => return Err(NvmlRefusal::NotSupported),
    })
}
