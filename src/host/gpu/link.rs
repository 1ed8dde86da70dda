//! Judging a card's link: where to read it, what both ends support, and when the speed means anything.

use super::CardLink;
use super::ports::Ports;
use crate::host::amdgpu::AmdgpuDevice;
use crate::host::pci::PciDevice;
use crate::root::Fact;

/// What besides sysfs bears on the judgement.
pub(super) struct Circumstances<'a> {
    pub(super) vendor: &'a str,
    pub(super) integrated: bool,
    /// `Performance State` of nvidia-smi.
    pub(super) pstate: Option<i64>,
    pub(super) amd: &'a AmdgpuDevice,
}

/// The link at the card port against the port above it. The endpoint's own figures are fiction on AMD cards
/// with a switch inside and on Intel cards; the card port's are real.
pub(super) fn judge(ports: &Ports<'_>, around: &Circumstances<'_>) -> CardLink {
    let card = ports.card_port();
    let mut link = hop(card, ports.slot_port());
    if around.vendor == "amd" {
        second_source(&mut link, around.amd);
    }
    if let Some(reason) = unjudgeable(ports, around) {
        // Emulated and tunnelled ports advertise what they like: neither figure is a promise.
        link.caveat = join(&link.caveat, reason);
        return link;
    }
    link.width_judgeable = true;
    link.speed_judgeable = true;
    if let Some(uplink) = ports.switch_uplink() {
        let mut above = hop(uplink, ports.root_port());
        if below_both(&above) && !below_both(&link) {
            above.width_judgeable = true;
            above.speed_judgeable = true;
            above.caveat =
                format!("uplink of the switch above the card; the card's own link at {}", card.bdf);
            return above;
        }
    }
    let suspended = [ports.gpu, card].iter().any(|device| {
        device.runtime_status.value().is_some_and(|status| status == "suspended" || status == "suspending")
    });
    if suspended {
        link.speed_judgeable = false;
        link.width_judgeable = false;
        link.caveat = join(&link.caveat, "the card is suspended");
    } else if around.vendor == "nvidia" && !speed_is_real(&link, around.pstate) {
        link.speed_judgeable = false;
        link.caveat = join(&link.caveat, "an idle NVIDIA GPU lowers its link speed: judge it under load");
    }
    link
}

/// An NVIDIA GPU's speed counts when it is the highest, or in a performance state of a loaded GPU.
fn speed_is_real(link: &CardLink, pstate: Option<i64>) -> bool {
    let highest =
        link.generation.value().is_some() && link.generation.value() == link.both_generation.value();
    highest || pstate.is_some_and(|state| state <= 2)
}

fn unjudgeable(ports: &Ports<'_>, around: &Circumstances<'_>) -> Option<&'static str> {
    if around.integrated {
        Some("part of the processor: no link")
    } else if ports.external() {
        Some("behind a tunnel (Thunderbolt, USB4) or external port: link figures are not those of the cable")
    } else if ports.lost.is_some() {
        Some("the tree does not show which port the card hangs on")
    } else if ports.root_port().is_none() {
        Some("on the root bus: a guest or a fabric without ports")
    } else if ports.emulated() {
        Some("below a port that a hypervisor emulates: read the link on the host")
    } else {
        None
    }
}

/// One link: the function below it shows the state, both ends bound it.
fn hop(below: &PciDevice, above: Option<&PciDevice>) -> CardLink {
    let none = || Fact::absent(format!("port above {}", below.bdf));
    CardLink {
        port: below.bdf.clone(),
        generation: copy(&below.link.generation),
        width: copy(&below.link.width),
        both_generation: above
            .map_or_else(none, |port| both(&below.link.max_generation, &port.link.max_generation)),
        both_width: above.map_or_else(none, |port| both(&below.link.max_width, &port.link.max_width)),
        ..CardLink::default()
    }
}

fn copy(fact: &Fact<i64>) -> Fact<i64> {
    fact.as_ref().map(|value| *value)
}

/// The lower of two known figures; unknown when either is, absent when either end has none.
fn both(below: &Fact<i64>, above: &Fact<i64>) -> Fact<i64> {
    match (below, above) {
        (Fact::Known { value: a, evidence: lines }, Fact::Known { value: b, evidence: more }) => {
            Fact::from_lines(*a.min(b), lines.iter().chain(more).cloned().collect())
        }
        (Fact::Unknown(reason), _) | (_, Fact::Unknown(reason)) => Fact::Unknown(reason.clone()),
        (Fact::Absent { evidence }, _) | (_, Fact::Absent { evidence }) => {
            Fact::Absent { evidence: evidence.clone() }
        }
    }
}

/// Both figures are known and one is below what both ends support.
fn below_both(link: &CardLink) -> bool {
    let less = |now: &Fact<i64>, most: &Fact<i64>| matches!((now.value(), most.value()), (Some(n), Some(m)) if n < m);
    less(&link.generation, &link.both_generation) || less(&link.width, &link.both_width)
}

/// amdgpu's own view (`pp_dpm_pcie`): used where sysfs has none, and the lower of two that contradict.
fn second_source(link: &mut CardLink, amd: &AmdgpuDevice) {
    let mut caveats = Vec::new();
    for (name, now, other) in [
        ("generation", &mut link.generation, &amd.link_generation),
        ("lanes", &mut link.width, &amd.link_width),
    ] {
        let Some(driver) = other.value() else { continue };
        match now.value() {
            None => *now = copy(other),
            Some(sysfs) if sysfs != driver => {
                caveats.push(format!(
                    "{name}: {sysfs} in sysfs, {driver} in pp_dpm_pcie; the lower one is taken"
                ));
                if driver < sysfs {
                    *now = copy(other);
                }
            }
            Some(_) => {}
        }
    }
    if amd.prints_link_state.value() == Some(&false) {
        caveats.push("pp_dpm_pcie prints no link state".to_owned());
    }
    link.caveat = caveats.join("; ");
}

fn join(first: &str, second: &str) -> String {
    if first.is_empty() { second.to_owned() } else { format!("{first}; {second}") }
}
