//! Why a trial did not go on. Every text says what to do.

use crate::boot::Refusal;
use crate::boot::grub_trial::NoTrial;
use crate::ledger::LedgerError;

/// Failure or refusal.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The ledger failed or refused.
    #[error(transparent)]
    Changes(#[from] LedgerError),
    /// The boot loader cannot try it once, or not safely.
    #[error("{0}")]
    NoTrial(Box<NoTrial>),
    /// The permanent edit cannot be made, so a trial would lead nowhere.
    #[error("{}: {}; no trial is armed{}", .0.place, .0.reason, steps(.0))]
    Edit(Box<Refusal>),
    /// Something else is in the way.
    #[error("{0}")]
    Refused(String),
    /// A trial on disk cannot be understood.
    #[error("trial {id}: {reason}; it is left alone (`peerfix status`)")]
    Damaged {
        /// Its id.
        id: String,
        /// Why.
        reason: String,
    },
    /// A step that cannot follow the one before: an error of this program.
    #[error("trial {id}: {next} cannot follow {now}")]
    Order {
        /// Its id.
        id: String,
        /// Where it stands.
        now: String,
        /// The step that was to be written.
        next: String,
    },
}

fn steps(refusal: &Refusal) -> String {
    refusal.manual.iter().flat_map(|step| ["\n  by hand: ", step]).collect()
}
