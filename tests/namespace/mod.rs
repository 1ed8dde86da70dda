//! Tests that mount something run in a mount namespace of their own; the machine never sees the mounts.
//!
//! A test calls [`enter`] first. Outside, that runs the same test again under `unshare -rm` with a fresh
//! folder and waits for it; the folder is only removed once the namespace, and every mount in it, is gone.
#![allow(dead_code)]

use nix::mount::{MsFlags, mount};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "PEERFIX_TEST_FOLDER";

/// The folder to work in when inside the namespace; none when the test already ran there, or cannot.
pub fn enter(test: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return Some(PathBuf::from(folder));
    }
    let probe = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {test}: mount namespaces are not permitted here");
        return None;
    }
    let folder = folder();
    let status = Command::new("unshare")
        .arg("-rm")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed in its namespace");
    None
}

/// A temporary folder, in memory where there is such a place: thousands of fsyncs are free there.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A folder made a mount point in which the system's programs run: `/usr` read-only, `/proc`, `/sys`, `/dev`.
pub fn system(folder: &Path) -> PathBuf {
    let root = folder.join("system");
    std::fs::create_dir(&root).unwrap();
    bind(&root, &root);
    for name in ["usr", "proc", "sys", "dev"] {
        let at = root.join(name);
        std::fs::create_dir(&at).unwrap();
        bind(&Path::new("/").join(name), &at);
    }
    read_only(&root.join("usr"));
    for name in ["bin", "sbin", "lib", "lib64"] {
        let host = Path::new("/").join(name);
        if let Ok(target) = std::fs::read_link(&host) {
            symlink(target, root.join(name)).unwrap();
        } else if host.is_dir() {
            std::fs::create_dir(root.join(name)).unwrap();
            bind(&host, &root.join(name));
            read_only(&root.join(name));
        }
    }
    root
}

/// Bind mount.
pub fn bind(from: &Path, to: &Path) {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(from), to, None::<&str>, flags, None::<&str>).unwrap();
}

/// Makes a bind mount read-only.
pub fn read_only(at: &Path) {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    mount(None::<&str>, at, None::<&str>, flags, None::<&str>).unwrap();
}

/// A file system in memory of a given size (`64k`).
pub fn small(at: &Path, size: &str) {
    let options = format!("size={size}");
    mount(Some("none"), at, Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).unwrap();
}
