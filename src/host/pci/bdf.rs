//! The address of a PCI function.

use std::fmt;
use std::str::FromStr;

/// Domain, bus, device and function, ordered as `lspci` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bdf {
    /// Domain (segment): 16 bits from firmware, more behind VMD and Hyper-V.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device, below 32.
    pub device: u8,
    /// Function, below 8.
    pub function: u8,
}

/// Text that is no address of a PCI function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a PCI address such as 0000:02:00.0")]
pub struct NotABdf;

impl FromStr for Bdf {
    type Err = NotABdf;

    /// Reads `DDDD:BB:DD.F` with a domain of one to eight digits, in either case.
    fn from_str(text: &str) -> Result<Self, NotABdf> {
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next().ok_or(NotABdf);
        let (domain, bus, rest) = (next()?, next()?, next()?);
        let (device, function) = rest.split_once('.').ok_or(NotABdf)?;
        let bdf = Self {
            domain: hex(domain, 8)?,
            bus: u8::try_from(hex(bus, 2)?).map_err(|_| NotABdf)?,
            device: u8::try_from(hex(device, 2)?).map_err(|_| NotABdf)?,
            function: u8::try_from(hex(function, 1)?).map_err(|_| NotABdf)?,
        };
        if bdf.device < 32 && bdf.function < 8 { Ok(bdf) } else { Err(NotABdf) }
    }
}

impl fmt::Display for Bdf {
    /// `DDDD:BB:DD.F`, lower case, the domain with at least four digits, as the kernel names functions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

/// A root bus directory `pciDDDD:BB` as `DDDD:BB`.
pub(super) fn root_bus(name: &str) -> Option<&str> {
    let name = name.strip_prefix("pci")?;
    let (domain, bus) = name.split_once(':')?;
    (domain.len() >= 4 && bus.len() == 2 && hex(domain, 8).is_ok() && hex(bus, 2).is_ok()).then_some(name)
}

fn hex(text: &str, most: usize) -> Result<u32, NotABdf> {
    let digits = !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_hexdigit());
    if digits { u32::from_str_radix(text, 16).map_err(|_| NotABdf) } else { Err(NotABdf) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_domain() {
        for (text, shown) in [
            ("0000:02:00.0", "0000:02:00.0"),
            ("000d:01:00.0", "000d:01:00.0"),
            ("10000:E1:00.0", "10000:e1:00.0"),
            ("00000000:41:1f.7", "0000:41:1f.7"),
        ] {
            assert_eq!(text.parse::<Bdf>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn other_names_are_no_addresses() {
        for text in
            ["", "02:00.0", "0000:02:20.0", "0000:02:00.8", "0000:02:00", "+000:02:00.0", "0000:02:00.0.bak"]
        {
            assert_eq!(text.parse::<Bdf>(), Err(NotABdf), "{text}");
        }
    }

    #[test]
    fn root_buses_are_told_from_functions() {
        assert_eq!(root_bus("pci0000:00"), Some("0000:00"));
        assert_eq!(root_bus("pci10000:e0"), Some("10000:e0"));
        assert_eq!(root_bus("pci0000:00:01.0"), None);
        assert_eq!(root_bus("pci_bus"), None);
    }
}
