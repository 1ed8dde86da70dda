//! The state of the host that produced the numbers: only named fields, only allow-listed variables, no secrets.

use super::protocol::DeviceFacts;
use super::record::{GpuState, LinkSample, State};
use super::view::View;
use crate::format::hex::hex;
use crate::host::Host;
use crate::host::environment::VARIABLES;
use crate::root::{Fact, Root};
use sha2::{Digest, Sha256};

/// Words of the command line whose values are kept: they decide about peers and name nothing private.
const KEPT: [&str; 14] = [
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "arm-smmu",
    "pci",
    "pcie_aspm",
    "pcie_ports",
    "pcie_port_pm",
    "pcie_acs_override",
    "nvidia",
    "amdgpu",
    "mitigations",
    "lockdown",
    "default_hugepagesz",
];

/// The state of this host. `host` was read from the live machine.
pub(super) fn host_state(host: &Host, api: Option<i32>, view: &View, bare: bool) -> State {
    let mut state = State { api: api.map(i64::from), ..State::default() };
    let mut unknown = Vec::new();
    state.kernel = take(&host.kernel.release, &mut unknown);
    state.cmdline = host.kernel.cmdline.value().map(|line| redact(&line.text));
    if let Some(reason) = host.kernel.cmdline.reason() {
        unknown.push(reason.to_string());
    }
    state.boot_id = take(&host.kernel.boot_id, &mut unknown);
    state.cpu = take(&host.cpu.name, &mut unknown);
    state.firmware = firmware(host);
    state.hypervisor = take(&host.virt.hypervisor, &mut unknown);
    state.driver = take(&host.nvidia.version, &mut unknown).or_else(|| view.driver.clone());
    parameters(host, &mut state);
    for name in VARIABLES.into_iter().filter(|_| !bare) {
        if let Some(value) = std::env::var_os(name) {
            state.environment.insert(name.to_owned(), value.to_string_lossy().into_owned());
        }
    }
    if let Some(reason) = host.log.available.reason() {
        unknown.push(reason.to_string());
    }
    if let Some(why) = &view.refusal {
        unknown.push(format!("NVML: {why}"));
    }
    unknown.sort();
    unknown.dedup();
    state.unknown = unknown;
    state
}

fn parameters(host: &Host, state: &mut State) {
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            state.parameters.insert(name.to_owned(), value);
        }
    };
    let nvidia = &host.nvidia;
    put("RegistryDwords", nvidia.registry_text.value().cloned());
    put("EnableResizableBar", nvidia.enable_resizable_bar.value().map(i64::to_string));
    put("DynamicPowerManagement", nvidia.dynamic_power.value().map(i64::to_string));
    put("DmaRemapPeerMmio", nvidia.dma_remap_peer_mmio.value().map(i64::to_string));
    put("open kernel module", nvidia.open_module.value().map(bool::to_string));
    put("pcie_aspm policy", host.kernel.aspm_policy.value().cloned());
}

/// The state of one GPU.
pub(super) fn gpu_state(device: &DeviceFacts, host: &Host, view: &View, salt: &str) -> GpuState {
    let facts = host.gpus.iter().find(|gpu| gpu.bdf == device.bdf);
    let nvml = view.gpu(&device.bdf);
    GpuState {
        bdf: device.bdf.clone(),
        uuid_hash: salted(salt, &device.uuid),
        name: device.name.clone(),
        capability: device.capability.clone(),
        memory: device.memory,
        bar1: nvml
            .and_then(|gpu| gpu.bar1)
            .or_else(|| facts.and_then(|gpu| gpu.bar1.value()).and_then(|bytes| u64::try_from(*bytes).ok())),
        domain_type: facts.and_then(|gpu| domain(&gpu.domain_type)),
        link_max: LinkSample {
            generation: nvml.map_or(0, |gpu| gpu.max_generation),
            width: nvml.map_or(0, |gpu| gpu.max_width),
            pstate: -1,
        },
        nvlinks: nvml.map_or(0, |gpu| {
            u32::try_from(gpu.nvlinks.iter().filter(|link| link.active).count()).unwrap_or(0)
        }),
        nvlink_mb_s: nvml.map_or(0, |gpu| gpu.nvlink_mb_s),
        numa_node: facts.and_then(|gpu| gpu.numa_node.value().copied()),
        display: nvml
            .and_then(|gpu| gpu.display)
            .or_else(|| facts.and_then(|gpu| gpu.display_active.value().copied())),
    }
}

/// The type of an IOMMU domain as records have it.
pub(super) fn domain(fact: &Fact<String>) -> Option<String> {
    match fact {
        Fact::Known { value, .. } => Some(value.clone()),
        Fact::Absent { .. } => Some("none".to_owned()),
        Fact::Unknown(_) => None,
    }
}

/// A hash that identifies a device within this installation alone; empty where either part is.
pub(super) fn salted(salt: &str, identity: &str) -> String {
    if salt.is_empty() || identity.is_empty() {
        return String::new();
    }
    short_hash(&format!("peerfix {salt} {identity}"))
}

/// What makes hashes of one installation its own: `etc/machine-id`; empty when it is not there.
pub(super) fn salt(root: &Root) -> String {
    root.line("etc/machine-id").value().cloned().unwrap_or_default()
}

/// First sixteen hexadecimal digits of SHA-256.
fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..8])
}

fn take(fact: &Fact<String>, unknown: &mut Vec<String>) -> Option<String> {
    if let Some(reason) = fact.reason() {
        unknown.push(reason.to_string());
    }
    fact.value().cloned()
}

/// Board, and the version of its firmware.
fn firmware(host: &Host) -> Option<String> {
    let root = Root::live();
    let version = root.line("sys/class/dmi/id/bios_version").value().cloned();
    let words: Vec<String> = host.virt.board.value().cloned().into_iter().chain(version).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The command line with the values of words that are not known to be harmless left out.
fn redact(line: &str) -> String {
    let mut init = false;
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        match word.split_once('=') {
            // What follows is for init, not for the kernel, and may be anything.
            _ if init => {
                words.push("...".to_owned());
                break;
            }
            _ if word == "--" => {
                init = true;
                words.push(word.to_owned());
            }
            Some((key, _)) if !kept(key) => words.push(format!("{key}=...")),
            _ => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

fn kept(key: &str) -> bool {
    let stem = key.split('.').next().unwrap_or(key);
    KEPT.iter().any(|name| *name == stem || stem.starts_with("nvidia")) || stem.starts_with("iommu")
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn disks_and_addresses_are_left_out() {
        assert_eq!(
            redact(
                "BOOT_IMAGE=/vmlinuz root=UUID=12-34 ro iommu=pt nvidia.NVreg_X=1 ip=10.0.0.1::: quiet -- --user someone"
            ),
            "BOOT_IMAGE=... root=... ro iommu=pt nvidia.NVreg_X=1 ip=... quiet -- ..."
        );
    }
}
