//! One function: its attributes put together.

use super::super::kernel;
use super::super::presence::not_captured;
use super::config::Config;
use super::enumerate::Place;
use super::group::Groups;
use super::{Bdf, Link, PciDevice, aer, capability, link, resizable, resource};
use crate::root::{Dir, EntryKind, Evidence, Fact, Root, Unknown, Why};

/// What the functions of one host share.
pub(super) struct Shared<'a> {
    pub(super) root: &'a Root,
    pub(super) groups: Groups<'a>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, groups: Groups::new(root) }
    }

    /// `resourceN_resize` exists since 6.1 (drivers/pci/pci-sysfs.c).
    pub(super) fn kernel_makes_resize_files(&self) -> bool {
        kernel::version(&kernel::release(self.root)).value().is_some_and(|v| *v >= 6001)
    }
}

/// Reads one function; `first` is the lowest one on its root bus, which stands for the host bridge.
pub(super) fn read(place: Place, shared: &Shared<'_>, first: bool, resize_files: bool) -> PciDevice {
    let Place { bdf, dir, root_bus, upstream, links_kept } = place;
    let mut device = PciDevice {
        bdf: bdf.to_string(),
        root_bus,
        upstream: upstream.iter().map(ToString::to_string).collect(),
        ..PciDevice::default()
    };
    let Fact::Known { value: dir, .. } = dir else {
        let path = format!("sys/bus/pci/devices/{}", device.bdf);
        let missing = not_captured::<()>(shared.root, &path, "its directory is not there");
        if let Some(reason) = dir.reason().or(missing.reason()) {
            identity_unknown(&mut device, reason);
            detail_unknown(&mut device, reason);
        }
        return device;
    };
    identity(&mut device, &dir, bdf, links_kept, shared);
    if first || device.is_looked_at_closely() {
        detail(&mut device, &dir, shared.root, resize_files);
    } else {
        let why = "not read: only bridges, GPUs, accelerators and the first function of a root bus are looked \
                   at so closely";
        let path = dir.path().to_owned();
        detail_unknown(&mut device, &Unknown { path, line: None, why: Why::Derived, detail: why.to_owned() });
    }
    device
}

/// What is read of every function.
fn identity(device: &mut PciDevice, dir: &Dir, bdf: Bdf, links_kept: bool, shared: &Shared<'_>) {
    let root = shared.root;
    device.class = always(root, dir, hex(dir, "class"));
    device.vendor = always(root, dir, hex(dir, "vendor"));
    device.device = always(root, dir, hex(dir, "device"));
    device.driver = driver(root, dir, links_kept);
    device.dma_mask_bits = always(root, dir, number(dir, "dma_mask_bits"));
    let resources = always(root, dir, resource::lines(dir));
    device.bars = resource::bars(&resources);
    device.window = resource::window(&resources, device.is_bridge(), &device.class);
    (device.iommu_group, device.domain_type) = shared.groups.of(bdf, dir, links_kept);
    device.external = removable(dir);
    device.boot_vga = dir.line("boot_vga").parse(|text| flag(text));
}

/// What is read only of functions that can be a GPU or stand on its path.
fn detail(device: &mut PciDevice, dir: &Dir, root: &Root, resize_files: bool) {
    device.subsystem = subsystem(root, dir);
    // Kernels without NUMA have no numa_node.
    device.numa_node = captured_or_absent(root, dir, number(dir, "numa_node"));
    device.link = link::read(dir);
    device.aer = aer::read(root, dir);
    let config = always(root, dir, Config::open(dir, root.is_live()));
    let found = capability::read(&config);
    device.resizable = resizable::read(dir, found.resizable, resize_files);
    device.acs = found.acs;
    device.port_type = found.port_type;
    device.aspm_enabled = link::aspm(dir, found.aspm, &device.link, root.is_live());
    if device.port_type.value().is_some() {
        device.link = link_of_express(root, dir, std::mem::take(&mut device.link));
    }
    device.power_control = captured_or_absent(root, dir, dir.line("power/control"));
    device.runtime_status = captured_or_absent(root, dir, dir.line("power/runtime_status"));
}

fn identity_unknown(device: &mut PciDevice, reason: &Unknown) {
    device.class = Fact::Unknown(reason.clone());
    device.vendor = Fact::Unknown(reason.clone());
    device.device = Fact::Unknown(reason.clone());
    device.driver = Fact::Unknown(reason.clone());
    device.dma_mask_bits = Fact::Unknown(reason.clone());
    device.bars = Fact::Unknown(reason.clone());
    device.window = Fact::Unknown(reason.clone());
    device.iommu_group = Fact::Unknown(reason.clone());
    device.domain_type = Fact::Unknown(reason.clone());
    device.external = Fact::Unknown(reason.clone());
    device.boot_vga = Fact::Unknown(reason.clone());
}

fn detail_unknown(device: &mut PciDevice, reason: &Unknown) {
    device.subsystem = Fact::Unknown(reason.clone());
    device.numa_node = Fact::Unknown(reason.clone());
    device.link = Link {
        generation: Fact::Unknown(reason.clone()),
        max_generation: Fact::Unknown(reason.clone()),
        width: Fact::Unknown(reason.clone()),
        max_width: Fact::Unknown(reason.clone()),
    };
    device.aer = Fact::Unknown(reason.clone());
    device.resizable = Fact::Unknown(reason.clone());
    device.acs = Fact::Unknown(reason.clone());
    device.port_type = Fact::Unknown(reason.clone());
    device.aspm_enabled = Fact::Unknown(reason.clone());
    device.power_control = Fact::Unknown(reason.clone());
    device.runtime_status = Fact::Unknown(reason.clone());
}

/// For attributes that every function has: not there means not captured.
fn always<T>(root: &Root, dir: &Dir, fact: Fact<T>) -> Fact<T> {
    match fact {
        Fact::Absent { evidence } => {
            let path = evidence.into_iter().next().map_or_else(|| dir.path().to_owned(), |e| e.source);
            not_captured(root, &path, "every PCI function has this file")
        }
        other => other,
    }
}

/// For attributes that old or small kernels lack: absent on the live machine, not captured in
/// a tree.
fn captured_or_absent<T>(root: &Root, dir: &Dir, fact: Fact<T>) -> Fact<T> {
    if root.is_live() { fact } else { always(root, dir, fact) }
}

/// Every PCI Express function has the four link files.
fn link_of_express(root: &Root, dir: &Dir, link: Link) -> Link {
    Link {
        generation: captured_or_absent(root, dir, link.generation),
        max_generation: captured_or_absent(root, dir, link.max_generation),
        width: captured_or_absent(root, dir, link.width),
        max_width: captured_or_absent(root, dir, link.max_width),
    }
}

fn hex(dir: &Dir, name: &str) -> Fact<i64> {
    dir.line(name).parse(|text| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        match u32::from_str_radix(digits, 16) {
            Ok(number) if !digits.starts_with('+') => Ok(i64::from(number)),
            _ => Err(format!("expected a hexadecimal number, found {}", shown(text))),
        }
    })
}

pub(super) fn number(dir: &Dir, name: &str) -> Fact<i64> {
    dir.line(name)
        .parse(|text| text.parse().map_err(|_| format!("expected a decimal number, found {}", shown(text))))
}

/// Text as an error shows it, cut to a readable length.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

fn subsystem(root: &Root, dir: &Dir) -> Fact<i64> {
    let vendor = always(root, dir, hex(dir, "subsystem_vendor"));
    let device = always(root, dir, hex(dir, "subsystem_device"));
    match (vendor, device) {
        (Fact::Known { value: vendor, evidence: mut lines }, Fact::Known { value: device, evidence }) => {
            lines.extend(evidence);
            Fact::from_lines((vendor & 0xffff) << 16 | (device & 0xffff), lines)
        }
        (Fact::Unknown(reason), _) | (_, Fact::Unknown(reason)) => Fact::Unknown(reason),
        (absent, _) => absent,
    }
}

/// The `driver` link; `DRIVER=` in `uevent` where the capture lost its links.
fn driver(root: &Root, dir: &Dir, links_kept: bool) -> Fact<String> {
    let link = dir.link_name("driver");
    if link.value().is_some() || (link.is_absent() && links_kept) {
        return link;
    }
    match dir.text("uevent") {
        Fact::Known { value, .. } => {
            let path = format!("{}/uevent", dir.path());
            let bound = value.lines().enumerate().find_map(|(at, l)| Some((at, l.strip_prefix("DRIVER=")?)));
            match bound {
                Some((at, name)) => {
                    Fact::known(name.trim().to_owned(), Evidence::at(path, at + 1, format!("DRIVER={name}")))
                }
                None => Fact::absent(path),
            }
        }
        Fact::Absent { .. } => {
            let path = format!("{}/driver", dir.path());
            not_captured(root, &path, "the capture kept no links here")
        }
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

/// The kernel makes `removable` only where it knows: behind an external-facing port, or `fixed`.
fn removable(dir: &Dir) -> Fact<bool> {
    let fact = dir.line("removable");
    if fact.value().is_some_and(|word| word == "unknown") {
        return dir.unknown("removable", Why::Unreadable, "the kernel says \"unknown\"");
    }
    fact.parse(|word| match word.as_str() {
        "removable" => Ok(true),
        "fixed" => Ok(false),
        other => Err(format!("expected removable, fixed or unknown, found {}", shown(other))),
    })
}

/// `0` or `1`.
pub(super) fn flag(text: &str) -> Result<bool, String> {
    match text {
        "1" => Ok(true),
        "0" => Ok(false),
        other => Err(format!("expected 0 or 1, found {}", shown(other))),
    }
}

/// True when `name` is a real directory of the function.
pub(super) fn has_directory(dir: &Dir, name: &str) -> bool {
    dir.kind(name) == Some(EntryKind::Directory)
}
