//! Disks that stay in the machine.
//!
//! Left out: loop devices, RAM disks and zram (made by programs), device-mapper, MD, ZFS and network block devices
//! (their names move and their mounts are looked at), optical and floppy drives, media that can be taken out, and
//! what hangs on USB (a person plugs and pulls it). NVMe with several paths stands below `devices/virtual` and is a
//! disk all the same; its single paths are hidden.

use super::identity::{Salt, place, pluggable};
use super::part::{Part, expected};
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const BLOCK: &str = "sys/block";
/// `sys/block/*/size` counts these whatever the disk's own sectors are.
const SECTOR: u64 = 512;
/// Names of what is no disk, for captures that lost where devices sit.
const NO_DISK: [&str; 11] = ["loop", "ram", "zram", "dm-", "md", "nbd", "zd", "drbd", "sr", "fd", "mtdblock"];

/// One disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Name in this boot.
    pub name: String,
    /// Hash of WWID or serial number; none where the disk tells neither.
    pub identity: Option<String>,
    /// PCI function that it hangs on, or path of its controller; empty when not known.
    pub place: String,
    /// Bytes.
    pub bytes: u64,
}

/// All disks that stay, by name.
pub(super) fn read(root: &Root, salt: &Salt) -> Part<Vec<Disk>> {
    let names = root.list(BLOCK);
    let Fact::Known { value: names, .. } = names else {
        return expected(root, BLOCK, names.map(|_| Vec::new()));
    };
    let disks = names.iter().filter(|name| !no_disk(name)).filter_map(|name| disk(root, salt, name));
    Part::Known { value: disks.collect() }
}

fn no_disk(name: &str) -> bool {
    let digits = |rest: &str| rest.bytes().next().is_some_and(|b| b.is_ascii_digit());
    NO_DISK.iter().any(|kind| name.strip_prefix(kind).is_some_and(digits))
}

fn disk(root: &Root, salt: &Salt, name: &str) -> Option<Disk> {
    let line = |file: &str| root.line(&format!("{BLOCK}/{name}/{file}")).value().cloned();
    let is = |file: &str| line(file).as_deref() == Some("1");
    let path = root.canonical(&format!("{BLOCK}/{name}")).value().cloned().unwrap_or_default();
    let virtual_device = path.contains("/devices/virtual/") || path.starts_with("sys/devices/virtual/");
    if is("hidden") || is("removable") || pluggable(&path) {
        return None;
    }
    if virtual_device && !path.contains("/nvme-subsystem/") {
        return None;
    }
    let bytes = line("size").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0).saturating_mul(SECTOR);
    if bytes == 0 {
        return None;
    }
    let told = ["wwid", "device/wwid", "serial", "device/serial"];
    let told = told.iter().find_map(|file| line(file).filter(|text| !text.is_empty()));
    Some(Disk {
        name: name.to_owned(),
        identity: told.and_then(|text| salt.hash(&text)),
        place: if virtual_device { String::new() } else { place(&path) },
        bytes,
    })
}
