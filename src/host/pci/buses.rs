//! The tree of a capture that lost its links, from the bus numbers that bridges carry.

use super::bdf::Bdf;
use super::enumerate::Place;
use crate::root::{Dir, Evidence, Fact};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;

/// Header type of a PCI-to-PCI bridge, without the multifunction bit (PCI Local Bus Specification, 6.2.1).
const BRIDGE_HEADER: u8 = 1;
/// Offsets in the header of a bridge: header type and secondary bus number.
const HEADER_TYPE: usize = 0x0e;
const SECONDARY: usize = 0x19;

/// Gives functions without a place the one that bus numbers imply: the bridge whose secondary bus is theirs is
/// their parent, and a bus that no bridge leads to is a root bus. A bus other than 0 is taken for a root bus
/// only where it holds a bridge of its own, to the host or to another bus, and the numbers of every bridge of
/// its domain are known: a card copied alone has lost its bridges, not its need of them.
pub(super) fn infer(found: &mut BTreeMap<Bdf, Place>) {
    if found.values().all(|place| place.root_bus.value().is_some()) {
        return;
    }
    let mut parents: BTreeMap<(u32, u8), Bdf> = BTreeMap::new();
    let mut doubtful: BTreeSet<u32> = BTreeSet::new();
    let mut bridged: BTreeSet<(u32, u8)> = BTreeSet::new();
    for place in found.values() {
        let Some(dir) = place.dir.value() else {
            doubtful.insert(place.bdf.domain);
            continue;
        };
        if dir.line("class").value().is_some_and(|class| class.starts_with("0x06")) {
            bridged.insert((place.bdf.domain, place.bdf.bus));
        }
        match secondary(dir) {
            Some(bus) if bus > 0 => {
                parents.entry((place.bdf.domain, bus)).or_insert(place.bdf);
            }
            None if may_be_bridge(dir) => {
                doubtful.insert(place.bdf.domain);
            }
            _ => {}
        }
    }
    for place in found.values_mut().filter(|place| place.root_bus.value().is_none()) {
        let Bdf { domain, mut bus, .. } = place.bdf;
        let mut upstream = Vec::new();
        let mut seen = BTreeSet::from([bus]);
        let mut circular = false;
        while let (Some(bridge), false) = (parents.get(&(domain, bus)), circular) {
            upstream.push(*bridge);
            bus = bridge.bus;
            circular = !seen.insert(bus);
        }
        let told = bus == 0 || (bridged.contains(&(domain, bus)) && !doubtful.contains(&domain));
        if circular || !told {
            continue;
        }
        upstream.reverse();
        let source = format!("sys/bus/pci/devices/{}", upstream.first().unwrap_or(&place.bdf));
        let text =
            format!("root bus {domain:04x}:{bus:02x} by the bus numbers of the bridges; the links are lost");
        place.root_bus = Fact::known(format!("{domain:04x}:{bus:02x}"), Evidence::new(source, text));
        place.upstream = upstream;
    }
}

/// The bus below a bridge, from its attribute or its header.
fn secondary(dir: &Dir) -> Option<u8> {
    if let Some(number) = dir.line("secondary_bus_number").value().and_then(|text| text.parse().ok()) {
        return Some(number);
    }
    let mut header = [0; 64];
    dir.file("config").value()?.read_exact_at(&mut header, 0).ok()?;
    let bridge = header.get(HEADER_TYPE).is_some_and(|kind| kind & 0x7f == BRIDGE_HEADER);
    if bridge { header.get(SECONDARY).copied() } else { None }
}

/// A class that says bridge to another bus, or none that can be read.
fn may_be_bridge(dir: &Dir) -> bool {
    dir.line("class").value().is_none_or(|class| class.starts_with("0x0604"))
}
