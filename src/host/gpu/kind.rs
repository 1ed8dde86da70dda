//! Which functions are GPUs, and which of them are cards for peer transfers.

use crate::host::pci::PciDevice;
use crate::root::{Fact, Why};

const NVIDIA: i64 = 0x10de;
const AMD: i64 = 0x1002;
/// AMD's processors and chipsets; its graphics keep ATI's number.
const AMD_CPU: i64 = 0x1022;
const INTEL: i64 = 0x8086;

/// ATI ES1000 and RN50, BMC graphics under AMD's vendor number. ASPEED and Matrox have their own.
const BMC: [i64; 2] = [0x515e, 0x5969];

const GIB: i64 = 1 << 30;

/// Cards sold to drive displays; compared as whole words of the name.
const DISPLAY_NAMES: [&str; 15] = [
    "GT 610", "GT 710", "GT 720", "GT 730", "GT 1010", "GT 1030", "T400", "K420", "K620", "P400", "P620",
    "NVS", "WX 2100", "HD 5450", "HD 6450",
];

/// `nvidia`, `amd` or `intel` for a GPU's function; none for everything else, BMC graphics included.
///
/// Classes: VGA 0300, 3D 0302, display 0380, and processing accelerator 1200 (AMD Instinct). Intel's 1200 is
/// the NPU of its client processors, no GPU.
pub(super) fn vendor(device: &PciDevice) -> Option<&'static str> {
    let class = *device.class.value()? >> 8;
    let display = matches!(class, 0x0300 | 0x0302 | 0x0380);
    match *device.vendor.value()? {
        NVIDIA if display || class == 0x1200 => Some("nvidia"),
        AMD if device.device.value().is_some_and(|id| BMC.contains(id)) => None,
        AMD if display || class == 0x1200 => Some("amd"),
        INTEL if display => Some("intel"),
        _ => None,
    }
}

/// Part of the processor rather than a card.
///
/// Intel: 00:02.0 of domain 0, unless its aperture is larger than any processor's graphics has (a card that a
/// hypervisor put there). AMD: a function of the processor (vendor 1022: security processor, USB) shares the
/// slot, which holds for every APU since Raven; older ones are root complex endpoints of class VGA. A small
/// boot display without any link is taken as integrated too. "Legacy endpoint" says nothing: cards are that.
pub(super) fn integrated(device: &PciDevice, vendor: &str, vram: &Fact<i64>, pci: &[PciDevice]) -> bool {
    match vendor {
        "intel" => {
            let largest = device.bars.value().and_then(|bars| bars.iter().map(|bar| bar.size).max());
            device.bdf == "0000:00:02.0" && largest.is_none_or(|size| size <= 4 * GIB)
        }
        "amd" => {
            let slot = device.bdf.rsplit_once('.').map_or(device.bdf.as_str(), |(slot, _)| slot);
            let processor = pci.iter().any(|other| {
                other.vendor.value() == Some(&AMD_CPU)
                    && other.bdf.rsplit_once('.').is_some_and(|(other, _)| other == slot)
                    // A pass-through slot of a guest could mix functions; a bridge is never an APU's sibling.
                    && other.class.value().is_none_or(|class| class >> 16 != 0x06)
            });
            let vga = device.class.value().is_some_and(|class| class >> 8 == 0x0300);
            let large = vram.value().is_some_and(|bytes| *bytes > 4 * GIB);
            let in_root_complex =
                device.port_type.value().is_some_and(|kind| kind == "rc-integrated") && vga && !large;
            let small = vram.value().is_some_and(|bytes| *bytes <= 4 * GIB);
            let boot = device.boot_vga.value() == Some(&true);
            processor || in_root_complex || (vga && small && boot && has_no_link(device))
        }
        _ => false,
    }
}

/// sysfs shows no link width, or 0 or 255; a file that was not copied or not read is no evidence.
fn has_no_link(device: &PciDevice) -> bool {
    match &device.link.max_width {
        Fact::Known { .. } => false,
        Fact::Absent { .. } => true,
        Fact::Unknown(reason) => reason.why == Why::Malformed,
    }
}

/// NVIDIA chips that only such cards have (GF119, GK208, GP108), and single boards of larger families: Quadro
/// P400 and P620, T400. The name is not always captured; the id is.
const DISPLAY_CHIPS: [std::ops::RangeInclusive<i64>; 7] = [
    0x1040..=0x107f,
    0x1280..=0x12bf,
    0x1d00..=0x1d7f,
    0x1cb3..=0x1cb3,
    0x1cb6..=0x1cb6,
    0x1fb2..=0x1fb2,
    0x1ff2..=0x1ff2,
];

/// A small card that only drives a display.
pub(super) fn display_only(
    device: &PciDevice,
    name: &Fact<String>,
    vram: &Fact<i64>,
    bar1_largest: &Fact<i64>,
) -> bool {
    let nvidia = device.vendor.value() == Some(&NVIDIA);
    if nvidia && device.device.value().is_some_and(|id| DISPLAY_CHIPS.iter().any(|ids| ids.contains(id))) {
        return true;
    }
    let small = match (vram.value(), bar1_largest.value()) {
        (Some(vram), _) => *vram <= 2 * GIB,
        (None, Some(largest)) => *largest > GIB / 4 && *largest <= 2 * GIB,
        (None, None) => false,
    };
    small || name.value().is_some_and(|name| DISPLAY_NAMES.iter().any(|words| has_words(name, words)))
}

/// `words` stand in `name`, not as part of longer words (`T400` is not in `T4000`).
fn has_words(name: &str, words: &str) -> bool {
    name.match_indices(words).any(|(at, _)| {
        let before = name.get(..at).and_then(|text| text.chars().next_back());
        let after = name.get(at + words.len()..).and_then(|text| text.chars().next());
        [before, after].iter().flatten().all(|c| !c.is_alphanumeric())
    })
}

/// The vendor's compute driver is bound, or none, or it is not known which.
pub(super) fn compute_driver(vendor: &str, driver: &Fact<String>) -> bool {
    let drivers: &[&str] = match vendor {
        // nouveau cards are candidates too: the ladder then says that this driver grants nothing.
        "nvidia" => &["nvidia", "nouveau"],
        "amd" => &["amdgpu"],
        _ => &["xe", "i915"],
    };
    driver.value().is_none_or(|driver| drivers.contains(&driver.as_str()))
}

#[cfg(test)]
mod tests {
    use super::has_words;

    #[test]
    fn display_names_are_whole_words() {
        assert!(has_words("NVIDIA GeForce GT 1030", "GT 1030"));
        assert!(has_words("NVIDIA T400 4GB", "T400"));
        assert!(!has_words("NVIDIA T4000", "T400"));
        assert!(!has_words("GA102 [GeForce RTX 3090]", "GT 1030"));
    }
}
