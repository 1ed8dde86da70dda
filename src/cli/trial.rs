//! What `provision`, `gate`, `status` and `revert` have to say of trial boots.

use super::exit::{Exit, Failure};
use super::provision::failure;
use crate::ledger::trial_file;
use crate::report::document::TrialDocument;
use crate::root::Root;
use crate::trial::TrialError;
use crate::trial::history::{Told, Unreadable, list, read};
use std::os::unix::net::UnixDatagram;

/// Every trial below `config`.
pub(super) fn documents(config: &Root) -> Result<Vec<TrialDocument>, Failure> {
    Ok(list(config.base()).map_err(failure)?.iter().map(TrialDocument::of).collect())
}

/// The trial that `which` names (`t1`), none when it names no trial.
pub(super) fn named(config: &Root, which: &str) -> Result<Option<Result<Told, Unreadable>>, Failure> {
    let number = which.strip_prefix('t').filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if number.is_none() {
        return Ok(None);
    }
    let known = crate::ledger::trials(config.base()).map_err(failure)?;
    if !known.iter().any(|id| id == which) {
        let list = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
        return Err(Failure::usage(format!("no trial {which} ({list}); `peerfix history` lists them")));
    }
    read(config.base(), which).map(Some).map_err(failure)
}

/// The judgements of a trial, by member, as far as they were written.
pub(super) fn judgements(config: &Root, id: &str) -> Result<Vec<serde_json::Value>, Failure> {
    let mut found = Vec::new();
    for member in 0.. {
        let name = format!("judgement-{member}.json");
        let Some(bytes) = trial_file(config.base(), id, &name).map_err(failure)? else { break };
        found.extend(serde_json::from_slice(&bytes).ok());
    }
    Ok(found)
}

/// The exit code of a trial's error.
pub(super) fn trial_failure(error: TrialError) -> Failure {
    match error {
        TrialError::Changes(error) => failure(error),
        TrialError::NoTrial(no) => {
            let exit = if no.unsupported { Exit::Unsupported } else { Exit::Refused };
            Failure { exit, message: no.to_string() }
        }
        TrialError::Edit(_) | TrialError::Refused(_) => Failure::refused(error),
        TrialError::Damaged { .. } => Failure::usage(error),
        TrialError::Order { .. } => Failure::internal(error),
    }
}

/// Writes to the system's journal with fields that can be searched for (`journalctl PEERFIX_TRIAL=t1`).
/// A system without one is no reason to fail.
pub(super) fn announce(message: &str, state: &str, trial: &str) {
    let one_line = |text: &str| text.replace('\n', " ");
    let text = format!(
        "MESSAGE={}\nPRIORITY=5\nSYSLOG_IDENTIFIER=peerfix\nPEERFIX_STATE={}\nPEERFIX_TRIAL={}\n",
        one_line(message),
        one_line(state),
        one_line(trial)
    );
    if let Ok(socket) = UnixDatagram::unbound() {
        let _ = socket.send_to(text.as_bytes(), "/run/systemd/journal/socket");
    }
}
