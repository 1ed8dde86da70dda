//! `peerfix plan`.

use super::args::{Global, PlanArgs};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::{catalogue, print};
use crate::plan::{Audit, Policy};
use crate::report::{Format, document, markdown, text};

/// Prints the changes; writes nothing.
pub(super) fn run(global: &Global, args: &PlanArgs) -> Result<Exit, Failure> {
    let place = Place::reading(global.host.as_deref(), args.root.as_deref())?;
    let catalogue = catalogue(global, &place.config);
    let policy = policy(&catalogue, &args.accept_risk, &args.only)?;
    let audit = Audit::of(&place.hardware, &place.config, &catalogue);
    print(&match global.form() {
        Format::Text => text::plan::plan(&audit, &policy, &place.config, &place.option),
        Format::Json => document::json(&document::PlanDocument::of(&audit, &policy)),
        Format::Markdown => markdown::plan(&audit, &policy),
    })?;
    Ok(Exit::Done)
}

/// Checks the names of risks and rules: a misspelled consent must not pass for one.
pub(super) fn policy(
    catalogue: &crate::rules::Catalogue,
    accepted: &[String],
    only: &[String],
) -> Result<Policy, Failure> {
    for risk in accepted {
        if !crate::rules::RISKS.contains(&risk.as_str()) {
            let known = crate::rules::RISKS.join(", ");
            return Err(Failure::usage(format!("--accept-risk {risk}: no such risk; there are {known}")));
        }
    }
    for rule in only {
        if catalogue.get(rule).is_none() {
            return Err(Failure::usage(format!("--only {rule}: no such rule; see `peerfix rules list`")));
        }
    }
    Ok(Policy { accepted: accepted.iter().cloned().collect(), only: only.iter().cloned().collect() })
}
