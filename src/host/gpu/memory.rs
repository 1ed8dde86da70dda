//! Aperture, BAR1, window and VRAM of a GPU.

use super::Gpu;
use crate::host::pci::{Bar, PciDevice};
use crate::root::{Evidence, Fact, Unknown, Why};

/// Largest 64-bit prefetchable BAR. A fixed index would be wrong: chips with a 64-bit BAR0 shift BAR1 to
/// resource 2. One without an address is taken when it stands before the largest: the aperture comes first.
pub(super) fn aperture(device: &PciDevice) -> Fact<Bar> {
    let (bars, lines) = match &device.bars {
        Fact::Known { value, evidence } => (value, evidence),
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
    };
    let candidates = || bars.iter().filter(|bar| bar.mem64 && bar.prefetch);
    let mut best: Option<&Bar> = None;
    for bar in candidates() {
        if best.is_none_or(|best| bar.size > best.size) {
            best = Some(bar);
        }
    }
    let unassigned = candidates().find(|bar| bar.unassigned);
    let chosen = match (best, unassigned) {
        (Some(best), Some(lost)) if lost.index < best.index => Some(lost),
        (best, _) => best,
    };
    if let Some(bar) = chosen {
        return Fact::from_lines(bar.clone(), lines.clone());
    }
    let path = format!("sys/bus/pci/devices/{}/resource", device.bdf);
    Fact::Absent { evidence: vec![Evidence::new(path, "no 64-bit prefetchable BAR")] }
}

/// Bits that the last address of the aperture needs; absent while it has no address.
pub(super) fn aperture_bits(aperture: &Fact<Bar>) -> Fact<i64> {
    match aperture {
        Fact::Known { value, evidence } if value.unassigned || value.end <= value.start => {
            Fact::Absent { evidence: evidence.clone() }
        }
        other => other.as_ref().map(|bar| i64::from(i64::BITS - bar.end.leading_zeros())),
    }
}

/// Largest size in the Resizable BAR capability of the aperture.
pub(super) fn bar1_largest(device: &PciDevice, aperture: &Fact<Bar>) -> Fact<i64> {
    let index = match aperture {
        Fact::Known { value, .. } => value.index,
        Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
    };
    match &device.resizable {
        Fact::Known { value, evidence } => match value.iter().find(|entry| entry.bar == index) {
            Some(entry) => Fact::from_lines(entry.largest, evidence.clone()),
            None => Fact::Absent { evidence: evidence.clone() },
        },
        Fact::Absent { evidence } => Fact::Absent { evidence: evidence.clone() },
        Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
    }
}

/// The first known of two sources; else the reason why one of them is unknown; else absent.
pub(super) fn prefer<T>(first: Fact<T>, second: Fact<T>) -> Fact<T> {
    match (first, second) {
        (known @ Fact::Known { .. }, _) | (_, known @ Fact::Known { .. }) => known,
        (unknown @ Fact::Unknown(_), _) | (_, unknown @ Fact::Unknown(_)) => unknown,
        (absent, _) => absent,
    }
}

/// Memory exists on every card: a file that is missing (no amdgpu bound) leaves its size unknown.
pub(super) fn never_absent(fact: Fact<i64>, detail: &str) -> Fact<i64> {
    match fact {
        Fact::Absent { evidence } => Fact::Unknown(Unknown {
            path: evidence.first().map(|e| e.source.clone()).unwrap_or_default(),
            line: None,
            why: Why::Derived,
            detail: detail.to_owned(),
        }),
        other => other,
    }
}

/// `identity`, `translated`, `none` or `other` for a domain type.
pub(super) fn translation(domain_type: &Fact<String>) -> Fact<String> {
    match domain_type {
        Fact::Absent { evidence } => Fact::from_lines("none".to_owned(), evidence.clone()),
        other => other.as_ref().map(|kind| {
            let word = match kind.as_str() {
                "identity" => "identity",
                "DMA" | "DMA-FQ" => "translated",
                _ => "other",
            };
            word.to_owned()
        }),
    }
}

/// Sets `sibling_bar1` where a model occurs more than once. `models` are vendor, device and subsystem.
pub(super) fn compare_siblings(gpus: &mut [Gpu], models: &[(i64, i64, Option<i64>)]) {
    let sizes: Vec<i64> = gpus.iter().map(|gpu| gpu.bar1.value().copied().unwrap_or(0)).collect();
    for (gpu, model) in gpus.iter_mut().zip(models) {
        let same = models.iter().zip(&sizes).filter(|(other, _)| *other == model);
        if same.clone().count() > 1 {
            gpu.sibling_bar1 = same.map(|(_, size)| *size).max().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{aperture_bits, prefer};
    use crate::host::pci::Bar;
    use crate::root::{Evidence, Fact, Why};

    fn ending_at(end: i64) -> Fact<Bar> {
        Fact::known(Bar { start: 0x1000, end, size: end - 0xfff, ..Bar::default() }, Evidence::new("r", ""))
    }

    #[test]
    fn bits_are_counted_to_the_last_address() {
        assert_eq!(aperture_bits(&ending_at(0x3807_ffff_ffff)).value(), Some(&46));
        assert_eq!(aperture_bits(&ending_at(0xfff_ffff_ffff)).value(), Some(&44));
        assert_eq!(aperture_bits(&ending_at(i64::MAX)).value(), Some(&63));
        assert!(aperture_bits(&ending_at(0)).is_absent());
    }

    #[test]
    fn ignorance_of_one_source_is_not_absence() {
        let absent = || Fact::<i64>::absent("a");
        let unknown = || Fact::<i64>::unknown("u", Why::Permission, "");
        assert!(prefer(absent(), unknown()).is_unknown());
        assert!(prefer(unknown(), absent()).is_unknown());
        assert!(prefer(absent(), absent()).is_absent());
        assert_eq!(prefer(unknown(), Fact::known(1, Evidence::new("k", ""))).value(), Some(&1));
    }
}
