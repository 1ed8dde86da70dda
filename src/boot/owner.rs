//! Module options on systems whose `/etc` or initramfs another program makes: the steps there.

use super::Refusal;
use super::recognise::{Loader, recognise};
use crate::host::modprobe::DIRECTORIES;
use crate::root::Root;

/// The refusal with its steps on NixOS and ostree; none elsewhere.
pub(super) fn refuse(root: &Root, wanted: &[(String, String)], remove: &[String]) -> Option<Refusal> {
    let loader = recognise(root).active.value().copied()?;
    let options = |(name, value): &(String, String)| {
        let (module, parameter) = name.split_once('.')?;
        Some(format!("options {module} {parameter}={value}"))
    };
    let lines: Vec<String> = wanted.iter().filter_map(options).collect();
    let own = format!("/{}/zz-peerfix.conf", DIRECTORIES[0]);
    let mut manual = Vec::new();
    let reason = match loader {
        Loader::Nixos => {
            manual.extend(lines.iter().map(|line| format!("add to boot.extraModprobeConfig: {line}")));
            "modprobe.d of NixOS comes from its configuration; generated files are never edited"
        }
        Loader::Ostree => {
            manual.extend(lines.iter().map(|line| format!("write into {own}: {line}")));
            "the initramfs of an ostree system belongs to its deployments"
        }
        _ => return None,
    };
    manual.extend(remove.iter().map(|word| format!("take out where it is configured: {word}")));
    manual.push(match loader {
        Loader::Nixos => "nixos-rebuild boot".to_owned(),
        _ => format!("where the initramfs loads the driver: rpm-ostree initramfs-etc --track={own}"),
    });
    Some(Refusal { place: loader.name().to_owned(), reason: reason.to_owned(), manual })
}
