//! Encrypted volumes that are open now, by the device mapper: the one below the root file system was opened at boot,
//! wherever that is configured (dracut writes it into the initramfs alone).

use crate::root::Root;
use std::collections::BTreeMap;

const BLOCK: &str = "sys/class/block";
/// Devices below each other.
const DEEPEST: usize = 16;

/// Open volumes.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// The block devices of this host could be listed.
    pub(super) known: bool,
    /// Names of volumes below the root file system, the upper one first.
    pub(super) below_root: Vec<String>,
    /// Device below each volume, by its name.
    devices: BTreeMap<String, String>,
}

impl Mapped {
    pub(super) fn read(root: &Root) -> Self {
        let list = root.list(BLOCK);
        let Some(list) = list.value() else { return Self::default() };
        let mut found = Self { known: true, ..Self::default() };
        let mut names = BTreeMap::new();
        for dm in list.iter().filter(|name| name.starts_with("dm-")) {
            let name = root.line(&format!("{BLOCK}/{dm}/dm/name"));
            let Some(name) = name.value() else { continue };
            names.insert(name.clone(), dm.clone());
            let uuid = root.line(&format!("{BLOCK}/{dm}/dm/uuid"));
            if uuid.value().is_some_and(|uuid| uuid.starts_with("CRYPT-")) {
                let below = below(root, dm).into_iter().next().unwrap_or_default();
                found.devices.insert(name.clone(), below);
            }
        }
        let mut level: Vec<String> = root_device(root, &names).into_iter().collect();
        for _ in 0..DEEPEST {
            for device in &level {
                let crypt =
                    names.iter().find(|(name, dm)| *dm == device && found.devices.contains_key(*name));
                if let Some((name, _)) = crypt
                    && !found.below_root.contains(name)
                {
                    found.below_root.push(name.clone());
                }
            }
            level = level.iter().flat_map(|device| below(root, device)).collect();
        }
        found
    }

    /// The device below an open volume (`nvme0n1p3`).
    pub(super) fn device_of(&self, name: &str) -> Option<String> {
        self.devices.get(name).filter(|device| !device.is_empty()).cloned()
    }
}

/// The block device that holds the root file system.
fn root_device(root: &Root, names: &BTreeMap<String, String>) -> Option<String> {
    let text = root.text("proc/mounts");
    let source = text.value()?.lines().rev().find_map(|line| {
        let mut fields = line.split(' ');
        let source = fields.next()?;
        (fields.next()? == "/").then_some(source)
    })?;
    let name = source.strip_prefix("/dev/")?;
    match name.strip_prefix("mapper/") {
        Some(mapped) => names.get(&mapped.replace("\\040", " ")).cloned(),
        None if name.contains('/') => {
            // A volume of LVM under its group: the mapping doubles the dashes of both names.
            let mapped = name.replace('-', "--").replacen('/', "-", 1);
            names.get(&mapped).cloned()
        }
        None => Some(name.to_owned()),
    }
}

fn below(root: &Root, device: &str) -> Vec<String> {
    root.list(&format!("{BLOCK}/{device}/slaves")).value().cloned().unwrap_or_default()
}
