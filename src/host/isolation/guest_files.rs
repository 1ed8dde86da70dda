//! Definitions of guests: libvirt's XML and Proxmox's configuration.

use super::gather::Gather;
use super::guests::Guest;
use crate::root::{Evidence, Root};

/// Reads every definition; running guests of libvirt (`run/`) count always, defined ones (`etc/`) when they
/// are given a PCI device.
pub(super) fn read(root: &Root, gather: &mut Gather, guests: &mut Vec<Guest>) {
    for (directory, running) in [("run/libvirt/qemu", true), ("etc/libvirt/qemu", false)] {
        for (path, file) in gather.files(root, directory, ".xml") {
            let Some(text) = gather.text(root, &path) else { continue };
            let text = without_comments(&text);
            let devices = hostdevs(&text);
            if running || !devices.is_empty() {
                let name = inside(&text, "<name>", "</name>").map_or(file, |n| n.trim().to_owned());
                let evidence = Some(Evidence::new(path, what(&devices)));
                guests.push(Guest { name, process: None, devices, running, evidence });
            }
        }
    }
    for (path, number) in gather.files(root, "etc/pve/qemu-server", ".conf") {
        let Some(text) = gather.text(root, &path) else { continue };
        if let Some(guest) = proxmox(&text, &path, &number) {
            guests.push(guest);
        }
    }
}

fn what(devices: &[String]) -> String {
    if devices.is_empty() { "running".to_owned() } else { format!("given {}", devices.join(", ")) }
}

/// The text outside `<!-- … -->`.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

/// Source addresses of `<hostdev … type='pci'>` and `<interface type='hostdev'>`.
fn hostdevs(text: &str) -> Vec<String> {
    let mut devices = Vec::new();
    for (tag, end, wanted) in [("<hostdev", "</hostdev>", "pci"), ("<interface", "</interface>", "hostdev")] {
        for part in text.split(tag).skip(1) {
            let part = part.split_once(end).map_or(part, |(inside, _)| inside);
            let head = part.split_once('>').map_or(part, |(head, _)| head);
            if attribute(head, "type") != Some(wanted) {
                continue;
            }
            let source = inside(part, "<source", "</source>").unwrap_or_default();
            devices.push(address(source).unwrap_or_else(|| "a PCI device".to_owned()));
        }
    }
    devices
}

/// `<address domain='0x0000' bus='0x02' slot='0x00' function='0x0'/>`
fn address(source: &str) -> Option<String> {
    let (_, tag) = source.split_once("<address")?;
    let number = |name| {
        let text = attribute(tag, name)?;
        let hex = text.strip_prefix("0x");
        u32::from_str_radix(hex.unwrap_or(text), if hex.is_some() { 16 } else { 10 }).ok()
    };
    Some(format!(
        "{:04x}:{:02x}:{:02x}.{:x}",
        number("domain").unwrap_or(0),
        number("bus")?,
        number("slot")?,
        number("function")?
    ))
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = tag;
    loop {
        let (before, after) = rest.split_once(name)?;
        let bounded = before.is_empty() || before.ends_with(char::is_whitespace);
        if bounded && let Some(value) = after.trim_start().strip_prefix('=') {
            let value = value.trim_start();
            let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
            return value.get(1..)?.split_once(quote).map(|(inside, _)| inside);
        }
        rest = after;
    }
}

fn inside<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inside, _)| inside)
}

/// `hostpciN:` lines of the present configuration; snapshots follow in `[sections]`.
fn proxmox(text: &str, path: &str, number: &str) -> Option<Guest> {
    let mut guest = Guest { name: number.to_owned(), ..Guest::default() };
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            break;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if key == "name" {
            value.clone_into(&mut guest.name);
        } else if key.strip_prefix("hostpci").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
            let device = value.split([',', ';']).next().unwrap_or(value);
            guest.devices.push(device.trim_start_matches("host=").to_owned());
            guest.evidence.get_or_insert_with(|| Evidence::at(path, index + 1, line));
        }
    }
    (!guest.devices.is_empty()).then_some(guest)
}
