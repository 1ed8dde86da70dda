//! `peerfix history`.

use super::args::{Global, StateArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::print;
use super::provision::failure;
use super::show::readable;
use super::trial::documents;
use crate::ledger::history;
use crate::report::{Format, document, text};

/// Every change, the newest last.
pub(super) fn run(global: &Global, args: &StateArgs) -> Result<Exit, Failure> {
    let config = Place::reading(None, args.root.as_deref())?.config;
    let entries = history::list(config.base()).map_err(failure)?;
    let trials = documents(&config)?;
    print(&match global.form() {
        Format::Json => document::json(&document::HistoryDocument::of(&entries, &trials)),
        _ => text::ledger::history(&entries, &trials),
    })?;
    Ok(readable(global, &entries))
}
