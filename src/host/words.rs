//! Words of a command line that do nothing here, or that contradict each other.

use super::cmdline::{Cmdline, CmdlineOption};
use schemars::JsonSchema;
use serde::Serialize;

/// One word and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WordVerdict {
    /// The word.
    pub word: String,
    /// `no-op`, `contradiction`, `override`.
    pub kind: String,
    /// Why, in one sentence.
    pub why: String,
}

/// Accepted values of `intel_iommu=` (drivers/iommu/intel/iommu.c `intel_iommu_setup`).
const INTEL: [&str; 9] =
    ["on", "off", "igfx_off", "forcedac", "strict", "sp_off", "sm_on", "sm_off", "tboot_noforce"];
/// Accepted values of `amd_iommu=` (drivers/iommu/amd/init.c `parse_amd_iommu_options`).
const AMD: [&str; 9] = [
    "off",
    "force_enable",
    "fullflush",
    "force_isolation",
    "pgtbl_v1",
    "pgtbl_v2",
    "irtcachedis",
    "nohugepages",
    "v2_pgsizes_only",
];

/// Judges the words of one line. `platform` is `intel`, `amd` or `other`; `overrides` says that the kernel
/// carries the out-of-tree ACS override.
pub fn judge(line: &Cmdline, platform: Option<&str>, overrides: bool) -> Vec<WordVerdict> {
    let mut found: Vec<WordVerdict> = Vec::new();
    for option in &line.options {
        if let Some(verdict) = no_op(option, platform, overrides)
            && !found.contains(&verdict)
        {
            found.push(verdict);
        }
    }
    found.extend(contradictions(line));
    found
}

fn no_op(option: &CmdlineOption, platform: Option<&str>, overrides: bool) -> Option<WordVerdict> {
    let say =
        |kind: &str, why: String| Some(WordVerdict { word: option.word.clone(), kind: kind.to_owned(), why });
    let all_unknown = |known: &[&str]| option.list.iter().all(|v| !known.contains(&v.as_str()));
    match option.key.as_str() {
        "amd_iommu" if all_unknown(&AMD) => say(
            "no-op",
            format!("{} is no value of amd_iommu=; the AMD IOMMU is on whenever firmware offers it", list(option)),
        ),
        "intel_iommu" if all_unknown(&INTEL) => {
            say("no-op", format!("{} is no value of intel_iommu=", list(option)))
        }
        "intel_iommu" if platform == Some("amd") => {
            say("no-op", "intel_iommu= is read on Intel hosts only".to_owned())
        }
        "amd_iommu" if platform == Some("intel") => {
            say("no-op", "amd_iommu= is read on AMD hosts only".to_owned())
        }
        "iommu" if platform == Some("other") => {
            say("no-op", "iommu= is read on x86 only; elsewhere it is iommu.passthrough=".to_owned())
        }
        "iommu" if option.list.iter().all(|v| v == "soft") && !option.list.is_empty() => {
            say("no-op", "iommu=soft chooses bounce buffers on hosts without an IOMMU; it switches none off".to_owned())
        }
        "pci" if option.list.iter().any(|v| v == "noacs") => {
            say("no-op", "pci=noacs is not an option of any kernel".to_owned())
        }
        "pcie_acs_override" if !overrides => say(
            "override",
            "pcie_acs_override= works only in patched kernels, and only pretends isolation for grouping: it clears no redirect"
                .to_owned(),
        ),
        _ => None,
    }
}

fn list(option: &CmdlineOption) -> String {
    option.value.clone().unwrap_or_else(|| "(no value)".to_owned())
}

fn contradictions(line: &Cmdline) -> Vec<WordVerdict> {
    let stands = |key: &str, value: &str| {
        line.options.iter().rposition(|o| o.key == key && o.list.iter().any(|v| v == value))
    };
    let rows: [(&str, &str, &str, &str); 5] = [
        ("iommu", "pt", "iommu.passthrough", "0"),
        ("iommu", "nopt", "iommu.passthrough", "1"),
        ("iommu", "pt", "iommu", "nopt"),
        ("intel_iommu", "on", "intel_iommu", "off"),
        ("intel_iommu", "sm_on", "intel_iommu", "sm_off"),
    ];
    let mut found = Vec::new();
    for (key, value, other_key, other_value) in rows {
        if let (Some(x), Some(y)) = (stands(key, value), stands(other_key, other_value)) {
            let (lost, wins) = if x < y { (x, y) } else { (y, x) };
            if let (Some(lost), Some(wins)) = (line.options.get(lost), line.options.get(wins)) {
                found.push(WordVerdict {
                    word: lost.word.clone(),
                    kind: "contradiction".to_owned(),
                    why: format!("{} stands later and wins", wins.word),
                });
            }
        }
    }
    found
}
