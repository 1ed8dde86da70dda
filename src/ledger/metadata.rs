//! What a file is besides its bytes: owner, mode, extended attributes (SELinux label and ACLs are among
//! them), time of modification.

use super::digest::{hex, sha256, unhex};
use nix::sys::stat::{Mode, fchmod, fstat, futimens};
use nix::sys::time::TimeSpec;
use nix::unistd::{Gid, Uid, fchown};
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;

/// Attributes that belong to the kernel's own measurement of one inode (Documentation/security/IMA); a copy
/// of them on other bytes would make the file unreadable under appraisal.
const MEASURED: [&str; 2] = ["security.ima", "security.evm"];
/// Largest list and largest value of extended attributes (`XATTR_SIZE_MAX`, include/uapi/linux/limits.h).
const XATTR_LIMIT: usize = 64 << 10;

/// Metadata of one version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// Permission bits, octal (`0644`).
    #[serde(with = "octal")]
    #[schemars(with = "String")]
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Time of last modification: seconds since 1970 and nanoseconds; none for a version not yet written.
    pub mtime: Option<(i64, i64)>,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the bytes, hexadecimal.
    pub sha256: String,
    /// Extended attributes, values hexadecimal.
    pub xattrs: BTreeMap<String, String>,
}

impl Metadata {
    /// Reads the metadata of an open file that holds `bytes`.
    pub(super) fn of(file: &File, bytes: &[u8]) -> io::Result<Self> {
        let stat = fstat(file)?;
        Ok(Self {
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            mtime: Some((stat.st_mtime, stat.st_mtime_nsec)),
            size: bytes.len() as u64,
            sha256: sha256(bytes),
            xattrs: xattrs(file)?,
        })
    }

    /// A new file of root with mode 0644 (of this user, when that is not root).
    pub(super) fn new_file(bytes: &[u8]) -> Self {
        Self {
            mode: 0o644,
            uid: Uid::effective().as_raw(),
            gid: Gid::effective().as_raw(),
            mtime: None,
            size: bytes.len() as u64,
            sha256: sha256(bytes),
            xattrs: BTreeMap::new(),
        }
    }

    /// The same owner, mode and attributes for other bytes.
    #[must_use]
    pub(super) fn with_bytes(&self, bytes: &[u8]) -> Self {
        Self { mtime: None, size: bytes.len() as u64, sha256: sha256(bytes), ..self.clone() }
    }

    /// True when owner, mode and attributes are the same; bytes and time are not compared.
    pub(super) fn same_owner_and_mode(&self, other: &Self) -> bool {
        (self.mode, self.uid, self.gid) == (other.mode, other.uid, other.gid) && self.xattrs == other.xattrs
    }

    /// Gives `file` this owner, mode and attributes, and this time when one is known.
    ///
    /// Only what differs is set: file systems without owners (FAT) then need no privilege and raise no error.
    pub(super) fn give(&self, file: &File) -> io::Result<()> {
        let now = fstat(file)?;
        if (now.st_uid, now.st_gid) != (self.uid, self.gid) {
            fchown(file, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))?;
        }
        // After the owner: a change of owner clears set-id bits and file capabilities.
        give_xattrs(file, &self.xattrs)?;
        // After the attributes: an ACL and the mode share the group bits, and the recorded mode is the result.
        if fstat(file)?.st_mode & 0o7777 != self.mode {
            fchmod(file, Mode::from_bits_truncate(self.mode))?;
        }
        if let Some((seconds, nanoseconds)) = self.mtime {
            let time = TimeSpec::new(seconds, nanoseconds);
            futimens(file, &time, &time)?;
        }
        Ok(())
    }
}

/// Extended attributes of an open file.
fn xattrs(file: &File) -> io::Result<BTreeMap<String, String>> {
    let mut list = vec![0; XATTR_LIMIT];
    let length = match flistxattr(file, list.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::NOTSUP | Errno::NOSYS) => 0,
        Err(errno) => return Err(errno.into()),
    };
    list.truncate(length);
    let mut found = BTreeMap::new();
    for name in list.split(|b| *b == 0).filter(|n| !n.is_empty()) {
        let name = std::str::from_utf8(name)
            .map_err(|_| io::Error::other("name of an extended attribute is not UTF-8"))?;
        if MEASURED.contains(&name) {
            continue;
        }
        let mut value = vec![0; XATTR_LIMIT];
        match fgetxattr(file, name, value.as_mut_slice()) {
            Ok(length) => {
                value.truncate(length);
                found.insert(name.to_owned(), hex(&value));
            }
            Err(Errno::NODATA) => {}
            Err(errno) => {
                let reason = io::Error::from(errno);
                return Err(io::Error::new(reason.kind(), format!("extended attribute {name}: {reason}")));
            }
        }
    }
    Ok(found)
}

/// Makes the attributes of `file` those of `wanted`.
fn give_xattrs(file: &File, wanted: &BTreeMap<String, String>) -> io::Result<()> {
    let now = xattrs(file)?;
    for (name, value) in wanted {
        if now.get(name) != Some(value) {
            let bytes = unhex(value).ok_or_else(|| {
                io::Error::other(format!("extended attribute {name}: recorded value is not hexadecimal"))
            })?;
            fsetxattr(file, name.as_str(), &bytes, XattrFlags::empty()).map_err(|errno| {
                let reason = io::Error::from(errno);
                io::Error::new(reason.kind(), format!("extended attribute {name}: {reason}"))
            })?;
        }
    }
    // What the directory handed down (a default ACL) and the old file did not have.
    for name in now.keys().filter(|name| !wanted.contains_key(*name) && !name.starts_with("security.")) {
        match fremovexattr(file, name.as_str()) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Mode as an octal string.
mod octal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde asks for
    pub(super) fn serialize<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{mode:04o}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 8)
            .ok()
            .filter(|mode| *mode <= 0o7777)
            .ok_or_else(|| D::Error::custom(format!("expected an octal mode such as 0644, found {text:?}")))
    }
}
