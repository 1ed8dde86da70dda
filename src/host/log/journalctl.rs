//! The journal of the running boot, for users who may not read `/dev/kmsg` and for logs that outgrew it.

use super::super::subprocess::{Output, Program};
use crate::root::{Unknown, Why};

const JOURNALCTL: Program = Program {
    name: NAME,
    places: &["/usr/bin/journalctl", "/bin/journalctl", "/run/current-system/sw/bin/journalctl"],
    arguments: &["-k", "-b", "-o", "json", "--no-pager", "--quiet"],
};

/// The name evidence uses.
pub(super) const NAME: &str = "journalctl -k -b";

/// What `journalctl -k -b -o json` prints.
pub(super) fn journal() -> Result<Output, Unknown> {
    let output = JOURNALCTL.run()?;
    if output.bytes.is_empty() {
        let detail =
            "the journal shows this user no kernel messages; run as root, or join the group systemd-journal";
        return Err(JOURNALCTL.unknown(Why::Permission, detail));
    }
    Ok(output)
}
