//! Running the commands of a change: fixed environment, no input, bounded output, a deadline.

use super::dir::Dir;
use super::document::RunPolicy;
use super::journal::Ran;
use super::quote::command_line;
use nix::fcntl::OFlag;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Name of the file with the output of all commands of an entry.
pub(super) const LOG: &str = "commands.log";
/// Bytes of output kept from the start and from the end of one command each.
const KEPT: usize = 64 << 10;
/// How long one command may take: rebuilding the initramfs of every kernel takes minutes.
const DEADLINE: Duration = Duration::from_mins(30);
/// How long output may still arrive once the command has ended (a daemon may hold the pipe for ever).
const AFTERWARDS: Duration = Duration::from_secs(2);
/// Lines of output shown in messages.
const TAIL: usize = 12;

/// A command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandOutput {
    /// As one would type it.
    pub command: String,
    /// `exit status 0`, `killed by signal 9`, `not found`.
    pub status: String,
    /// It ended with status 0.
    pub success: bool,
    /// Standard output and standard error, in the order written; the middle of very long output is left out.
    pub output: String,
    /// Program and arguments.
    #[serde(skip)]
    pub argv: Vec<String>,
}

impl CommandOutput {
    /// Last lines of the output.
    pub fn tail(&self) -> String {
        let lines: Vec<&str> = self.output.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n")
    }

    pub(super) fn ran(&self) -> Ran {
        Ran { argv: self.argv.clone(), status: self.status.clone(), success: self.success }
    }
}

/// Runs one command and appends its output to the log of the entry in `entry`.
///
/// The caller has checked `policy` against the target; [`RunPolicy::PrintOnly`] never comes here.
pub(super) fn run(argv: &[String], policy: RunPolicy, base: &Path, entry: &Dir) -> CommandOutput {
    let (status, success, output) = match start(argv, policy, base) {
        Ok((child, lines)) => wait(child, &lines),
        Err(error) => (not_started(&error), false, String::new()),
    };
    let done = CommandOutput { command: command_line(argv), status, success, output, argv: argv.to_vec() };
    // The log is for people; failing to write it must not turn a good command into a failed one.
    let _ = log(entry, &done);
    done
}

/// Runs a program on the running system whose end and output are no matter of the change.
pub(super) fn quietly(argv: &[&str]) {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    if let Ok((child, lines)) = start(&argv, RunPolicy::Live, Path::new("/")) {
        wait(child, &lines);
    }
}

fn start(argv: &[String], policy: RunPolicy, base: &Path) -> io::Result<(Child, Receiver<Vec<u8>>)> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "empty command"));
    };
    let mut command = match policy {
        RunPolicy::InTarget => {
            let mut command = Command::new("chroot");
            command.arg(base).arg(program);
            command
        }
        _ => Command::new(program),
    };
    let (mut reader, writer) = io::pipe()?;
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", "/root")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let child = command.spawn()?;
    // Closes our ends of the pipe for writing, so that reading ends with the command.
    drop(command);
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut block = vec![0; 8 << 10];
        while let Ok(count @ 1..) = reader.read(&mut block) {
            if send.send(block.get(..count).unwrap_or_default().to_vec()).is_err() {
                break;
            }
        }
    });
    Ok((child, receive))
}

fn wait(mut child: Child, lines: &Receiver<Vec<u8>>) -> (String, bool, String) {
    let started = Instant::now();
    let mut kept = Kept::default();
    let ended = loop {
        let arrived = lines.recv_timeout(Duration::from_millis(20));
        if let Ok(block) = &arrived {
            kept.take(block);
        }
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if started.elapsed() > DEADLINE => {
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("killed: did not end within {} seconds", DEADLINE.as_secs()));
            }
            // A pipe closed early must not make this loop spin.
            Ok(None) if arrived.is_err() => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {}
            Err(error) => break Err(format!("cannot wait for it: {error}")),
        }
    };
    let until = Instant::now() + AFTERWARDS;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        match lines.recv_timeout(left) {
            Ok(block) => kept.take(&block),
            Err(_) => break,
        }
    }
    match ended {
        Ok(status) => (words(status), status.success(), kept.text()),
        Err(words) => (words, false, kept.text()),
    }
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(127), _) => "exit status 127 (not found)".to_owned(),
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

fn not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "not found".to_owned(),
        _ => format!("cannot be started: {error}"),
    }
}

fn log(entry: &Dir, done: &CommandOutput) -> io::Result<()> {
    let mut text = format!("$ {}\n{}", done.command, done.output);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = writeln!(text, "[{}]", done.status);
    let mut file = entry.open(LOG, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_APPEND, 0o600)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Start and end of an output.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Kept {
    fn take(&mut self, block: &[u8]) {
        let (head, rest) = block.split_at(block.len().min(KEPT.saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
        self.left_out += over;
    }

    fn text(mut self) -> String {
        if self.left_out > 0 {
            self.head.extend_from_slice(format!("\n[... {} bytes left out ...]\n", self.left_out).as_bytes());
        }
        self.head.extend(self.tail);
        String::from_utf8_lossy(&self.head).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> CommandOutput {
        let dir = tempfile::tempdir().unwrap();
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&argv, RunPolicy::Live, Path::new("/"), &Dir::root(dir.path()).unwrap())
    }

    #[test]
    fn environment_is_fixed_and_input_is_empty() {
        let done = shell("env | sort; cat; pwd");
        assert!(done.success);
        assert!(done.output.contains("LC_ALL=C.UTF-8\n") && done.output.ends_with("/\n"), "{}", done.output);
        assert!(!done.output.contains("CARGO"), "{}", done.output);
    }

    #[test]
    fn status_in_words() {
        assert_eq!(shell("echo no >&2; exit 3").status, "exit status 3");
        assert_eq!(shell("kill -9 $$").status, "killed by signal 9");
        assert_eq!(shell("nothing-of-this-name").status, "exit status 127 (not found)");
    }

    #[test]
    fn long_output_keeps_start_and_end() {
        let done = shell("echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last");
        assert!(done.output.starts_with("first\n") && done.output.ends_with("last\n"));
        assert!(done.output.contains("bytes left out") && done.output.len() < 2 * KEPT + 100);
        assert_eq!(done.tail().lines().last(), Some("last"));
    }

    #[test]
    fn a_daemon_that_keeps_the_pipe_does_not_hold_us() {
        let started = Instant::now();
        assert!(shell("sleep 20 & echo started").success);
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
