//! Programs of the live host whose answers no file holds: run with a deadline and a size limit.

use crate::root::{LOG_LIMIT, Unknown, Why};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(10);
/// How long a program that has closed its output may take to end.
const END: Duration = Duration::from_secs(1);

/// A program that only reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// The name evidence uses.
    pub(super) name: &'static str,
    /// Fixed places: as root, `PATH` is not asked.
    pub(super) places: &'static [&'static str],
    /// Arguments.
    pub(super) arguments: &'static [&'static str],
}

/// What the program printed.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    /// Why it ends early.
    pub(super) cut: Option<String>,
    /// It ended by itself and said that all went well.
    pub(super) success: bool,
}

impl Program {
    /// Runs it, without environment and without input; standard error is not looked at.
    pub(super) fn run(&self) -> Result<Output, Unknown> {
        let place = self
            .places
            .iter()
            .find(|p| std::path::Path::new(p).exists())
            .ok_or_else(|| self.unknown(Why::Unreadable, "the program is not installed"))?;
        let mut child = Command::new(place)
            .args(self.arguments)
            .env_clear()
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| self.unknown(Why::Unreadable, &e.to_string()))?;
        let output = collect(&mut child, TIMEOUT);
        let success = output.as_ref().is_some_and(|(_, cut)| cut.is_none()) && ended_well(&mut child);
        // A child that has ended cannot be killed, and that is well; waiting leaves no zombie.
        let _ = child.kill();
        let _ = child.wait();
        match output {
            Some((bytes, cut)) => Ok(Output { bytes, cut, success }),
            None => Err(self.unknown(Why::Unreadable, "its output could not be read")),
        }
    }

    /// Why it says nothing.
    pub(super) fn unknown(&self, why: Why, detail: &str) -> Unknown {
        Unknown { path: self.name.to_owned(), line: None, why, detail: detail.to_owned() }
    }
}

/// Waits for the end of a child that has closed its output.
fn ended_well(child: &mut Child) -> bool {
    let deadline = Instant::now() + END;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return false,
        }
    }
    false
}

/// Reads until the end, the limit or the timeout; what came until then is kept, with why it ends early.
fn collect(child: &mut Child, timeout: Duration) -> Option<(Vec<u8>, Option<String>)> {
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
    let deadline = Instant::now() + timeout;
    let mut bytes = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(part) => bytes.extend_from_slice(&part),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Some((bytes, None)),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let cut = format!("cut after {} s", timeout.as_secs());
                return Some((bytes, Some(cut)));
            }
        }
        if bytes.len() as u64 > LOG_LIMIT {
            let cut = format!("cut at {LOG_LIMIT} bytes");
            return Some((bytes, Some(cut)));
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
        let (bytes, cut) = collect(&mut child, Duration::from_millis(300)).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(bytes, b"one\n");
        assert!(cut.is_some());
    }

    #[test]
    fn the_end_of_a_program_is_told() {
        let run = |arguments| Program { name: "sh", places: &["/bin/sh"], arguments }.run().unwrap();
        assert!(run(&["-c", "echo one"]).success);
        assert!(!run(&["-c", "echo one; exit 3"]).success);
        let missing = Program { name: "nothing", places: &["/nonexistent"], arguments: &[] };
        assert!(missing.run().is_err_and(|why| why.path == "nothing"));
    }
}
