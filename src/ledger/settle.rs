//! What a boot loader reads must be on the medium. GRUB replays no journal: after a power cut it would see a file as it
//! was, or a block list that the journal has moved since, and write `next_entry` into it.
//!
//! | /boot is on | what is done |
//! |---|---|
//! | ext2, ext3, ext4, XFS, of its own or the root file system | sync, freeze, thaw: the journal is then empty |
//! | vfat | sync: it has no journal |
//! | Btrfs | sync: it writes a new tree, and GRUB reads that |
//! | anything else | sync |
//!
//! Freezing a root file system stops every writer for some milliseconds, as a snapshot does. A second process thaws it
//! after ten seconds whatever happens to the first, and both ignore signals.

use super::commands;
use super::dir::Dir;
use super::place::Target;
use nix::sys::statfs::{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, fstatfs};
use nix::unistd::syncfs;

/// Freezes and thaws `$1`; the thaw of the second process finds nothing to do when all went well.
const FREEZE: &str = r#"
trap '' INT TERM HUP
fsfreeze --help >/dev/null 2>&1 || exit 0
(sleep 10; fsfreeze -u "$1" 2>/dev/null) </dev/null >/dev/null 2>&1 &
guard=$!
fsfreeze -f "$1" || { kill -9 $guard; exit 0; }
fsfreeze -u "$1" || { sleep 1; fsfreeze -u "$1"; }
kill -9 $guard 2>/dev/null
exit 0
"#;

/// Brings /boot and the EFI system partition to the medium, where the target is the running system; elsewhere whoever
/// takes the image apart syncs it. What cannot be done is no reason to fail: the files are written.
pub(super) fn settle(target: &Target) {
    for place in ["boot", "boot/efi", "efi", "etc"] {
        if let Some(dir) = directory(target, place) {
            let _ = syncfs(&dir);
        }
    }
    let kind =
        directory(target, "boot").and_then(|boot| fstatfs(&boot).ok()).map(|found| found.filesystem_type());
    if target.live && (kind == Some(EXT4_SUPER_MAGIC) || kind == Some(XFS_SUPER_MAGIC)) {
        commands::quietly(&["sh", "-c", FREEZE, "peerfix", "/boot"]);
    }
}

fn directory(target: &Target, path: &str) -> Option<Dir> {
    path.split('/').try_fold(target.root.again().ok()?, |dir, name| dir.dir(name).ok())
}
