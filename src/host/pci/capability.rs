//! Capabilities in config space: PCI Express, Access Control Services, Resizable BAR
//! (include/uapi/linux/pci_regs.h).

use super::config::Config;
use super::resizable::from_bits;
use super::{Acs, Resizable};
use crate::root::{Fact, Unknown, Why};

const STATUS: usize = 0x06;
const STATUS_CAPABILITY_LIST: u8 = 0x10;
const HEADER_TYPE: usize = 0x0e;
const HEADER_CARDBUS: u8 = 2;
const PCI_EXPRESS: u32 = 0x10;
const LINK_CONTROL: usize = 0x10;
const ASPM_STATES: u32 = 0x3;
const ACS: u32 = 0x0d;
/// Request redirect, completion redirect, egress control: what p2pdma calls redirecting.
const ACS_REDIRECT: u32 = 0x2c;
const RESIZABLE_BAR: u32 = 0x15;
const EXTENDED: usize = 0x100;
/// As many capabilities as fit; longer chains are loops.
const MOST: usize = (0x100 - 0x40) / 4;
const MOST_EXTENDED: usize = (0x1000 - 0x100) / 8;

/// What config space says.
pub(super) struct Found {
    pub(super) port_type: Fact<String>,
    pub(super) acs: Fact<Acs>,
    pub(super) resizable: Fact<Vec<Resizable>>,
    /// ASPM in the Link Control register.
    pub(super) aspm: Fact<bool>,
}

/// Walks both chains. A conventional function has none of this.
pub(super) fn read(config: &Fact<Config>) -> Found {
    let config = match config {
        Fact::Known { value, .. } => value,
        Fact::Unknown(reason) => return unknown(reason),
        Fact::Absent { evidence } => {
            let path = evidence.first().map(|e| e.source.clone()).unwrap_or_default();
            return unknown(&Unknown { path, line: None, why: Why::NotCaptured, detail: String::new() });
        }
    };
    match express(config) {
        Ok(Some((at, flags))) => {
            let port = flags >> 4 & 0xf;
            Found {
                port_type: port_type(config, at, port),
                aspm: aspm(config, at, port),
                acs: fact(config, extended(config, ACS), "no ACS capability", acs),
                resizable: fact(config, extended(config, RESIZABLE_BAR), "no Resizable BAR", resizable),
            }
        }
        Ok(None) => {
            let evidence = config.says("no PCI Express capability");
            Found {
                port_type: Fact::Absent { evidence: evidence.clone() },
                acs: Fact::Absent { evidence: evidence.clone() },
                resizable: Fact::Absent { evidence: evidence.clone() },
                aspm: Fact::Absent { evidence },
            }
        }
        Err(reason) => unknown(&reason),
    }
}

fn unknown(reason: &Unknown) -> Found {
    Found {
        port_type: Fact::Unknown(reason.clone()),
        acs: Fact::Unknown(reason.clone()),
        resizable: Fact::Unknown(reason.clone()),
        aspm: Fact::Unknown(reason.clone()),
    }
}

/// Offset and flags word of the PCI Express capability.
fn express(config: &Config) -> Result<Option<(usize, u32)>, Unknown> {
    if config.is_dead() {
        let detail = "every byte reads 0xff: the device does not answer";
        return Err(config.reason(Why::Unreadable, detail.to_owned()));
    }
    if config.header_byte(STATUS) & STATUS_CAPABILITY_LIST == 0 {
        return Ok(None);
    }
    let cardbus = config.header_byte(HEADER_TYPE) & 0x7f == HEADER_CARDBUS;
    let mut at = usize::from(config.header_byte(if cardbus { 0x14 } else { 0x34 }) & 0xfc);
    for _ in 0..MOST {
        if at == 0 {
            return Ok(None);
        }
        if at < 0x40 {
            return Err(config.broken(at, "a capability inside the header"));
        }
        let word = config.dword(at).ok_or_else(|| config.cut(at))?;
        if word & 0xff == PCI_EXPRESS {
            return Ok(Some((at, word >> 16)));
        }
        if word == u32::MAX {
            return Err(config.broken(at, "all ones instead of a capability"));
        }
        at = (word >> 8 & 0xfc) as usize;
    }
    Err(config.broken(at, "the capability list is a loop"))
}

/// Offset of an extended capability.
fn extended(config: &Config, wanted: u32) -> Result<Option<usize>, Unknown> {
    let mut at = EXTENDED;
    for _ in 0..MOST_EXTENDED {
        let header = config.dword(at).ok_or_else(|| config.cut(at))?;
        // Nothing at all, or space that nobody decodes.
        if header == 0 || (at == EXTENDED && header == u32::MAX) {
            return Ok(None);
        }
        if header & 0xffff == wanted {
            return Ok(Some(at));
        }
        let next = (header >> 20 & 0xffc) as usize;
        match next {
            0 => return Ok(None),
            1..EXTENDED => return Err(config.broken(at, "an extended capability below 0x100")),
            _ => at = next,
        }
    }
    Err(config.broken(at, "the extended capability list is a loop"))
}

fn fact<T>(
    config: &Config,
    place: Result<Option<usize>, Unknown>,
    absent: &str,
    decode: impl FnOnce(&Config, usize) -> Result<(T, String), Unknown>,
) -> Fact<T> {
    let decoded = match place {
        Ok(None) => return Fact::Absent { evidence: config.says(absent) },
        Ok(Some(at)) => decode(config, at),
        Err(reason) => Err(reason),
    };
    match decoded {
        Ok((value, text)) => Fact::from_lines(value, config.says(text)),
        Err(reason) => Fact::Unknown(reason),
    }
}

fn port_type(config: &Config, at: usize, port: u32) -> Fact<String> {
    let name = match port {
        0x0 => "endpoint",
        0x1 => "legacy-endpoint",
        0x4 => "root-port",
        0x5 => "upstream-port",
        0x6 => "downstream-port",
        0x7 => "pcie-to-pci",
        0x8 => "pci-to-pcie",
        0x9 => "rc-integrated",
        0xa => "rc-event",
        _ => return Fact::Unknown(config.broken(at, &format!("device/port type {port:#x} is not defined"))),
    };
    Fact::from_lines(name.to_owned(), config.says(format!("device/port type {port:#x}: {name}")))
}

fn aspm(config: &Config, at: usize, port: u32) -> Fact<bool> {
    if matches!(port, 0x9 | 0xa) {
        return Fact::Absent { evidence: config.says("integrated into the root complex: no link") };
    }
    match config.dword(at + LINK_CONTROL) {
        Some(control) => {
            let states = control & ASPM_STATES;
            let text = format!("Link Control {:#06x}: ASPM field {states}", control & 0xffff);
            Fact::from_lines(states != 0, config.says(text))
        }
        None => Fact::Unknown(config.cut(at + LINK_CONTROL)),
    }
}

fn acs(config: &Config, at: usize) -> Result<(Acs, String), Unknown> {
    let control = config.dword(at + 4).ok_or_else(|| config.cut(at + 4))? >> 16;
    let acs = Acs { control: i64::from(control), redirect: control & ACS_REDIRECT != 0 };
    Ok((acs, format!("ACS capability at {at:#x}, control {control:#06x}")))
}

/// Up to six pairs of capability and control. Sizes of 1 MiB to 128 TiB stand in bits 4 to 31 of the first,
/// larger ones in bits 16 to 31 of the second.
fn resizable(config: &Config, at: usize) -> Result<(Vec<Resizable>, String), Unknown> {
    let read = |at: usize| config.dword(at).ok_or_else(|| config.cut(at));
    let count = (read(at + 8)? >> 5 & 7) as usize;
    let mut found = Vec::new();
    for entry in (0..count).map(|n| at + 4 + 8 * n) {
        let (sizes, control) = (read(entry)?, read(entry + 4)?);
        let bar = i64::from(control & 7);
        let bits = u64::from(sizes >> 4) | u64::from(control >> 16) << 28;
        if bar > 5 {
            return Err(config.broken(entry, "Resizable BAR names a BAR above 5"));
        }
        found.extend(from_bits(bar, bits).map_err(|detail| config.broken(entry, &detail))?);
    }
    Ok((found, format!("Resizable BAR capability at {at:#x}, {count} entries")))
}
