//! PCI functions and the drivers bound to them.

use super::part::{Part, expected};
use crate::host::pci::Bdf;
use crate::root::{Dir, Fact, Root, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const BUS: &str = "sys/bus/pci/devices";

/// One function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PciFunction {
    /// `0000:02:00.0`.
    pub bdf: String,
    /// Vendor, device, subsystem vendor and subsystem device as the kernel prints them, `10de:2684 10de:16f3`.
    pub id: String,
    /// Class, `030000`.
    pub class: String,
    /// Driver that is bound to it.
    pub driver: Option<String>,
}

/// All functions, by BDF.
pub(super) fn read(root: &Root) -> Part<Vec<PciFunction>> {
    let names = root.list(BUS);
    // A kernel without PCI still has sys/bus.
    if names.is_absent() && root.is_live() && root.exists("sys/bus") {
        return Part::Known { value: Vec::new() };
    }
    let Fact::Known { value: names, .. } = names else {
        return expected(root, BUS, names.map(|_| Vec::new()));
    };
    let mut all = Vec::new();
    let mut links = false;
    for name in names.iter().filter(|name| name.parse::<Bdf>().is_ok()) {
        let path = format!("{BUS}/{name}");
        let Fact::Known { value: dir, .. } = root.dir(&path) else {
            let gone: Fact<Vec<PciFunction>> = Fact::unknown(path, Why::Unreadable, "expected a directory");
            return gone.into();
        };
        links |= dir.has_links();
        all.push(function(name, &dir));
    }
    if !all.is_empty() && !links {
        let kept: Fact<Vec<PciFunction>> =
            Fact::unknown(BUS, Why::NotCaptured, "no links were kept, so that no driver is known");
        return kept.into();
    }
    Part::Known { value: all }
}

fn function(bdf: &str, dir: &Dir) -> PciFunction {
    let word = |name: &str| {
        let text = dir.line(name).value().cloned().unwrap_or_default();
        text.trim_start_matches("0x").to_owned()
    };
    PciFunction {
        bdf: bdf.to_owned(),
        id: format!(
            "{}:{} {}:{}",
            word("vendor"),
            word("device"),
            word("subsystem_vendor"),
            word("subsystem_device")
        ),
        class: word("class"),
        driver: dir.link_name("driver").value().cloned(),
    }
}
