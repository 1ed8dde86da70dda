//! The emulator's monitor (QMP): what happens to hardware from outside.

use super::vm::Vm;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connection on which commands may be given.
pub struct Monitor(BufReader<UnixStream>);

impl Monitor {
    /// Connects to a machine that is on; one that refused its arguments hangs up.
    pub fn connect(socket: &Path) -> std::io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut monitor = Self(BufReader::new(stream));
        let mut greeting = String::new();
        if monitor.0.read_line(&mut greeting)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        monitor.execute("qmp_capabilities", &json!({}));
        Ok(monitor)
    }

    /// Gives a command (QEMU's QMP reference) and returns its answer; fails the test if it is refused.
    #[track_caller]
    pub fn execute(&mut self, command: &str, arguments: &Value) -> Value {
        let request = json!({"execute": command, "arguments": arguments});
        self.0.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
        loop {
            let mut answer = self.line();
            // Events come in between.
            if let Some(value) = answer.get_mut("return") {
                return value.take();
            }
            assert!(answer.get("error").is_none(), "{request}: {answer}");
        }
    }

    #[track_caller]
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

impl Vm {
    /// A command of the human monitor, with what it printed: `pcie_aer_inject_error rp BAD_TLP`, `device_del nic`,
    /// `set_link nic off`.
    #[track_caller]
    pub fn monitor(&mut self, line: &str) -> String {
        let monitor = self.monitor.as_mut().unwrap();
        let said = monitor.execute("human-monitor-command", &json!({"command-line": line}));
        let said = said.as_str().unwrap_or_default().replace('\r', "");
        println!("(monitor) {line}\n{said}");
        said
    }

    /// Presses the reset button; waits for the shell of the boot that comes.
    #[track_caller]
    pub fn reset(&mut self) {
        self.restart_clock();
        self.monitor.as_mut().unwrap().execute("system_reset", &json!({}));
        self.ready();
    }
}
