//! `peerfix gate`, run by the boot unit.

use super::args::{GateArgs, Global};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::provision::{failure, open, run_policy};
use super::trial::{announce, documents, trial_failure};
use super::{catalogue, note, print};
use crate::report::document::TrialDocument;
use crate::report::text;
use crate::trial::{Live, Outcome, Site, State, gate, idle};
use std::path::Path;

/// Goes on with the pending trial; nothing is read or loaded when there is none.
pub(super) fn run(global: &Global, args: &GateArgs) -> Result<Exit, Failure> {
    if idle(args.root.as_deref().unwrap_or(Path::new("/"))) {
        return Ok(Exit::Done);
    }
    let place = Place::reading(None, args.root.as_deref())?;
    let catalogue = catalogue(global, &place.config);
    let run = run_policy(&place.config, false);
    let site = Site { hardware: &place.hardware, config: &place.config, catalogue: &catalogue, run };
    let mut ledger = open(global, &place.config)?;
    let mut tell = |what: &str| {
        if global.verbose {
            note(global, what);
        }
    };
    let outcome = gate(&site, &mut ledger, &mut Live::default(), &mut tell);
    let outcome = outcome.map_err(|error| {
        announce(&format!("peerfix: {error}"), "error", "");
        trial_failure(error)
    })?;
    let Outcome::Trial { told, next, rebooting } = outcome else { return Ok(Exit::Done) };
    let state = told.state();
    let mut told = vec![TrialDocument::of(&Ok(*told))];
    told.extend(next.map(|next| TrialDocument::of(&Ok(*next))));
    for trial in &told {
        let line =
            format!("peerfix: trial boot {} of {}: {}", trial.id, trial.changes.join(" + "), trial.words);
        announce(&line, &word(trial.state), &trial.id);
    }
    let all = documents(&place.config)?;
    let motd = text::trial::motd(&all);
    ledger.set_motd(&motd).map_err(failure)?;
    print(&text::trial::trials(&told))?;
    if rebooting {
        note(global, "peerfix: reboots now");
    }
    Ok(exit(state, told.len() > 1))
}

fn word(state: Option<State>) -> String {
    let value = state.and_then(|state| serde_json::to_value(state).ok());
    value.as_ref().and_then(|v| v.as_str()).unwrap_or_default().to_owned()
}

/// The exit code: the design's contract for the gate.
fn exit(state: State, armed_next: bool) -> Exit {
    match state {
        _ if armed_next => Exit::RebootNeeded,
        State::Kept | State::Armed | State::TakenBack => Exit::RebootNeeded,
        State::Reverted | State::DidNotBoot => Exit::Rejected,
        State::Inconclusive | State::NotTaken | State::NotRunning => Exit::Inconclusive,
        _ => Exit::Done,
    }
}
