//! Who a requester is: BDF from text, and the PCI function in words.

use super::read::Event;
use crate::host::pci::PciDevice;

/// `[DDDD:]BB:DD.F` in hexadecimal, normalised to four-digit domain and lower case.
pub(in crate::host) fn parse_bdf(text: &str) -> Option<String> {
    let (address, function) = text.rsplit_once('.')?;
    let mut parts = address.rsplit(':');
    let slot = hex(parts.next()?, 2)?;
    let bus = hex(parts.next()?, 2)?;
    let domain = parts.next().map_or(Some(0), |d| hex(d, 8))?;
    let function = hex(function, 1).filter(|f| *f < 8)?;
    (parts.next().is_none() && slot < 32).then(|| format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}"))
}

fn hex(text: &str, most: usize) -> Option<u32> {
    (!text.is_empty() && text.len() <= most).then(|| u32::from_str_radix(text, 16).ok())?
}

/// A requester, looked up.
#[derive(Clone, Debug, Default)]
pub(super) struct Requester<'a> {
    pub(super) bdf: String,
    pub(super) device: Option<&'a PciDevice>,
    pub(super) is_gpu: bool,
    pub(super) what: String,
    pub(super) identified: bool,
}

/// Looks a fault's requester up in the PCI tree.
pub(super) fn look_up<'a>(event: &Event, pci: &'a [PciDevice], gpus: &[String]) -> Requester<'a> {
    if event.bdf.is_empty() {
        let what = format!("not attributable to a PCI function ({})", event.other_name);
        return Requester { what, ..Requester::default() };
    }
    let find = |bdf: &str| pci.iter().find(|d| d.bdf == bdf);
    let mut bdf = event.bdf.clone();
    let mut note = "";
    if !event.segment_known {
        // VT-d lines have no segment. Where segment 0 has no such bus and one other segment has the function,
        // that one it is.
        let (local, bus) = (bdf.get(4..).unwrap_or_default(), bdf.get(..8).unwrap_or_default());
        let elsewhere: Vec<&PciDevice> =
            pci.iter().filter(|d| d.bdf != bdf && d.bdf.get(4..) == Some(local)).collect();
        if !elsewhere.is_empty() {
            note = ", segment not in the line";
        }
        if let [only] = elsewhere.as_slice()
            && !pci.iter().any(|d| d.bdf.starts_with(bus))
        {
            bdf.clone_from(&only.bdf);
        }
    }
    let is_gpu = gpus.contains(&bdf);
    let device = find(&bdf);
    let words = device.and_then(|d| words(d, is_gpu, gpus));
    let identified = words.is_some();
    let what = match (words, device) {
        (Some(words), _) => format!("{words}{note}"),
        (None, Some(_)) => "PCI function of unknown class".to_owned(),
        (None, None) if is_gpu => "GPU".to_owned(),
        (None, None) if pci.is_empty() => "not identified: the PCI tree is not known".to_owned(),
        (None, None) => "not in this host's PCI tree".to_owned(),
    };
    Requester { bdf, device, is_gpu, what, identified }
}

/// The class of a function in words; `None` when it is not known.
fn words(device: &PciDevice, is_gpu: bool, gpus: &[String]) -> Option<String> {
    let class = *device.class.value()?;
    let id = match (device.vendor.value(), device.device.value()) {
        (Some(vendor), Some(device)) => format!("{vendor:04x}:{device:04x}"),
        _ => String::new(),
    };
    if is_gpu {
        let vendor = match device.vendor.value() {
            Some(0x10de) => "NVIDIA ",
            Some(0x1002) => "AMD ",
            Some(0x8086) => "Intel ",
            _ => "",
        };
        return Some(format!("GPU ({vendor}{id})"));
    }
    let name = class_name(class).map_or_else(|| format!("device of class {class:#08x}"), str::to_owned);
    let card = device.bdf.rsplit_once('.').map(|(slot, _)| slot);
    let of = gpus
        .iter()
        .find(|g| g.rsplit_once('.').map(|(slot, _)| slot) == card)
        .map(|g| format!(", on the card of GPU {g}"))
        .unwrap_or_default();
    let id = if id.is_empty() { id } else { format!(" ({id})") };
    Some(format!("{name}{id}{of}"))
}

/// Base and sub class (PCI Code and ID Assignment Specification).
fn class_name(class: i64) -> Option<&'static str> {
    Some(match (class >> 8, class >> 16) {
        (0x0104, _) => "RAID controller",
        (0x0106, _) => "SATA controller",
        (0x0107, _) => "SAS controller",
        (0x0108, _) => "NVMe controller",
        (_, 0x01) => "storage controller",
        (_, 0x02) => "network controller",
        (_, 0x03) => "display controller",
        (0x0403, _) => "audio device",
        (_, 0x04) => "multimedia device",
        (0x0600, _) => "host bridge",
        (0x0601, _) => "ISA bridge",
        (0x0604, _) => "PCI bridge",
        (_, 0x06) => "bridge",
        (0x0700, _) => "serial controller",
        (_, 0x07) => "communication controller",
        (0x0806, _) => "IOMMU",
        (_, 0x08) => "system peripheral",
        (0x0c03, _) => "USB controller",
        (0x0c05, _) => "SMBus controller",
        (_, 0x0c) => "serial bus controller",
        (_, 0x0d) => "wireless controller",
        (_, 0x10) => "encryption controller",
        (_, 0x11) => "signal processor",
        (_, 0x12) => "processing accelerator",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_normalised_and_nonsense_refused() {
        assert_eq!(parse_bdf("05:00.0").as_deref(), Some("0000:05:00.0"));
        assert_eq!(parse_bdf("0000:C1:1F.7").as_deref(), Some("0000:c1:1f.7"));
        assert_eq!(parse_bdf("00000001:c1:00.0").as_deref(), Some("0001:c1:00.0"));
        for bad in ["", ".", "5.0", "0000:05:20.0", "0000:05:00.8", "1:2:3:4.0", "zz:00.0", "smmu3.0"] {
            assert_eq!(parse_bdf(bad), None, "{bad}");
        }
    }
}
