//! Names of PCI devices by vendor and device id.

use crate::root::{Evidence, Fact, Root, Why};
use std::cell::OnceCell;

/// Limit for `pci.ids`, which is 1.5 MB.
const IDS_LIMIT: u64 = 16 << 20;
const IDS: [&str; 2] = ["usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"];

/// A source of names: udev's database on the live machine, `pci.ids` of the root else.
pub struct Names<'a> {
    root: &'a Root,
    ids: OnceCell<Fact<String>>,
}

impl<'a> Names<'a> {
    /// Names for the devices of `root`; nothing is read before the first question.
    pub fn new(root: &'a Root) -> Self {
        Self { root, ids: OnceCell::new() }
    }

    /// `VENDOR DEVICE` in words. Absent when the database has no such device, unknown without a database.
    pub fn device(&self, vendor: i64, device: i64) -> Fact<String> {
        if self.root.is_live()
            && let Some(name) = from_udev(vendor, device)
        {
            return Fact::known(name.clone(), Evidence::new("udev hwdb", name));
        }
        let ids = self.ids.get_or_init(|| read_ids(self.root));
        match ids {
            Fact::Known { value, evidence } => {
                let path = evidence.first().map_or("pci.ids", |e| e.source.as_str());
                match find(value, vendor, device) {
                    Some((line, name)) => Fact::known(name.clone(), Evidence::at(path, line, name)),
                    None => Fact::absent(path),
                }
            }
            Fact::Absent { .. } => {
                let detail = "no pci.ids and no udev database; install hwdata or pci.ids";
                Fact::unknown(IDS[0], Why::NotCaptured, detail)
            }
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
        }
    }
}

/// One name; for several ask [`Names`], which reads its file once.
pub fn hwdb_name(root: &Root, vendor: i64, device: i64) -> Fact<String> {
    Names::new(root).device(vendor, device)
}

/// `ID_VENDOR_FROM_DATABASE` and `ID_MODEL_FROM_DATABASE` that udev keeps for a device of this kind. Any
/// failure (no udev, no database) is no name.
fn from_udev(vendor: i64, device: i64) -> Option<String> {
    let mut devices = udev::Enumerator::new().ok()?;
    devices.match_subsystem("pci").ok()?;
    devices.match_attribute("vendor", format!("{vendor:#06x}")).ok()?;
    devices.match_attribute("device", format!("{device:#06x}")).ok()?;
    let found = devices.scan_devices().ok()?.next()?;
    let text = |name: &str| found.property_value(name).and_then(|v| v.to_str()).map(str::to_owned);
    let model = text("ID_MODEL_FROM_DATABASE")?;
    Some(text("ID_VENDOR_FROM_DATABASE").map_or_else(|| model.clone(), |v| format!("{v} {model}")))
}

fn read_ids(root: &Root) -> Fact<String> {
    let read = |path: &str| match root.bytes(path, IDS_LIMIT) {
        // Names outside ASCII stand in Latin-1 in old copies; the ids are what is searched.
        Fact::Known { value, evidence } => {
            Fact::Known { value: String::from_utf8_lossy(&value).into_owned(), evidence }
        }
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(reason) => Fact::Unknown(reason),
    };
    read(IDS[0]).or(|| read(IDS[1]))
}

/// `VVVV  Vendor` at the start of a line, `\tDDDD  Device` below it (pci.ids syntax).
fn find(text: &str, vendor: i64, device: i64) -> Option<(usize, String)> {
    let (vendor, device) = (format!("{vendor:04x}  "), format!("\t{device:04x}  "));
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(&vendor));
    let maker = lines.next()?.1.get(vendor.len()..)?.trim();
    lines
        .take_while(|(_, line)| line.starts_with('\t') || line.starts_with('#') || line.is_empty())
        .find(|(_, line)| line.starts_with(&device))
        .and_then(|(at, line)| Some((at + 1, format!("{maker} {}", line.get(device.len()..)?.trim()))))
}
