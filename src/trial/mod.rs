//! One boot decides: a change is armed for the next boot only, measured there, and kept if it is right and not worse.
//!
//! | file | what |
//! |---|---|
//! | `document` | `trial.json`: the changes, what the person allowed, the baseline's boot |
//! | `journal` | the states, and which may follow which |
//! | `book` | the journal on disk, one durable line before each risky step |
//! | `history` | reading: where every trial stands |
//! | `begin` | choose, take the baseline, arm |
//! | `arm` | the trial's menu entry and the choice of the next boot, there and gone |
//! | `gate` | at boot: where does it stand, what follows |
//! | `judge` | in the trial boot: measure and judge |
//! | `keep` | the permanent configuration, and its check at the next boot |
//! | `machine`, `live` | what is asked of the machine |

mod arm;
mod begin;
mod book;
mod document;
mod error;
mod gate;
pub mod history;
mod journal;
mod judge;
mod keep;
mod live;
mod machine;
mod request;

pub use begin::{Begun, begin};
pub use document::{Pending, SCHEMA, Trial, TrialPolicy, VERSION, pending};
pub use error::TrialError;
pub use gate::{Outcome, gate, idle};
pub use journal::{Decision, Event, State, Step, may_follow};
pub use keep::after_revert;
pub use live::Live;
pub use machine::{Machine, Measurement};
pub use request::{record, request};

use crate::ledger::RunPolicy;
use crate::root::Root;
use crate::rules::Catalogue;

/// The host that is tried.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Hardware and the running kernel.
    pub hardware: &'a Root,
    /// Configuration and state.
    pub config: &'a Root,
    /// The rules.
    pub catalogue: &'a Catalogue,
    /// Whether and where commands are run.
    pub run: RunPolicy,
}

impl Site<'_> {
    /// Id of this boot; empty when it cannot be read, and then no trial is armed.
    fn boot_id(&self) -> String {
        self.hardware.line("proc/sys/kernel/random/boot_id").value().cloned().unwrap_or_default()
    }
}
