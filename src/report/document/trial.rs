//! Trial boots in documents: where each stands and what was done.

use super::{VERSION, Version};
use crate::trial::history::{Told, Unreadable};
use crate::trial::{Event, State, Step};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrialDocument {
    /// Id (`t1`).
    pub id: String,
    /// When it was proposed, UTC; null when it cannot be read.
    pub at: Option<String>,
    /// Names of its changes.
    pub changes: Vec<String>,
    /// Where it stands; null when it cannot be read.
    pub state: Option<State>,
    /// The same in words, with the reason.
    pub words: String,
    /// Index of the change that is or was last tried, from 0.
    pub member: usize,
    /// Ledger entry of the permanent configuration.
    pub kept: Option<String>,
    /// What was done, oldest first.
    pub steps: Vec<StepDocument>,
}

/// One step of a trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepDocument {
    /// UTC.
    pub at: String,
    /// Boot id.
    pub boot: String,
    /// What was done, in words.
    pub what: String,
}

/// `peerfix/provision` of a run that armed a trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ArmedDocument<'a> {
    /// `peerfix/provision`.
    #[schemars(extend("const" = "peerfix/provision"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The next boot is another one.
    pub changed: bool,
    /// The trial.
    pub trial: &'a TrialDocument,
    /// Menu entry that was copied, `file:line`.
    pub copied_from: &'a str,
    /// A reboot is needed.
    pub reboot: bool,
    /// It is asked for by this run.
    pub rebooting: bool,
}

impl<'a> ArmedDocument<'a> {
    /// One armed trial.
    pub fn of(trial: &'a TrialDocument, copied_from: &'a str, rebooting: bool) -> Self {
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed: true,
            trial,
            copied_from,
            reboot: true,
            rebooting,
        }
    }
}

/// `peerfix/trial-report`: what `show` says of a trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrialReport {
    /// `peerfix/trial-report`.
    #[schemars(extend("const" = "peerfix/trial-report"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The trial.
    pub trial: TrialDocument,
    /// The judgements, by member, as they were written down.
    pub judgements: Vec<Value>,
}

impl TrialReport {
    /// One trial with its judgements.
    pub fn of(trial: &Result<Told, Unreadable>, judgements: Vec<Value>) -> Self {
        Self { schema: "peerfix/trial-report", version: VERSION, trial: TrialDocument::of(trial), judgements }
    }
}

impl TrialDocument {
    /// One trial as it is kept.
    pub fn of(trial: &Result<Told, Unreadable>) -> Self {
        match trial {
            Ok(told) => Self {
                id: told.trial.id.clone(),
                at: Some(told.trial.at.clone()),
                changes: told.trial.members.iter().map(|m| m.name.clone()).collect(),
                state: Some(told.state()),
                words: words(told),
                member: told.member(),
                kept: told.kept().map(str::to_owned),
                steps: shown(&told.events)
                    .map(|event| StepDocument {
                        at: event.at.to_string(),
                        boot: event.boot.clone(),
                        what: what(&event.step),
                    })
                    .collect(),
            },
            Err(lost) => Self {
                id: lost.id.clone(),
                at: None,
                changes: Vec::new(),
                state: None,
                words: format!("cannot be read: {}", lost.reason),
                member: 0,
                kept: None,
                steps: Vec::new(),
            },
        }
    }

    /// Something is still to be done about it, or it cannot be told.
    pub fn open(&self) -> bool {
        self.state.is_none_or(|state| !state.ended())
    }
}

/// Of the many arms of a measurement only the one that it ended at, if it did not come to its end.
fn shown(events: &[Event]) -> impl Iterator<Item = &Event> {
    let last = events.len().saturating_sub(1);
    let measuring = |event: &Event| matches!(event.step, Step::Measuring { .. });
    let ended = |at: usize| {
        events
            .get(at + 1)
            .is_none_or(|next| matches!(next.step, Step::Reverted { .. } | Step::Inconclusive { .. }))
    };
    events
        .iter()
        .enumerate()
        .filter(move |(at, event)| !measuring(event) || *at == last || ended(*at))
        .map(|(_, event)| event)
}

fn words(told: &Told) -> String {
    let state = told.state().words();
    match told.reason() {
        "" => state.to_owned(),
        reason => format!("{state}: {reason}"),
    }
}

/// One step in words.
fn what(step: &Step) -> String {
    match step {
        Step::Proposed => "proposed".to_owned(),
        Step::Measuring { what } => format!("measures {what}"),
        Step::Baselined => "baseline taken".to_owned(),
        Step::Arming { member } => format!("arms change {}", member + 1),
        Step::Armed { entry, choice, .. } => format!("armed: {choice} (ledger {entry})"),
        Step::Trialing { member } => format!("boot of the trial of change {}", member + 1),
        Step::Judged { decision, reason, .. } => {
            let decision = serde_json::to_value(decision).ok();
            let decision = decision.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("judged: {decision}: {reason}")
        }
        Step::Stepped { member } => format!("change {} passed as a step", member + 1),
        Step::Keeping => "writes the permanent configuration".to_owned(),
        Step::Kept { entry, reason } => {
            format!("kept (ledger {}): {reason}", entry.as_deref().unwrap_or("has it already"))
        }
        Step::Verified => "verified: a later boot runs with it".to_owned(),
        Step::NotRunning { why } => format!("a later boot runs without it: {why}"),
        Step::Reverted { reason, rejected } => {
            format!("{}: {reason}", if *rejected { "rejected" } else { "taken back" })
        }
        Step::NotTaken { reason } => format!("not taken: {reason}"),
        Step::DidNotBoot { reason } => format!("did not boot: {reason}"),
        Step::Inconclusive { reason } => format!("inconclusive: {reason}"),
        Step::TakenBack { entry } => format!("ledger {entry} taken back"),
        Step::VerifiedBack => "verified: a later boot runs without it".to_owned(),
    }
}
