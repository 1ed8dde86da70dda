//! `sync` before a first transfer: should the host not survive it, what was to be written is on disk.

use super::session::{Stop, tell};
use crate::bench::protocol::Event;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest wait. A disk or a network file system that does not answer must not look like a GPU that hangs.
const LONGEST: Duration = Duration::from_mins(1);
/// Signs of life meanwhile.
const BEAT: Duration = Duration::from_millis(500);

/// A `sync` under way.
pub(super) struct Written(Receiver<()>);

impl Written {
    /// Begins to write.
    pub(super) fn begin() -> Self {
        let (send, done) = channel();
        std::thread::spawn(move || {
            nix::unistd::sync();
            // Nobody may be waiting for it.
            let _ = send.send(());
        });
        Self(done)
    }

    /// Waits for its end; false when that did not come in time.
    pub(super) fn wait(self) -> Result<bool, Stop> {
        let until = Instant::now() + LONGEST;
        loop {
            match self.0.recv_timeout(BEAT) {
                Ok(()) => return Ok(true),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => tell(&Event::Beat)?,
                Err(_) => return Ok(false),
            }
        }
    }
}
