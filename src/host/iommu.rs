//! IOMMU units and what the boot log says about the default domain.

use super::log::{KernelLog, LogLine};
use super::presence::not_captured;
use crate::root::{Evidence, Fact, Root, Why};
use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Serialize;

const CLASS: &str = "sys/class/iommu";
const GROUPS: &str = "sys/kernel/iommu_groups";

/// Facts of DMA remapping as a whole; the domain type is a fact of each device.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Iommu {
    /// Active remapping units, `sys/class/iommu/*`; an empty list means that none is active.
    pub units: Fact<Vec<IommuUnit>>,
    /// True when at least one unit is active or one device has a group.
    pub active: Fact<bool>,
    /// Word of `iommu: Default domain type: X`: a policy, printed even where no IOMMU is active.
    pub default_domain: Fact<String>,
    /// `Intel-IOMMU force enabled due to platform opt in` was logged.
    pub platform_opt_in: Fact<bool>,
    /// The kernel printed `Warning: PCIe ACS overrides enabled`, which only a patched kernel does.
    pub acs_override_active: Fact<bool>,
    /// Options that the kernel logged as unknown, as words of the command line: `AMD-Vi: Unknown option - 'on'`
    /// gives `amd_iommu=on`, `DMAR: Unknown option - 'pt'` gives `intel_iommu=pt`.
    pub unknown_options: Fact<Vec<String>>,
}

/// One remapping unit.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct IommuUnit {
    /// `dmar0`, `ivhd0`, `smmu3.0x…`.
    pub name: String,
    /// `intel`, `amd`, `arm`, `other`.
    pub vendor: String,
    /// Intel: ECAP bit 6, pass-through supported (`intel-iommu/ecap`). Without it `iommu=pt` keeps DMA
    /// domains. Absent for other vendors.
    pub passthrough: Fact<bool>,
}

impl Iommu {
    /// Reads units from sysfs and words from the kernel log.
    pub fn read(root: &Root, log: &KernelLog) -> Self {
        let units = units(root);
        Self {
            active: active(root, &units),
            units,
            default_domain: default_domain(log),
            platform_opt_in: logged(log, "Intel-IOMMU force enabled due to platform opt in"),
            acs_override_active: logged(log, "PCIe ACS overrides enabled"),
            unknown_options: unknown_options(log),
        }
    }
}

fn units(root: &Root) -> Fact<Vec<IommuUnit>> {
    let (mut names, evidence) = match root.list(CLASS) {
        Fact::Known { value, evidence } => (value, evidence),
        // A kernel without IOMMU support makes no such class; in a tree it only was not captured.
        Fact::Absent { evidence } if root.is_live() && root.exists("sys/class") => (Vec::new(), evidence),
        Fact::Absent { .. } => {
            return not_captured(root, CLASS, "an empty directory says that no IOMMU is active");
        }
        Fact::Unknown(reason) => return Fact::Unknown(reason),
    };
    // dmar10 after dmar9.
    names.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    Fact::from_lines(names.into_iter().map(|name| unit(root, name)).collect(), evidence)
}

fn unit(root: &Root, name: String) -> IommuUnit {
    let vendor = if name.starts_with("dmar") {
        "intel"
    } else if name.starts_with("ivhd") {
        "amd"
    } else if name.starts_with("smmu") || name.starts_with("arm-smmu") {
        "arm"
    } else {
        "other"
    };
    let path = format!("{CLASS}/{name}/intel-iommu/ecap");
    let passthrough = if vendor == "intel" {
        match root.line(&path).parse(|text| ecap(text)) {
            Fact::Absent { .. } => not_captured(root, &path, "every VT-d unit has this file"),
            other => other,
        }
    } else {
        Fact::absent(path)
    };
    IommuUnit { name, vendor: vendor.to_owned(), passthrough }
}

/// Extended capability register, 64 bits in hexadecimal: bit 6 is pass-through (VT-d specification, 11.4.3).
fn ecap(text: &str) -> Result<bool, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    match u64::from_str_radix(digits, 16) {
        Ok(register) if !digits.starts_with('+') => Ok(register >> 6 & 1 == 1),
        _ => Err(format!("expected a hexadecimal register, found {text:?}")),
    }
}

fn active(root: &Root, units: &Fact<Vec<IommuUnit>>) -> Fact<bool> {
    if let Fact::Known { value, evidence } = units
        && !value.is_empty()
    {
        return Fact::from_lines(true, evidence.clone());
    }
    let groups = root.list(GROUPS);
    match (&groups, units) {
        (Fact::Known { value, evidence }, _) if !value.is_empty() => Fact::from_lines(true, evidence.clone()),
        // No unit, and no group or none captured: remapping needs a unit.
        (Fact::Known { .. } | Fact::Absent { .. }, Fact::Known { evidence, .. }) => {
            Fact::from_lines(false, evidence.clone())
        }
        // Groups are there only when the kernel has IOMMU support; an empty directory holds no device.
        (Fact::Known { evidence, .. }, _) => Fact::from_lines(false, evidence.clone()),
        (Fact::Unknown(reason), _) => Fact::Unknown(reason.clone()),
        _ => match grouped_device(root) {
            Some(path) => Fact::known(true, Evidence::new(path, "a device has a group")),
            None => not_captured(root, GROUPS, "neither units nor groups were found"),
        },
    }
}

/// Where neither class nor groups were captured, a device's own link still shows that it has a group.
fn grouped_device(root: &Root) -> Option<String> {
    let devices = root.list("sys/bus/pci/devices");
    let links = devices.value()?.iter().map(|bdf| format!("sys/bus/pci/devices/{bdf}/iommu_group"));
    links.into_iter().find(|path| root.link(path).value().is_some())
}

/// The log says it (true), the whole log does not (false), or nothing is known.
fn logged(log: &KernelLog, words: &str) -> Fact<bool> {
    let words = Finder::new(words);
    match log.lines.iter().find(|line| words.find(line.text.as_bytes()).is_some()) {
        Some(line) if log.available.value().is_some() => Fact::known(true, cite(log, line)),
        _ => match silence(log) {
            Silence::Proves(evidence) => Fact::known(false, evidence),
            Silence::Nothing(reason) => Fact::Unknown(reason),
        },
    }
}

fn default_domain(log: &KernelLog) -> Fact<String> {
    let words = Finder::new("iommu: Default domain type:");
    let word = |line: &LogLine| behind(line, &words)?.split_ascii_whitespace().next().map(str::to_owned);
    // The last one counts: a log may hold the start of more than one kernel (kexec, kdump).
    let found = log.lines.iter().rev().find_map(|line| Some((line, word(line)?)));
    match (found, silence(log)) {
        (Some((line, word)), _) if log.available.value().is_some() => Fact::known(word, cite(log, line)),
        (_, Silence::Proves(evidence)) => Fact::Absent { evidence: vec![evidence] },
        (_, Silence::Nothing(reason)) => Fact::Unknown(reason),
    }
}

fn unknown_options(log: &KernelLog) -> Fact<Vec<String>> {
    let (mut words, mut evidence): (Vec<String>, Vec<Evidence>) = (Vec::new(), Vec::new());
    let options = [("DMAR: Unknown option - ", "intel_iommu"), ("AMD-Vi: Unknown option - ", "amd_iommu")];
    let options = options.map(|(text, key)| (Finder::new(text), key));
    for line in &log.lines {
        let found = options.iter().find_map(|(text, key)| Some((behind(line, text)?, *key)));
        let Some((value, key)) = found else { continue };
        let word = format!("{key}={}", value.trim().trim_matches('\''));
        evidence.push(cite(log, line));
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if !words.is_empty() && log.available.value().is_some() {
        return Fact::from_lines(words, evidence);
    }
    match silence(log) {
        Silence::Proves(evidence) => Fact::known(Vec::new(), evidence),
        Silence::Nothing(reason) => Fact::Unknown(reason),
    }
}

/// What stands behind `words`, which a log of thousands of lines is searched for.
fn behind<'l>(line: &'l LogLine, words: &Finder<'_>) -> Option<&'l str> {
    let at = words.find(line.text.as_bytes())?;
    line.text.get(at + words.needle().len()..)
}

fn cite(log: &KernelLog, line: &LogLine) -> Evidence {
    Evidence::at(log.source(), line.number, line.text.clone())
}

/// What it means that a line is not in the log.
enum Silence {
    Proves(Evidence),
    Nothing(crate::root::Unknown),
}

fn silence(log: &KernelLog) -> Silence {
    let reason = |why: Why, detail: &str| {
        Silence::Nothing(crate::root::Unknown {
            path: log.source().to_owned(),
            line: None,
            why,
            detail: detail.to_owned(),
        })
    };
    match (&log.available, log.complete.value()) {
        (Fact::Unknown(unknown), _) => Silence::Nothing(unknown.clone()),
        (Fact::Absent { .. }, _) => reason(Why::NotCaptured, "no kernel log"),
        (Fact::Known { .. }, Some(true)) => {
            Silence::Proves(Evidence::new(log.source(), "not in the whole log of this boot"))
        }
        (Fact::Known { .. }, _) => reason(
            Why::NotCaptured,
            "the log does not begin with the boot, so the line may be missing from it",
        ),
    }
}
