//! Follows `/dev/kmsg` from a moment on: what the kernel said since then.

use super::boot::LastBoot;
use super::{KernelLog, kmsg};
use crate::root::{Evidence, Fact};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A place in the kernel log.
pub struct Follower {
    file: File,
    buffer: Vec<u8>,
    number: usize,
    /// Records were overwritten before they were read.
    pub overrun: bool,
}

impl Follower {
    /// Stands at the end of the log: only what comes later is read. None where the log may not be read.
    pub fn open() -> Option<Self> {
        Self::at(Path::new(kmsg::PATH))
    }

    /// The same for another file of `/dev/kmsg` records.
    pub fn at(path: &Path) -> Option<Self> {
        let mut file =
            std::fs::OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path).ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(Self { file, buffer: vec![0; kmsg::RECORD], number: 0, overrun: false })
    }

    /// Messages that came since the last call; none without any.
    pub fn since(&mut self) -> Option<KernelLog> {
        let mut last = LastBoot::default();
        let before = self.number;
        loop {
            match self.file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) => {
                    // One record a read from the device; a plain file hands out many at once.
                    for record in self.buffer.get(..length).unwrap_or_default().split(|b| *b == b'\n') {
                        if !record.is_empty() {
                            self.number += 1;
                            kmsg::record(&mut last, self.number, record);
                        }
                    }
                }
                Err(error) if error.raw_os_error() == Some(Errno::EPIPE as i32) => self.overrun = true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if self.number == before {
            return None;
        }
        let mut log = last.finish(kmsg::PATH).ok()?;
        log.complete = Fact::known(false, Evidence::new(kmsg::PATH, "read from a moment on"));
        Some(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_what_comes_later_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kmsg");
        std::fs::write(&path, "4,1,100,-;DMAR: before\n").unwrap();
        let mut follower = Follower::at(&path).unwrap();
        assert!(follower.since().is_none());
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"4,2,2000000,-;first\n SUBSYSTEM=pci\n30,3,1,-;systemd\n4,4,3000000,-;second\n")
            .unwrap();
        let texts: Vec<String> = follower.since().unwrap().lines.into_iter().map(|l| l.text).collect();
        assert_eq!(texts, ["first", "second"]);
        assert!(follower.since().is_none());
    }
}
