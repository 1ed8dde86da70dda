//! Without a command: ten lines and the next command.

use super::args::Global;
use super::exit::{Exit, Failure};
use super::place::Place;
use super::{catalogue, print};
use crate::plan::Audit;
use crate::report::{Format, document, markdown, text};

/// Judges the host and prints the summary.
pub(super) fn run(global: &Global) -> Result<Exit, Failure> {
    let place = Place::reading(global.host.as_deref(), None)?;
    let audit = Audit::of(&place.hardware, &place.config, &catalogue(global, &place.config));
    print(&match global.form() {
        Format::Text => text::audit::summary(&audit, &place.words, &place.option),
        Format::Json => document::json(&document::AuditDocument::of(&audit)),
        Format::Markdown => markdown::audit(&audit),
    })?;
    Ok(Exit::Done)
}
