//! Whether programs of a target may be run with the target as their root directory.

use super::dir::{Dir, is_dir};
use super::document::RunPolicy;
use super::error::LedgerError;
use super::place::Target;
use nix::sys::stat::SFlag;
use nix::sys::statfs::{PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};
use nix::unistd::Uid;
use rustix::fs::{StatxAttributes, StatxFlags, statx};
use std::path::Path;

/// Checks that `target` is a mounted system whose programs may be run: owned by root and writable by nobody
/// else, a mount point, with `/dev`, `/proc` and `/sys` mounted in it. The reason lists all that is missing.
pub fn check_run_in_target(target: &Path) -> Result<(), LedgerError> {
    let lacks = missing(target);
    if lacks.is_empty() {
        Ok(())
    } else {
        Err(LedgerError::NotRunnable { target: target.to_path_buf(), reason: lacks.join("; ") })
    }
}

/// Refuses a policy that does not fit the target.
pub(super) fn check_policy(policy: RunPolicy, target: &Target) -> Result<(), LedgerError> {
    match policy {
        RunPolicy::PrintOnly => Ok(()),
        RunPolicy::InTarget => check_run_in_target(target.root.path()),
        RunPolicy::Live if target.live => Ok(()),
        RunPolicy::Live => Err(LedgerError::NotRunnable {
            target: target.root.path().to_path_buf(),
            reason: "it is not the running system, whose programs would act on the wrong files".to_owned(),
        }),
    }
}

fn missing(target: &Path) -> Vec<String> {
    let name = target.display();
    let root = match std::fs::canonicalize(target).and_then(|path| Dir::root(&path)) {
        Ok(root) => root,
        Err(error) => return vec![format!("cannot open it: {error}")],
    };
    let mut lacks = Vec::new();
    if !Uid::effective().is_root() {
        lacks.push("only root can change the root directory (run as root)".to_owned());
    }
    match root.own_stat() {
        Ok(stat) if stat.st_uid != 0 => lacks.push(format!("owned by user {}, not by root", stat.st_uid)),
        Ok(stat) if stat.st_mode & 0o022 != 0 => {
            lacks.push(format!("writable by others (mode {:04o})", stat.st_mode & 0o7777));
        }
        Ok(_) => {}
        Err(error) => lacks.push(format!("cannot look at it: {error}")),
    }
    if !is_mount_point(&root) {
        lacks.push("not a mount point".to_owned());
    }
    if !is_kernel_tree(&root, "proc", PROC_SUPER_MAGIC) {
        lacks.push(format!("/proc is not mounted in it (mount -t proc proc {name}/proc)"));
    }
    if !is_kernel_tree(&root, "sys", SYSFS_MAGIC) {
        lacks.push(format!("/sys is not mounted in it (mount --rbind /sys {name}/sys)"));
    }
    if !has_devices(&root) {
        lacks.push(format!("/dev is not mounted in it (mount --rbind /dev {name}/dev)"));
    }
    lacks
}

fn is_mount_point(root: &Dir) -> bool {
    // Reported since Linux 5.8; it also knows bind mounts of the same file system.
    let reported = statx(root, ".", rustix::fs::AtFlags::empty(), StatxFlags::BASIC_STATS)
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    let above = std::fs::metadata(root.path().join(".."));
    let differs = || {
        use std::os::unix::fs::MetadataExt;
        matches!((root.own_stat(), above), (Ok(own), Ok(above)) if own.st_dev != above.dev())
    };
    reported || differs()
}

fn is_kernel_tree(root: &Dir, name: &str, magic: nix::sys::statfs::FsType) -> bool {
    root.dir(name).is_ok_and(|dir| fstatfs(dir).is_ok_and(|fs| fs.filesystem_type() == magic))
}

/// `/dev/null` is a device and not a file that some program made there.
fn has_devices(root: &Dir) -> bool {
    let Ok(dev) = root.dir("dev") else { return false };
    let device = |stat: nix::sys::stat::FileStat| {
        SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFCHR
    };
    dev.own_stat().is_ok_and(|stat| is_dir(&stat)) && dev.stat("null").is_ok_and(|s| s.is_some_and(device))
}
