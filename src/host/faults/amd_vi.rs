//! AMD-Vi events (drivers/iommu/amd/iommu.c, `iommu_print_event` and `amd_iommu_report_page_fault`).

use super::read::Event;

/// EVENT_FLAG_RW of the event log entry: the request was a write.
const WRITE: u64 = 0x20;
/// EVENT_FLAG_I: the request was an interrupt.
const INTERRUPT: u64 = 0x08;

/// Parses `[DRIVER BDF: ]AMD-Vi: Event logged [NAME key=value …]`.
pub(super) fn parse(text: &str) -> Option<Event> {
    let (before, rest) = text.split_once("AMD-Vi: Event logged [")?;
    let mut words = rest.split_ascii_whitespace();
    let name = words.next()?.trim_end_matches(']');
    let field = |key: &str| {
        rest.split_ascii_whitespace()
            .find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
            .map(|v| v.trim_end_matches(']'))
    };
    let number =
        |key: &str| field(key).and_then(|v| u64::from_str_radix(v.trim_start_matches("0x"), 16).ok());
    let named = field("device").or_else(|| {
        let name = before.trim_end().strip_suffix(':')?;
        name.rsplit(' ').next()
    });
    let bdf = named.and_then(super::requester::parse_bdf);
    let flags = number("flags");
    let unit = if flags.is_some_and(|f| f & INTERRUPT != 0) { "interrupt-remapping" } else { "amd-vi" };
    Some(Event {
        segment_known: named.is_some_and(|n| n.matches(':').count() == 2),
        other_name: if bdf.is_some() { String::new() } else { "no device in the line".to_owned() },
        bdf: bdf.unwrap_or_default(),
        unit,
        write: flags.filter(|_| name.contains("PAGE_FAULT")).map(|f| f & WRITE != 0),
        address: if unit == "amd-vi" && name == "IO_PAGE_FAULT" { number("address") } else { None },
        code: name.to_owned(),
        meaning: meaning(name).to_owned(),
    })
}

/// Meaning of an event (AMD I/O Virtualization specification, "Event Logging").
fn meaning(name: &str) -> &'static str {
    match name {
        "IO_PAGE_FAULT" => "address not mapped, or not with this permission",
        "ILLEGAL_DEV_TABLE_ENTRY" => "broken device table entry",
        "DEV_TAB_HARDWARE_ERROR" => "device table cannot be read",
        "PAGE_TAB_HARDWARE_ERROR" => "page table cannot be read",
        "ILLEGAL_COMMAND_ERROR" => "unknown command to the unit",
        "COMMAND_HARDWARE_ERROR" => "command buffer cannot be read",
        "IOTLB_INV_TIMEOUT" => "the device did not answer an invalidation",
        "INVALID_DEVICE_REQUEST" => "request of a kind that the device may not make",
        "INVALID_PPR_REQUEST" => "page request that the device may not make",
        "RMP_HW_ERROR" | "RMP_PAGE_FAULT" => "page owned by a confidential guest",
        _ => "event of the unit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_named_before_or_inside() {
        for line in [
            "nvidia 0000:05:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000f address=0xf0000040 flags=0x0020]",
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x000f address=0xf0000040 flags=0x0020]",
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:05:00.0 domain=0x000f address=0xf0000040 flags=0x0020]",
        ] {
            let event = parse(line).unwrap();
            assert_eq!(
                (event.bdf.as_str(), event.write, event.address, event.code.as_str()),
                ("0000:05:00.0", Some(true), Some(0xf000_0040), "IO_PAGE_FAULT"),
                "{line}"
            );
        }
    }

    #[test]
    fn reads_other_events_and_events_without_device() {
        let read =
            parse("AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x1 address=0x40 flags=0x0000]");
        assert_eq!(read.unwrap().write, Some(false));
        let other = parse(
            "AMD-Vi: Event logged [ILLEGAL_DEV_TABLE_ENTRY device=c1:00.0 pasid=0x0 address=0x1 flags=0xa00]",
        );
        assert_eq!(other.unwrap().address, None);
        let none = parse("AMD-Vi: Event logged [COMMAND_HARDWARE_ERROR address=0x10 flags=0x0]").unwrap();
        assert_eq!(none.bdf, "");
        let bare = parse("AMD-Vi: Event logged [").map(|e| e.code);
        assert_eq!(bare, None);
    }
}
