//! Default routes: which interface the rest of the world is reached through. No address is kept.

use super::Interface;
use super::part::Part;
use crate::root::{Fact, Root, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const V4: &str = "proc/net/route";
const V6: &str = "proc/net/ipv6_route";
/// `RTF_UP` and `RTF_REJECT` (include/uapi/linux/route.h).
const UP: u32 = 1;
const REJECT: u32 = 0x200;

/// A default route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Route {
    /// Name of the interface in this boot.
    pub name: String,
    /// Place of a physical interface; empty for a bridge, a bond or a tunnel, whose name is its own.
    pub place: String,
    /// Port of that place.
    pub port: u32,
}

impl Route {
    /// Both lead through the same interface.
    pub(super) fn same(&self, other: &Self) -> bool {
        if self.place.is_empty() || other.place.is_empty() {
            return self.name == other.name;
        }
        (&self.place, self.port) == (&other.place, other.port)
    }
}

/// The default route of IPv4 with the lowest metric.
pub(super) fn v4(root: &Root, interfaces: &[Interface]) -> Part<Route> {
    read(root, V4, interfaces, |fields| {
        // Iface Destination Gateway Flags RefCnt Use Metric Mask ...
        let [name, destination, _, flags, _, _, metric, mask, ..] = fields else { return None };
        let default = *destination == "00000000" && *mask == "00000000";
        Some((default && passes(flags)?, metric.parse().ok()?, *name))
    })
}

/// The same of IPv6.
pub(super) fn v6(root: &Root, interfaces: &[Interface]) -> Part<Route> {
    read(root, V6, interfaces, |fields| {
        // Destination and length, source and length, next hop, metric, counts, flags, interface.
        let [destination, length, _, _, _, metric, _, _, flags, name] = fields else { return None };
        let default = *length == "00" && destination.bytes().all(|b| b == b'0') && *name != "lo";
        Some((default && passes(flags)?, u32::from_str_radix(metric, 16).ok()?, *name))
    })
}

fn passes(flags: &str) -> Option<bool> {
    let flags = u32::from_str_radix(flags, 16).ok()?;
    Some(flags & UP != 0 && flags & REJECT == 0)
}

/// Whether a line is a default route, its metric and its interface; none for a line of another shape.
type Line<'t> = Option<(bool, u32, &'t str)>;

fn read(
    root: &Root,
    path: &str,
    interfaces: &[Interface],
    line: impl for<'t> Fn(&[&'t str]) -> Line<'t>,
) -> Part<Route> {
    let text = match root.text(path) {
        Fact::Known { value, .. } => value,
        // A kernel without the family has no such file; a capture may have left it out.
        Fact::Absent { .. } if root.is_live() => return Part::Absent,
        Fact::Absent { .. } => return Fact::unknown(path, Why::NotCaptured, "").into(),
        Fact::Unknown(reason) => return Fact::Unknown(reason).into(),
    };
    let mut best: Option<(u32, &str)> = None;
    for (at, text) in text.lines().enumerate() {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if fields.is_empty() || fields.first() == Some(&"Iface") {
            continue;
        }
        let Some((default, metric, name)) = line(&fields) else {
            return Fact::malformed(path, at + 1, "expected a line of the kernel's routing table").into();
        };
        if default && best.is_none_or(|(lowest, _)| metric < lowest) {
            best = Some((metric, name));
        }
    }
    let Some((_, name)) = best else { return Part::Absent };
    let physical = interfaces.iter().find(|interface| interface.name == name);
    Part::Known {
        value: Route {
            name: name.to_owned(),
            place: physical.map(|i| i.place.clone()).unwrap_or_default(),
            port: physical.map_or(0, |i| i.port),
        },
    }
}
