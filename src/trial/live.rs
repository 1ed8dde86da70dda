//! The running machine.

use super::machine::{Machine, Measurement};
use crate::bench::choose::Refusal;
use crate::bench::record::Record;
use crate::bench::run::{Options, run};
use crate::host::health::Health;
use crate::root::Root;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The timer that the generator starts in a trial boot (`packaging/systemd/peerfix-trial-generator`).
const DEADLINE: &str = "peerfix-trial-deadline.timer";

/// Looks at a host that is still missing something, two seconds apart: a link may take half a minute to come.
const LOOKS: u32 = 30;

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    looks: u32,
}

impl Machine for Live {
    fn measure(&mut self, how: Measurement, told: &mut dyn FnMut(&str)) -> Result<Record, Refusal> {
        let budget_s = (how.budget_s > 0.0).then_some(how.budget_s);
        run(&Options { quick: how.quick, budget_s, bare: true, ..Options::default() }, told)
    }

    fn health(&mut self) -> Health {
        Health::read(&Root::live())
    }

    fn pause(&mut self) -> bool {
        if self.looks >= LOOKS {
            return false;
        }
        self.looks += 1;
        std::thread::sleep(Duration::from_secs(2));
        true
    }

    fn judged(&mut self) {
        let _ = systemctl(&["stop", DEADLINE]);
    }

    fn reboot(&mut self) -> Result<(), String> {
        // The one-shot choice is the firmware's and GRUB's: a kexec or a soft reboot would pass both by.
        systemctl(&["--no-block", "reboot"])
    }
}

fn systemctl(arguments: &[&str]) -> Result<(), String> {
    let status = Command::new("systemctl")
        .args(arguments)
        .env("SYSTEMCTL_SKIP_AUTO_KEXEC", "1")
        .env("SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("systemctl {}: {status}", arguments.join(" "))),
        Err(error) => Err(format!("systemctl cannot be started: {error}")),
    }
}
