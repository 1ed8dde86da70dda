//! One open directory. Every step below the root goes through a directory handle and a plain name, so that
//! a link put in the way between two steps cannot lead out of the root.

use nix::dir::Dir as Listing;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, fsync, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Longest file the ledger reads or keeps (configuration files, its own documents): 16 MiB.
pub(super) const FILE_LIMIT: u64 = 16 << 20;

/// An open directory and the path it is known by in messages.
#[derive(Debug)]
pub(super) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    /// The directory that stands for `/`.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: OwnedFd::from(File::open(path)?), path: path.to_path_buf() })
    }

    /// Path in messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of an entry in messages.
    pub(super) fn join(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// Opens a directory in this one; a link is refused (`ELOOP` or `ENOTDIR`).
    pub(super) fn dir(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(Self { fd: openat(self, name, flags, Mode::empty())?, path: self.path.join(name) })
    }

    /// A second handle.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()?, path: self.path.clone() })
    }

    /// Makes a directory with exactly this mode, whatever the umask.
    pub(super) fn make(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<()> {
        let mode = Mode::from_bits_truncate(mode);
        mkdirat(self, name.as_ref(), mode)?;
        match fchmod(self.dir(name)?, mode) {
            // A file system without modes (FAT) decides itself.
            Ok(()) | Err(Errno::EPERM) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Status of an entry, a link itself not followed; none when it is not there.
    pub(super) fn stat(&self, name: impl AsRef<OsStr>) -> io::Result<Option<FileStat>> {
        match fstatat(self, name.as_ref(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Status of the directory itself.
    pub(super) fn own_stat(&self) -> io::Result<FileStat> {
        Ok(fstat(self)?)
    }

    /// Target of a link.
    pub(super) fn link(&self, name: impl AsRef<OsStr>) -> io::Result<OsString> {
        Ok(readlinkat(self, name.as_ref())?)
    }

    /// Opens a file with the flags given, never through a link.
    pub(super) fn open(&self, name: impl AsRef<OsStr>, flags: OFlag, mode: u32) -> io::Result<File> {
        // O_NONBLOCK: a named pipe put in the place of a file must not hang us.
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        Ok(File::from(openat(self, name.as_ref(), flags, Mode::from_bits_truncate(mode))?))
    }

    /// Creates a file that must not be there.
    pub(super) fn create(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<File> {
        self.open(name, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL, mode)
    }

    /// Bytes of a regular file, at most [`FILE_LIMIT`].
    pub(super) fn read(&self, name: impl AsRef<OsStr>) -> io::Result<Vec<u8>> {
        read_all(&self.open(name, OFlag::O_RDONLY, 0)?)
    }

    /// Renames within this directory.
    pub(super) fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(self, from.as_ref(), self, to.as_ref())?)
    }

    /// Removes a file; one that is not there is no error.
    pub(super) fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match unlinkat(self, name.as_ref(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes an empty directory; false when it is not empty or not there.
    pub(super) fn remove_empty(&self, name: impl AsRef<OsStr>) -> io::Result<bool> {
        match unlinkat(self, name.as_ref(), UnlinkatFlags::RemoveDir) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT | Errno::ENOTEMPTY | Errno::EEXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes a directory of the ledger with all that is in it.
    pub(super) fn remove_tree(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        let below = self.dir(name)?;
        for entry in below.names()? {
            match below.stat(&entry)? {
                Some(stat) if is_dir(&stat) => below.remove_tree(&entry)?,
                _ => below.remove(&entry)?,
            }
        }
        self.remove_empty(name)?;
        Ok(())
    }

    /// Makes the entries of this directory durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        match fsync(self) {
            // Some network and FUSE file systems cannot sync a directory; there is nothing more to ask for.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOTSUP) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Names in this directory, sorted.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut listing = Listing::openat(self, ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in listing.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Bytes of an open regular file, at most [`FILE_LIMIT`].
pub(super) fn read_all(file: &File) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    let mut limited = file.take(FILE_LIMIT + 1);
    limited.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(io::Error::other(format!("longer than {FILE_LIMIT} bytes")));
    }
    Ok(bytes)
}

/// True for a directory.
pub(super) fn is_dir(stat: &FileStat) -> bool {
    kind(stat) == SFlag::S_IFDIR
}

/// True for a symbolic link.
pub(super) fn is_link(stat: &FileStat) -> bool {
    kind(stat) == SFlag::S_IFLNK
}

/// True for a regular file.
pub(super) fn is_file(stat: &FileStat) -> bool {
    kind(stat) == SFlag::S_IFREG
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits())
}
