//! Requests for the ledger, and pictures of a tree to compare before and after.
#![allow(dead_code)]

use peerfix::ledger::{ChangeRecord, Request, RunPolicy};
use peerfix::plan::Operation;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An operation that replaces or creates a file.
pub fn write(path: &str, before: Option<&str>, after: &str) -> Operation {
    Operation::Write {
        path: path.to_owned(),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: after.as_bytes().to_vec(),
    }
}

/// An operation that runs a shell command.
pub fn sh(script: &str) -> Operation {
    Operation::Run { argv: shell(script), why: "for the test".to_owned() }
}

/// A shell command.
pub fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

/// A request that prints its commands.
pub fn request(operations: Vec<Operation>) -> Request {
    Request {
        title: "put the GPUs in pass-through".to_owned(),
        changes: vec![ChangeRecord {
            id: "c1".to_owned(),
            name: "iommu-pt".to_owned(),
            kind: "kernel-cmdline".to_owned(),
            rules: vec!["iommu/translating".to_owned()],
            add: vec!["iommu=pt".to_owned()],
            risks: vec!["dma-isolation".to_owned()],
            ..ChangeRecord::default()
        }],
        operations,
        revert_commands: Vec::new(),
        run: RunPolicy::PrintOnly,
    }
}

/// What one path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub mode: u32,
    pub owner: (u32, u32),
    /// Bytes of a file, target of a link.
    pub content: Vec<u8>,
    /// Attributes `user.*`.
    pub attributes: BTreeMap<String, Vec<u8>>,
    /// Of files.
    pub mtime: Option<(i64, i64)>,
}

/// Everything below `dir`, by path.
pub fn picture(dir: &Path) -> BTreeMap<String, Seen> {
    let mut seen = BTreeMap::new();
    walk(dir, "", &mut seen);
    seen
}

/// A picture without times.
pub fn timeless(mut picture: BTreeMap<String, Seen>) -> BTreeMap<String, Seen> {
    for seen in picture.values_mut() {
        seen.mtime = None;
    }
    picture
}

fn walk(dir: &Path, below: &str, seen: &mut BTreeMap<String, Seen>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if name == "var" {
            continue;
        }
        let path = entry.path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let file = meta.is_file();
        let content = if file {
            std::fs::read(&path).unwrap()
        } else if meta.is_symlink() {
            std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            if meta.is_dir() {
                walk(&path, &format!("{name}/"), seen);
            }
            Vec::new()
        };
        let attributes = if file { attributes(&path) } else { BTreeMap::new() };
        let mtime = file.then(|| (meta.mtime(), meta.mtime_nsec()));
        let owner = (meta.uid(), meta.gid());
        seen.insert(name, Seen { mode: meta.mode(), owner, content, attributes, mtime });
    }
}

/// Sets an attribute; false where the file system has none.
pub fn set_attribute(path: &Path, name: &str, value: &str) -> bool {
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(path, name, value.as_bytes(), flags).is_ok()
}

fn attributes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut list = vec![0; 65536];
    let length = rustix::fs::listxattr(path, list.as_mut_slice()).unwrap_or(0);
    let names = list[..length].split(|b| *b == 0).map(|n| String::from_utf8_lossy(n).into_owned());
    names
        .filter(|name| name.starts_with("user."))
        .map(|name| {
            let mut value = vec![0; 65536];
            let length = rustix::fs::getxattr(path, name.as_str(), value.as_mut_slice()).unwrap();
            value.truncate(length);
            (name, value)
        })
        .collect()
}

/// Sets the time of a file to a fixed one long ago, with nanoseconds.
pub fn age(path: &Path) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_500_000_000, 123_456_789);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Sets the mode.
pub fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// True for root.
pub fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}
