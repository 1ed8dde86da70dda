//! The running kernel's configuration: the symbols that rules look at.

use super::super::presence::not_captured;
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use flate2::read::MultiGzDecoder;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Read;

/// Limit for the uncompressed configuration; distributions' are near 300 KiB.
const CONFIG_LIMIT: u64 = 4 << 20;

/// Symbols of the kernel configuration: `y`, `m`, a value, or absent when not set. All unknown when neither
/// `proc/config.gz`, `boot/config-RELEASE` nor `lib/modules/RELEASE/config` can be read.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct KernelConfig {
    /// `CONFIG_PCI_P2PDMA`.
    pub pci_p2pdma: Fact<String>,
    /// `CONFIG_HSA_AMD_P2P`.
    pub hsa_amd_p2p: Fact<String>,
    /// `CONFIG_DMABUF_MOVE_NOTIFY`.
    pub dmabuf_move_notify: Fact<String>,
    /// `CONFIG_INTEL_IOMMU_DEFAULT_ON`.
    pub intel_iommu_default_on: Fact<String>,
    /// `CONFIG_IOMMU_DEFAULT_PASSTHROUGH`.
    pub iommu_default_passthrough: Fact<String>,
    /// `CONFIG_ZONE_DEVICE`, which `CONFIG_PCI_P2PDMA` needs.
    pub zone_device: Fact<String>,
}

impl KernelConfig {
    /// Reads the first source that can be read; a broken one is named only when no other serves.
    pub(super) fn read(root: &Root, release: &Fact<String>) -> Self {
        let mut problem: Option<Unknown> = None;
        for (path, packed) in sources(release) {
            let text = if packed { unpack(root, &path) } else { root.text_limited(&path, CONFIG_LIMIT) };
            match text.parse(|t| recognised(t)) {
                Fact::Known { value, .. } => return Self::find(&path, &value),
                Fact::Absent { .. } => {}
                Fact::Unknown(reason) => problem = problem.or(Some(reason)),
            }
        }
        let reason = problem.unwrap_or_else(|| match release.reason() {
            Some(_) => Unknown {
                path: "proc/config.gz".to_owned(),
                line: None,
                why: Why::Derived,
                detail: "the kernel release, which names boot/config-RELEASE, is not known".to_owned(),
            },
            None => no_source(root, release),
        });
        let unknown = || Fact::Unknown(reason.clone());
        Self {
            pci_p2pdma: unknown(),
            hsa_amd_p2p: unknown(),
            dmabuf_move_notify: unknown(),
            intel_iommu_default_on: unknown(),
            iommu_default_passthrough: unknown(),
            zone_device: unknown(),
        }
    }

    fn find(path: &str, text: &str) -> Self {
        let symbol = |name: &str| symbol(path, text, name);
        Self {
            pci_p2pdma: symbol("CONFIG_PCI_P2PDMA"),
            hsa_amd_p2p: symbol("CONFIG_HSA_AMD_P2P"),
            dmabuf_move_notify: symbol("CONFIG_DMABUF_MOVE_NOTIFY"),
            intel_iommu_default_on: symbol("CONFIG_INTEL_IOMMU_DEFAULT_ON"),
            iommu_default_passthrough: symbol("CONFIG_IOMMU_DEFAULT_PASSTHROUGH"),
            zone_device: symbol("CONFIG_ZONE_DEVICE"),
        }
    }
}

/// Where the running kernel's configuration can be; true for a gzip file.
fn sources(release: &Fact<String>) -> Vec<(String, bool)> {
    let mut sources = vec![("proc/config.gz".to_owned(), true)];
    // A release is one path component; anything else is no release.
    if let Some(release) = release.value().filter(|r| !r.contains('/') && *r != "..") {
        sources.push((format!("boot/config-{release}"), false));
        sources.push((format!("lib/modules/{release}/config"), false));
        sources.push((format!("usr/lib/modules/{release}/config"), false));
    }
    sources
}

fn no_source(root: &Root, release: &Fact<String>) -> Unknown {
    let release = release.value().map_or("RELEASE", String::as_str);
    let path = format!("boot/config-{release}");
    let detail = format!("no proc/config.gz, boot/config-{release} or lib/modules/{release}/config");
    match not_captured::<()>(root, &path, &detail) {
        Fact::Unknown(reason) if !root.is_live() => reason,
        _ => Unknown { path, line: None, why: Why::Unreadable, detail },
    }
}

fn unpack(root: &Root, path: &str) -> Fact<String> {
    match root.bytes(path, CONFIG_LIMIT) {
        Fact::Known { value, .. } => {
            let mut text = Vec::new();
            match MultiGzDecoder::new(value.as_slice()).take(CONFIG_LIMIT + 1).read_to_end(&mut text) {
                Err(error) => Fact::unknown(path, Why::Malformed, format!("expected gzip data: {error}")),
                Ok(_) if text.len() as u64 > CONFIG_LIMIT => {
                    let detail = format!("unpacks to more than {CONFIG_LIMIT} bytes");
                    Fact::unknown(path, Why::TooLarge, detail)
                }
                Ok(_) => match String::from_utf8(text) {
                    Ok(text) => Fact::known(text, Evidence::new(path, "")),
                    Err(_) => Fact::unknown(path, Why::Malformed, "the unpacked text is not UTF-8"),
                },
            }
        }
        Fact::Absent { evidence } => Fact::Absent { evidence },
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

/// A text without a single symbol is no configuration, and its silence proves nothing.
fn recognised(text: &str) -> Result<String, String> {
    let is_symbol = |line: &str| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_");
    if text.lines().any(is_symbol) {
        return Ok(text.to_owned());
    }
    Err("expected a kernel configuration with CONFIG_ lines".to_owned())
}

/// One symbol; the last line that names it counts, as for `make`.
fn symbol(path: &str, text: &str, name: &str) -> Fact<String> {
    let mut found = None;
    for (at, line) in text.lines().enumerate() {
        let set = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
        let unset = line.strip_prefix("# ").and_then(|rest| rest.strip_prefix(name));
        if let Some(value) = set {
            let evidence = Evidence::at(path, at + 1, line);
            found = Some(Fact::known(value.trim().trim_matches('"').to_owned(), evidence));
        } else if unset.is_some_and(|rest| rest.trim_end() == " is not set") {
            found = Some(Fact::Absent { evidence: vec![Evidence::at(path, at + 1, line)] });
        }
    }
    found.unwrap_or_else(|| {
        if text.ends_with('\n') {
            return Fact::Absent { evidence: vec![Evidence::new(path, format!("{name} does not appear"))] };
        }
        // The kernel's build ends the file with a newline: this one was cut, so silence proves nothing.
        let detail =
            format!("the file is cut in its last line and {name} does not appear before; copy it again");
        Fact::malformed(path, text.lines().count(), detail)
    })
}
