//! `peerfix revert`.

use super::args::{Global, RevertArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::provision::{failure, open, run_policy};
use super::show::readable;
use super::trial::{named, trial_failure};
use super::{catalogue, print};
use crate::ledger::{RevertOptions, RevertOutcome, check_run_in_target, history, preview_revert};
use crate::report::{Format, document, text};
use crate::root::Root;
use crate::trial::{Site, after_revert};

/// Takes changes back; works without GPU and driver.
pub(super) fn run(global: &Global, args: &RevertArgs) -> Result<Exit, Failure> {
    let place = Place::reading(None, args.root.as_deref())?;
    let config = &place.config;
    let which = entry_of(config, &args.which)?;
    if args.dry_run {
        let outcome = preview_revert(config.base(), &which).map_err(failure)?;
        present(global, &outcome, config.is_live())?;
        return Ok(Exit::Done);
    }
    if args.run_in_target {
        check_run_in_target(config.base()).map_err(failure)?;
    }
    let known = history::list(config.base()).map_err(failure)?;
    if known.is_empty() && !history::interrupted(config.base()).map_err(failure)? {
        // No ledger: none is made to say so.
        let outcome = preview_revert(config.base(), &which).map_err(failure)?;
        present(global, &RevertOutcome { dry_run: false, ..outcome }, config.is_live())?;
        return Ok(Exit::Done);
    }
    let run = run_policy(config, args.run_in_target);
    let mut ledger = open(global, config)?;
    let mut outcome = ledger.revert(&which, RevertOptions { dry_run: false, run }).map_err(failure)?;
    let catalogue = catalogue(global, config);
    let site = Site { hardware: &place.hardware, config, catalogue: &catalogue, run };
    after_revert(&site, &mut ledger, &outcome.ids).map_err(trial_failure)?;
    if outcome.nothing.is_some() {
        // Taken back before, perhaps by a run that was interrupted: what it left is run, or told again.
        outcome.outputs = ledger.run_outstanding(run).map_err(failure)?;
        outcome.outstanding = history::outstanding(config.base()).map_err(failure)?;
    }
    present(global, &outcome, config.is_live())?;
    if args.which == "all" {
        // Says which entries were left alone; what was taken back decides the exit code.
        readable(global, &history::list(config.base()).map_err(failure)?);
    }
    // Printed commands are still to be run, and on the running machine the old words come with a reboot.
    let more = !outcome.outstanding.is_empty() || (config.is_live() && !outcome.ids.is_empty());
    Ok(if more { Exit::RebootNeeded } else { Exit::Done })
}

/// The ledger's entry that a trial (`t1`) stands for: its menu entry while it is armed, else what was kept of it.
fn entry_of(config: &Root, which: &str) -> Result<String, Failure> {
    match named(config, which)? {
        None => Ok(which.to_owned()),
        Some(Err(lost)) => Err(Failure::usage(format!("trial {}: {}", lost.id, lost.reason))),
        Some(Ok(told)) => match told.kept().or_else(|| told.armed().map(|armed| armed.entry)) {
            Some(entry) => Ok(entry.to_owned()),
            None => Err(Failure::refused(format!("trial {which} changed nothing: {}", told.state().words()))),
        },
    }
}

fn present(global: &Global, outcome: &RevertOutcome, live: bool) -> Result<(), Failure> {
    print(&match global.form() {
        Format::Json => document::json(&document::RevertDocument::of(outcome)),
        _ => text::ledger::reverted(outcome, live),
    })
}
