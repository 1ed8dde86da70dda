//! What a trial showed.

use super::tried::Tried;
use crate::bench::record::Record;
use crate::host::health::Health;
use crate::rules::{Finding, Severity, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Boots with the old configuration, the latest last. The latest is what is compared with; from two on their
    /// spread is the noise floor, and what was missing or failed in any of them is no loss.
    pub before: &'a [Observed<'a>],
    /// The trial boot.
    pub after: Observed<'a>,
    /// A second record of the trial boot, asked for by [`super::Judgement::needs_second_pass`].
    pub second: Option<&'a Record>,
    /// What was changed.
    pub tried: &'a Tried,
    /// By what measure.
    pub policy: &'a Policy,
}

/// One boot as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The host.
    pub health: &'a Health,
    /// The benchmark.
    pub measured: Measured<'a>,
    /// The audit, made after the benchmark: faults that it causes belong to it.
    pub findings: &'a [Found],
}

/// What the benchmark of one boot gave.
#[derive(Clone, Copy, Debug)]
pub enum Measured<'a> {
    /// A record.
    Record(&'a Record),
    /// There is nothing to measure: no pair, no GPUs, no driver that answers. With the reason.
    NoPair(&'a str),
    /// It could not be measured this time (GPUs in use, no time left). With the reason.
    NotTaken(&'a str),
}

/// A finding as it is kept from one boot to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Rule.
    pub rule: String,
    /// Status.
    pub status: Status,
    /// Severity.
    pub severity: Severity,
    /// Subjects.
    pub subjects: Vec<String>,
    /// Its sentence.
    pub summary: String,
    /// Names of the remedies that were offered for it.
    pub remedies: Vec<String>,
}

impl Found {
    /// It says that something is wrong.
    pub fn fires(&self) -> bool {
        matches!(self.status, Status::Warn | Status::Fail)
    }
}

impl From<&Finding> for Found {
    fn from(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.clone(),
            status: finding.status,
            severity: finding.severity,
            subjects: finding.subjects.clone(),
            summary: finding.summary.clone(),
            remedies: finding.remedies.iter().map(|offer| offer.name.clone()).collect(),
        }
    }
}

/// By what measure a trial is judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// Keep a path that became possible and is slower than what it replaces.
    pub accept_slower: bool,
    /// What staging through host memory may lose, percent.
    pub max_staged_loss: f64,
    /// Boots of the old configuration that must have been measured.
    pub baseline_boots: usize,
    /// Smallest change that matters, percent.
    pub threshold: f64,
    /// The same for a change that is about speed alone, where only one boot tells what the old configuration does.
    pub threshold_speed_alone: f64,
    /// Smallest change of a latency that matters, microseconds, where that is more.
    pub threshold_us: f64,
    /// Chance that any speed of any pair and arm is called better or worse although nothing changed.
    pub family_error: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            accept_slower: false,
            max_staged_loss: 5.0,
            baseline_boots: 1,
            threshold: 3.0,
            threshold_speed_alone: 5.0,
            threshold_us: 0.2,
            family_error: 0.05,
        }
    }
}
