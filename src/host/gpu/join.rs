//! Joins PCI function, driver files and captured tool output to one GPU.

use super::link::{self, Circumstances};
use super::name::{self, Ids};
use super::ports::Ports;
use super::{Gpu, kind, memory, path};
use crate::host::amdgpu::{Amdgpu, AmdgpuDevice};
use crate::host::nvidia_smi::{NvidiaSmi, SmiGpu};
use crate::host::pci::{Bar, PciDevice};
use crate::root::{Fact, Root, Why};

/// What is said of a fact that only another vendor's tools report.
const NO_SOURCE: &str = "no file that reports it is read for this vendor";

/// Builds the GPUs from the PCI tree, by BDF.
pub fn read(root: &Root, pci: &[PciDevice], amdgpu: &Amdgpu, smi: &NvidiaSmi) -> Vec<Gpu> {
    let mut functions: Vec<(&PciDevice, &'static str)> =
        pci.iter().filter_map(|device| Some((device, kind::vendor(device)?))).collect();
    // Domains above ffff have more digits, so length comes before the text.
    functions.sort_by(|(a, _), (b, _)| (a.bdf.len(), &a.bdf).cmp(&(b.bdf.len(), &b.bdf)));
    let ids = Ids::default();
    let mut gpus: Vec<Gpu> =
        functions.iter().map(|(device, vendor)| one(root, device, vendor, pci, amdgpu, smi, &ids)).collect();
    let models: Vec<(i64, i64, Option<i64>)> = functions
        .iter()
        .map(|(device, _)| {
            let id = |fact: &Fact<i64>| fact.value().copied().unwrap_or(-1);
            (id(&device.vendor), id(&device.device), device.subsystem.value().copied())
        })
        .collect();
    memory::compare_siblings(&mut gpus, &models);
    number_as_smi(&mut gpus, smi);
    gpus
}

fn one(
    root: &Root,
    device: &PciDevice,
    vendor: &str,
    pci: &[PciDevice],
    amdgpu: &Amdgpu,
    smi: &NvidiaSmi,
    ids: &Ids,
) -> Gpu {
    let ports = Ports::new(device, pci);
    let directory = directory(root, device);
    let amd =
        if vendor == "amd" { AmdgpuDevice::read(root, &directory) } else { AmdgpuDevice::none(&directory) };
    let entry = if vendor == "nvidia" { smi.gpu(&device.bdf) } else { Fact::absent(&directory) };
    let aperture = memory::aperture(device);
    let aperture_size = aperture.as_ref().map(|bar| bar.size);
    let bar1_largest = memory::bar1_largest(device, &aperture);
    let name = match vendor {
        "nvidia" => name::nvidia(root, device, &entry, ids),
        _ => ids.name(root, device),
    };
    let vram = match vendor {
        "nvidia" => field(&entry, |gpu| &gpu.vram),
        "amd" => memory::never_absent(amd.vram.clone(), "amdgpu is not bound, so nothing reports VRAM"),
        _ => Fact::unknown(&directory, Why::NotCaptured, NO_SOURCE),
    };
    let display_active = match vendor {
        "nvidia" => field(&entry, |gpu| &gpu.display_active),
        _ => Fact::unknown(&directory, Why::NotCaptured, NO_SOURCE),
    };
    let bar1 = match vendor {
        "nvidia" => memory::prefer(field(&entry, |gpu| &gpu.bar1), aperture_size),
        "amd" => memory::prefer(amd.visible_vram.clone(), aperture_size),
        _ => aperture_size,
    };
    let integrated = kind::integrated(device, vendor, &vram, pci);
    let display_only = kind::display_only(device, &name, &vram, &bar1_largest);
    let around = Circumstances {
        vendor,
        integrated,
        pstate: entry.value().and_then(|gpu| gpu.pstate.value().copied()),
        amd: &amd,
    };
    Gpu {
        bdf: device.bdf.clone(),
        vendor: vendor.to_owned(),
        device: device.device.value().copied().unwrap_or(-1),
        name,
        driver: device.driver.clone(),
        integrated,
        display_only,
        compute: !integrated && !display_only && kind::compute_driver(vendor, &device.driver),
        root_bus: device.root_bus.clone(),
        root_port: device.upstream.first().cloned().unwrap_or_default(),
        card_port: ports.card_port().bdf.clone(),
        upstream: device.upstream.clone(),
        numa_node: device.numa_node.clone(),
        dma_mask_bits: device.dma_mask_bits.clone(),
        aperture_bits: memory::aperture_bits(&aperture),
        aperture,
        bar1,
        bar1_largest,
        window: window(&ports),
        vram,
        sibling_bar1: 0,
        domain_type: device.domain_type.clone(),
        translation: memory::translation(&device.domain_type),
        external: ports.external(),
        link: link::judge(&ports, &around),
        aer: path::aer(&ports),
        ports_may_suspend: path::may_suspend(&ports),
        aspm_enabled: path::aspm(&ports),
        acs_redirect: path::acs_redirect(&ports),
        kfd_peers: if vendor == "amd" { amdgpu.peers(&device.bdf) } else { Fact::absent(&directory) },
        smi_index: -1,
        display_active,
        mig: field(&entry, |gpu| &gpu.mig),
        amd,
    }
}

/// The function's directory: the flat list, or its place in the hierarchy where the capture lost links.
fn directory(root: &Root, device: &PciDevice) -> String {
    let flat = format!("sys/bus/pci/devices/{}", device.bdf);
    if let (false, Some(bus)) = (root.exists(&flat), device.root_bus.value()) {
        let way: Vec<&str> =
            device.upstream.iter().map(String::as_str).chain([device.bdf.as_str()]).collect();
        let nested = format!("sys/devices/pci{bus}/{}", way.join("/"));
        if root.exists(&nested) {
            return nested;
        }
    }
    flat
}

/// Prefetchable window of the topmost bridge; absent for a device on the root bus.
fn window(ports: &Ports<'_>) -> Fact<i64> {
    match (ports.root_port(), &ports.lost) {
        (Some(port), _) => port.window.as_ref().map(|window: &Bar| window.size),
        (None, Some(reason)) => Fact::Unknown(reason.clone()),
        (None, None) => Fact::absent(format!("bridge above {}", ports.gpu.bdf)),
    }
}

/// One field of an entry of `nvidia-smi -q`.
fn field<T: Clone>(entry: &Fact<&SmiGpu>, get: impl Fn(&SmiGpu) -> &Fact<T>) -> Fact<T> {
    match entry {
        Fact::Known { value, .. } => get(value).clone(),
        Fact::Absent { evidence } => Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
    }
}

/// nvidia-smi counts the GPUs of its driver in bus order. Where no function shows that driver (a capture
/// without driver links), all NVIDIA GPUs without another one are counted. Where the driver gives the numbers
/// itself, a GPU that it does not list has none.
fn number_as_smi(gpus: &mut [Gpu], smi: &NvidiaSmi) {
    let listed = smi.gpus.value().filter(|list| list.iter().any(|entry| entry.index >= 0));
    if let Some(list) = listed {
        for gpu in gpus.iter_mut() {
            gpu.smi_index = list.iter().find(|entry| entry.bdf == gpu.bdf).map_or(-1, |entry| entry.index);
        }
        return;
    }
    let bound = gpus.iter().any(|gpu| gpu.driver.value().is_some_and(|driver| driver == "nvidia"));
    let mut next = 0;
    for gpu in gpus.iter_mut().filter(|gpu| gpu.vendor == "nvidia") {
        let counts = match &gpu.driver {
            Fact::Known { value, .. } => value == "nvidia",
            Fact::Absent { .. } => !bound,
            Fact::Unknown(_) => true,
        };
        if counts {
            gpu.smi_index = next;
            next += 1;
        }
    }
}
