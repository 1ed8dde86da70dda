//! The first sign of life of the first worker, or why there is none.

use super::child::{Heard, Worker};
use super::choose::Refusal;
use super::protocol::{DeviceFacts, Event};
use super::supervise::{START, start};
use std::time::Instant;

/// Waits for the first worker of drives.
pub(super) fn ready(worker: &Worker) -> Result<(), Refusal> {
    match worker.hear(start()) {
        Heard::Event(event) if *event == Event::Ready => Ok(()),
        _ => Err(Refusal::Unsupported("the worker process did not start".to_owned())),
    }
}

/// Waits for the driver of the first worker.
pub(super) fn devices(worker: &Worker) -> Result<(i32, Vec<DeviceFacts>), Refusal> {
    let until = Instant::now() + start();
    loop {
        match worker.hear(until.saturating_duration_since(Instant::now())) {
            Heard::Event(event) => match *event {
                Event::Devices { api, devices } => return Ok((api, devices)),
                Event::NoDriver { why, old } => {
                    let advice = if old {
                        "update the NVIDIA driver (R418 or later is needed)"
                    } else {
                        "is the NVIDIA driver installed and loaded? `peerfix audit` says more"
                    };
                    return Err(Refusal::Unsupported(format!("{why}; {advice}")));
                }
                _ => {}
            },
            Heard::Silence => {
                return Err(Refusal::Unsupported(format!(
                    "the NVIDIA driver did not come up within {} s; the kernel log may say why",
                    START.as_secs()
                )));
            }
            Heard::End => {
                return Err(Refusal::Unsupported("the driver library ended the process".to_owned()));
            }
        }
    }
}
