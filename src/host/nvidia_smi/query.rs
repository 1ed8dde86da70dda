//! `nvidia-smi -q`: sections by indentation, one per GPU.

use super::{SmiGpu, captured};
use crate::root::{Evidence, Fact, Root, Why};
use std::collections::HashMap;

pub(super) const FILE: &str = "nvidia-smi-q.txt";
pub(super) const PATH: &str = "captured/nvidia-smi-q.txt";

/// What the output says as a whole.
pub(super) struct Query {
    pub(super) gpus: Fact<Vec<SmiGpu>>,
    pub(super) driver_version: Fact<String>,
}

/// Lines of one GPU section by their path of headings (`FB Memory Usage/Total`).
struct Section {
    bdf: String,
    line: usize,
    values: HashMap<String, (usize, String)>,
}

impl Query {
    pub(super) fn read(root: &Root) -> Self {
        match captured(root, FILE) {
            Fact::Known { value, .. } => Self::parse(&value),
            Fact::Absent { evidence } => Self {
                gpus: Fact::Absent { evidence: evidence.clone() },
                driver_version: Fact::Absent { evidence },
            },
            Fact::Unknown(reason) => {
                Self { gpus: Fact::Unknown(reason.clone()), driver_version: Fact::Unknown(reason) }
            }
        }
    }

    fn parse(text: &str) -> Self {
        let mut driver = None;
        let mut none_found = None;
        let mut sections: Vec<Section> = Vec::new();
        // Headings that are open, with their indentation.
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (index, raw) in text.lines().enumerate() {
            let line = raw.trim_end();
            let body = line.trim_start();
            let indent = line.len() - body.len();
            if body.is_empty() {
                continue;
            }
            if let Some(bdf) = gpu_heading(line) {
                sections.push(Section { bdf, line: index + 1, values: HashMap::new() });
                open.clear();
                continue;
            }
            let pair = body.split_once(" : ").or_else(|| body.strip_suffix(" :").map(|key| (key, "")));
            if let (Some((key, value)), None) = (pair, sections.last())
                && key.trim() == "Driver Version"
            {
                driver.get_or_insert((index + 1, value.trim().to_owned()));
            }
            if body == "No devices were found" {
                none_found.get_or_insert(index + 1);
            }
            let Some(section) = sections.last_mut() else { continue };
            if indent == 0 {
                // The end of the list, such as the next command of a transcript.
                open.clear();
                continue;
            }
            while open.last().is_some_and(|(depth, _)| *depth >= indent) {
                open.pop();
            }
            match pair {
                None => open.push((indent, body)),
                Some((key, value)) => {
                    let mut path: Vec<&str> = open.iter().map(|(_, name)| *name).collect();
                    path.push(key.trim());
                    section.values.entry(path.join("/")).or_insert((index + 1, value.trim().to_owned()));
                }
            }
        }
        let gpus = if !sections.is_empty() || none_found.is_some() {
            let mut evidence: Vec<Evidence> =
                sections.iter().map(|s| Evidence::at(PATH, s.line, format!("GPU {}", s.bdf))).collect();
            evidence.extend(none_found.map(|line| Evidence::at(PATH, line, "No devices were found")));
            Fact::from_lines(sections.iter().map(Section::gpu).collect(), evidence)
        } else {
            Fact::unknown(PATH, Why::Malformed, "expected `GPU 00000000:BB:DD.F` headings, found none")
        };
        let driver_version = match driver {
            Some((line, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
                let text = format!("Driver Version : {version}");
                Fact::known(version, Evidence::at(PATH, line, text))
            }
            Some((line, other)) => {
                Fact::malformed(PATH, line, format!("expected a driver version, found {other:?}"))
            }
            None => Fact::unknown(PATH, Why::Malformed, "no `Driver Version` line before the first GPU"),
        };
        Self { gpus, driver_version }
    }
}

/// `GPU 00000000:02:00.0` at the line's start: the BDF as Linux writes it.
fn gpu_heading(line: &str) -> Option<String> {
    let address = line.strip_prefix("GPU ")?;
    let mut parts = address.split(':');
    let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (device, function) = rest.split_once('.')?;
    if parts.next().is_some() {
        return None;
    }
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let (domain, bus, device, function) = (hex(domain)?, hex(bus)?, hex(device)?, hex(function)?);
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

impl Section {
    fn gpu(&self) -> SmiGpu {
        let link = |what: &str| self.get(&format!("PCI/GPU Link Info/{what}")).parse(|text| lanes(text));
        SmiGpu {
            index: -1,
            bdf: self.bdf.clone(),
            name: self.get("Product Name"),
            vram: self.get("FB Memory Usage/Total").parse(|text| bytes(text)),
            bar1: self.get("BAR1 Memory Usage/Total").parse(|text| bytes(text)),
            addressing_mode: self.get("Addressing Mode"),
            display_active: self.get("Display Active").parse(|text| enabled(text)),
            mig: self.get("MIG Mode/Current").parse(|text| enabled(text)),
            pstate: self.get("Performance State").parse(|text| pstate(text)),
            virtualization: self.get("GPU Virtualization Mode/Virtualization Mode"),
            generation: link("PCIe Generation/Current"),
            width: link("Link Width/Current"),
            max_generation: link("PCIe Generation/Max"),
            max_width: link("Link Width/Max"),
            replays: self.get("PCI/Replays Since Reset").parse(|text| lanes(text)),
        }
    }

    /// A value. `N/A` is absence; an error printed in its place is not.
    fn get(&self, path: &str) -> Fact<String> {
        let Some((line, value)) = self.values.get(path) else {
            return Fact::unknown(PATH, Why::NotCaptured, format!("no line `{path}` for GPU {}", self.bdf));
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let shown: String = value.chars().take(200).collect();
        let evidence = Evidence::at(PATH, *line, format!("GPU {}: {name} : {shown}", self.bdf));
        match value.trim_matches(['[', ']']) {
            // `None` is an addressing and a virtualization mode, so it is no absence here.
            "N/A" | "Not Supported" | "Not Available" => Fact::Absent { evidence: vec![evidence] },
            "Insufficient Permissions" => Fact::unknown(PATH, Why::Permission, format!("{path}: {value}")),
            "Unknown Error" | "ERR!" | "GPU is lost" | "GPU requires reset" | "" => {
                Fact::malformed(PATH, *line, format!("{path}: nvidia-smi printed {shown:?}"))
            }
            _ => Fact::known(value.clone(), evidence),
        }
    }
}

/// `24564 MiB` as bytes.
fn bytes(text: &str) -> Result<i64, String> {
    let error = || format!("expected a size such as `256 MiB`, found {text:?}");
    let (number, unit) = text.split_once(' ').ok_or_else(error)?;
    let shift = match unit.trim() {
        "KiB" | "KB" => 10,
        "MiB" | "MB" => 20,
        "GiB" | "GB" => 30,
        _ => return Err(error()),
    };
    let number: i64 = number.parse().map_err(|_| error())?;
    if number < 0 { Err(error()) } else { number.checked_mul(1 << shift).ok_or_else(error) }
}

fn enabled(text: &str) -> Result<bool, String> {
    match text {
        "Enabled" | "Yes" => Ok(true),
        "Disabled" | "No" => Ok(false),
        _ => Err(format!("expected Enabled or Disabled, found {text:?}")),
    }
}

/// `16x` is 16, and a plain number is itself.
fn lanes(text: &str) -> Result<i64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse().ok().filter(|n| *n >= 0);
    number.ok_or_else(|| format!("expected a number such as 4 or 16x, found {text:?}"))
}

fn pstate(text: &str) -> Result<i64, String> {
    let number = text.strip_prefix('P').and_then(|n| n.parse().ok()).filter(|n| (0..=15).contains(n));
    number.ok_or_else(|| format!("expected P0 to P15, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::{bytes, gpu_heading};

    #[test]
    fn domains_are_written_as_linux_does() {
        assert_eq!(gpu_heading("GPU 00000000:C1:00.0").as_deref(), Some("0000:c1:00.0"));
        assert_eq!(gpu_heading("GPU 0000000D:01:00.0").as_deref(), Some("000d:01:00.0"));
        assert_eq!(gpu_heading("GPU 00010000:01:00.0").as_deref(), Some("10000:01:00.0"));
        assert_eq!(gpu_heading("GPU 0: NVIDIA X (UUID: GPU-1)"), None);
        assert_eq!(gpu_heading("GPU Virtualization Mode"), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("256 MiB"), Ok(268_435_456));
        assert!(bytes("256").is_err());
        assert!(bytes("-1 MiB").is_err());
        assert!(bytes("9223372036854775807 GiB").is_err());
    }
}
