//! The journal of the running boot, for users who may not read `/dev/kmsg` and for logs that outgrew it.

use crate::root::{LOG_LIMIT, Unknown, Why};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The name evidence uses.
pub(super) const NAME: &str = "journalctl -k -b";

const TIMEOUT: Duration = Duration::from_secs(10);

/// Fixed places: as root, `PATH` is not asked.
const PROGRAMS: [&str; 3] =
    ["/usr/bin/journalctl", "/bin/journalctl", "/run/current-system/sw/bin/journalctl"];

/// What the program printed.
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    /// Why it ends early.
    pub(super) cut: Option<String>,
}

/// Runs `journalctl -k -b -o json` with a time limit and a size limit.
pub(super) fn journal() -> Result<Output, Unknown> {
    let unknown =
        |why, detail: &str| Unknown { path: NAME.to_owned(), line: None, why, detail: detail.to_owned() };
    let program = PROGRAMS
        .iter()
        .find(|p| std::path::Path::new(p).exists())
        .ok_or_else(|| unknown(Why::Unreadable, "journalctl is not installed"))?;
    let mut child = Command::new(program)
        .args(["-k", "-b", "-o", "json", "--no-pager", "--quiet"])
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| unknown(Why::Unreadable, &e.to_string()))?;
    let output = collect(&mut child, TIMEOUT);
    // A child that has ended cannot be killed, and that is well; waiting leaves no zombie.
    let _ = child.kill();
    let _ = child.wait();
    match output {
        Some(output) if output.bytes.is_empty() => Err(unknown(
            Why::Permission,
            "the journal shows this user no kernel messages; run as root, or join the group systemd-journal",
        )),
        Some(output) => Ok(output),
        None => Err(unknown(Why::Unreadable, "its output could not be read")),
    }
}

/// Reads until the end, the limit or the timeout; what came until then is kept.
fn collect(child: &mut Child, timeout: Duration) -> Option<Output> {
    let mut pipe = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel::<Vec<u8>>();
    std::thread::spawn(move || {
        let mut chunk = vec![0; 256 << 10];
        while let Ok(length) = pipe.read(&mut chunk) {
            let part = chunk.get(..length).unwrap_or_default();
            if part.is_empty() || sender.send(part.to_vec()).is_err() {
                break;
            }
        }
    });
    let deadline = std::time::Instant::now() + timeout;
    let mut bytes = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        match receiver.recv_timeout(left) {
            Ok(part) => bytes.extend_from_slice(&part),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Some(Output { bytes, cut: None }),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let cut = format!("cut after {} s", timeout.as_secs());
                return Some(Output { bytes, cut: Some(cut) });
            }
        }
        if bytes.len() as u64 > LOG_LIMIT {
            let cut = format!("cut at {LOG_LIMIT} bytes");
            return Some(Output { bytes, cut: Some(cut) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_cut_and_what_it_printed_is_kept() {
        let mut child = Command::new("sh")
            .args(["-c", "echo one; exec sleep 30"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = collect(&mut child, Duration::from_millis(300)).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(output.bytes, b"one\n");
        assert!(output.cut.is_some());
    }
}
