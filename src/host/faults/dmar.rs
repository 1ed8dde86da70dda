//! VT-d fault lines in their three generations (drivers/iommu/intel/dmar.c, `dmar_fault_do_one`).

use super::read::{Event, pattern};
use regex::Regex;
use std::sync::LazyLock;

static FAULT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)DMAR: ?\[(?:DMA (?<kind>[a-z]+)(?: (?:NO_PASID|PASID (?<pasid>(?:0x)?[0-9a-f]+)))?|(?<intr>INTR-REMAP))\] ",
        r"Request device \[(?:(?<segment>[0-9a-f]{4,8}):)?(?:0x)?(?<bus>[0-9a-f]{1,2}):(?:0x)?(?<slot>[0-9a-f]{1,2})\.(?<function>[0-7])\]",
        r"(?: PASID (?<old_pasid>(?:0x)?[0-9a-f]+))? fault (?:addr|index) (?:0x)?(?<address>[0-9a-f]+)",
        r"[ \t]*(?:DMAR: ?)?\[fault reason (?<reason>(?:0x)?[0-9a-f]+)\](?<text>.*)"
    ))
});

/// Parses one line; `None` for headers and page-table dumps.
pub(super) fn parse(text: &str) -> Option<Event> {
    if !text.contains("Request device") {
        return None;
    }
    let found = FAULT.as_ref()?.captures(text)?;
    let hex = |name: &str| found.name(name).and_then(|m| u32::from_str_radix(m.as_str(), 16).ok());
    let interrupt = found.name("intr").is_some();
    let kind = found.name("kind").map(|m| m.as_str().to_ascii_lowercase());
    let code = reason(found.name("reason")?.as_str())?;
    let words = found.name("text").map(|m| m.as_str().trim()).unwrap_or_default();
    let meaning = meaning(code).map_or_else(|| words.to_owned(), str::to_owned);
    // With a PASID the address is one of a process, which no BAR can hold; all ones stands for none.
    let pasid = found.name("pasid").or_else(|| found.name("old_pasid")).map(|m| m.as_str());
    let virtual_address = pasid.is_some_and(|p| p != "ffffffff");
    let address = found.name("address").and_then(|m| u64::from_str_radix(m.as_str(), 16).ok());
    Some(Event {
        bdf: format!(
            "{:04x}:{:02x}:{:02x}.{}",
            hex("segment").unwrap_or(0),
            hex("bus")?,
            hex("slot")?,
            hex("function")?
        ),
        segment_known: found.name("segment").is_some(),
        other_name: String::new(),
        unit: if interrupt { "interrupt-remapping" } else { "dmar" },
        write: match kind.as_deref() {
            Some("write") => Some(true),
            Some("read") => Some(false),
            _ => None,
        },
        address: if interrupt || virtual_address { None } else { address },
        code: format!("{code:#04x}"),
        meaning,
    })
}

/// The reason code: hexadecimal with `0x` (since 5.13), before that decimal (`%02d`). Digits a to f without
/// the prefix can only be hexadecimal.
fn reason(text: &str) -> Option<u32> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok();
    }
    text.parse().ok().or_else(|| u32::from_str_radix(text, 16).ok())
}

/// Meaning of a fault reason (VT-d specification, "Fault Reason Encodings").
fn meaning(code: u32) -> Option<&'static str> {
    Some(match code {
        0x00 => "raised by software",
        0x01 => "no root entry for the bus",
        0x02 => "no context entry for the device",
        0x03 => "invalid context entry",
        0x04 => "address beyond the unit's address width",
        0x05 => "write to an address that is not mapped for writing",
        0x06 => "read from an address that is not mapped for reading",
        0x07 => "broken page-table pointer",
        0x08 => "bad root table address",
        0x09 => "bad context table address",
        0x0a => "reserved bits set in the root entry",
        0x0b => "reserved bits set in the context entry",
        0x0c => "reserved bits set in the page-table entry",
        0x0d => "request blocked by the unit",
        0x20 => "interrupt request with reserved fields set",
        0x21 => "interrupt index beyond the table",
        0x22 => "no interrupt remapping entry",
        0x23 => "interrupt remapping table cannot be read",
        0x24 => "reserved bits set in the interrupt remapping entry",
        0x25 => "interrupt in compatibility format blocked",
        0x26 => "interrupt from a device that the entry does not belong to",
        0x30..=0x32 => "bad scalable-mode root table",
        0x38 => "scalable-mode root entry cannot be read",
        0x39 => "no scalable-mode root entry for the bus",
        0x3a => "reserved bits set in the scalable-mode root entry",
        0x40 => "scalable-mode context entry cannot be read",
        0x41 => "no scalable-mode context entry for the device",
        0x42 => "reserved bits set in the scalable-mode context entry",
        0x43 => "invalid scalable-mode context entry",
        0x44..=0x48 => "request with a PASID that the context entry does not allow",
        0x50..=0x52 => "PASID directory entry missing or broken",
        0x58..=0x5b => "PASID table entry missing or broken",
        0x5c | 0x5d => "request kind not enabled in the PASID entry",
        0x70 => "first-level page table cannot be read",
        0x71 => "address not mapped (first-level entry not present)",
        0x72 => "reserved bits set in a first-level entry",
        0x73 => "first-level top table cannot be read",
        0x74 => "first-level table address beyond the address width",
        0x75..=0x77 => "no permission in the nested translation",
        0x78 => "second-level page table cannot be read",
        0x79 => "no read or write permission in the second-level entry",
        0x7a => "reserved bits set in a second-level entry",
        0x7b => "broken second-level table pointer",
        0x7c => "accessed or dirty bit cannot be set",
        0x80 => "address not canonical",
        0x81 => "user request to a supervisor page",
        0x82 => "execute request to a page without execute permission",
        0x83 | 0x84 => "address beyond what the hardware translates",
        0x85 => "no permission to write",
        0x86 => "no permission to read",
        0x87 => "invalid interrupt address",
        0x90 => "accessed or dirty update with no-snoop in the first level",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_generations_give_the_same_event() {
        for line in [
            "DMAR: [DMA Write] Request device [41:00.0] fault addr a1000 [fault reason 05] PTE Write access is not set",
            "DMAR: [DMA Write] Request device [41:00.0] PASID ffffffff fault addr a1000 [fault reason 05] x",
            "DMAR: [DMA Write NO_PASID] Request device [0x41:0x00.0] fault addr 0xa1000 [fault reason 0x05] x",
            "dmar: DMAR:[DMA Write] Request device [41:00.0] fault addr a1000 DMAR:[fault reason 05] x",
        ] {
            let event = parse(line).unwrap();
            assert_eq!(
                (event.bdf.as_str(), event.unit, event.write, event.address, event.code.as_str()),
                ("0000:41:00.0", "dmar", Some(true), Some(0xa1000), "0x05"),
                "{line}"
            );
        }
    }

    #[test]
    fn decimal_and_hexadecimal_reasons_meet() {
        let line = |reason: &str| {
            format!("DMAR: [DMA Read] Request device [7a:02.0] fault addr 1 [fault reason {reason}] x")
        };
        for (text, code) in
            [("113", "0x71"), ("0x71", "0x71"), ("05", "0x05"), ("0c", "0x0c"), ("0x26", "0x26")]
        {
            assert_eq!(parse(&line(text)).unwrap().code, code);
        }
    }

    #[test]
    fn an_address_of_a_process_is_no_bus_address() {
        let line =
            "DMAR: [DMA Read PASID 0x5] Request device [41:00.0] fault addr 0xa1000 [fault reason 0x71] x";
        let event = parse(line).unwrap();
        assert_eq!((event.write, event.address, event.code.as_str()), (Some(false), None, "0x71"));
    }

    #[test]
    fn interrupts_have_an_index_and_no_address() {
        let event =
            parse("DMAR: [INTR-REMAP] Request device [f0:1f.0] fault index 0x15 [fault reason 0x26] x")
                .unwrap();
        assert_eq!((event.unit, event.address), ("interrupt-remapping", None));
    }

    #[test]
    fn headers_and_dumps_are_no_faults() {
        for line in [
            "DMAR: DRHD: handling fault status reg 3",
            "DMAR: Dump dmar0 table entries for IOVA 0xa000002000",
            "DMAR: root entry: 0x0000000103c4b001",
            "DMAR: [DMA Write NO_PASID] Request device [zz:00.0] fault addr 0x1 [fault reason 0x71] x",
            "DMAR: [DMA Write NO_PASID] Request device [02:00.0] fault addr 0x1 [fault rea",
        ] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
