//! Which grub.cfg GRUB really loads: on UEFI a stub on the EFI system partition leads to it.

use super::super::menu::{Files, Menu};
use super::NoTrial;
use super::ground::mounted;
use crate::root::{Fact, Root};

/// A configuration.
pub(super) struct Config {
    /// Relative to the root.
    pub(super) path: String,
    /// Its directory, which is `$config_directory`.
    pub(super) directory: String,
}

/// The configuration that GRUB ends at.
pub(super) fn config(root: &Root) -> Result<Config, NoTrial> {
    let mut found: Vec<(String, String)> = Vec::new();
    for stub in stubs(root) {
        let menu = Menu::run(&Files::new(root), &stub, None)
            .map_err(|lost| NoTrial::new(lost.place, lost.reason, &[]))?;
        match &menu.moved {
            Some((named, path)) => {
                right_disk(root, &stub, named, path)?;
                same_directory(&Files::new(root), &menu, &stub, path)?;
                found.push((path.clone(), stub));
            }
            None if !menu.entries.is_empty() || menu.loader_entries => found.push((stub.clone(), stub)),
            None => {
                let reason = "leads to no configuration that is on this host";
                return Err(NoTrial::new(stub, reason, &[]));
            }
        }
    }
    if found.is_empty() {
        let known = ["boot/grub/grub.cfg", "boot/grub2/grub.cfg"].into_iter().filter(|p| root.exists(p));
        found.extend(known.map(|path| (path.to_owned(), path.to_owned())));
    }
    let Some((path, first)) = found.first().cloned() else {
        return Err(NoTrial::new("boot/grub/grub.cfg", "is not there", &[]));
    };
    if let Some((other, second)) = found.iter().find(|(other, _)| *other != path) {
        let reason = format!("two configurations may be loaded: {path} (by {first}), {other} (by {second})");
        return Err(NoTrial::new(first, reason, &["remove the one that is not used"]));
    }
    // An image of GRUB with a key of its own takes no file without a signature beside it.
    let signature = format!("{path}.sig");
    if root.exists(&signature) {
        let reason = "signs the configuration: GRUB would refuse an unsigned custom.cfg";
        return Err(NoTrial::new(signature, reason, &[]));
    }
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
    Ok(Config { path, directory })
}

/// GRUB keeps its environment block below `prefix`, which a stub sets.
fn same_directory(files: &Files<'_>, menu: &Menu, stub: &str, path: &str) -> Result<(), NoTrial> {
    let prefix = menu.text("prefix").unwrap_or_default();
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    if files.host_path(&prefix).is_some_and(|host| host.trim_end_matches('/') == directory) {
        return Ok(());
    }
    let reason = format!("sets prefix to {prefix:?}, so the environment block is not the one beside /{path}");
    Err(NoTrial::new(stub, reason, &[]))
}

/// grub.cfg files on the EFI system partition. A host that was started by a BIOS reads none of them.
fn stubs(root: &Root) -> Vec<String> {
    if root.exists("sys/firmware") && !root.exists("sys/firmware/efi") {
        return Vec::new();
    }
    for partition in ["boot/efi", "efi", "boot"] {
        let vendors = root.list(&format!("{partition}/EFI"));
        let paths = vendors.value().into_iter().flatten();
        let paths = paths.map(|vendor| format!("{partition}/EFI/{vendor}/grub.cfg"));
        let found: Vec<String> = paths.filter(|path| root.exists(path)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// A stub names the file system by UUID: it must be the one that is mounted where the file was found.
fn right_disk(root: &Root, stub: &str, named: &str, path: &str) -> Result<(), NoTrial> {
    let device = named.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(device, _)| device);
    let Some(uuid) = device.and_then(|d| d.strip_prefix("fs-uuid:")) else { return Ok(()) };
    let Fact::Known { value: known, .. } = root.list("dev/disk/by-uuid") else { return Ok(()) };
    let elsewhere = |reason: String| Err(NoTrial::new(stub, reason, &[]));
    if !known.iter().any(|name| name == uuid) {
        return elsewhere(format!("leads to the file system {uuid}, which is not here"));
    }
    let device = root.link_name(&format!("dev/disk/by-uuid/{uuid}"));
    let mount = mounted(root, path)?;
    let source = mount.source.rsplit('/').next().unwrap_or_default();
    match device.value() {
        Some(device) if device != source && !mount.source.starts_with("/dev/mapper/") => {
            elsewhere(format!("leads to {device}, while /{path} is on {source}"))
        }
        _ => Ok(()),
    }
}
