//! Marketing names: the driver's own, else the PCI id list that the host itself carries.

use crate::host::nvidia_smi::SmiGpu;
use crate::host::pci::PciDevice;
use crate::root::{Evidence, Fact, Root, Why};
use std::cell::OnceCell;

/// Where distributions keep pci.ids.
const LISTS: [&str; 3] = ["usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids", "usr/share/pci.ids"];
/// Limit for pci.ids (1.5 MB today): 16 MiB.
const LIMIT: u64 = 16 << 20;

/// pci.ids, read at most once per host.
#[derive(Default)]
pub(super) struct Ids(OnceCell<Option<(&'static str, Vec<u8>)>>);

/// Name of an NVIDIA GPU, `proc/driver/nvidia/gpus/BDF/information`, else `nvidia-smi -q`, else pci.ids.
pub(super) fn nvidia(root: &Root, device: &PciDevice, smi: &Fact<&SmiGpu>, ids: &Ids) -> Fact<String> {
    let path = format!("proc/driver/nvidia/gpus/{}/information", device.bdf);
    let driver = match root.text(&path) {
        Fact::Known { value, .. } => model(&path, &value),
        other => other,
    };
    driver
        .or(|| smi.value().map_or_else(|| Fact::absent("captured/nvidia-smi-q.txt"), |gpu| gpu.name.clone()))
        .or(|| ids.name(root, device))
}

fn model(path: &str, text: &str) -> Fact<String> {
    let line = text.lines().enumerate().find_map(|(index, line)| {
        let name = line.strip_prefix("Model:")?.trim();
        Some((index + 1, name, line))
    });
    match line {
        // Printed until the GPU is opened for the first time.
        Some((_, "Unknown" | "", _)) => Fact::absent(path),
        Some((number, name, line)) => Fact::known(name.to_owned(), Evidence::at(path, number, line)),
        None => Fact::unknown(path, Why::Malformed, "expected a `Model:` line"),
    }
}

impl Ids {
    /// The name in pci.ids; unknown without the list, absent when the list does not have the device.
    pub(super) fn name(&self, root: &Root, device: &PciDevice) -> Fact<String> {
        let (Some(vendor), Some(id)) = (device.vendor.value(), device.device.value()) else {
            let path = format!("sys/bus/pci/devices/{}/device", device.bdf);
            return Fact::unknown(path, Why::Derived, "device id not known");
        };
        let list = self.0.get_or_init(|| {
            LISTS.iter().find_map(|path| Some((*path, root.bytes(path, LIMIT).value()?.clone())))
        });
        let Some((path, bytes)) = list else {
            return Fact::unknown(
                LISTS[0],
                Why::NotCaptured,
                "no pci.ids on this host (package hwdata or pci.ids)",
            );
        };
        match lookup(bytes, *vendor, *id) {
            Some((line, name)) => Fact::known(name.clone(), Evidence::at(*path, line, name)),
            None => Fact::absent(format!("{path} {vendor:04x}:{id:04x}")),
        }
    }
}

/// `VVVV  name` at the line's start, then `<tab>DDDD  name` until the next vendor.
fn lookup(list: &[u8], vendor: i64, device: i64) -> Option<(usize, String)> {
    let heading = format!("{vendor:04x}  ");
    let wanted = format!("\t{device:04x}  ");
    let mut inside = false;
    for (index, line) in list.split(|byte| *byte == b'\n').enumerate() {
        if line.starts_with(heading.as_bytes()) {
            inside = true;
        } else if inside {
            if let Some(name) = line.strip_prefix(wanted.as_bytes()) {
                let name: String = String::from_utf8_lossy(name).trim().chars().take(200).collect();
                return (!name.is_empty()).then_some((index + 1, name));
            }
            if !line.is_empty() && !line.starts_with(b"\t") && !line.starts_with(b"#") {
                return None;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::lookup;

    #[test]
    fn a_device_is_looked_up_below_its_vendor_only() {
        let list =
            b"# ids\n1001  First\n\t2204  Wrong\n10de  NVIDIA\n\t1e04  TU102\n\t\t10de 1  x\n\t2204  GA102\n";
        assert_eq!(lookup(list, 0x10de, 0x2204), Some((7, "GA102".to_owned())));
        assert_eq!(lookup(list, 0x1001, 0x1e04), None);
        assert_eq!(lookup(b"\xff\xff", 1, 1), None);
    }
}
