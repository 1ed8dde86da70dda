//! Names that hold from boot to boot. `sda`, `eth0` and `dm-0` do not: the kernel deals them out in the order in
//! which devices answer.

use crate::format::hex::hex;
use crate::host::pci::Bdf;
use crate::root::Root;
use sha2::{Digest, Sha256};

/// What makes hashes of one installation its own: `etc/machine-id`.
pub(super) struct Salt(Option<String>);

impl Salt {
    pub(super) fn read(root: &Root) -> Self {
        Self(root.line("etc/machine-id").value().filter(|id| !id.is_empty()).cloned())
    }

    /// Sixteen digits that stand for `text` on this installation; none without salt, where they would be the same
    /// everywhere.
    pub(super) fn hash(&self, text: &str) -> Option<String> {
        let salt = self.0.as_ref()?;
        let digest = Sha256::digest(format!("peerfix health {salt} {text}").as_bytes());
        Some(hex(digest.get(..8).unwrap_or_default()))
    }
}

/// Where a device sits: the PCI function that it hangs on, else its path up to its class (`net`, `block`, ...).
/// Numbers behind the function (`host0`, `ata3`, `virtio1`, `nvme0`) are dealt out anew in each boot.
pub(super) fn place(path: &str) -> String {
    if let Some(bdf) = path.split('/').filter_map(|part| part.parse::<Bdf>().ok()).next_back() {
        return bdf.to_string();
    }
    let below = path.strip_prefix("sys/devices/").unwrap_or_default();
    let classes = ["net", "block", "nvme", "scsi_host", "mmc_host"];
    below.split('/').take_while(|part| !classes.contains(part)).collect::<Vec<_>>().join("/")
}

/// Behind USB: a person plugs and pulls it; its controller is looked at as a PCI function.
pub(super) fn pluggable(path: &str) -> bool {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    path.split('/').any(|part| part.strip_prefix("usb").is_some_and(digits))
}

#[cfg(test)]
mod tests {
    use super::{place, pluggable};

    #[test]
    fn the_last_function_is_the_place() {
        let disk = "sys/devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0/nvme0n1";
        assert_eq!(place(disk), "0000:3d:00.0");
        assert_eq!(
            place("sys/devices/platform/soc/fe2c0000.mmc/mmc_host/mmc0/x"),
            "platform/soc/fe2c0000.mmc"
        );
        assert_eq!(place("sys/block/sda"), "");
    }

    #[test]
    fn usb_is_pluggable_and_a_name_that_starts_so_is_not() {
        assert!(pluggable("sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/block/sdb"));
        assert!(!pluggable("sys/devices/platform/usbdrd/block/sda"));
    }
}
