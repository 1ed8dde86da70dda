//! What a trial asks of the machine it runs on, apart from files: a measurement, a look at its health, a reboot.

use crate::bench::choose::Refusal;
use crate::bench::record::Record;
use crate::host::health::Health;

/// How to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Fewer and smaller samples.
    pub quick: bool,
    /// Seconds of measuring; 0 is no limit.
    pub budget_s: f64,
}

/// The machine.
pub trait Machine {
    /// Measures every pair. `told` is called before each arm, so that a reset can be blamed on it.
    ///
    /// # Errors
    ///
    /// No pair to measure, or busy GPUs.
    fn measure(&mut self, how: Measurement, told: &mut dyn FnMut(&str)) -> Result<Record, Refusal>;

    /// What is there and works, apart from transfers.
    fn health(&mut self) -> Health;

    /// Waits a moment for what a boot is still bringing up; false when it has had its time.
    fn pause(&mut self) -> bool;

    /// The trial is judged: the timer that would reboot the machine is stopped.
    fn judged(&mut self);

    /// Restarts the machine through its firmware.
    ///
    /// # Errors
    ///
    /// Why it could not be asked for.
    fn reboot(&mut self) -> Result<(), String>;
}
