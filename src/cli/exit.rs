//! Exit codes: stable, documented, part of the contract.

use std::process::ExitCode;

/// Why the program ends as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// Done, nothing wrong.
    Done = 0,
    /// Findings at or above `--fail-on`; `bench`: wrong data, a hang or a crash.
    Findings = 1,
    /// Usage, unreadable input, or a format newer than this program.
    Usage = 2,
    /// Refused: consent missing, file changed since, blocked by use, an edit that is not safe.
    Refused = 3,
    /// `compare`: worse or corrupt; the gate: rejected.
    Rejected = 4,
    /// Inconclusive or incomparable.
    Inconclusive = 5,
    /// Unsupported host or boot loader; manual steps were printed.
    Unsupported = 6,
    /// Written; a reboot or the printed commands are still needed.
    RebootNeeded = 7,
    /// Internal error.
    Internal = 70,
    /// Nothing to change (only with `--unchanged-exit-77`).
    Unchanged = 77,
}

/// The codes, for `--help` and the man page.
pub(super) const STATUS: &str = "\
Exit status:
  0   done, nothing wrong
  1   findings at or above --fail-on; bench: wrong data, a hang or a crash
  2   usage, unreadable input, or a format newer than this program
  3   refused, nothing was written: consent missing, file changed since, blocked by use, an edit that is not safe;
      bench: GPUs that are busy
  4   compare: worse, corrupt, or an arm that hangs now
  5   compare: inconclusive or incomparable
  6   boot loader without an editable configuration; manual steps were printed; bench: no pair of devices to measure
  7   written; a reboot or the printed commands are still needed
  70  internal error
  77  nothing to change (only with --unchanged-exit-77)";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error that ends the program: what to print, which code to return.
#[derive(Debug)]
pub(super) struct Failure {
    /// Code.
    pub(super) exit: Exit,
    /// Message without the program's name.
    pub(super) message: String,
}

impl Failure {
    /// Usage or unreadable input.
    pub(super) fn usage(message: impl std::fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// Refused.
    pub(super) fn refused(message: impl std::fmt::Display) -> Self {
        Self { exit: Exit::Refused, message: message.to_string() }
    }

    /// Internal error.
    pub(super) fn internal(message: impl std::fmt::Display) -> Self {
        Self { exit: Exit::Internal, message: message.to_string() }
    }
}
