//! In the trial boot: measure, look, and judge against the baseline.

use super::Site;
use super::book::Book;
use super::error::TrialError;
use super::journal::Decision;
use super::machine::Machine;
use crate::plan::Audit;
use serde_json::Value;

/// Health of the host at the baseline.
pub(super) const HEALTH_BEFORE: &str = "health-before.json";
/// Findings at the baseline.
pub(super) const FINDINGS_BEFORE: &str = "findings-before.json";
/// Record of the baseline.
pub(super) const BEFORE: &str = "before.json";
/// Why there is none.
pub(super) const NO_RECORD: &str = "no-record.json";

/// Findings as they are kept.
pub(super) fn findings(audit: &Audit) -> Value {
    serde_json::to_value(&audit.findings).unwrap_or_default()
}

/// Judges.
pub(super) fn judge(
    _site: &Site<'_>,
    _book: &mut Book<'_>,
    _machine: &mut dyn Machine,
    _tell: &mut dyn FnMut(&str),
) -> Result<(Decision, String), TrialError> {
    Ok((Decision::Inconclusive, "not built".to_owned()))
}
