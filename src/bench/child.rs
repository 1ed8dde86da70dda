//! A worker process as the parent sees it: a pipe of events, a deadline, and a bounded way to be rid of it.

use super::protocol::{Event, Job};
use super::record::Backend;
use crate::root::Root;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Hidden command that makes this program a worker.
pub const WORKER: &str = "bench-worker";
/// Word behind it for a worker that measures drives.
pub const DRIVES: &str = "p2pmem";
/// Longest wait for a killed worker.
const BURIAL: Duration = Duration::from_secs(5);
/// Longest line that is taken from a worker.
const LINE: u64 = 16 << 20;

/// A running worker.
pub(super) struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Event>,
}

/// What came from a worker.
pub(super) enum Heard {
    /// An event.
    Event(Box<Event>),
    /// Nothing before the deadline.
    Silence,
    /// Its output ended.
    End,
}

impl Worker {
    /// Starts a worker: this program again; `bare` without the variables that steer transfers.
    pub(super) fn start(backend: Backend, bare: bool) -> std::io::Result<Self> {
        // The running file, also when it was replaced on disk meanwhile.
        let mut command = Command::new("/proc/self/exe");
        if bare {
            for name in crate::host::environment::VARIABLES {
                command.env_remove(name);
            }
        }
        let mut child = command
            .arg0("peerfix")
            .arg(WORKER)
            .args((backend == Backend::P2pmem).then_some(DRIVES))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let (send, events) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(output);
                let mut line = Vec::new();
                loop {
                    line.clear();
                    let mut limited = std::io::Read::take(&mut reader, LINE);
                    match limited.read_until(b'\n', &mut line) {
                        Ok(0) | Err(_) => return,
                        Ok(_) => {}
                    }
                    // What a library prints to standard output is no event.
                    if let Ok(event) = serde_json::from_slice::<Event>(&line)
                        && send.send(event).is_err()
                    {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, input, events })
    }

    /// Gives the job.
    pub(super) fn give(&mut self, job: &Job) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(job).map_err(std::io::Error::other)?;
        line.push(b'\n');
        match self.input.take() {
            Some(mut input) => input.write_all(&line).and_then(|()| input.flush()),
            None => Ok(()),
        }
    }

    /// The next event, waited for no longer than `limit`.
    pub(super) fn hear(&self, limit: Duration) -> Heard {
        match self.events.recv_timeout(limit) {
            Ok(event) => Heard::Event(Box::new(event)),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    /// How it ended, if it did within the time for that.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + BURIAL;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
                _ => return None,
            }
        }
    }

    /// Kills it. In words, when it cannot be killed: it waits inside the driver.
    pub(super) fn kill(mut self) -> Option<String> {
        // Fails only when it has already ended.
        let _ = self.child.kill();
        if self.ended().is_some() {
            return None;
        }
        Some(stuck(self.child.id()))
    }
}

/// Says that a killed process is still there, and in which state.
fn stuck(pid: u32) -> String {
    let state = state(pid).unwrap_or('?');
    format!(
        "worker {pid} cannot be killed (state {state}): it waits inside the driver; it ends with the next reboot at the latest"
    )
}

/// State letter of a process (proc_pid_stat(5)): after the name in parentheses.
fn state(pid: u32) -> Option<char> {
    let stat = Root::live().line(&format!("proc/{pid}/stat"));
    let (_, rest) = stat.value()?.rsplit_once(')')?;
    rest.trim_start().chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_cannot_be_killed_is_told_with_its_state() {
        let own = std::process::id();
        assert!(matches!(state(own), Some('R' | 'S')), "{:?}", state(own));
        assert!(stuck(own).starts_with(&format!("worker {own} cannot be killed (state ")));
        assert!(stuck(u32::MAX).contains("state ?"));
    }
}
