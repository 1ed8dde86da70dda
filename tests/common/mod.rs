//! The one builder for hosts: a root tree in Linux's own layout, made file by file in a temporary folder.
//!
//! Beside it: builders of what the kernel, the drivers and the distributions put into such a tree, whole
//! hosts made with them ([`hosts`]), and the runner of the built program ([`run`]).
#![allow(dead_code)]
#![allow(clippy::trivially_copy_pass_by_ref)]

pub mod boots;
pub mod contract;
pub mod distro;
pub mod drives;
pub mod fakes;
pub mod grub;
pub mod hosts;
pub mod inspect;
pub mod kernel_log;
pub mod kfd;
pub mod luks;
pub mod machine;
pub mod nvidia;
pub mod nvidia_smi;
pub mod pci;
pub mod played;
pub mod ptx;
pub mod record;
pub mod run;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A root tree that is removed when dropped.
#[must_use]
pub struct Tree {
    dir: Place,
}

/// A folder of our own, or one that is left where it is.
enum Place {
    Own(tempfile::TempDir),
    Found(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Own(dir) => dir.path(),
            Self::Found(path) => path,
        }
    }
}

impl Tree {
    /// An empty tree.
    pub fn new() -> Self {
        Self { dir: Place::Own(tempfile::tempdir().unwrap()) }
    }

    /// A tree that is there.
    pub fn found(path: &str) -> Self {
        Self { dir: Place::Found(PathBuf::from(path)) }
    }

    /// The directory that stands for `/`.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Adds a file; directories are made as needed.
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.place(path), content).unwrap();
        self
    }

    /// Adds an empty directory.
    pub fn dir(self, path: &str) -> Self {
        std::fs::create_dir_all(self.dir.path().join(path)).unwrap();
        self
    }

    /// Adds a symbolic link with the target as written.
    pub fn link(self, path: &str, target: &str) -> Self {
        symlink(target, self.place(path)).unwrap();
        self
    }

    /// Removes a file or directory.
    pub fn without(self, path: &str) -> Self {
        let at = self.dir.path().join(path);
        if at.is_dir() && !at.is_symlink() {
            std::fs::remove_dir_all(at).unwrap();
        } else {
            std::fs::remove_file(at).unwrap();
        }
        self
    }

    fn place(&self, path: &str) -> PathBuf {
        let at = self.dir.path().join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        at
    }
}
