//! What a host has and needs to live: read before a change and after it, so that what got lost is seen.
//!
//! - [`part`]: known, absent or unknown, as a document keeps it
//! - `identity`: names that hold from boot to boot
//! - [`pci`], [`disks`], [`mounts`], [`interfaces`], [`routes`], `units`, `processors`: the parts
//! - [`announced`]: what a change says it takes away
//! - [`lost`]: what was there and is not
//!
//! A snapshot is true of the moment it is read. Early in a boot an address may not be leased and a port not have
//! its link: who reads one then, reads again until nothing is lost, or until patience ends.

pub mod announced;
pub mod disks;
mod identity;
pub mod interfaces;
pub mod lost;
pub mod mounts;
pub mod part;
pub mod pci;
mod processors;
pub mod routes;
mod units;

pub use announced::Announced;
pub use disks::Disk;
pub use interfaces::Interface;
pub use lost::{Loss, LossKind, PartName};
pub use mounts::Mount;
pub use part::Part;
pub use pci::PciFunction;
pub use routes::Route;

use super::environment::memory;
use crate::root::Root;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the document.
pub const SCHEMA: &str = "peerfix/health";
/// Version of the document.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// Version of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// Breaking.
    pub major: u32,
    /// Additive.
    pub minor: u32,
}

/// One look at a host. Serial numbers, addresses and UUIDs are hashed with the installation's own salt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version.
    pub version: Version,
    /// `proc/sys/kernel/random/boot_id`.
    pub boot_id: Part<String>,
    /// Numbers of the processors that are online.
    pub cpus: Part<Vec<u32>>,
    /// `MemTotal` in bytes: what the kernel manages, without what it reserved for itself.
    pub memory: Part<u64>,
    /// PCI functions by BDF.
    pub pci: Part<Vec<PciFunction>>,
    /// Disks that stay in the machine.
    pub disks: Part<Vec<Disk>>,
    /// Mounts of real file systems, by mount point.
    pub mounts: Part<Vec<Mount>>,
    /// Physical network interfaces.
    pub interfaces: Part<Vec<Interface>>,
    /// Default route of IPv4; absent where there is none.
    pub route_v4: Part<Route>,
    /// Default route of IPv6.
    pub route_v6: Part<Route>,
    /// Units in state failed; absent where systemd is not the init of this host.
    pub failed_units: Part<Vec<String>>,
}

impl Health {
    /// Reads the host. Never fails: what cannot be read is unknown, with the reason.
    pub fn read(root: &Root) -> Self {
        let salt = identity::Salt::read(root);
        let interfaces = interfaces::read(root, &salt);
        let known = interfaces.value().map_or(&[][..], Vec::as_slice);
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            boot_id: root.line("proc/sys/kernel/random/boot_id").into(),
            cpus: processors::online(root),
            memory: memory::total(root).map(|bytes| u64::try_from(bytes).unwrap_or(0)).into(),
            pci: pci::read(root),
            disks: disks::read(root, &salt),
            mounts: mounts::read(root, &salt),
            route_v4: routes::v4(root, known),
            route_v6: routes::v6(root, known),
            failed_units: units::failed(root),
            interfaces,
        }
    }

    /// What was there before and is not after, and what cannot be compared. What the change announced is listed
    /// and marked.
    pub fn lost(before: &Self, after: &Self, announced: &[Announced]) -> Vec<Loss> {
        lost::between(before, after, announced)
    }

    /// Parts that are unknown, with the reason: a baseline that has any cannot be compared in full.
    pub fn unknown(&self) -> Vec<(PartName, &str)> {
        let all = [
            (PartName::Processors, self.cpus.why()),
            (PartName::Memory, self.memory.why()),
            (PartName::Pci, self.pci.why()),
            (PartName::Disks, self.disks.why()),
            (PartName::Mounts, self.mounts.why()),
            (PartName::Interfaces, self.interfaces.why()),
            (PartName::RouteV4, self.route_v4.why()),
            (PartName::RouteV6, self.route_v6.why()),
            (PartName::Units, self.failed_units.why()),
        ];
        all.into_iter().filter_map(|(part, why)| why.map(|why| (part, why))).collect()
    }
}
