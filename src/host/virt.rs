//! Guest or bare metal: hypervisor, WSL.

use super::cpu::Cpu;
use super::kernel::Kernel;
use super::presence::absent_beside;
use crate::root::{Evidence, Fact, Root, Why};
use schemars::JsonSchema;
use serde::Serialize;

const DMI: &str = "sys/class/dmi/id";

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
        let wsl = wsl(root, kernel);
        Self { hypervisor: hypervisor(root, cpu, &wsl), board: board(root), wsl }
    }
}

fn wsl(root: &Root, kernel: &Kernel) -> Fact<bool> {
    let release = kernel.release.clone().map(|text| {
        let text = text.to_ascii_lowercase();
        text.contains("microsoft") || text.contains("wsl")
    });
    if release.value() == Some(&true) {
        return release;
    }
    // A kernel that somebody built for WSL under another name is still signed by its builder there.
    let version = root.line("proc/version").map(|text| text.contains("Microsoft@Microsoft.com"));
    if version.value() == Some(&true) { version } else { release }
}

fn hypervisor(root: &Root, cpu: &Cpu, wsl: &Fact<bool>) -> Fact<String> {
    if wsl.value() == Some(&true) {
        return wsl.clone().map(|_| "wsl".to_owned());
    }
    if let Fact::Known { value, evidence } = root.line("sys/hypervisor/type")
        && !value.is_empty()
    {
        return Fact::from_lines(value.to_ascii_lowercase(), evidence);
    }
    let dmi = from_dmi(root);
    if let Dmi::Guest(guest) = dmi {
        return guest;
    }
    match &cpu.hypervisor_flag {
        Fact::Known { value: true, evidence } => {
            return from_clocks(root)
                .or_else(|| from_device_tree(root))
                .unwrap_or_else(|| Fact::from_lines("unknown".to_owned(), evidence.clone()));
        }
        Fact::Known { value: false, evidence } => return Fact::Absent { evidence: evidence.clone() },
        _ => {}
    }
    if let Some(guest) = from_device_tree(root) {
        return guest;
    }
    // Without the flag (another architecture, or cut text) it takes firmware that names a real machine,
    // beside a readable cpuinfo, to call it bare metal.
    if let (Dmi::Machine(evidence), Some(_)) = (dmi, cpu.threads.value()) {
        return Fact::Absent { evidence };
    }
    if let Some(reason) = cpu.hypervisor_flag.reason() {
        return Fact::Unknown(reason.clone());
    }
    let detail = "no hypervisor flag on this architecture and no DMI vendor to decide by";
    Fact::unknown(format!("{DMI}/sys_vendor"), Why::Derived, detail)
}

enum Dmi {
    /// Firmware of a hypervisor.
    Guest(Fact<String>),
    /// Firmware of a machine.
    Machine(Vec<Evidence>),
    /// Not read.
    Unread,
}

/// Vendor and product names that virtual firmware carries. A bare-metal cloud instance names its cloud too
/// (`Amazon EC2`), so clouds stand here only with the product of a guest.
fn from_dmi(root: &Root) -> Dmi {
    let vendor = root.line(&format!("{DMI}/sys_vendor"));
    let product = root.line(&format!("{DMI}/product_name"));
    let (v, p) = (vendor.value().map_or("", String::as_str), product.value().map_or("", String::as_str));
    let kind = if v.starts_with("VMware") || p.starts_with("VMware") {
        "vmware"
    } else if v.starts_with("Microsoft") && p.contains("Virtual Machine") {
        "hyper-v"
    } else if v.starts_with("Xen") || p.starts_with("HVM domU") {
        "xen"
    } else if v.starts_with("QEMU")
        || ["KVM", "Standard PC", "RHEV", "oVirt", "OpenStack", "AHV"].iter().any(|name| p.starts_with(name))
    {
        "kvm"
    } else if v.starts_with("innotek") || p.starts_with("VirtualBox") || v.starts_with("Parallels") {
        "unknown"
    } else {
        if v.is_empty() {
            return Dmi::Unread;
        }
        return Dmi::Machine([vendor.evidence(), product.evidence()].concat());
    };
    Dmi::Guest(Fact::from_lines(kind.to_owned(), [vendor.evidence(), product.evidence()].concat()))
}

/// Paravirtual clocks name the hypervisor where the firmware does not.
fn from_clocks(root: &Root) -> Option<Fact<String>> {
    let clocks = root.line("sys/devices/system/clocksource/clocksource0/available_clocksource");
    let words = clocks.value()?;
    let kinds = [("kvm-clock", "kvm"), ("hyperv_clocksource", "hyper-v"), ("xen", "xen")];
    let kind = kinds.iter().find(|(word, _)| words.split(' ').any(|w| w.starts_with(word)))?.1;
    Some(clocks.map(|_| kind.to_owned()))
}

/// `hypervisor/compatible` of a device tree: `linux,kvm`, `xen,xen`.
fn from_device_tree(root: &Root) -> Option<Fact<String>> {
    let compatible = root.line("proc/device-tree/hypervisor/compatible");
    let text = compatible.value()?;
    let kinds = [("kvm", "kvm"), ("xen", "xen"), ("vmware", "vmware")];
    let kind = kinds.iter().find(|(word, _)| text.contains(word)).map_or("unknown", |(_, kind)| *kind);
    Some(compatible.map(|_| kind.to_owned()))
}

fn board(root: &Root) -> Fact<String> {
    let name = absent_beside(root, DMI, root.line(&format!("{DMI}/board_name")));
    let vendor = root.line(&format!("{DMI}/board_vendor"));
    match (vendor, name) {
        (Fact::Known { value: vendor, evidence: mut lines }, Fact::Known { value: name, evidence }) => {
            lines.extend(evidence);
            Fact::from_lines(format!("{vendor} {name}").trim().to_owned(), lines)
        }
        (_, name) => name,
    }
}
