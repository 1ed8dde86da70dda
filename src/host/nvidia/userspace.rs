//! What is installed beside the module: the userspace library and Fabric Manager.

use super::module::split_suffix;
use crate::host::nvidia_smi::{self, NvidiaSmi};
use crate::root::{Evidence, Fact, Root, Why};
use std::collections::BTreeMap;

/// Where distributions put the library.
const LIBRARY_DIRECTORIES: [&str; 5] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib64",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib",
    "usr/lib/x86_64-linux-gnu/nvidia/current",
];
const LIBRARY: &str = "libnvidia-ml.so.";
const DPKG_STATUS: &str = "var/lib/dpkg/status";
const DPKG_LIMIT: u64 = 64 << 20;
const FABRIC_MANAGER: &str = "usr/bin/nv-fabricmanager";
const FABRIC_LOG: &str = "var/log/fabricmanager.log";

/// The userspace version: what nvidia-smi printed, else the name of the library file that `.so.1` points to,
/// else the only library file there is.
pub(super) fn library(root: &Root, smi: &NvidiaSmi) -> Fact<String> {
    if smi.driver_version.value().is_some() {
        // A vendor's suffix is left off on both sides of the comparison with the module.
        return smi.driver_version.as_ref().map(|version| split_suffix(version).0.to_owned());
    }
    if let Some((version, line)) = nvidia_smi::library_version(root) {
        let text = format!("NVML library version: {version}");
        return Fact::known(version, Evidence::at("captured/nvidia-smi-q.txt", line, text));
    }
    let (mut found, mut any_directory, mut refused) = (BTreeMap::new(), false, None);
    for directory in LIBRARY_DIRECTORIES {
        match root.list(directory) {
            Fact::Known { value, .. } => {
                any_directory = true;
                let link = root.link_name(&format!("{directory}/{LIBRARY}1"));
                if let Some(version) = link.value().and_then(|name| version_of(name)) {
                    let text = format!("{LIBRARY}1 -> {LIBRARY}{version}");
                    return Fact::known(version, Evidence::new(directory, text));
                }
                for version in value.iter().filter_map(|name| version_of(name)) {
                    found.entry(version).or_insert(directory);
                }
            }
            Fact::Absent { .. } => {}
            Fact::Unknown(reason) => refused = Some(reason),
        }
    }
    let mut versions = found.into_iter();
    match (versions.next(), versions.next(), refused) {
        (Some((version, directory)), None, _) => {
            let text = format!("{LIBRARY}{version}");
            Fact::known(version, Evidence::new(directory, text))
        }
        (Some((one, directory)), Some((two, _)), _) => {
            let detail = format!("several libraries ({one}, {two}) and no link {LIBRARY}1 that chooses one");
            Fact::unknown(directory, Why::Malformed, detail)
        }
        (None, _, Some(reason)) => Fact::Unknown(reason),
        (None, _, None) if any_directory => Fact::absent(format!("usr/lib/*/{LIBRARY}*")),
        (None, _, None) => {
            Fact::unknown(LIBRARY_DIRECTORIES[0], Why::NotCaptured, "no library directory in the capture")
        }
    }
}

/// `libnvidia-ml.so.580.95.05` is `580.95.05`; `.so.1` names the interface.
fn version_of(name: &str) -> Option<String> {
    let version = name.strip_prefix(LIBRARY)?;
    let plain = version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (plain && version.contains('.') && !version.ends_with('.')).then(|| version.to_owned())
}

/// Version of Fabric Manager: its package, else the last start in its log. Absent when not installed.
pub(super) fn fabric_manager(root: &Root) -> Fact<String> {
    if !root.exists(FABRIC_MANAGER) {
        if root.is_live() || root.exists("usr/bin") {
            return Fact::absent(FABRIC_MANAGER);
        }
        return Fact::unknown(FABRIC_MANAGER, Why::NotCaptured, "the capture has no usr/bin");
    }
    let package = match root.text_limited(DPKG_STATUS, DPKG_LIMIT) {
        Fact::Known { value, .. } => package_version(&value),
        other => other,
    };
    let version = package.or(|| match root.text_limited(FABRIC_LOG, DPKG_LIMIT) {
        Fact::Known { value, .. } => log_version(&value),
        other => other,
    });
    match version {
        Fact::Absent { .. } => Fact::unknown(
            FABRIC_MANAGER,
            Why::Unreadable,
            "installed, but neither the dpkg status nor its log names a version",
        ),
        other => other,
    }
}

/// The version of the installed package in dpkg's status file: `Version: 570.86.15-1` is `570.86.15`.
fn package_version(status: &str) -> Fact<String> {
    let (mut named, mut installed) = (false, false);
    for (index, line) in status.lines().enumerate() {
        if line.is_empty() {
            (named, installed) = (false, false);
        } else if let Some(name) = line.strip_prefix("Package: ") {
            let rest = name.trim().strip_prefix("nvidia-fabricmanager");
            named = rest.is_some_and(|r| r.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()));
        } else if let Some(state) = line.strip_prefix("Status: ") {
            installed = state.split_whitespace().last() == Some("installed");
        } else if let Some(version) = line.strip_prefix("Version: ")
            && named
            && installed
        {
            let upstream = version.rsplit_once(':').map_or(version, |(_, v)| v);
            let upstream = upstream.split(['-', '+', '~']).next().unwrap_or(upstream).trim();
            return Fact::known(upstream.to_owned(), Evidence::at(DPKG_STATUS, index + 1, line));
        }
    }
    Fact::Absent { evidence: vec![Evidence::new(DPKG_STATUS, "no nvidia-fabricmanager package")] }
}

/// `Fabric Manager version 570.86.15 is running with ...`, the last one.
fn log_version(log: &str) -> Fact<String> {
    let last = log.lines().enumerate().filter_map(|(index, line)| {
        let (_, after) = line.split_once("Fabric Manager version ")?;
        let version = after.split_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
        Some((version.to_owned(), index + 1, line))
    });
    match last.last() {
        Some((version, line, text)) => {
            let text: String = text.chars().take(200).collect();
            Fact::known(version, Evidence::at(FABRIC_LOG, line, text))
        }
        None => Fact::absent(FABRIC_LOG),
    }
}
