//! The journal in words.

use super::history::{Moment, State};
use super::journal::{Event, Ran, Step};
use super::quote::command_line;
use super::store::Stored;

/// Commands as one would type them.
pub(super) fn typed(commands: &[Vec<String>]) -> Vec<String> {
    commands.iter().map(|argv| command_line(argv)).collect()
}

/// Where an entry stands.
pub(super) fn state(stored: &Stored) -> State {
    let failed = stored.events.iter().any(|event| matches!(event.step, Step::CommandsFailed { .. }));
    match stored.last() {
        Step::Begun { .. } | Step::Prepared => State::Prepared,
        Step::FilesWritten | Step::CommandsRun { .. } => State::FilesWritten,
        Step::Applied { .. } | Step::RevertGivenUp { .. } => State::Applied,
        Step::CommandsFailed { .. } => State::CommandsFailed,
        Step::Undone { .. } if failed => State::CommandsFailed,
        Step::Undone { .. } => State::Undone,
        Step::Reverting { .. } | Step::FilesRestored { .. } => State::Reverting,
        Step::Reverted { .. } => State::Reverted,
    }
}

/// A line of the journal in words.
pub(super) fn moment(event: &Event) -> Moment {
    let left = |commands: &[Vec<String>]| match commands {
        [] => String::new(),
        some => format!("; left to run by hand: {}", typed(some).join("; ")),
    };
    let kept = |files: &[String]| match files {
        [] => String::new(),
        some => format!("; changed by someone else and left alone: {}", some.join(", ")),
    };
    let ran = |commands: &[Ran]| {
        let one = |ran: &Ran| format!("{} ({})", command_line(&ran.argv), ran.status);
        commands.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    let what = match &event.step {
        Step::Begun { process } => format!("begun by process {process}"),
        Step::Prepared => "both versions of every file kept".to_owned(),
        Step::FilesWritten => "every file written".to_owned(),
        Step::CommandsRun { commands } => format!("commands ran: {}", ran(commands)),
        Step::Applied { outstanding } => format!("applied{}", left(outstanding)),
        Step::CommandsFailed { commands } => format!("a command failed: {}", ran(commands)),
        Step::Undone { why, kept: files, outstanding } => {
            format!("files put back: {why}{}{}", kept(files), left(outstanding))
        }
        Step::Reverting { .. } => "taking back began".to_owned(),
        Step::RevertGivenUp { why } => format!("taking back was given up, the change stands: {why}"),
        Step::FilesRestored { kept: files } => format!("every file is back{}", kept(files)),
        Step::Reverted { by, outstanding, .. } => format!("taken back by {by}{}", left(outstanding)),
    };
    Moment { at: event.at.to_string(), what }
}
