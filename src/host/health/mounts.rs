//! Mounts of file systems that hold data.
//!
//! Read as the first process sees them: a service may live in a mount namespace of its own, where everything is
//! read-only. Left out: memory and kernel file systems, overlays, loop mounts (snaps), what containers, desktops and
//! package formats mount, and what is mounted on demand.

use super::identity::Salt;
use super::part::{Part, expected};
use crate::root::{Fact, Root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// `proc/self` for users who may not look at the first process.
const PATHS: [&str; 3] = ["proc/1/mounts", "proc/self/mounts", "proc/mounts"];
/// Types that hold data though no block device of this host stands behind them.
const NO_DEVICE: [&str; 12] = [
    "zfs",
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "lustre",
    "gpfs",
    "beegfs",
    "9p",
    "virtiofs",
    "fuse.glusterfs",
];
/// Mount points of containers, desktops and packages, which come and go.
const PASSING: [&str; 12] = [
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/media",
    "/snap",
    "/var/snap",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/lxd",
];

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// Mount point.
    pub at: String,
    /// Hash of the UUID of the file system, or of its source where that is no device; none when not known.
    pub identity: Option<String>,
    /// Source in this boot.
    pub source: String,
    /// Type.
    pub kind: String,
    /// Writable, by the mount and by its file system.
    pub writable: bool,
}

/// All mounts that count, by mount point. Of several on one point the last is what programs see.
pub(super) fn read(root: &Root, salt: &Salt) -> Part<Vec<Mount>> {
    let [first, second, third] = PATHS;
    let text = root.text(first).or(|| root.text(second)).or(|| root.text(third));
    let Fact::Known { value: text, .. } = text else {
        return expected(root, first, text.map(|_| Vec::new()));
    };
    let uuids = uuids(root);
    let lines = || text.lines().map(|line| line.split(' ').map(unescape).collect::<Vec<_>>());
    let on_demand: BTreeSet<String> = lines()
        .filter_map(|fields| match fields.as_slice() {
            [_, at, kind, ..] if kind == "autofs" => Some(at.clone()),
            _ => None,
        })
        .collect();
    let mut found = BTreeMap::new();
    for fields in lines() {
        let [source, at, kind, options, ..] = fields.as_slice() else { continue };
        if kind == "autofs" {
            continue;
        }
        if !holds_data(source, kind) || passing(at) || on_demand.iter().any(|top| below(at, top)) {
            // What lies on top hides what was there.
            found.remove(at);
            continue;
        }
        let mount = Mount {
            at: at.clone(),
            identity: identity(root, salt, &uuids, source),
            source: source.clone(),
            kind: kind.clone(),
            writable: options.split(',').next() != Some("ro"),
        };
        found.insert(at.clone(), mount);
    }
    Part::Known { value: found.into_values().collect() }
}

fn holds_data(source: &str, kind: &str) -> bool {
    let image = ["squashfs", "erofs", "iso9660", "udf"].contains(&kind);
    let device = source.starts_with("/dev/") && !source.starts_with("/dev/loop") && source != "/dev/fuse";
    NO_DEVICE.contains(&kind) || (device && !image)
}

fn passing(at: &str) -> bool {
    PASSING.iter().any(|top| below(at, top))
}

fn below(at: &str, top: &str) -> bool {
    at.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Kernel names of devices to UUIDs, as udev links them.
fn uuids(root: &Root) -> BTreeMap<String, String> {
    const BY_UUID: &str = "dev/disk/by-uuid";
    let names = root.list(BY_UUID);
    let names = names.value().map_or(&[][..], Vec::as_slice);
    names
        .iter()
        .filter_map(|uuid| {
            Some((root.link_name(&format!("{BY_UUID}/{uuid}")).value()?.clone(), uuid.clone()))
        })
        .collect()
}

fn identity(root: &Root, salt: &Salt, uuids: &BTreeMap<String, String>, source: &str) -> Option<String> {
    let Some(device) = source.strip_prefix("/dev/") else { return salt.hash(source) };
    let name = match root.link_name(source.trim_start_matches('/')) {
        Fact::Known { value, .. } => value,
        _ => device.to_owned(),
    };
    salt.hash(uuids.get(&name)?)
}

/// Spaces, tabs, line ends and backslashes stand as three octal digits (fs/proc_namespace.c, `mangle`).
fn unescape(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(code) = code.filter(u8::is_ascii) {
            text.push(char::from(code));
            rest = after.get(3..).unwrap_or_default();
        } else {
            text.push('\\');
            rest = after;
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn octal_escapes() {
        assert_eq!(unescape(r"/mnt/two\040words\134x"), r"/mnt/two words\x");
        assert_eq!(unescape(r"\9é\04"), r"\9é\04");
    }
}
