//! `peerfix history`.

use super::args::{Global, StateArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::print;
use super::provision::failure;
use super::show::readable;
use crate::ledger::history;
use crate::report::{Format, document, text};

/// Every change, the newest last.
pub(super) fn run(global: &Global, args: &StateArgs) -> Result<Exit, Failure> {
    let config = Place::reading(None, args.root.as_deref())?.config;
    let entries = history::list(config.base()).map_err(failure)?;
    print(&match global.form() {
        Format::Json => document::json(&document::HistoryDocument::of(&entries)),
        _ => text::ledger::history(&entries),
    })?;
    Ok(readable(global, &entries))
}
