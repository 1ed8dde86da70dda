//! `peerfix show`.

use super::args::{Global, ShowArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::provision::failure;
use super::trial::{judgements, named};
use super::{note, print};
use crate::ledger::history;
use crate::report::document::TrialReport;
use crate::report::{Format, document, text};

/// One change in full.
pub(super) fn run(global: &Global, args: &ShowArgs) -> Result<Exit, Failure> {
    let config = Place::reading(None, args.root.as_deref())?.config;
    if let Some(trial) = named(&config, &args.which)? {
        let report = TrialReport::of(&trial, judgements(&config, &args.which)?);
        print(&match global.form() {
            Format::Json => document::json(&report),
            _ => text::trial::show(&report),
        })?;
        return Ok(if trial.is_ok() { Exit::Done } else { Exit::Usage });
    }
    let shown = history::show(config.base(), &args.which).map_err(failure)?;
    print(&match global.form() {
        Format::Json => document::json(&document::ShowDocument::of(&shown)),
        _ => text::ledger::show(&shown),
    })?;
    Ok(readable(global, std::slice::from_ref(&shown.entry)))
}

/// Done, or unreadable input when an entry is damaged or of a newer format.
pub(super) fn readable(global: &Global, entries: &[history::Entry]) -> Exit {
    let mut exit = Exit::Done;
    for entry in entries {
        if let Some(damage) = &entry.damage {
            note(
                global,
                &format!("peerfix: change {}: {}: {}", entry.id, damage.file.display(), damage.reason),
            );
            exit = Exit::Usage;
        }
    }
    exit
}
