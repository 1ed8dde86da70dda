//! What was there before and is not after.
//!
//! Gains are no matter. A part that is not known on either side is not compared, and is said.

use super::{Announced, Disk, Health, Interface, Mount, Part, PciFunction, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Memory that may be missing: 2 %, at least 96 MiB. With the mode of the IOMMU the kernel sets up or gives back its
/// bounce buffers (64 MiB and their slots), page tables and log; the smallest memory module is larger.
pub const MEMORY_PERCENT: u64 = 2;
/// See [`MEMORY_PERCENT`].
pub const MEMORY_BYTES: u64 = 96 << 20;

/// A part of a host's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartName {
    /// Processors online.
    Processors,
    /// Memory.
    Memory,
    /// PCI functions and their drivers.
    Pci,
    /// Disks.
    Disks,
    /// Mounts.
    Mounts,
    /// Network interfaces.
    Interfaces,
    /// Default route of IPv4.
    RouteV4,
    /// Default route of IPv6.
    RouteV6,
    /// Failed units.
    Units,
}

impl PartName {
    /// For a person.
    pub fn words(self) -> &'static str {
        match self {
            Self::Processors => "processors online",
            Self::Memory => "memory",
            Self::Pci => "PCI devices",
            Self::Disks => "disks",
            Self::Mounts => "mounts",
            Self::Interfaces => "network interfaces",
            Self::RouteV4 => "default route of IPv4",
            Self::RouteV6 => "default route of IPv6",
            Self::Units => "failed units",
        }
    }
}

/// What kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// It is gone, or no longer works.
    Lost,
    /// It stands under another name, so that nothing about it can be compared.
    Moved,
    /// Not known before or after, so not compared.
    Unknown,
}

/// One loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Part.
    pub part: PartName,
    /// Kind.
    pub kind: LossKind,
    /// What, by a name that holds from boot to boot: a BDF, a mount point, a unit, the identity of a disk; empty
    /// for a part as a whole.
    pub what: String,
    /// For a person.
    pub words: String,
    /// The change announced it.
    pub announced: bool,
}

impl Loss {
    /// It speaks against the change.
    pub fn counts(&self) -> bool {
        self.kind == LossKind::Lost && !self.announced
    }
}

/// Compares all parts.
pub(super) fn between(before: &Health, after: &Health, announced: &[Announced]) -> Vec<Loss> {
    let mut found = Found { announced, losses: Vec::new() };
    found.part(PartName::Processors, &before.cpus, &after.cpus, |f, a, b| f.processors(a, b));
    found.part(PartName::Memory, &before.memory, &after.memory, |f, a, b| f.memory(*a, *b));
    found.part(PartName::Pci, &before.pci, &after.pci, |f, a, b| f.pci(a, b));
    found.part(PartName::Disks, &before.disks, &after.disks, |f, a, b| f.disks(a, b));
    found.part(PartName::Mounts, &before.mounts, &after.mounts, |f, a, b| f.mounts(a, b));
    found.part(PartName::Interfaces, &before.interfaces, &after.interfaces, |f, a, b| f.interfaces(a, b));
    for (part, a, b) in [
        (PartName::RouteV4, &before.route_v4, &after.route_v4),
        (PartName::RouteV6, &before.route_v6, &after.route_v6),
    ] {
        found.part(part, a, b, |f, a, b| f.route(part, a, b));
    }
    found.part(PartName::Units, &before.failed_units, &after.failed_units, |f, a, b| f.units(a, b));
    found.losses
}

struct Found<'a> {
    announced: &'a [Announced],
    losses: Vec<Loss>,
}

impl Found<'_> {
    fn part<T>(&mut self, part: PartName, a: &Part<T>, b: &Part<T>, judge: impl FnOnce(&mut Self, &T, &T)) {
        match (a, b) {
            (Part::Known { value: a }, Part::Known { value: b }) => judge(self, a, b),
            (Part::Unknown { why }, _) => self.unknown(part, "before", why),
            (_, Part::Unknown { why }) => self.unknown(part, "now", why),
            (Part::Known { .. }, Part::Absent) => {
                let words = format!("{}: there before, none now", part.words());
                self.add(part, LossKind::Lost, "", words);
            }
            (Part::Absent, _) => {}
        }
    }

    fn unknown(&mut self, part: PartName, when: &str, why: &str) {
        let words = format!("{}: not known {when}, so not compared: {why}", part.words());
        self.add(part, LossKind::Unknown, "", words);
    }

    fn add(&mut self, part: PartName, kind: LossKind, what: &str, words: String) {
        self.losses.push(Loss { part, kind, what: what.to_owned(), words, announced: false });
    }

    fn processors(&mut self, before: &[u32], after: &[u32]) {
        // Numbers may be dealt out anew; how many there are may not shrink.
        if after.len() < before.len() {
            let missing = before.iter().filter(|n| !after.contains(n)).map(ToString::to_string);
            let missing: Vec<String> = missing.take(8).collect();
            let words = format!(
                "{} processors are online, {} before (missing: {})",
                after.len(),
                before.len(),
                missing.join(" ")
            );
            self.add(PartName::Processors, LossKind::Lost, "", words);
        }
    }

    fn memory(&mut self, before: u64, after: u64) {
        let allowed = (before / 100).saturating_mul(MEMORY_PERCENT).max(MEMORY_BYTES);
        if after < before.saturating_sub(allowed) {
            let words = format!("{} MiB of memory, {} MiB before", after >> 20, before >> 20);
            self.add(PartName::Memory, LossKind::Lost, "", words);
        }
    }

    fn pci(&mut self, before: &[PciFunction], after: &[PciFunction]) {
        let now: BTreeMap<&str, &PciFunction> = after.iter().map(|f| (f.bdf.as_str(), f)).collect();
        let was: BTreeMap<&str, &PciFunction> = before.iter().map(|f| (f.bdf.as_str(), f)).collect();
        for old in before {
            let here = now.get(old.bdf.as_str()).filter(|new| new.id == old.id);
            let Some(new) = here else {
                let elsewhere = after
                    .iter()
                    .find(|f| f.id == old.id && was.get(f.bdf.as_str()).is_none_or(|w| w.id != f.id));
                let (kind, words) = if let Some(new) = elsewhere {
                    (LossKind::Moved, format!("{} ({}) stands at {} now", old.bdf, old.id, new.bdf))
                } else {
                    let driver = old.driver.as_ref().map_or(String::new(), |d| format!(", {d}"));
                    (LossKind::Lost, format!("PCI device {} ({}{driver}) is gone", old.bdf, old.id))
                };
                self.add(PartName::Pci, kind, &old.bdf, words);
                continue;
            };
            let Some(driver) = old.driver.as_ref().filter(|driver| new.driver.as_ref() != Some(*driver))
            else {
                continue;
            };
            let words = match &new.driver {
                Some(other) => format!("{} is bound to {other}, {driver} before", old.bdf),
                None => format!("no driver is bound to {}, {driver} before", old.bdf),
            };
            let announced = self.announced.contains(&Announced::Driver(driver.clone()));
            let bdf = old.bdf.clone();
            self.losses.push(Loss { part: PartName::Pci, kind: LossKind::Lost, what: bdf, words, announced });
        }
    }

    fn disks(&mut self, before: &[Disk], after: &[Disk]) {
        let mut left: Vec<&Disk> = after.iter().collect();
        // By identity first, so that a disk without one does not take the place of another.
        let (told, untold): (Vec<&Disk>, Vec<&Disk>) =
            before.iter().partition(|disk| disk.identity.is_some());
        for old in told.into_iter().chain(untold) {
            let same = |new: &&Disk| match (&old.identity, &new.identity) {
                (Some(a), Some(b)) => a == b,
                _ => (&old.place, old.bytes) == (&new.place, new.bytes),
            };
            if let Some(at) = left.iter().position(same) {
                left.swap_remove(at);
                continue;
            }
            let place = if old.place.is_empty() { String::new() } else { format!(" at {}", old.place) };
            let words = format!("disk {} ({} GB{place}) is gone", old.name, old.bytes / 1_000_000_000);
            let what = old.identity.clone().unwrap_or_else(|| format!("{} {}", old.place, old.bytes));
            self.add(PartName::Disks, LossKind::Lost, &what, words);
        }
    }

    fn mounts(&mut self, before: &[Mount], after: &[Mount]) {
        for old in before {
            let Some(new) = after.iter().find(|mount| mount.at == old.at) else {
                let words = format!("nothing is mounted on {}, {} before", old.at, old.kind);
                self.add(PartName::Mounts, LossKind::Lost, &old.at, words);
                continue;
            };
            let other = matches!((&old.identity, &new.identity), (Some(a), Some(b)) if a != b);
            if other || old.kind != new.kind {
                let words = format!(
                    "{} holds another file system ({} {}, {} {} before)",
                    old.at, new.kind, new.source, old.kind, old.source
                );
                self.add(PartName::Mounts, LossKind::Lost, &old.at, words);
            } else if old.writable && !new.writable {
                let words = format!("{} is read-only, writable before", old.at);
                self.add(PartName::Mounts, LossKind::Lost, &old.at, words);
            }
        }
    }

    fn interfaces(&mut self, before: &[Interface], after: &[Interface]) {
        let mut left: Vec<&Interface> = after.iter().collect();
        for old in before {
            let what = if old.place.is_empty() {
                old.name.clone()
            } else {
                format!("{} port {}", old.place, old.port)
            };
            let seat = |i: &&Interface| !old.place.is_empty() && (&i.place, i.port) == (&old.place, old.port);
            let address = |i: &&Interface| old.address.is_some() && i.address == old.address;
            let name = |i: &&Interface| old.place.is_empty() && i.name == old.name;
            let same = left
                .iter()
                .position(|i| seat(i) && i.name == old.name)
                .or_else(|| left.iter().position(seat))
                .or_else(|| left.iter().position(address))
                .or_else(|| left.iter().position(name));
            let Some(at) = same else {
                let words = format!("network interface {} ({}) is gone", old.name, old.place);
                self.add(PartName::Interfaces, LossKind::Lost, &what, words);
                continue;
            };
            let new = left.swap_remove(at);
            if old.carrier == Some(true) && new.carrier != Some(true) && !old.wireless {
                let state = if new.carrier.is_none() { "is down" } else { "has no link" };
                let words = format!("network interface {} {state}, it had a link before", new.name);
                self.add(PartName::Interfaces, LossKind::Lost, &what, words);
            }
        }
    }

    fn route(&mut self, part: PartName, before: &Route, after: &Route) {
        if !before.same(after) {
            let words = format!("{}: through {}, {} before", part.words(), after.name, before.name);
            self.add(part, LossKind::Lost, "", words);
        }
    }

    fn units(&mut self, before: &[String], after: &[String]) {
        for unit in after.iter().filter(|unit| !before.contains(unit)) {
            self.losses.push(Loss {
                part: PartName::Units,
                kind: LossKind::Lost,
                what: unit.clone(),
                words: format!("unit {unit} failed, which it did not before"),
                announced: self.announced.contains(&Announced::Unit(unit.clone())),
            });
        }
    }
}
