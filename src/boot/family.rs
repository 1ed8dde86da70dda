//! Family of the distribution: what its GRUB reads and which programs it has.

use crate::root::Root;

/// Family of the distribution, from os-release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Debian, Ubuntu and what is built on them.
    Debian,
    /// Fedora, RHEL and rebuilds.
    Fedora,
    /// Arch and what is built on it.
    Arch,
    /// openSUSE and SLES.
    Suse,
    /// Another, or not told.
    Other,
}

/// Reads the family of the distribution in `root`.
pub(super) fn family(root: &Root) -> Family {
    let text = root.text("etc/os-release").or(|| root.text("usr/lib/os-release"));
    let mut ids = String::new();
    for line in text.value().map(String::as_str).unwrap_or_default().lines() {
        if let Some(value) = line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")) {
            ids.push_str(&value.to_lowercase().replace(['"', '\''], " "));
            ids.push(' ');
        }
    }
    let like = |list: &[&str]| ids.split_whitespace().any(|n| list.iter().any(|l| n.starts_with(l)));
    if like(&["debian", "ubuntu", "linuxmint", "pop", "proxmox", "raspbian", "kali"]) {
        Family::Debian
    } else if like(&["fedora", "rhel", "centos", "rocky", "almalinux", "ol", "amzn"]) {
        Family::Fedora
    } else if like(&["suse", "opensuse", "sles", "sled"]) {
        Family::Suse
    } else if like(&["arch", "manjaro", "cachyos", "endeavouros"]) {
        Family::Arch
    } else if root.exists("etc/debian_version") {
        Family::Debian
    } else {
        Family::Other
    }
}
