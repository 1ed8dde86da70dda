//! Network interfaces with hardware behind them.
//!
//! Left out: bridges, bonds, tunnels and what containers make (no device behind them), interfaces on USB (docks,
//! dongles, the service processor's own), and virtual functions, which move into guests and containers.

use super::identity::{Salt, place, pluggable};
use super::part::{Part, expected};
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NET: &str = "sys/class/net";

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// Name in this boot.
    pub name: String,
    /// PCI function, or path of its device; empty when not known.
    pub place: String,
    /// Port of that device, from 0 (`dev_port`).
    pub port: u32,
    /// Hash of the permanent hardware address; none where it is made up in each boot.
    pub address: Option<String>,
    /// The port has a link. None: the interface is down, so that the kernel does not say.
    pub carrier: Option<bool>,
    /// Radio: its link is the access point's matter and is not judged.
    pub wireless: bool,
}

/// All physical interfaces, by name.
pub(super) fn read(root: &Root, salt: &Salt) -> Part<Vec<Interface>> {
    let names = root.list(NET);
    let Fact::Known { value: names, .. } = names else {
        return expected(root, NET, names.map(|_| Vec::new()));
    };
    Part::Known { value: names.iter().filter_map(|name| interface(root, salt, name)).collect() }
}

fn interface(root: &Root, salt: &Salt, name: &str) -> Option<Interface> {
    let at = |file: &str| format!("{NET}/{name}/{file}");
    let line = |file: &str| root.line(&at(file)).value().cloned();
    let path = root.canonical(&format!("{NET}/{name}")).value().cloned().unwrap_or_default();
    let physical = root.exists(&at("device")) && !path.starts_with("sys/devices/virtual/");
    if !physical || pluggable(&path) || root.exists(&at("device/physfn")) {
        return None;
    }
    // 0 is the address that the hardware holds (NET_ADDR_PERM).
    let permanent = line("addr_assign_type").is_none_or(|kind| kind == "0");
    Some(Interface {
        name: name.to_owned(),
        place: place(&path),
        port: line("dev_port").and_then(|text| text.parse().ok()).unwrap_or(0),
        address: line("address").filter(|_| permanent).and_then(|text| salt.hash(&text)),
        carrier: line("carrier").map(|text| text == "1"),
        wireless: root.exists(&at("wireless")) || root.exists(&at("phy80211")),
    })
}
