//! What the ports on the way to a GPU say together: AER, runtime PM, ASPM, ACS.

use super::ports::Ports;
use crate::host::pci::{Aer, PciDevice};
use crate::root::{Evidence, Fact, Unknown};

/// Counters of the ports above and of the GPU added up.
///
/// Absent only if no function has any. Errors that were counted stand even where another port could not be
/// read; zeros then prove nothing.
pub(super) fn aer(ports: &Ports<'_>) -> Fact<Aer> {
    let (mut sum, mut evidence, mut absent) = (Aer::default(), Vec::new(), Vec::new());
    // Ports that count nothing are worth a line only where none counts anything.
    let mut zeros = Vec::new();
    let mut unknown = ports.lost.clone();
    let mut seen = false;
    for device in ports.bridges().iter().copied().chain([ports.gpu]) {
        match &device.aer {
            Fact::Known { value, .. } => {
                seen = true;
                add(&mut sum, value);
                let lines = counters(&device.bdf, value);
                if *value == Aer::default() { zeros.extend(lines) } else { evidence.extend(lines) }
            }
            Fact::Absent { evidence } => absent.extend(evidence.iter().cloned()),
            Fact::Unknown(reason) => {
                unknown.get_or_insert_with(|| reason.clone());
            }
        }
    }
    match unknown {
        Some(reason) if sum == Aer::default() => Fact::Unknown(reason),
        _ if seen => Fact::from_lines(sum, if evidence.is_empty() { zeros } else { evidence }),
        _ => Fact::Absent { evidence: absent },
    }
}

fn add(sum: &mut Aer, other: &Aer) {
    let pairs = [
        (&mut sum.rx_err, other.rx_err),
        (&mut sum.bad_tlp, other.bad_tlp),
        (&mut sum.bad_dllp, other.bad_dllp),
        (&mut sum.rollover, other.rollover),
        (&mut sum.timeout, other.timeout),
        (&mut sum.surprise_down, other.surprise_down),
        (&mut sum.correctable, other.correctable),
        (&mut sum.nonfatal, other.nonfatal),
        (&mut sum.fatal, other.fatal),
    ];
    for (total, count) in pairs {
        *total = total.saturating_add(count);
    }
}

/// The counters of a port that are not zero; its total when all are.
fn counters(bdf: &str, aer: &Aer) -> Vec<Evidence> {
    let named = [
        ("correctable", "RxErr", aer.rx_err),
        ("correctable", "BadTLP", aer.bad_tlp),
        ("correctable", "BadDLLP", aer.bad_dllp),
        ("correctable", "Rollover", aer.rollover),
        ("correctable", "Timeout", aer.timeout),
        ("fatal", "SDES", aer.surprise_down),
        ("correctable", "TOTAL_ERR_COR", aer.correctable),
        ("nonfatal", "TOTAL_ERR_NONFATAL", aer.nonfatal),
        ("fatal", "TOTAL_ERR_FATAL", aer.fatal),
    ];
    let line = |(file, name, count): &(&str, &str, i64)| {
        Evidence::new(format!("sys/bus/pci/devices/{bdf}/aer_dev_{file}"), format!("{name} {count}"))
    };
    let lines: Vec<Evidence> = named.iter().filter(|(_, _, count)| *count != 0).map(line).collect();
    if lines.is_empty() { vec![line(&("correctable", "TOTAL_ERR_COR", 0))] } else { lines }
}

/// Ports whose runtime PM is `auto`. One that is named stands even where another could not be read.
pub(super) fn may_suspend(ports: &Ports<'_>) -> Fact<Vec<String>> {
    collect(ports, true, |port| port.power_control.as_ref().map(|control| control == "auto"))
}

/// Ports with ACS redirect. Unknown as soon as one port's ACS is: the list is used to clear bits.
pub(super) fn acs_redirect(ports: &Ports<'_>) -> Fact<Vec<String>> {
    collect(ports, false, |port| port.acs.as_ref().map(|acs| acs.redirect))
}

/// The bridges for which `ask` is true. `partial` lets a found one stand beside an unknown one.
fn collect(ports: &Ports<'_>, partial: bool, ask: impl Fn(&PciDevice) -> Fact<bool>) -> Fact<Vec<String>> {
    let (mut found, mut evidence) = (Vec::new(), Vec::new());
    let mut unknown: Option<Unknown> = ports.lost.clone();
    for port in ports.bridges() {
        match ask(port) {
            Fact::Known { value, evidence: lines } => {
                if value {
                    found.push(port.bdf.clone());
                }
                evidence.extend(lines);
            }
            Fact::Absent { evidence: lines } => evidence.extend(lines),
            Fact::Unknown(reason) => {
                unknown.get_or_insert(reason);
            }
        }
    }
    match unknown {
        Some(reason) if found.is_empty() || !partial => Fact::Unknown(reason),
        _ => Fact::from_lines(found, evidence),
    }
}

/// ASPM on any link of the way. Absent where no function has the files.
pub(super) fn aspm(ports: &Ports<'_>) -> Fact<bool> {
    let (mut off, mut absent) = (Vec::new(), Vec::new());
    let mut unknown = ports.lost.clone();
    for device in ports.bridges().iter().copied().chain([ports.gpu]) {
        match &device.aspm_enabled {
            Fact::Known { value: true, evidence } => return Fact::from_lines(true, evidence.clone()),
            Fact::Known { value: false, evidence } => off.extend(evidence.iter().cloned()),
            Fact::Absent { evidence } => absent.extend(evidence.iter().cloned()),
            Fact::Unknown(reason) => {
                unknown.get_or_insert_with(|| reason.clone());
            }
        }
    }
    match unknown {
        Some(reason) => Fact::Unknown(reason),
        None if off.is_empty() => Fact::Absent { evidence: absent },
        None => Fact::from_lines(false, off),
    }
}
