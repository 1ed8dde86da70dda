//! May two records be compared, and what differs between them.
//!
//! A comparison is about a change of configuration on one machine measured one way. So a field that no
//! configuration changes must agree, and a field that a change is about may differ and is listed.
//!
//! | field | same machine? | expected to differ by a change | makes incomparable |
//! |---|---|---|---|
//! | `schema`, major version | | | yes, at reading |
//! | `mode`, `method`, `backend` | | no: how it was measured | yes |
//! | `seed`, `budget_s`, `id`, `started`, `seconds` | | always | no, not listed |
//! | `program` | | an update of peerfix | no, listed |
//! | `state.cpu` | yes | no | yes |
//! | `state.hypervisor` | yes: a guest is another machine than its host | no | yes |
//! | `state.api` known or not | | no: CUDA and another driver measure different paths | yes |
//! | `state.api`, `state.driver` | | driver update | no, listed |
//! | `state.kernel`, `state.cmdline`, `state.parameters` | | this is what changes are | no, listed |
//! | `state.firmware` | the GPUs prove the machine | firmware settings and updates | no, listed |
//! | `state.environment` | | no: it belongs to the process, no boot changes it | yes |
//! | `state.boot_id` | | a reboot | no, not listed |
//! | `state.unknown` | | rights of the caller | no, listed |
//! | `gpus[].uuid_hash`, number of GPUs | yes | no | yes |
//! | `gpus[].bdf`, order | yes | renumbering moves every pair to another name | yes |
//! | `gpus[].name`, `gpus[].capability` | yes | no | yes |
//! | `gpus[].link_max` (generation, lanes) | yes: slot, riser, card | no | yes, where both are known |
//! | `gpus[].memory` | | ECC, driver reserve | no, listed |
//! | `gpus[].bar1`, `gpus[].domain_type`, `gpus[].numa_node` | | resizable BAR, IOMMU, NPS and SNC | no, listed |
//! | `gpus[].nvlinks`, `gpus[].nvlink_mb_s` | | driver parameters, bridge seated | no, listed |
//! | `gpus[].display` | | a session on the card | no, listed |
//! | `link_max.pstate` | | always | no, not listed |
//! | `pairs[].route`, `granted`, `p2p_read`, `p2p_write`, `ceiling_gb_s` | | what the driver grants | no, listed |
//! | an arm's `bytes`, `unit` | | no: another transfer | yes, where both were measured |
//!
//! A hash of a UUID is salted per installation: records of two installations of one machine do not match,
//! and are told so.

use super::document::Difference;
use crate::bench::record::{Arm, GpuState, LinkSample, Outcome, Record};
use std::collections::BTreeMap;
use std::fmt::Display;

/// How two records differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Fields that forbid a comparison.
    pub incomparable: Vec<Difference>,
    /// Fields that may differ.
    pub listed: Vec<Difference>,
}

/// Compares everything but samples and outcomes.
pub fn differences(before: &Record, after: &Record) -> Differences {
    let mut found = Found::default();
    found.must("mode", &before.mode, &after.mode, "a quick and a full run take different samples");
    found.must(
        "backend",
        before.backend.devices(),
        after.backend.devices(),
        "other devices, which transfer in another way",
    );
    found.must(
        "method",
        before.method.join(", "),
        after.method.join(", "),
        "buffers were allocated another way, which alone moves the figures",
    );
    state(&mut found, before, after);
    gpus(&mut found, before, after);
    if found.0.incomparable.is_empty() {
        pairs(&mut found, before, after);
    }
    found.0
}

fn state(found: &mut Found, before: &Record, after: &Record) {
    let (a, b) = (&before.state, &after.state);
    if a.cpu.is_some() && b.cpu.is_some() {
        found.must(
            "state.cpu",
            shown(a.cpu.as_ref()),
            shown(b.cpu.as_ref()),
            "another processor, so another machine",
        );
    }
    let bare = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    found.must(
        "state.hypervisor",
        bare(&a.hypervisor),
        bare(&b.hypervisor),
        "a guest sees other paths than the bare machine",
    );
    let kind = |api: Option<i64>| if api.is_some() { "CUDA" } else { "not CUDA" };
    found.must("state.api", kind(a.api), kind(b.api), "another kind of driver measures another path");
    found.may("program", &before.program, &after.program);
    found.may("state.kernel", shown(a.kernel.as_ref()), shown(b.kernel.as_ref()));
    found.may("state.cmdline", words(a.cmdline.as_deref()), words(b.cmdline.as_deref()));
    found.may("state.firmware", shown(a.firmware.as_ref()), shown(b.firmware.as_ref()));
    found.may("state.driver", shown(a.driver.as_ref()), shown(b.driver.as_ref()));
    if a.api.is_some() && b.api.is_some() {
        found.may("state.api", shown(a.api.as_ref()), shown(b.api.as_ref()));
    }
    for (name, a, b) in both(&a.parameters, &b.parameters) {
        found.may(&format!("state.parameters.{name}"), a, b);
    }
    for (name, a, b) in both(&a.environment, &b.environment) {
        found.must(
            &format!("state.environment.{name}"),
            a,
            b,
            "the environment of the process differs, which no change of the host explains",
        );
    }
    found.may("state.unknown", a.unknown.join("; "), b.unknown.join("; "));
}

fn gpus(found: &mut Found, before: &Record, after: &Record) {
    let (a, b) = (&before.gpus, &after.gpus);
    let ids = |gpus: &[GpuState]| {
        let mut ids: Vec<String> = gpus.iter().map(|g| g.uuid_hash.clone()).collect();
        ids.sort_unstable();
        ids
    };
    let list = |gpus: &[GpuState]| gpus.iter().map(|g| g.bdf.as_str()).collect::<Vec<_>>().join(" ");
    if a.len() != b.len() {
        found.must("gpus", list(a), list(b), "another number of GPUs was measured");
    } else if ids(a) != ids(b) {
        let ids = |gpus: &[GpuState]| {
            gpus.iter().map(|g| format!("{} {}", g.bdf, g.uuid_hash)).collect::<Vec<_>>().join(", ")
        };
        let why = "other GPUs, or records of two installations, whose hashes do not match";
        found.must("gpus[].uuid_hash", ids(a), ids(b), why);
    } else if list(a) != list(b) {
        let why = if ids(a).iter().any(String::is_empty) {
            "other addresses, and no UUID that tells whether the GPUs are the same"
        } else {
            "the same GPUs under other addresses or in another order: every pair has another name now; \
             measure again before and after"
        };
        found.must("gpus[].bdf", list(a), list(b), why);
    } else {
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            gpu(found, at, a, b);
        }
    }
}

fn gpu(found: &mut Found, at: usize, a: &GpuState, b: &GpuState) {
    let field = |name: &str| format!("gpus[{at}].{name}");
    found.must(&field("uuid_hash"), &a.uuid_hash, &b.uuid_hash, "two GPUs changed places");
    found.must(&field("name"), &a.name, &b.name, "another product");
    found.must(&field("capability"), &a.capability, &b.capability, "another product");
    let link = |link: &LinkSample| format!("Gen{} x{}", link.generation, link.width);
    let known = |a: u32, b: u32| a != 0 && b != 0 && a != b;
    let (la, lb) = (&a.link_max, &b.link_max);
    if known(la.generation, lb.generation) || known(la.width, lb.width) {
        found.must(&field("link_max"), link(la), link(lb), "another slot, riser or bifurcation");
    }
    found.may(&field("memory"), a.memory, b.memory);
    found.may(&field("bar1"), shown(a.bar1.as_ref()), shown(b.bar1.as_ref()));
    found.may(&field("domain_type"), shown(a.domain_type.as_ref()), shown(b.domain_type.as_ref()));
    found.may(&field("nvlinks"), a.nvlinks, b.nvlinks);
    found.may(&field("nvlink_mb_s"), a.nvlink_mb_s, b.nvlink_mb_s);
    found.may(&field("numa_node"), shown(a.numa_node.as_ref()), shown(b.numa_node.as_ref()));
    found.may(&field("display"), shown(a.display.as_ref()), shown(b.display.as_ref()));
}

fn pairs(found: &mut Found, before: &Record, after: &Record) {
    arms(found, "fabric", &before.fabric, &after.fabric);
    let after: BTreeMap<_, _> = after.pairs.iter().map(|p| ((&p.from, &p.to), p)).collect();
    for a in &before.pairs {
        let Some(b) = after.get(&(&a.from, &a.to)) else { continue };
        let pair = format!("pairs[{} to {}]", a.from, a.to);
        found.may(&format!("{pair}.route"), &a.route, &b.route);
        found.may(&format!("{pair}.granted"), shown(a.granted.as_ref()), shown(b.granted.as_ref()));
        found.may(&format!("{pair}.p2p_read"), &a.p2p_read, &b.p2p_read);
        found.may(&format!("{pair}.p2p_write"), &a.p2p_write, &b.p2p_write);
        found.may(&format!("{pair}.ceiling_gb_s"), a.ceiling_gb_s, b.ceiling_gb_s);
        arms(found, &pair, &a.arms, &b.arms);
    }
}

fn arms(found: &mut Found, place: &str, before: &[Arm], after: &[Arm]) {
    let ran = |arm: &Arm| matches!(arm.outcome, Outcome::Measured | Outcome::Corrupt);
    let after: BTreeMap<_, _> = after.iter().map(|arm| (&arm.name, arm)).collect();
    for a in before {
        let Some(b) = after.get(&a.name).filter(|b| ran(a) && ran(b)) else { continue };
        let why = "another transfer was timed";
        found.must(&format!("{place}.{}.bytes", a.name), a.bytes, b.bytes, why);
        found.must(&format!("{place}.{}.unit", a.name), &a.unit, &b.unit, why);
    }
}

/// Words of a command line without those that name the boot rather than configure it: the image, and what
/// a trial entry adds for its own way back.
fn words(line: Option<&str>) -> String {
    let own = |word: &&str| !(word.starts_with("peerfix.") || word.starts_with("BOOT_IMAGE="));
    line.unwrap_or_default().split_ascii_whitespace().filter(own).collect::<Vec<_>>().join(" ")
}

/// The values of either map by name, an absent one empty.
fn both<'a>(
    a: &'a BTreeMap<String, String>,
    b: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |map: &'a BTreeMap<String, String>, name: &String| map.get(name).map_or("", String::as_str);
    names.into_iter().map(move |name| (name.as_str(), value(a, name), value(b, name)))
}

fn shown<T: Display>(value: Option<&T>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
}

#[derive(Default)]
struct Found(Differences);

impl Found {
    fn must(&mut self, field: &str, before: impl Display, after: impl Display, why: &str) {
        Self::note(&mut self.0.incomparable, field, &before, &after, why);
    }

    fn may(&mut self, field: &str, before: impl Display, after: impl Display) {
        Self::note(&mut self.0.listed, field, &before, &after, "");
    }

    fn note(list: &mut Vec<Difference>, field: &str, before: &dyn Display, after: &dyn Display, why: &str) {
        let (before, after) = (before.to_string(), after.to_string());
        if before != after {
            list.push(Difference { field: field.to_owned(), before, after, why: why.to_owned() });
        }
    }
}
