//! `peerfix status`.

use super::args::{Global, StateArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::print;
use super::provision::failure;
use super::show::readable;
use super::trial::documents;
use crate::ledger::history;
use crate::report::{Format, document, text};

/// Where every change stands, and what is still to be done.
pub(super) fn run(global: &Global, args: &StateArgs) -> Result<Exit, Failure> {
    let place = Place::reading(None, args.root.as_deref())?;
    let config = &place.config;
    let entries = history::list(config.base()).map_err(failure)?;
    let outstanding = history::outstanding(config.base()).map_err(failure)?;
    let trials = documents(config)?;
    print(&match global.form() {
        Format::Json => document::json(&document::StatusDocument::of(&entries, &outstanding, &trials)),
        _ => text::ledger::status(&entries, &outstanding, &trials, &place.root_option),
    })?;
    Ok(readable(global, &entries))
}
