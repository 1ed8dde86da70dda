//! Which functions there are, and where each stands in the tree.

use super::super::presence::not_captured;
use super::bdf::{Bdf, root_bus};
use super::buses;
use crate::root::{Dir, EntryKind, Evidence, Fact, Root, Why};
use std::collections::BTreeMap;

const BUS: &str = "sys/bus/pci/devices";
const DEVICES: &str = "sys/devices";

/// One function and its place.
pub(super) struct Place {
    pub(super) bdf: Bdf,
    /// Its attributes.
    pub(super) dir: Fact<Dir>,
    /// `DDDD:BB`, unknown when the capture lost the links.
    pub(super) root_bus: Fact<String>,
    /// Bridges from the root bus down to the parent.
    pub(super) upstream: Vec<Bdf>,
    /// The capture kept symbolic links here, so that a link that is not there is absent.
    pub(super) links_kept: bool,
}

/// Every function, sorted by BDF.
pub(super) fn places(root: &Root) -> Fact<Vec<Place>> {
    let bus = root.dir(BUS);
    let mut found: BTreeMap<Bdf, Place> = BTreeMap::new();
    if root.is_live() {
        from_udev(root, &mut found);
    } else {
        // Directories are listed here anyway, so that finding the functions costs nothing more.
        walk(root, &mut found);
    }
    match bus {
        Fact::Known { value: bus, evidence } => {
            for (name, kind) in bus.entries() {
                let Ok(bdf) = name.parse::<Bdf>() else { continue };
                match (kind, found.get_mut(&bdf)) {
                    (EntryKind::Link, Some(place)) => place.links_kept = true,
                    (EntryKind::Link, None) => {
                        found.insert(bdf, from_link(root, bdf, name));
                    }
                    _ => plain(root, bdf, name, &mut found),
                }
            }
            // Links are lost by the way of copying, which is one for all functions.
            if found.values().any(|place| place.links_kept) {
                for place in found.values_mut() {
                    place.links_kept = true;
                }
            }
            buses::infer(&mut found);
            Fact::from_lines(found.into_values().collect(), evidence)
        }
        _ if !found.is_empty() => {
            let text = format!("{} functions", found.len());
            Fact::known(found.into_values().collect(), Evidence::new(DEVICES, text))
        }
        Fact::Absent { evidence } => {
            // A kernel without PCI still has sys/bus; without even that, sysfs is not there.
            if root.is_live() && root.exists("sys/bus") {
                return Fact::from_lines(Vec::new(), evidence);
            }
            not_captured(root, BUS, "no PCI function was found")
        }
        Fact::Unknown(reason) => Fact::Unknown(reason),
    }
}

/// The live machine's functions as udev lists them. Where udev fails, the sysfs listing serves alone.
fn from_udev(root: &Root, found: &mut BTreeMap<Bdf, Place>) {
    let Ok(mut devices) = udev::Enumerator::new() else { return };
    if devices.match_subsystem("pci").is_err() {
        return;
    }
    let Ok(devices) = devices.scan_devices() else { return };
    for device in devices {
        let Some(path) = device.syspath().to_str().map(|p| p.trim_start_matches('/')) else { continue };
        let Some(bdf) = path.rsplit('/').next().and_then(|name| name.parse::<Bdf>().ok()) else { continue };
        found.insert(bdf, at(root, bdf, path));
    }
}

/// A function whose real place is known.
fn at(root: &Root, bdf: Bdf, path: &str) -> Place {
    let (bus, upstream) = topology(path);
    let label = format!("{BUS}/{bdf}");
    Place {
        bdf,
        dir: root.dir(path).map(|dir| dir.called(&label)),
        root_bus: bus.map_or_else(
            || Fact::unknown(&label, Why::NotCaptured, "its place below sys/devices/pciDDDD:BB is not known"),
            |bus| Fact::known(bus.to_owned(), Evidence::new(&label, format!("-> {path}"))),
        ),
        upstream,
        links_kept: true,
    }
}

/// A function that the bus directory links to and the walk did not meet: below a platform device, or with
/// its own directory not captured. Then the text of the link still tells its place.
fn from_link(root: &Root, bdf: Bdf, name: &str) -> Place {
    let label = format!("{BUS}/{name}");
    match root.canonical(&label) {
        Fact::Known { value, .. } => at(root, bdf, &value),
        failed => {
            let reason = match failed {
                Fact::Unknown(reason) => Fact::Unknown(reason),
                _ => not_captured(root, &label, "the link leads nowhere"),
            };
            let target = root.link(&label);
            let mut place = at(root, bdf, target.value().map_or("", String::as_str));
            place.dir = reason;
            place
        }
    }
}

/// A function whose entry in the bus directory is no link: a capture that followed links.
fn plain(root: &Root, bdf: Bdf, name: &str, found: &mut BTreeMap<Bdf, Place>) {
    let label = format!("{BUS}/{name}");
    let dir = root.dir(&label);
    let links_kept = dir.value().is_some_and(Dir::has_links);
    if let Some(place) = found.get_mut(&bdf) {
        // Both were captured: the place comes from the walk, the attributes from the richer directory.
        let entries = |dir: &Fact<Dir>| dir.value().map_or(0, |d| d.entries().count());
        if entries(&dir) > entries(&place.dir) {
            place.dir = dir;
            place.links_kept |= links_kept;
        }
        return;
    }
    let why = "the capture holds no link into sys/devices; keep links when copying sys";
    let root_bus = Fact::unknown(&label, Why::NotCaptured, why);
    found.insert(bdf, Place { bdf, dir, root_bus, upstream: Vec::new(), links_kept });
}

/// Finds functions by walking the root buses of a captured tree. Links are not followed, so it ends.
fn walk(root: &Root, found: &mut BTreeMap<Bdf, Place>) {
    let Fact::Known { value: names, .. } = root.list(DEVICES) else { return };
    for name in names.iter().filter(|name| root_bus(name).is_some()) {
        let path = format!("{DEVICES}/{name}");
        if let Fact::Known { value: dir, .. } = root.dir(&path) {
            descend(&dir, &path, found);
        }
    }
}

fn descend(parent: &Dir, path: &str, found: &mut BTreeMap<Bdf, Place>) {
    for (name, kind) in parent.entries() {
        let bdf = name.parse::<Bdf>().ok();
        if kind != EntryKind::Directory || (bdf.is_none() && root_bus(name).is_none()) {
            continue;
        }
        let below = format!("{path}/{name}");
        let dir = parent.subdir(name);
        if let Some(dir) = dir.value() {
            descend(dir, &below, found);
        }
        if let Some(bdf) = bdf {
            let (bus, upstream) = topology(&below);
            let bus = bus.unwrap_or_default().to_owned();
            let links_kept = dir.value().is_some_and(Dir::has_links);
            let label = format!("{BUS}/{bdf}");
            found.entry(bdf).or_insert_with(|| Place {
                bdf,
                dir: dir.map(|dir| dir.called(&label)),
                root_bus: Fact::known(bus, Evidence::new(&label, format!("-> {below}"))),
                upstream,
                links_kept,
            });
        }
    }
}

/// Root bus and bridges of a path `…/pci0000:00/0000:00:06.0/0000:02:00.0`. Behind a VMD the path holds a
/// second root bus, and the functions before it are no bridges of its tree.
fn topology(path: &str) -> (Option<&str>, Vec<Bdf>) {
    let mut bus = None;
    let mut chain = Vec::new();
    for part in path.split('/') {
        if let Some(name) = root_bus(part) {
            bus = Some(name);
            chain.clear();
        } else if let Ok(bdf) = part.parse::<Bdf>() {
            chain.push(bdf);
        }
    }
    chain.pop();
    (bus, chain)
}
