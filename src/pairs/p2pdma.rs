//! The kernel's own answer for one pair: `calc_map_type_and_dist` and `host_bridge_whitelist`
//! (drivers/pci/p2pdma.c), from facts.

use super::{Outcome, acs, missing};
use crate::host::Host;
use crate::host::allowlist::AllowList;
use crate::host::gpu::Gpu;
use crate::host::pci::PciDevice;

/// The answer and what it rests on.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub outcome: Outcome,
    pub reason: &'static str,
    pub why: String,
    pub representatives: Vec<String>,
    pub representative_ids: Vec<String>,
}

impl Answer {
    fn new(outcome: Outcome, reason: &'static str, why: impl Into<String>) -> Self {
        Self { outcome, reason, why: why.into(), ..Self::default() }
    }
}

/// Judges the pair for an in-kernel p2pdma user.
pub(super) fn judge(host: &Host, a: &Gpu, b: &Gpu) -> Answer {
    if host.kernel.config.pci_p2pdma.is_absent() {
        return Answer::new(Outcome::Fail, "kernel-config", "this kernel is built without CONFIG_PCI_P2PDMA");
    }
    match host.kernel.version.value() {
        Some(&v) if v < 4020 => {
            return Answer::new(Outcome::Fail, "kernel-config", "kernels before 4.20 have no p2pdma");
        }
        _ => {}
    }
    let Some(common) = a.upstream.iter().rev().find(|bridge| b.upstream.contains(bridge)) else {
        return by_running_table(host, a, b);
    };
    let acs = acs::below_shared_bridge(host, a, b);
    if acs.ports.is_empty() && acs.unreadable {
        let why = format!("both are below {common}, but ACS of a port on the path cannot be read");
        return Answer::new(Outcome::Unknown, "unknown", why);
    }
    if acs.ports.is_empty() {
        let why = format!("both are below {common} and no port redirects");
        return Answer::new(Outcome::Pass, "bus-address", why);
    }
    let through = by_running_table(host, a, b);
    let ports = acs.ports.join(", ");
    let why = format!("ACS redirect at {ports} sends it up to the host bridge, and {}", through.why);
    let reason = if through.outcome == Outcome::Pass { through.reason } else { "acs-redirect" };
    Answer { reason, why, ..through }
}

fn by_running_table(host: &Host, a: &Gpu, b: &Gpu) -> Answer {
    match host.allow_list.value() {
        Some(list) => host_bridge(host, list, a, b),
        None => Answer::new(Outcome::Unknown, "unknown", missing("the kernel's table", &host.allow_list)),
    }
}

/// The first release after the running one whose built-in table accepts the pair; empty where none does, or
/// where the refusal is not the table's.
pub(super) fn listed_from(host: &Host, a: &Gpu, b: &Gpu) -> String {
    let Some(&running) = host.kernel.version.value() else { return String::new() };
    let accepts = |version: i64| {
        let list = AllowList::of_release(version);
        host_bridge(host, &list, a, b).outcome == Outcome::Pass
    };
    if judge(host, a, b).reason == "kernel-config" || shares_bridge(a, b) {
        return String::new();
    }
    let newer = AllowList::RELEASES.iter().copied().find(|release| *release > running && accepts(*release));
    newer.map(|v| format!("{}.{}", v / 1000, v % 1000)).unwrap_or_default()
}

fn shares_bridge(a: &Gpu, b: &Gpu) -> bool {
    a.upstream.iter().any(|bridge| b.upstream.contains(bridge))
}

/// The host bridge part: CPU rule, then the representatives of both root buses against the table.
fn host_bridge(host: &Host, list: &AllowList, a: &Gpu, b: &Gpu) -> Answer {
    let (Some(bus_a), Some(bus_b)) = (a.root_bus.value(), b.root_bus.value()) else {
        let bus = if a.root_bus.value().is_none() { &a.root_bus } else { &b.root_bus };
        return Answer::new(Outcome::Unknown, "unknown", missing("the root bus of a GPU", bus));
    };
    match (host.cpu.vendor.value().map(String::as_str), host.cpu.family.value()) {
        (Some("AuthenticAMD"), Some(&family)) if list.amd_rule && family >= 0x17 => {
            return Answer::new(
                Outcome::Pass,
                "cpu-family",
                format!("AMD family {family:#x} passes without the table"),
            );
        }
        (Some("AuthenticAMD"), None) | (None, _) if !host.cpu.vendor.is_absent() => {
            let what = if host.cpu.vendor.value().is_none() {
                missing("the CPU's vendor", &host.cpu.vendor)
            } else {
                missing("the CPU's family", &host.cpu.family)
            };
            return Answer::new(Outcome::Unknown, "unknown", what);
        }
        _ => {}
    }
    let same = bus_a == bus_b;
    let mut answer = Answer::default();
    for bus in if same { vec![bus_a] } else { vec![bus_a, bus_b] } {
        let Some(first) = representative(host, bus) else {
            return Answer::new(Outcome::Unknown, "unknown", format!("no device of root bus {bus} is known"));
        };
        let (Some(&vendor), Some(&device)) = (first.vendor.value(), first.device.value()) else {
            let id = if first.vendor.value().is_none() { &first.vendor } else { &first.device };
            return Answer::new(
                Outcome::Unknown,
                "unknown",
                missing(&format!("the id of {}", first.bdf), id),
            );
        };
        let name = format!("{vendor:04x}:{device:04x}");
        answer.representatives.push(format!("{name} at {}", first.bdf));
        answer.representative_ids.push(name.clone());
        if !(first.bdf.ends_with(":00.0") || list.root_port_anywhere && is_root_port(first)) {
            answer.set(
                Outcome::Fail,
                "no-representative",
                format!(
                    "{} is the first device of root bus {bus}, and this kernel only accepts 00.0",
                    first.bdf
                ),
            );
            return answer;
        }
        match list.find(vendor, device) {
            None => {
                answer.set(
                    Outcome::Fail,
                    "not-listed",
                    format!("host bridge {name} ({}) is not in the kernel's p2pdma list", first.bdf),
                );
                return answer;
            }
            Some(row) if row.same_host_bridge && !same => {
                answer.set(
                    Outcome::Fail,
                    "same-host-bridge-only",
                    format!("{name} is listed for pairs below one host bridge only, as its sockets do not route peer requests"),
                );
                return answer;
            }
            Some(_) => {}
        }
    }
    answer.set(Outcome::Pass, "allowed", "the host bridge is in the kernel's p2pdma list".to_owned());
    answer
}

impl Answer {
    fn set(&mut self, outcome: Outcome, reason: &'static str, why: String) {
        self.outcome = outcome;
        self.reason = reason;
        self.why = why;
    }
}

/// The first device of a root bus: lowest devfn directly on it. A device plugged in later would stand at the
/// end of the kernel's list, which sysfs does not show.
pub(super) fn representative<'a>(host: &'a Host, root_bus: &str) -> Option<&'a PciDevice> {
    host.pci
        .iter()
        .filter(|d| d.upstream.is_empty() && d.root_bus.value().is_some_and(|bus| bus == root_bus))
        .min_by(|x, y| x.bdf.cmp(&y.bdf))
}

/// Root port by its capability, or, where config space cannot be read, a PCI bridge on a root bus.
fn is_root_port(device: &PciDevice) -> bool {
    match device.port_type.value() {
        Some(kind) => kind == "root-port",
        None => device.class.value().is_some_and(|class| class >> 8 == 0x0604),
    }
}
