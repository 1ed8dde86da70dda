//! Files of one amdgpu function: memory sizes and the driver's own view of the link.

use super::AmdgpuDevice;
use crate::root::{Evidence, Fact, Root, Unknown, Why};

impl AmdgpuDevice {
    /// Reads the files of one function, `device` being its directory (`sys/bus/pci/devices/BDF`). Files that
    /// are missing are absent: amdgpu makes them for every GPU that it drives.
    pub fn read(root: &Root, device: &str) -> Self {
        let levels = Levels::read(root, &format!("{device}/pp_dpm_pcie"));
        Self {
            vram: size(root, &format!("{device}/mem_info_vram_total")),
            visible_vram: size(root, &format!("{device}/mem_info_vis_vram_total")),
            prints_link_state: levels.prints_state,
            link_generation: levels.generation,
            link_width: levels.width,
            link_max_generation: levels.max_generation,
        }
    }

    /// A function that amdgpu does not drive.
    pub(crate) fn none(device: &str) -> Self {
        Self {
            vram: Fact::absent(device),
            visible_vram: Fact::absent(device),
            prints_link_state: Fact::absent(device),
            link_generation: Fact::absent(device),
            link_width: Fact::absent(device),
            link_max_generation: Fact::absent(device),
        }
    }
}

fn size(root: &Root, path: &str) -> Fact<i64> {
    root.number(path).parse(|bytes| {
        if *bytes >= 0 { Ok(*bytes) } else { Err(format!("expected a size in bytes, found {bytes}")) }
    })
}

/// `pp_dpm_pcie`: `N: 16.0GT/s, x16 619Mhz *` per level, the star at the present one (amdgpu_pm.c).
struct Levels {
    prints_state: Fact<bool>,
    generation: Fact<i64>,
    width: Fact<i64>,
    max_generation: Fact<i64>,
}

impl Levels {
    fn read(root: &Root, path: &str) -> Self {
        match root.text(path) {
            Fact::Known { value, .. } => Self::parse(path, &value),
            Fact::Absent { evidence } => Self {
                prints_state: Fact::Absent { evidence: evidence.clone() },
                generation: Fact::Absent { evidence: evidence.clone() },
                width: Fact::Absent { evidence: evidence.clone() },
                max_generation: Fact::Absent { evidence },
            },
            Fact::Unknown(reason) => Self::unknown(&reason),
        }
    }

    fn unknown(reason: &Unknown) -> Self {
        Self {
            prints_state: Fact::Unknown(reason.clone()),
            generation: Fact::Unknown(reason.clone()),
            width: Fact::Unknown(reason.clone()),
            max_generation: Fact::Unknown(reason.clone()),
        }
    }

    fn parse(path: &str, text: &str) -> Self {
        let mut highest: Option<(i64, Evidence)> = None;
        let mut starred = None;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let Some((generation, width, star)) = level(line) else {
                return Self::unknown(&Unknown {
                    path: path.to_owned(),
                    line: u32::try_from(index + 1).ok(),
                    why: Why::Malformed,
                    detail: "expected `N: 16.0GT/s, x16 619Mhz`".to_owned(),
                });
            };
            let evidence = Evidence::at(path, index + 1, line.trim());
            if highest.as_ref().is_none_or(|(most, _)| *most < generation) {
                highest = Some((generation, evidence.clone()));
            }
            if star {
                starred = Some((generation, width, evidence));
            }
        }
        let Some((generation, width, evidence)) = starred else { return Self::silent(path, highest) };
        Self {
            prints_state: Fact::known(true, evidence.clone()),
            generation: Fact::known(generation, evidence.clone()),
            width: Fact::known(width, evidence),
            max_generation: known(path, highest),
        }
    }

    /// The file is there and marks no level.
    fn silent(path: &str, highest: Option<(i64, Evidence)>) -> Self {
        let none = || Unknown {
            path: path.to_owned(),
            line: None,
            why: Why::Malformed,
            detail: "prints no link state: no level is marked with a star".to_owned(),
        };
        Self {
            prints_state: Fact::known(false, Evidence::new(path, "no level is marked with a star")),
            generation: Fact::Unknown(none()),
            width: Fact::Unknown(none()),
            max_generation: known(path, highest),
        }
    }
}

fn known(path: &str, value: Option<(i64, Evidence)>) -> Fact<i64> {
    match value {
        Some((value, evidence)) => Fact::known(value, evidence),
        None => Fact::unknown(path, Why::Malformed, "lists no level"),
    }
}

/// Generation, lanes and star of one line.
fn level(line: &str) -> Option<(i64, i64, bool)> {
    let (index, rest) = line.split_once(':')?;
    index.trim().parse::<u32>().ok()?;
    let mut words = rest.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let speed = words.next()?.strip_suffix("GT/s")?;
    let generation = match speed {
        "2.5" => 1,
        "5.0" | "5" => 2,
        "8.0" | "8" => 3,
        "16.0" | "16" => 4,
        "32.0" | "32" => 5,
        "64.0" | "64" => 6,
        _ => return None,
    };
    let width = words.next()?.strip_prefix('x')?.parse().ok().filter(|lanes| (1..=32).contains(lanes))?;
    Some((generation, width, line.trim_end().ends_with('*')))
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn a_level_line_gives_generation_lanes_and_star() {
        assert_eq!(level("1: 16.0GT/s, x16 619Mhz *"), Some((4, 16, true)));
        assert_eq!(level("0: 2.5GT/s, x8 310Mhz "), Some((1, 8, false)));
        assert_eq!(level("0: 2.5GT/s"), None);
        assert_eq!(level("fast"), None);
    }
}
