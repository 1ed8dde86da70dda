//! Volumes that are to be opened at boot: crypttab(5), and the words of systemd-cryptsetup-generator(8).

use super::super::gather::Gather;
use super::mapped::Mapped;
use crate::format::kernel_cmdline::words;
use crate::root::{Evidence, Root};

/// crypttab, and mkinitcpio's for the initramfs.
const TABLES: [&str; 2] = ["etc/crypttab", "etc/crypttab.initramfs"];
/// Files that hold command lines: the running one, and what the next boots get.
pub(super) const COMMAND_LINES: [&str; 3] = ["proc/cmdline", "etc/kernel/cmdline", "etc/default/grub"];

/// A volume as it is configured.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    /// Name of the mapping.
    pub(super) name: String,
    /// Device as it stands there.
    pub(super) device: String,
    /// Key file; none for `none`, `-` or nothing.
    pub(super) key: Option<String>,
    /// Options, `key` or `key=value`.
    pub(super) options: Vec<String>,
    /// Opened in the initramfs, as far as that is known.
    pub(super) early: bool,
    /// Where it says so.
    pub(super) evidence: Evidence,
}

impl Configured {
    /// The value of an option, empty for one without; none when it is not there. The last one counts.
    pub(super) fn option(&self, name: &str) -> Option<String> {
        self.options.iter().rev().find_map(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            (key == name).then(|| value.to_owned())
        })
    }
}

/// All volumes, each once.
pub(super) fn read(root: &Root, mapped: &Mapped, gather: &mut Gather) -> Vec<Configured> {
    let mut volumes = Vec::new();
    for path in TABLES {
        if let Some(text) = gather.text(root, path) {
            table(path, &text, &mut volumes);
        }
    }
    let mut general: Vec<(String, Evidence)> = Vec::new();
    for path in COMMAND_LINES {
        if let Some(text) = gather.text(root, path) {
            for (number, line) in lines(&text) {
                general.extend(command_line(path, number, line, &mut volumes));
            }
        }
    }
    for name in &mapped.below_root {
        let device = mapped.device_of(name).unwrap_or_default();
        let same =
            |v: &&mut Configured| v.name == *name || (!device.is_empty() && v.device.ends_with(&device));
        match volumes.iter_mut().find(same) {
            Some(volume) => volume.early = true,
            None => volumes.push(Configured {
                name: name.clone(),
                device: format!("/dev/{device}"),
                key: None,
                options: Vec::new(),
                early: true,
                evidence: Evidence::new("proc/mounts", format!("{name} is below the root file system")),
            }),
        }
    }
    for (options, evidence) in general {
        let options: Vec<String> = options.split(',').map(str::to_owned).collect();
        // The initramfs may know of a volume by itself.
        if !volumes.iter().any(|v| v.early) && options.iter().any(|o| o.starts_with("tpm2-device")) {
            let (name, device) = ("a volume of the initramfs".to_owned(), String::new());
            volumes.push(Configured { name, device, key: None, options: Vec::new(), early: true, evidence });
        }
        volumes.iter_mut().filter(|v| v.early).for_each(|v| v.options.extend(options.iter().cloned()));
    }
    volumes.retain(|v| v.early || v.option("noauto").is_none());
    volumes
}

fn table(path: &str, text: &str, volumes: &mut Vec<Configured>) {
    for (number, line) in lines(text) {
        let mut fields = line.split_ascii_whitespace();
        let (Some(name), Some(device)) = (fields.next(), fields.next()) else { continue };
        let key = fields.next().filter(|key| !matches!(*key, "none" | "-" | ""));
        let options: Vec<String> = fields.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let early = path.ends_with(".initramfs")
            || options.iter().any(|o| o == "x-initrd.attach" || o == "initramfs");
        if let Some(known) = volumes.iter_mut().find(|v| v.name == name) {
            known.early |= early;
            known.options.extend(options);
            continue;
        }
        volumes.push(Configured {
            name: name.to_owned(),
            device: device.to_owned(),
            key: key.map(str::to_owned),
            options,
            early,
            evidence: Evidence::at(path, number, line),
        });
    }
}

/// `rd.luks.uuid=`, `rd.luks.name=UUID=NAME`, `rd.luks.options=[UUID=]OPTIONS`, `rd.luks.key=[UUID=]KEY`, and the same
/// without `rd.`. Gives the options that hold for every volume.
fn command_line(
    path: &str,
    number: usize,
    line: &str,
    volumes: &mut Vec<Configured>,
) -> Vec<(String, Evidence)> {
    let line_words: Vec<String> = words(&line.replace(['"', '\''], " "));
    let early = |key: &str| key.starts_with("rd.");
    let mut found: Vec<(String, Option<String>, bool)> = Vec::new();
    for word in &line_words {
        let Some((key, value)) = word.split_once('=') else { continue };
        match key.strip_prefix("rd.").unwrap_or(key) {
            "luks.uuid" => found.push((uuid(value), None, early(key))),
            "luks.name" => {
                let (id, name) = value.split_once('=').unwrap_or((value, ""));
                found.push((uuid(id), Some(name.to_owned()).filter(|n| !n.is_empty()), early(key)));
            }
            _ => {}
        }
    }
    let settings = |name: &str| -> Vec<(Option<String>, String, bool)> {
        let values = line_words.iter().filter_map(|w| w.split_once('='));
        let values = values.filter(|(key, _)| key.strip_prefix("rd.").unwrap_or(key) == name);
        values.map(|(key, value)| split(value, early(key))).collect()
    };
    let (options, keys) = (settings("luks.options"), settings("luks.key"));
    // Options for a volume that the initramfs knows of otherwise.
    for (id, _, early) in options.iter().chain(&keys) {
        if let Some(id) = id
            && !found.iter().any(|(known, ..)| known == id)
        {
            found.push((id.clone(), None, *early));
        }
    }
    for (id, name, early) in found {
        let own = |of: &Option<String>| of.as_ref() == Some(&id);
        let mut more: Vec<String> = Vec::new();
        for (_, text, _) in options.iter().filter(|(of, ..)| own(of)) {
            more.extend(text.split(',').map(str::to_owned));
        }
        let key = keys.iter().rfind(|(of, ..)| own(of) || of.is_none()).map(|(_, key, _)| key.clone());
        let known = |v: &&mut Configured| {
            v.device.to_ascii_lowercase().ends_with(&id) || v.name == format!("luks-{id}")
        };
        if let Some(volume) = volumes.iter_mut().find(known) {
            volume.early |= early;
            volume.options.extend(more);
            volume.key = volume.key.take().or(key);
            continue;
        }
        volumes.push(Configured {
            name: name.unwrap_or_else(|| format!("luks-{id}")),
            device: format!("UUID={id}"),
            key,
            options: more,
            early,
            evidence: Evidence::at(path, number, line),
        });
    }
    let general = options.into_iter().filter(|(of, ..)| of.is_none());
    general.map(|(_, text, _)| (text, Evidence::at(path, number, line))).collect()
}

fn uuid(text: &str) -> String {
    text.strip_prefix("luks-").unwrap_or(text).to_ascii_lowercase()
}

/// `UUID=VALUE`, or a value for all volumes. An option holds `=` too, but a UUID holds nothing else than these.
fn split(value: &str, early: bool) -> (Option<String>, String, bool) {
    match value.split_once('=') {
        Some((id, rest)) if id.chars().all(|c| c.is_ascii_hexdigit() || c == '-') && !id.is_empty() => {
            (Some(uuid(id)), rest.to_owned(), early)
        }
        Some((id, rest)) if id.starts_with("luks-") => (Some(uuid(id)), rest.to_owned(), early),
        _ => (None, value.to_owned(), early),
    }
}

/// Where a device is below the root.
pub(super) fn path(device: &str) -> Option<String> {
    let links = [
        ("UUID=", "uuid"),
        ("PARTUUID=", "partuuid"),
        ("LABEL=", "label"),
        ("PARTLABEL=", "partlabel"),
        ("ID=", "id"),
    ];
    let named = links.into_iter().find_map(|(prefix, by)| {
        let value = device.strip_prefix(prefix)?.trim_matches('"');
        Some(format!("dev/disk/by-{by}/{value}"))
    });
    named.or_else(|| device.strip_prefix('/').map(str::to_owned))
}

/// Lines that are not empty and no comments, with their number.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
