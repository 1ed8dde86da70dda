//! Which loader boots this host: configuration files say which ones are set up, the running kernel's command
//! line and the loader's own EFI variable say which one was used.

use super::family::{Family, family};
use crate::root::{Evidence, Fact, Root, Why};

/// `LoaderInfo` of the Boot Loader Interface: name and version of the loader, UTF-16 after four attribute bytes.
const LOADER_INFO: &str = "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// Where loader entries may stand; the ESP is mounted at one of `efi`, `boot/efi` or `boot`.
pub(super) const ENTRY_DIRECTORIES: [&str; 3] =
    ["efi/loader/entries", "boot/efi/loader/entries", "boot/loader/entries"];

/// A loader, or the program that owns its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loader {
    /// GRUB as Debian patches it: reads `etc/default/grub.d`.
    GrubDebian,
    /// GRUB that boots loader entries (Fedora, RHEL).
    GrubBls,
    /// GRUB with a generated grub.cfg.
    Grub,
    /// kernelstub (Pop!_OS).
    Kernelstub,
    /// systemd-boot or the EFI stub.
    SystemdBoot,
    /// proxmox-boot-tool with systemd-boot.
    Proxmox,
    /// ostree deployments.
    Ostree,
    /// NixOS generations.
    Nixos,
}

impl Loader {
    /// The name in facts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GrubDebian => "grub-debian",
            Self::GrubBls => "grub-bls",
            Self::Grub => "grub",
            Self::Kernelstub => "kernelstub",
            Self::SystemdBoot => "systemd-boot",
            Self::Proxmox => "proxmox",
            Self::Ostree => "ostree",
            Self::Nixos => "nixos",
        }
    }

    fn is_grub(self) -> bool {
        matches!(self, Self::GrubDebian | Self::GrubBls | Self::Grub)
    }

    /// The loader with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [
            Self::GrubDebian,
            Self::GrubBls,
            Self::Grub,
            Self::Kernelstub,
            Self::SystemdBoot,
            Self::Proxmox,
            Self::Ostree,
            Self::Nixos,
        ];
        all.into_iter().find(|l| l.name() == name)
    }
}

/// What was found.
pub(super) struct Recognition {
    /// The loader that boots this host.
    pub(super) active: Fact<Loader>,
    /// Loaders that are set up and do not boot it.
    pub(super) others: Vec<Loader>,
}

/// Recognises the loader of `root`.
pub(super) fn recognise(root: &Root) -> Recognition {
    let candidates = candidates(root);
    let Some((first, _)) = candidates.first() else {
        return Recognition { active: none(root), others: vec![] };
    };
    let booted = booted_by(root);
    let rank = |loader: Loader| match (&booted, loader) {
        // Programs that own whatever loader there is.
        (_, Loader::Nixos | Loader::Ostree) => 0,
        (Booted::Grub(_), l) if l.is_grub() => 1,
        (Booted::Efi(_), l) if !l.is_grub() => 1,
        _ => 2,
    };
    let chosen = candidates.iter().map(|(l, _)| *l).min_by_key(|l| rank(*l)).unwrap_or(*first);
    let mut evidence: Vec<Evidence> =
        candidates.iter().filter(|(l, _)| *l == chosen).map(|(_, e)| e.clone()).collect();
    let contradicted = match &booted {
        Booted::Grub(e) | Booted::Efi(e) => {
            evidence.push(e.clone());
            // The loader that was used left no configuration that is known here.
            rank(chosen) == 2
        }
        Booted::Unknown => false,
    };
    let mut others: Vec<Loader> = candidates.iter().map(|(l, _)| *l).filter(|l| *l != chosen).collect();
    let active = match &booted {
        Booted::Efi(e) if contradicted && e.text.starts_with("systemd-boot") => {
            others.insert(0, chosen);
            Fact::from_lines(Loader::SystemdBoot, evidence)
        }
        _ => Fact::from_lines(chosen, evidence),
    };
    Recognition { active, others }
}

/// No configuration found: established only where it could have been seen.
fn none(root: &Root) -> Fact<Loader> {
    for dir in ENTRY_DIRECTORIES {
        if let Fact::Unknown(reason) = root.list(dir) {
            return Fact::Unknown(reason);
        }
    }
    match root.bytes("etc/default/grub", 1 << 20) {
        Fact::Unknown(reason) => Fact::Unknown(reason),
        _ if root.is_live() || root.exists("etc") || root.exists("boot") => {
            Fact::Absent { evidence: vec![Evidence::new("boot", "no configuration of a known boot loader")] }
        }
        _ => Fact::unknown("boot", Why::NotCaptured, "neither etc/ nor boot/ was captured"),
    }
}

/// Loaders that are set up, the likeliest first when nothing else decides.
fn candidates(root: &Root) -> Vec<(Loader, Evidence)> {
    let mut found = Vec::new();
    let mut first = |loader: Loader, paths: &[&str]| {
        let path = paths.iter().find(|p| root.exists(p));
        path.inspect(|p| found.push((loader, Evidence::new(**p, "there")))).is_some()
    };
    if first(Loader::Nixos, &["etc/NIXOS"]) {
        return found;
    }
    let ostree_word =
        running_line(root).is_some_and(|l| l.split_whitespace().any(|w| w.starts_with("ostree=")));
    if first(Loader::Ostree, &["run/ostree-booted", "ostree/repo", "sysroot/ostree/repo"]) {
        return found;
    }
    if ostree_word {
        return vec![(Loader::Ostree, Evidence::at("proc/cmdline", 1, "ostree="))];
    }
    let owned = first(Loader::Kernelstub, &["etc/kernelstub/configuration", "usr/bin/kernelstub"])
        | first(Loader::Proxmox, &["etc/kernel/proxmox-boot-uuids"]);
    if let Some(grub) = grub(root) {
        found.push(grub);
    }
    if !owned && let Some(systemd_boot) = systemd_boot(root, found.first().map(|(l, _)| *l)) {
        found.push(systemd_boot);
    }
    found
}

fn grub(root: &Root) -> Option<(Loader, Evidence)> {
    let settings = "etc/default/grub";
    let configured = root.exists(settings);
    let generated = ["boot/grub/grub.cfg", "boot/grub2/grub.cfg"].into_iter().find(|p| root.exists(p));
    if !configured && generated.is_none() {
        return None;
    }
    let evidence = Evidence::new(if configured { settings } else { generated.unwrap_or(settings) }, "there");
    let family = family(root);
    let entries = root.list("boot/loader/entries");
    let has_entries = entries.value().is_some_and(|l| l.iter().any(|n| n.strip_suffix(".conf").is_some()));
    let loader = match family {
        Family::Debian => Loader::GrubDebian,
        Family::Fedora if blscfg(root).unwrap_or(has_entries || entries.is_unknown()) => Loader::GrubBls,
        Family::Suse if has_entries && blscfg(root) == Some(true) => Loader::GrubBls,
        Family::Other if ["usr/sbin/update-grub", "sbin/update-grub"].iter().any(|p| root.exists(p)) => {
            Loader::GrubDebian
        }
        _ => Loader::Grub,
    };
    Some((loader, evidence))
}

/// `GRUB_ENABLE_BLSCFG` in `etc/default/grub`; none when it is not set.
fn blscfg(root: &Root) -> Option<bool> {
    let text = root.text("etc/default/grub");
    let mut set = None;
    for line in text.value()?.lines() {
        if let Some(value) = line.trim().strip_prefix("GRUB_ENABLE_BLSCFG=") {
            set = Some(value.trim_matches(['"', '\'']) == "true");
        }
    }
    set
}

fn systemd_boot(root: &Root, grub: Option<Loader>) -> Option<(Loader, Evidence)> {
    let found = |path: &str| Some((Loader::SystemdBoot, Evidence::new(path, "there")));
    for dir in ENTRY_DIRECTORIES {
        // Entries on /boot belong to GRUB where GRUB reads them.
        if dir == "boot/loader/entries" && grub == Some(Loader::GrubBls) {
            continue;
        }
        if root.list(dir).value().is_some_and(|l| l.iter().any(|n| n.strip_suffix(".conf").is_some())) {
            return found(dir);
        }
    }
    let images = ["efi/EFI/Linux", "boot/efi/EFI/Linux", "boot/EFI/Linux"];
    let image = |dir: &&str| {
        root.list(dir).value().is_some_and(|l| l.iter().any(|n| n.strip_suffix(".efi").is_some()))
    };
    if let Some(dir) = images.iter().find(|d| image(d)) {
        return found(dir);
    }
    let programs = ["boot/efi", "efi", "boot"].map(|esp| format!("{esp}/EFI/systemd/systemd-bootx64.efi"));
    let program = programs.iter().find(|p| root.exists(p));
    program.map(|p| (Loader::SystemdBoot, Evidence::new(p, "there")))
}

/// How the running kernel was started.
enum Booted {
    Grub(Evidence),
    Efi(Evidence),
    Unknown,
}

fn booted_by(root: &Root) -> Booted {
    let Some(line) = running_line(root) else { return Booted::Unknown };
    if let Some(info) = loader_info(root) {
        let evidence = Evidence::new(LOADER_INFO, info.clone());
        return if info.starts_with("GRUB") { Booted::Grub(evidence) } else { Booted::Efi(evidence) };
    }
    if line.split_whitespace().any(|w| w.starts_with("BOOT_IMAGE=")) {
        // GRUB puts this word in front of every line that it hands over (grub-core/loader/i386/linux.c).
        return Booted::Grub(Evidence::at("proc/cmdline", 1, line.trim_end()));
    }
    Booted::Efi(Evidence::at("proc/cmdline", 1, format!("no BOOT_IMAGE=: {}", line.trim_end())))
}

/// The command line of the kernel that this root runs. A target that another system has mounted its own
/// `/proc` into shows that system's line, which says nothing about the target.
pub(super) fn running_line(root: &Root) -> Option<String> {
    if !root.is_live() && root.exists("proc/self/stat") {
        return None;
    }
    root.text("proc/cmdline").value().filter(|t| !t.trim().is_empty()).cloned()
}

fn loader_info(root: &Root) -> Option<String> {
    let bytes = root.bytes(LOADER_INFO, 4096);
    let units: Vec<u16> = bytes
        .value()?
        .get(4..)?
        .chunks_exact(2)
        .map(|pair| {
            u16::from_le_bytes([pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)])
        })
        .take_while(|unit| *unit != 0)
        .collect();
    Some(String::from_utf16_lossy(&units)).filter(|t| !t.is_empty())
}
