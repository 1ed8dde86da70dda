//! Paths as GRUB names them, and the files they are on the host.

use crate::root::{Fact, Root};
use std::collections::BTreeMap;

/// Largest configuration that is read.
const LIMIT: u64 = 4 << 20;

/// The device that stands for the host's own root directory, whatever disks it consists of.
pub(super) const HOST: &str = "(host)";

/// The host's files, some of them as they will be.
pub(in crate::boot::grub) struct Files<'a> {
    root: &'a Root,
    instead: BTreeMap<String, Vec<u8>>,
}

impl<'a> Files<'a> {
    pub(in crate::boot::grub) fn new(root: &'a Root) -> Self {
        Self { root, instead: BTreeMap::new() }
    }

    /// The same with other content for one file.
    pub(in crate::boot::grub) fn with(mut self, path: &str, bytes: &[u8]) -> Self {
        self.instead.insert(path.to_owned(), bytes.to_vec());
        self
    }

    /// The bytes of a file on the host.
    pub(super) fn read(&self, path: &str) -> Fact<Vec<u8>> {
        match self.instead.get(path) {
            Some(bytes) => Fact::known(bytes.clone(), crate::root::Evidence::new(path, "as it will be")),
            None => self.root.bytes(path, LIMIT),
        }
    }

    fn exists(&self, path: &str) -> bool {
        self.instead.contains_key(path) || self.root.exists(path)
    }

    /// Whether GRUB finds a file; none for a path on a disk that only GRUB knows.
    pub(super) fn is_there(&self, path: &str) -> Option<bool> {
        let inside = path.strip_prefix(HOST)?;
        (!climbs(inside)).then(|| self.exists(inside.trim_start_matches('/')))
    }

    /// Whether GRUB finds a file that is not empty.
    pub(super) fn is_filled(&self, path: &str) -> Option<bool> {
        let inside = path.strip_prefix(HOST).filter(|inside| !climbs(inside))?;
        match self.read(inside.trim_start_matches('/')) {
            Fact::Known { value, .. } => Some(!value.is_empty()),
            Fact::Absent { .. } => Some(false),
            Fact::Unknown(_) => None,
        }
    }

    /// Where a path of GRUB is on the host: below the root, on a /boot of its own, or in a subvolume.
    pub(in crate::boot::grub) fn host_path(&self, path: &str) -> Option<String> {
        let inside = match path.strip_prefix('(') {
            Some(rest) => rest.split_once(')')?.1,
            None => path,
        };
        if climbs(inside) {
            return None;
        }
        let inside = inside.trim_start_matches('/');
        let mut tries = vec![inside.to_owned()];
        if !path.starts_with(HOST) {
            tries.push(format!("boot/{inside}"));
            let mut rest = inside;
            for _ in 0..2 {
                let Some((_, below)) = rest.split_once('/') else { break };
                rest = below;
                // A subvolume keeps Linux's own layout below its name.
                if rest.starts_with("boot/") || rest.starts_with("grub") {
                    tries.push(rest.to_owned());
                    tries.push(format!("boot/{rest}"));
                }
            }
        }
        tries.into_iter().find(|path| self.exists(path))
    }
}

fn climbs(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}
