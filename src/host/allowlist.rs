//! The p2pdma allow-list by kernel release (`pci_p2pdma_whitelist`, drivers/pci/p2pdma.c), used until the
//! table of the running image can be read. Distributions backport rows, so it is an assumption and says so.

use super::kernel::Kernel;
use crate::root::{Evidence, Fact, Unknown, Why};
use schemars::JsonSchema;
use serde::Serialize;

/// The table that decides, and where it comes from.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct AllowList {
    /// Rows in the order of the kernel.
    pub rows: Vec<AllowRow>,
    /// `built-in table of release 6.12`.
    pub source: String,
    /// Not read from the running image.
    pub assumed: bool,
    /// AMD CPUs of family 0x17 and newer pass without the table (5.9 and newer).
    pub amd_rule: bool,
    /// A root port may represent its bus at any devfn (5.19 and newer); before only 00.0.
    pub root_port_anywhere: bool,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllowRow {
    /// Vendor.
    pub vendor: i64,
    /// Device, -1 for any (`PCI_ANY_ID`, 7.1 and newer).
    pub device: i64,
    /// `REQ_SAME_HOST_BRIDGE`.
    pub same_host_bridge: bool,
}

/// First release of a row as major * 1000 + minor, last release (0: still there), vendor, device, flag.
const ROWS: [(i64, i64, i64, i64, bool); 33] = [
    (5002, 5008, 0x1022, 0x1450, false),
    (5008, 5008, 0x1022, 0x15d0, false),
    (5008, 5008, 0x1022, 0x1630, false),
    (5004, 0, 0x8086, 0x3c00, true),
    (5004, 0, 0x8086, 0x3c01, true),
    (5004, 0, 0x8086, 0x2f00, true),
    (5004, 0, 0x8086, 0x2f01, true),
    (5006, 0, 0x8086, 0x2030, false),
    (5007, 0, 0x8086, 0x2031, false),
    (5007, 0, 0x8086, 0x2032, false),
    (5007, 0, 0x8086, 0x2033, false),
    (5006, 0, 0x8086, 0x2020, false),
    (5018, 0, 0x8086, 0x09a2, false),
    (7002, 0, 0x8086, 0x0b25, false),
    (7002, 0, 0x8086, 0x0cfe, false),
    (7002, 0, 0x8086, 0x11fb, false),
    (7002, 0, 0x8086, 0x1212, false),
    (7002, 0, 0x8086, 0x1216, false),
    (7002, 0, 0x8086, 0x4940, false),
    (7002, 0, 0x8086, 0x4942, false),
    (7002, 0, 0x8086, 0x4944, false),
    (7002, 0, 0x8086, 0x4946, false),
    (7002, 0, 0x8086, 0x4948, false),
    (7001, 0, 0x1ae0, -1, false),
    (7003, 0, 0x10de, 0x2f95, false),
    (7003, 0, 0x10de, 0x2f96, false),
    (7003, 0, 0x10de, 0x2f97, false),
    (7003, 0, 0x10de, 0x2f98, false),
    (7004, 0, 0x1d17, 0x1003, true),
    (7004, 0, 0x1d17, 0x1005, true),
    (7004, 0, 0x1d17, 0x1006, true),
    (7004, 0, 0x1d17, 0x1007, true),
    (7004, 0, 0x1d17, 0x1008, false),
];

impl AllowList {
    /// Releases that changed the rows or how the representative is chosen.
    pub const RELEASES: [i64; 11] = [5004, 5006, 5007, 5008, 5009, 5018, 5019, 7001, 7002, 7003, 7004];

    /// The table of the running release; unknown only when the release is.
    pub fn read(kernel: &Kernel) -> Fact<Self> {
        match kernel.version.as_ref() {
            Fact::Known { value: &version, evidence } => {
                Fact::from_lines(Self::of_release(version), table_evidence(version, evidence))
            }
            Fact::Absent { .. } => Fact::unknown("proc/sys/kernel/osrelease", Why::NotCaptured, ""),
            Fact::Unknown(Unknown { path, .. }) => Fact::unknown(
                path,
                Why::Derived,
                "the kernel's release decides which table it was built with",
            ),
        }
    }

    /// The table of a release, given as major * 1000 + minor.
    pub fn of_release(version: i64) -> Self {
        let rows = ROWS
            .iter()
            .filter(|row| row.0 <= version && (row.1 == 0 || version <= row.1))
            .map(|&(_, _, vendor, device, same_host_bridge)| AllowRow { vendor, device, same_host_bridge })
            .collect();
        Self {
            rows,
            source: format!("built-in table of release {}.{}", version / 1000, version % 1000),
            assumed: true,
            amd_rule: version >= 5009,
            root_port_anywhere: version >= 5019,
        }
    }

    /// The first row that matches a representative device.
    pub fn find(&self, vendor: i64, device: i64) -> Option<AllowRow> {
        self.rows.iter().copied().find(|r| r.vendor == vendor && (r.device == device || r.device == -1))
    }
}

fn table_evidence(version: i64, release: Vec<Evidence>) -> Vec<Evidence> {
    let mut lines = release;
    let text = format!(
        "table assumed from release {}.{}: the running image was not read; distributions add rows",
        version / 1000,
        version % 1000
    );
    lines.push(Evidence::new("built-in table", text));
    lines
}

#[cfg(test)]
mod tests {
    use super::AllowList;

    #[test]
    fn rows_follow_the_release() {
        assert_eq!(AllowList::of_release(4020).rows.len(), 0);
        let five_four: Vec<i64> = AllowList::of_release(5004).rows.iter().map(|r| r.device).collect();
        assert_eq!(five_four, [0x1450, 0x3c00, 0x3c01, 0x2f00, 0x2f01]);
        let newer: Vec<i64> = AllowList::of_release(6019).rows.iter().map(|r| r.device).collect();
        assert_eq!(newer, [0x3c00, 0x3c01, 0x2f00, 0x2f01, 0x2030, 0x2031, 0x2032, 0x2033, 0x2020, 0x09a2]);
        assert!(AllowList::of_release(7001).find(0x1ae0, 0x1234).is_some());
        assert!(AllowList::of_release(7004).find(0x8086, 0x6f00).is_none());
    }
}
