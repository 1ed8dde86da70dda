//! Looking at a tree and changing it in place: digests that show that nothing was written, and small edits.

use super::Tree;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

impl Tree {
    /// The text of a file.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    /// Replaces text in a file; the text must be there.
    pub fn replace(self, path: &str, from: &str, to: &str) -> Self {
        let text = self.read(path);
        assert!(text.contains(from), "{path} does not contain {from:?}");
        let text = text.replace(from, to);
        self.file(path, text)
    }

    /// Appends to a file.
    pub fn append(self, path: &str, more: &str) -> Self {
        let text = self.read(path) + more;
        self.file(path, text)
    }

    /// Replaces a file by a directory of that name: there, and unreadable for every user.
    pub fn unreadable(self, path: &str) -> Self {
        self.without(path).dir(path)
    }

    /// Cuts a file in the middle.
    pub fn truncated(self, path: &str) -> Self {
        let bytes = std::fs::read(self.path().join(path)).unwrap();
        let half = bytes.len() / 2;
        self.file(path, &bytes[..half])
    }

    /// Removes every file with one of these names.
    pub fn leaving_out(self, names: &[&str]) -> Self {
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else if names.iter().any(|name| entry.file_name() == *name) {
                    std::fs::remove_file(entry.path()).unwrap();
                }
            }
        }
        self
    }

    /// Sets permission bits.
    pub fn mode(self, path: &str, mode: u32) -> Self {
        std::fs::set_permissions(self.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// Hash of every path, type, mode, owner, link target and byte below the tree.
    pub fn digest(&self) -> String {
        digest(self.path(), &[])
    }

    /// [`Tree::digest`] without peerfix's own state folder.
    pub fn digest_of_host(&self) -> String {
        digest(self.path(), &["var"])
    }

    /// True when the path is there, links not followed.
    pub fn has(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path().join(path)).is_ok()
    }
}

/// Hash of everything below `root` except the entries of `root` named in `skip`; hidden `.keep` files do
/// not count.
pub fn digest(root: &Path, skip: &[&str]) -> String {
    let mut lines = Vec::new();
    walk(root, root, skip, true, &mut lines);
    lines.join("\n")
}

/// Like [`digest`] without modes and owners: what survives in a version control system.
pub fn content(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    walk(root, root, &[], false, &mut lines);
    lines
}

fn walk(root: &Path, dir: &Path, skip: &[&str], meta: bool, lines: &mut Vec<String>) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if skip.contains(&name.as_str()) || path.file_name().unwrap() == ".keep" {
            continue;
        }
        let stat = std::fs::symlink_metadata(&path).unwrap();
        let who =
            if meta { format!(" {:o} {}:{}", stat.mode(), stat.uid(), stat.gid()) } else { String::new() };
        if stat.is_symlink() {
            lines.push(format!("{name} -> {}", std::fs::read_link(&path).unwrap().display()));
        } else if stat.is_dir() {
            lines.push(format!("{name}/{who}"));
            walk(root, &path, skip, meta, lines);
        } else {
            let hash = std::fs::read(&path).map_or_else(|e| e.to_string(), |b| hex(&Sha256::digest(b)));
            lines.push(format!("{name}{who} {hash}"));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Copies `from` to `to`, links as links; empty directories get a `.keep` file.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let mut empty = true;
    for entry in std::fs::read_dir(from).unwrap() {
        empty = false;
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(std::fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else if kind.is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
    if empty {
        std::fs::write(to.join(".keep"), "").unwrap();
    }
}
