//! `/dev/kmsg`: one record per read (Documentation/ABI/testing/dev-kmsg).

use super::KernelLog;
use super::boot::LastBoot;
use crate::root::{LOG_LIMIT, Unknown, Why};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

pub(super) const PATH: &str = "/dev/kmsg";

/// Largest record the kernel hands out is 8 KiB (`PRINTK_MESSAGE_MAX` is less; CONSOLE_EXT_LOG_MAX 8192).
pub(super) const RECORD: usize = 16 << 10;

/// Reads the ring buffer without waiting for new messages.
pub(super) fn read() -> Result<KernelLog, Unknown> {
    let unknown = |why, detail: String| Unknown { path: PATH.to_owned(), line: None, why, detail };
    let failed = |error: &std::io::Error| match error.kind() {
        ErrorKind::PermissionDenied => unknown(Why::Permission, "run as root to read it".to_owned()),
        ErrorKind::NotFound => unknown(Why::Unreadable, "not there (a container?)".to_owned()),
        _ => unknown(Why::Unreadable, error.to_string()),
    };
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(PATH)
        .map_err(|e| failed(&e))?;
    let mut last = LastBoot::default();
    let mut buffer = vec![0; RECORD];
    let (mut number, mut total) = (0usize, 0u64);
    while total < LOG_LIMIT {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                number += 1;
                total += length as u64;
                record(&mut last, number, buffer.get(..length).unwrap_or_default());
            }
            // The oldest records were overwritten while reading; the next read goes on behind them.
            Err(error) if error.raw_os_error() == Some(Errno::EPIPE as i32) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if number == 0 => return Err(failed(&error)),
            Err(_) => break,
        }
    }
    last.finish(PATH)
}

/// `priority,sequence,microseconds,flags;message`, then ` KEY=value` rows; messages of user space (facility
/// not 0) are left out. Flags: `c` begins or continues a fragment, `+` follows one.
pub(super) fn record(last: &mut LastBoot, number: usize, raw: &[u8]) {
    let text = String::from_utf8_lossy(raw);
    let Some((head, body)) = text.split_once(';') else { return };
    let mut fields = head.split(',');
    let priority: Option<u32> = fields.next().and_then(|p| p.parse().ok());
    let seconds = fields.nth(1).and_then(super::journal::seconds);
    let flags = fields.next().unwrap_or_default();
    if priority.is_none_or(|p| p >> 3 != 0) {
        return;
    }
    let message = unescape(body.lines().next().unwrap_or_default());
    if flags.contains('+') {
        last.fragment(&message);
    } else {
        last.message(number, seconds, &message);
    }
}

/// The kernel writes unprintable bytes, newlines among them, as `\xNN`, and a backslash as `\x5c`.
fn unescape(text: &str) -> String {
    if !text.contains("\\x") {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        if let Some(byte) = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            bytes.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            bytes.extend_from_slice(b"\\x");
            rest = after;
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_kernel_are_taken_and_those_of_user_space_left_out() {
        let mut last = LastBoot::default();
        record(&mut last, 1, b"5,0,0,-;Linux version 6.17.0 (builder)\n");
        record(
            &mut last,
            2,
            b"4,1,2500000,-;NVRM: invalid:\\x0aNVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)\n SUBSYSTEM=pci\n",
        );
        record(&mut last, 3, b"30,2,2600000,-;systemd[1]: hello\n");
        record(&mut last, 4, b"6,3,2700000,c;one \n");
        record(&mut last, 5, b"6,4,2700001,+;two\n");
        record(&mut last, 6, b"garbage");
        let log = last.finish(PATH).unwrap();
        let texts: Vec<&str> = log.lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Linux version 6.17.0 (builder)",
                "NVRM: invalid:",
                "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)",
                "onetwo"
            ]
        );
        assert_eq!(log.lines[2].seconds, Some(2.5));
        assert_eq!(log.complete.value(), Some(&true));
    }
}
