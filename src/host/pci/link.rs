//! Link speed, width and ASPM state.

use super::Link;
use super::device::{flag, has_directory, number, shown};
use crate::root::{Dir, Fact, Why};

/// Reads the four link files; absent where the function is not PCI Express.
///
/// The kernel reads them from the device at that moment: an idle GPU shows Gen1 by its driver's choice.
pub(in crate::host) fn read(dir: &Dir) -> Link {
    Link {
        generation: speed(dir, "current_link_speed"),
        max_generation: speed(dir, "max_link_speed"),
        width: width(dir, "current_link_width"),
        max_width: width(dir, "max_link_width"),
    }
}

/// `2.5 GT/s PCIe` (since 5.7), `2.5 GT/s` or `5 GT/s` (before), `Unknown`, `Unknown speed`.
fn speed(dir: &Dir, name: &str) -> Fact<i64> {
    let fact = dir.line(name);
    if fact.value().is_some_and(|text| text.starts_with("Unknown")) {
        return dir.unknown(name, Why::Unreadable, "the kernel prints \"Unknown\": no link speed to read");
    }
    fact.parse(|text| {
        let number = text.split_ascii_whitespace().next().unwrap_or_default();
        match number {
            "2.5" => Ok(1),
            "5.0" | "5" => Ok(2),
            "8.0" | "8" => Ok(3),
            "16.0" | "16" => Ok(4),
            "32.0" | "32" => Ok(5),
            "64.0" | "64" => Ok(6),
            "128.0" | "128" => Ok(7),
            _ => {
                Err(format!("expected a PCI Express speed such as \"16.0 GT/s PCIe\", found {}", shown(text)))
            }
        }
    })
}

/// Lanes. 0, 255 and 63 (a register that reads all ones) mean that there is no link to read.
fn width(dir: &Dir, name: &str) -> Fact<i64> {
    let fact = number(dir, name);
    match fact.value() {
        Some(0 | 63 | 255) => {
            dir.unknown(name, Why::Unreadable, "the kernel prints no width: no link to read")
        }
        _ => fact.parse(|lanes| match lanes {
            1..=32 => Ok(*lanes),
            _ => Err(format!("expected 1 to 32 lanes, found {lanes}")),
        }),
    }
}

/// ASPM of the function's link: the Link Control register where config space can be read, else the kernel's
/// own files, which show only the states that both ends support.
pub(super) fn aspm(dir: &Dir, register: Fact<bool>, link: &Link, live: bool) -> Fact<bool> {
    let Fact::Unknown(reason) = register else { return register };
    let mut enabled = Vec::new();
    if has_directory(dir, "link") {
        for name in ["link/l0s_aspm", "link/l1_aspm"] {
            match dir.line(name).parse(|text| flag(text)) {
                Fact::Known { value, evidence } => enabled.push((value, evidence)),
                Fact::Absent { .. } => {}
                unknown @ Fact::Unknown(_) => return unknown,
            }
        }
    }
    if enabled.is_empty() {
        // No link files at all is also what `pcie_aspm=off` leaves, with the firmware's ASPM still on.
        return match &link.max_width {
            Fact::Absent { evidence } if live => Fact::Absent { evidence: evidence.clone() },
            _ => Fact::Unknown(reason),
        };
    }
    let any = enabled.iter().any(|(on, _)| *on);
    Fact::from_lines(any, enabled.into_iter().flat_map(|(_, evidence)| evidence).collect())
}
