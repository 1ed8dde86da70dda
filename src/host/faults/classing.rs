//! Fault addresses against the BARs of the host's GPUs: peer traffic, or a stray request.

use super::requester::Requester;
use crate::host::pci::PciDevice;

/// Smaller BARs are registers, not memory that a peer copies to; I/O BARs are smaller still.
const SMALLEST: i64 = 1 << 20;

/// Where an address lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Inside another GPU's BAR.
    Peer(String),
    /// Equal to an address in another GPU's BAR cut to the requester's DMA mask.
    MaskedPeer(String),
    /// Inside a BAR of the requester.
    Own,
    /// In no GPU's BAR.
    Elsewhere,
    /// Not to be told.
    Unclassed,
}

/// Memory ranges of the GPUs.
#[derive(Default)]
pub(super) struct Apertures {
    ranges: Vec<(String, u64, u64)>,
    /// The BARs of every GPU are known, and there is one.
    all_known: bool,
}

impl Apertures {
    /// Takes the assigned memory BARs of `gpus` (BDFs) that are at least 1 MiB.
    pub(super) fn new(pci: &[PciDevice], gpus: &[String]) -> Self {
        let mut out = Self { ranges: Vec::new(), all_known: !gpus.is_empty() };
        for gpu in gpus {
            match pci.iter().find(|d| &d.bdf == gpu).and_then(ranges) {
                Some(found) => out.ranges.extend(found.into_iter().map(|(a, b)| (gpu.clone(), a, b))),
                None => out.all_known = false,
            }
        }
        out
    }

    /// Classes one address of one requester; the address as it stands goes before the address cut.
    pub(super) fn place(&self, requester: &Requester<'_>, address: Option<u64>) -> Place {
        let Some(address) = address.filter(|_| !requester.bdf.is_empty()) else { return Place::Unclassed };
        let inside = |start: u64, end: u64| start <= address && address <= end;
        let hit = self.ranges.iter().find(|(_, start, end)| inside(*start, *end));
        if let Some((gpu, ..)) = hit {
            return if *gpu == requester.bdf { Place::Own } else { Place::Peer(gpu.clone()) };
        }
        let own = requester.device.and_then(ranges).unwrap_or_default();
        if own.iter().any(|(start, end)| inside(*start, *end)) {
            return Place::Own;
        }
        let mask = requester.device.and_then(|d| d.dma_mask_bits.value()).copied();
        let cut = |bits: i64| {
            self.ranges.iter().find(|(gpu, start, end)| {
                *gpu != requester.bdf && cut_range_holds(*start, *end, bits, address)
            })
        };
        match mask {
            Some(bits) => {
                if let Some((gpu, ..)) = cut(bits) {
                    return Place::MaskedPeer(gpu.clone());
                }
            }
            // Without the mask the address is elsewhere only if no mask that GPU drivers set (40 bits and
            // more) turns it into a peer's.
            None if (40..64).any(|bits| cut(bits).is_some()) => return Place::Unclassed,
            None => {}
        }
        if self.all_known { Place::Elsewhere } else { Place::Unclassed }
    }
}

/// The assigned memory BARs; `None` when not known.
fn ranges(device: &PciDevice) -> Option<Vec<(u64, u64)>> {
    let bars = device.bars.value()?;
    Some(
        bars.iter()
            .filter(|bar| !bar.unassigned && bar.size >= SMALLEST && bar.start > 0 && bar.end > bar.start)
            .filter_map(|bar| Some((u64::try_from(bar.start).ok()?, u64::try_from(bar.end).ok()?)))
            .collect(),
    )
}

/// `address` equals an address of the range cut to `bits`. A range that the mask reaches is not cut, and one
/// larger than the mask says nothing, since every address would fit.
fn cut_range_holds(start: u64, end: u64, bits: i64, address: u64) -> bool {
    let Some(mask) =
        u32::try_from(bits).ok().and_then(|bits| 1u64.checked_shl(bits)).and_then(|one| one.checked_sub(1))
    else {
        return false;
    };
    if end <= mask || end - start >= mask || address > mask {
        return false;
    }
    let (low, high) = (start & mask, end & mask);
    if low <= high { (low..=high).contains(&address) } else { address >= low || address <= high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::pci::Bar;
    use crate::root::{Evidence, Fact};

    fn gpu(bdf: &str, mask: Option<i64>, start: i64, size: i64) -> PciDevice {
        let here = || Evidence::new("test", "");
        PciDevice {
            bdf: bdf.to_owned(),
            dma_mask_bits: mask.map_or_else(Fact::default, |m| Fact::known(m, here())),
            bars: Fact::known(
                vec![
                    Bar { start, end: start + size - 1, size, ..Bar::default() },
                    Bar { start: 0x3000, end: 0x307f, size: 0x80, ..Bar::default() },
                    Bar { index: 3, size: 32 << 20, unassigned: true, ..Bar::default() },
                ],
                here(),
            ),
            ..PciDevice::default()
        }
    }

    fn place(pci: &[PciDevice], gpus: &[&str], who: &str, address: u64) -> Place {
        let gpus: Vec<String> = gpus.iter().map(|g| (*g).to_owned()).collect();
        let requester = Requester {
            bdf: who.to_owned(),
            device: pci.iter().find(|d| d.bdf == who),
            ..Requester::default()
        };
        Apertures::new(pci, &gpus).place(&requester, Some(address))
    }

    const A: &str = "0000:21:00.0";
    const B: &str = "0000:41:00.0";
    const GIB: i64 = 1 << 30;

    #[test]
    fn peer_own_cut_and_elsewhere() {
        // B ends above 44 bits: cut to 44 bits its BAR begins at 0x080000000000.
        let pci =
            [gpu(A, Some(44), 0x0400_0000_0000, 32 * GIB), gpu(B, Some(47), 0x3880_0000_0000, 32 * GIB)];
        let at = |who, address| place(&pci, &[A, B], who, address);
        assert_eq!(at(A, 0x3880_0000_1000), Place::Peer(B.to_owned()));
        assert_eq!(at(A, 0x0880_0000_1000), Place::MaskedPeer(B.to_owned()));
        assert_eq!(at(A, 0x0400_0000_1000), Place::Own);
        assert_eq!(at(B, 0x0400_0000_1000), Place::Peer(A.to_owned()));
        assert_eq!(at(A, 0xffff_1000), Place::Elsewhere);
        assert_eq!(at(A, 0x3000), Place::Elsewhere);
        assert_eq!(at(A, 0), Place::Elsewhere);
        assert_eq!(at("0000:00:1f.6", 0x3880_0000_1000), Place::Peer(B.to_owned()));
    }

    #[test]
    fn what_is_not_known_is_not_elsewhere() {
        let mut pci = vec![gpu(A, None, 0x0400_0000_0000, GIB), gpu(B, Some(47), 0x3880_0000_0000, 32 * GIB)];
        assert_eq!(place(&pci, &[A, B], A, 0x0880_0000_1000), Place::Unclassed);
        assert_eq!(place(&pci, &[A, B], A, 0x1000), Place::Elsewhere);
        pci[1].bars = Fact::default();
        assert_eq!(place(&pci, &[A, B], A, 0x1000), Place::Unclassed);
        assert_eq!(place(&pci, &[A, B], B, 0x0400_0000_1000), Place::Peer(A.to_owned()));
        assert_eq!(place(&pci, &[], B, 0x1000), Place::Unclassed);
    }

    #[test]
    fn masks_at_the_edges_do_not_overflow() {
        for bits in [-1, 0, 31, 32, 63, 64, i64::MAX] {
            let _ = cut_range_holds(0x3880_0000_0000, 0x3887_ffff_ffff, bits, 0x1000);
        }
        assert!(!cut_range_holds(0, u64::MAX, 63, 1));
    }
}
