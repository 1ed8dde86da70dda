//! Facts that follow from several others and that many rules ask for.

use super::Host;
use super::gpu::Gpu;
use crate::root::{Evidence, Fact, Unknown, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// Counts and platform, derived once.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// Number of GPUs; unknown when the PCI tree is.
    pub gpus: Fact<i64>,
    /// GPUs that take part in peer transfers.
    pub peers: Fact<i64>,
    /// Of which NVIDIA's.
    pub nvidia_peers: Fact<i64>,
    /// Of which AMD's.
    pub amd_peers: Fact<i64>,
    /// Functions that may be GPUs: their class or vendor could not be read.
    pub unidentified: Fact<Vec<String>>,
    /// This host is a guest.
    pub guest: bool,
    /// Windows Subsystem for Linux.
    pub wsl: bool,
    /// `intel`, `amd`, or `other` by the CPU's vendor.
    pub platform: Fact<String>,
    /// BDFs of GPUs whose product has NVLink connectors.
    pub nvlink_capable: Vec<String>,
    /// The command line asks for passthrough (`iommu=pt`, `iommu.passthrough=1`; the last word wins).
    pub asks_passthrough: Fact<bool>,
    /// The command line switches the IOMMU off (`intel_iommu=off`, `amd_iommu=off`, `iommu=off`).
    pub asks_off: Fact<bool>,
    /// `iommu=off` stands on the command line, which also leaves x86 without bounce buffers
    /// (arch/x86/kernel/pci-dma.c `no_iommu`).
    pub asks_no_iommu: Fact<bool>,
}

/// Products with NVLink connectors or NVLink fabric, by words of their name.
const NVLINK_NAMES: [&str; 22] = [
    "RTX 2070 SUPER",
    "RTX 2080",
    "TITAN RTX",
    "TITAN V",
    "RTX 3090",
    "RTX A4500",
    "RTX A5000",
    "RTX A5500",
    "RTX A6000",
    "Quadro RTX 5000",
    "Quadro RTX 6000",
    "Quadro RTX 8000",
    "GP100",
    "GV100",
    "P100",
    "V100",
    "A100",
    "A30",
    "A40",
    "H100",
    "H200",
    "B200",
];

impl Summary {
    /// Derives from the facts read so far.
    pub fn derive(host: &Host) -> Self {
        let doubts = doubts(host);
        // Two known peers are a pair whatever else is there; below that a doubtful function decides.
        let count = |enough: usize, keep: fn(&Gpu) -> bool| count(host, &doubts, enough, keep);
        let line = &host.kernel.cmdline;
        Self {
            gpus: count(1, |_| true),
            peers: count(2, |g| g.compute),
            nvidia_peers: count(2, |g| g.compute && g.vendor == "nvidia"),
            amd_peers: count(2, |g| g.compute && g.vendor == "amd"),
            unidentified: unidentified(host, &doubts),
            guest: host.virt.hypervisor.value().is_some(),
            wsl: host.virt.wsl.value() == Some(&true),
            platform: platform(host),
            nvlink_capable: host.gpus.iter().filter(|g| nvlink(g)).map(|g| g.bdf.clone()).collect(),
            asks_passthrough: line.as_ref().map(|line| {
                let asked =
                    line.options.iter().rev().find_map(|o| match (o.key.as_str(), o.value.as_deref()) {
                        ("iommu", Some(_)) if o.list.iter().any(|w| w == "pt") => Some(true),
                        ("iommu", Some(_)) if o.list.iter().any(|w| w == "nopt") => Some(false),
                        ("iommu.passthrough", Some(value)) => Some(matches!(value, "1" | "y" | "Y" | "on")),
                        _ => None,
                    });
                asked.unwrap_or(false)
            }),
            asks_off: line.as_ref().map(|line| {
                ["intel_iommu", "amd_iommu", "iommu"].iter().any(|key| {
                    line.options.iter().any(|o| o.key == *key && o.list.iter().any(|w| w == "off"))
                })
            }),
            asks_no_iommu: line.as_ref().map(|line| {
                line.options.iter().any(|o| o.key == "iommu" && o.list.iter().any(|w| w == "off"))
            }),
        }
    }
}

/// Functions that may be GPUs, each with the reason why that is not known. Function 0 only; one that other
/// functions stand below is a bridge.
fn doubts(host: &Host) -> Vec<(&str, &Unknown)> {
    let display = |class: i64| class >> 16 == 0x03 || class >> 8 == 0x1200;
    host.pci
        .iter()
        .filter(|d| d.bdf.ends_with(".0"))
        .filter_map(|d| {
            let why = match (d.class.value(), d.class.reason(), d.vendor.value(), d.vendor.reason()) {
                (None, Some(why), Some(0x10de | 0x1002) | None, _) => why,
                (Some(class), _, None, Some(why)) if display(*class) => why,
                _ => return None,
            };
            let bridge = host.pci.iter().any(|other| other.upstream.contains(&d.bdf));
            (!bridge).then_some((d.bdf.as_str(), why))
        })
        .collect()
}

fn unidentified(host: &Host, doubts: &[(&str, &Unknown)]) -> Fact<Vec<String>> {
    if let Fact::Unknown(Unknown { path, detail, .. }) = &host.pci_readable {
        return Fact::unknown(path, Why::Derived, detail);
    }
    Fact::from_lines(
        doubts.iter().map(|(bdf, _)| (*bdf).to_owned()).collect(),
        doubts.iter().map(|(_, why)| Evidence::new(&why.path, why.to_string())).collect(),
    )
}

fn count(host: &Host, doubts: &[(&str, &Unknown)], enough: usize, keep: fn(&Gpu) -> bool) -> Fact<i64> {
    if let Fact::Unknown(Unknown { path, detail, .. }) = &host.pci_readable {
        return Fact::unknown(path, Why::Derived, detail);
    }
    let kept: Vec<&Gpu> = host.gpus.iter().filter(|g| keep(g)).collect();
    if let (Some((bdf, why)), true) = (doubts.first(), kept.len() < enough) {
        return Fact::unknown(&why.path, Why::Derived, format!("{bdf} may be a GPU: {why}"));
    }
    let evidence = kept.iter().map(|g| {
        let name = g.name.value().map_or("GPU", String::as_str);
        Evidence::new(format!("sys/bus/pci/devices/{}", g.bdf), format!("{} {name}", g.vendor))
    });
    Fact::from_lines(i64::try_from(kept.len()).unwrap_or(i64::MAX), evidence.collect())
}

fn platform(host: &Host) -> Fact<String> {
    match &host.cpu.vendor {
        Fact::Absent { evidence } => Fact::from_lines("other".to_owned(), evidence.clone()),
        vendor => vendor.clone().map(|vendor| {
            match vendor.as_str() {
                "GenuineIntel" => "intel",
                "AuthenticAMD" | "HygonGenuine" => "amd",
                _ => "other",
            }
            .to_owned()
        }),
    }
}

fn nvlink(gpu: &Gpu) -> bool {
    let Some(name) = gpu.name.value() else { return false };
    gpu.vendor == "nvidia" && NVLINK_NAMES.iter().any(|known| has_words(name, known))
}

/// `name` holds `words` as whole words: `A40` is not in `RTX A4000`.
fn has_words(name: &str, words: &str) -> bool {
    name.match_indices(words).any(|(at, _)| {
        let free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        free(name[..at].chars().next_back()) && free(name[at + words.len()..].chars().next())
    })
}
