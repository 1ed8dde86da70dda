//! Resizable BARs: what the kernel's `resourceN_resize` files and the capability offer.

use super::Resizable;
use super::device::shown;
use crate::root::{Dir, Fact};

const FILES: [&str; 6] = [
    "resource0_resize",
    "resource1_resize",
    "resource2_resize",
    "resource3_resize",
    "resource4_resize",
    "resource5_resize",
];

/// True when the function has one of the kernel's files.
pub(super) fn has_files(dir: &Dir) -> bool {
    FILES.iter().any(|name| dir.kind(name).is_some())
}

/// The kernel's files first, since it corrects wrong capabilities of known cards; else `capability`. When
/// this kernel makes the files, their absence settles it.
pub(super) fn read(
    dir: &Dir,
    capability: Fact<Vec<Resizable>>,
    kernel_makes_files: bool,
) -> Fact<Vec<Resizable>> {
    if !has_files(dir) {
        if capability.is_unknown() && kernel_makes_files {
            return Fact::absent(format!("{}/{}", dir.path(), FILES[0]));
        }
        return capability;
    }
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for (bar, name) in (0..).zip(FILES) {
        if dir.kind(name).is_none() {
            continue;
        }
        match dir.line(name).parse(|text| bitmap(text)).parse(|bits| from_bits(bar, *bits)) {
            Fact::Known { value, evidence } => {
                found.extend(value);
                lines.extend(evidence);
            }
            Fact::Absent { .. } => {}
            Fact::Unknown(reason) => return Fact::Unknown(reason),
        }
    }
    Fact::from_lines(found, lines)
}

fn bitmap(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    match u64::from_str_radix(digits, 16) {
        Ok(bits) if !digits.starts_with('+') => Ok(bits),
        _ => Err(format!("expected a hexadecimal bitmap of sizes, found {}", shown(text))),
    }
}

/// Sizes of one BAR; bit n stands for 2^n MiB. None when no size is offered.
pub(super) fn from_bits(bar: i64, bits: u64) -> Result<Option<Resizable>, String> {
    // 2^42 MiB is 2^62 bytes, the largest that a fact can hold; the specification ends at 2^43 MiB.
    if bits >> 43 != 0 {
        return Err(format!("a size above 4 EiB in the bitmap {bits:#x}"));
    }
    let sizes: Vec<i64> = (0..43).filter(|n| bits >> n & 1 == 1).map(|n| 1_i64 << (n + 20)).collect();
    Ok(sizes.last().map(|largest| Resizable { bar, largest: *largest, sizes: sizes.clone() }))
}
