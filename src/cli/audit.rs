//! `peerfix audit`.

use super::args::{AuditArgs, FailOn, Global};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::{catalogue, print};
use crate::plan::Audit;
use crate::report::{Format, document, markdown, text};
use crate::rules::Status;

/// Judges the host, prints the report; the worst finding decides the exit code.
pub(super) fn run(global: &Global, args: &AuditArgs) -> Result<Exit, Failure> {
    let place = Place::reading(global.host.as_deref(), None)?;
    let audit = Audit::of(&place.hardware, &place.config, &catalogue(global, &place.config));
    print(&match global.form() {
        Format::Text => text::audit::letter(&audit, &place.words, &place.option, global.verbose),
        Format::Json => document::json(&document::AuditDocument::of(&audit)),
        Format::Markdown => markdown::audit(&audit),
    })?;
    let worst = audit.findings.iter().map(|f| f.status).max().unwrap_or(Status::Unknown);
    let found = match args.fail_on {
        FailOn::Never => false,
        FailOn::Fail => worst >= Status::Fail,
        FailOn::Warn => worst >= Status::Warn,
        FailOn::Unknown => worst >= Status::Unknown,
    };
    Ok(if found { Exit::Findings } else { Exit::Done })
}
