//! `peerfix revert`.

use super::args::{Global, RevertArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::provision::{failure, run_policy};
use super::{note, print};
use crate::ledger::{Ledger, RevertOptions, check_run_in_target, preview_revert};
use crate::report::{Format, document, text};

/// Takes changes back; works without GPU and driver.
pub(super) fn run(global: &Global, args: &RevertArgs) -> Result<Exit, Failure> {
    let config = Place::reading(None, args.root.as_deref())?.config;
    if args.dry_run {
        let outcome = preview_revert(config.base(), &args.which).map_err(failure)?;
        present(global, &outcome)?;
        return Ok(Exit::Done);
    }
    if args.run_in_target {
        check_run_in_target(config.base()).map_err(failure)?;
    }
    let mut ledger = Ledger::open(config.base()).map_err(failure)?;
    for recovered in ledger.recovered() {
        note(global, &format!("peerfix: change {}: {}", recovered.id, recovered.did));
    }
    let options = RevertOptions { dry_run: false, run: run_policy(&config, args.run_in_target) };
    let outcome = ledger.revert(&args.which, options).map_err(failure)?;
    present(global, &outcome)?;
    // Printed commands are still to be run, and on the running machine the old words come with a reboot.
    let more = !outcome.outstanding.is_empty() || (config.is_live() && !outcome.ids.is_empty());
    Ok(if more { Exit::RebootNeeded } else { Exit::Done })
}

fn present(global: &Global, outcome: &crate::ledger::RevertOutcome) -> Result<(), Failure> {
    print(&match global.form() {
        Format::Json => document::json(&document::RevertDocument::of(outcome)),
        _ => text::ledger::reverted(outcome),
    })
}
