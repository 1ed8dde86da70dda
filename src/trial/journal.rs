//! The state machine. Every step is a line of `trials/ID/journal`, on the medium before what it announces is done,
//! with the boot it was done in: after a silent reset the last line says what the machine was doing.

use super::document::now;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the file.
pub(super) const JOURNAL: &str = "journal";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// UTC.
    pub at: Timestamp,
    /// Boot id (`/proc/sys/kernel/random/boot_id`); empty when it is not known.
    pub boot: String,
    /// What is done from here on, or was done.
    #[serde(flatten)]
    pub step: Step,
}

/// The steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Step {
    /// The trial is written down.
    Proposed,
    /// A measurement begins; each line names what is measured from here on.
    Measuring {
        /// Arm and pair, as progress tells them.
        what: String,
    },
    /// The baseline is taken.
    Baselined,
    /// The trial entry of this member is about to be written.
    Arming {
        /// Index of the member.
        member: usize,
    },
    /// The next boot is the trial.
    Armed {
        /// Index of the member.
        member: usize,
        /// Ledger entry that holds the trial entry.
        entry: String,
        /// Words of the trial's command line.
        words: Vec<String>,
        /// Those that belong to the trial itself and not to the change.
        own_words: Vec<String>,
        /// Environment block, relative to the root.
        grubenv: String,
        /// `next_entry` that chooses it.
        choice: String,
    },
    /// This boot is the trial.
    Trialing {
        /// Index of the member.
        member: usize,
    },
    /// The verdict, before it is carried out.
    Judged {
        /// Index of the member.
        member: usize,
        /// What is to be done.
        decision: Decision,
        /// One sentence.
        reason: String,
    },
    /// A member of a set may stay for the next member's trial.
    Stepped {
        /// Index of the member.
        member: usize,
    },
    /// The permanent configuration is about to be written.
    Keeping,
    /// The permanent configuration is written.
    Kept {
        /// Ledger entry of it; none when it stood there already.
        entry: Option<String>,
        /// Why.
        reason: String,
    },
    /// A later boot runs with the kept words.
    Verified,
    /// A later boot does not.
    NotRunning {
        /// Which words are missing or left.
        why: String,
    },
    /// Nothing of it is left.
    Reverted {
        /// Why.
        reason: String,
        /// The remedy was rejected, so that it is not tried again.
        rejected: bool,
    },
    /// The trial entry was never started.
    NotTaken {
        /// What was found.
        reason: String,
    },
    /// The trial entry was started and did not come to its end.
    DidNotBoot {
        /// What was found.
        reason: String,
    },
    /// Too little evidence; nothing of it is left.
    Inconclusive {
        /// Why.
        reason: String,
    },
    /// The kept configuration was taken back; the next boot is checked.
    TakenBack {
        /// Ledger entry that was taken back.
        entry: String,
    },
    /// A later boot runs without the words.
    VerifiedBack,
}

/// What a verdict leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Keep it for good.
    Keep,
    /// Go on with the next member.
    Step,
    /// Take it back, do not try it again.
    Reject,
    /// Take it back; nothing is said about it.
    Inconclusive,
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Written down; the baseline is being taken.
    Proposed,
    /// The baseline is taken.
    Baselined,
    /// The entry is being written.
    Arming,
    /// The next boot is the trial.
    Armed,
    /// The trial boot is being measured.
    Trialing,
    /// The verdict is being carried out.
    Judged,
    /// A member passed; the next one is to be armed.
    Stepped,
    /// The permanent configuration is being written.
    Keeping,
    /// Kept; not seen running from the permanent configuration yet.
    Kept,
    /// Kept and running.
    Verified,
    /// Kept, and a later boot ran without it.
    NotRunning,
    /// Rejected, or given up by a person; nothing is left of it.
    Reverted,
    /// The entry was never started.
    NotTaken,
    /// The entry was started and did not come to its end.
    DidNotBoot,
    /// Too little evidence; nothing is left of it.
    Inconclusive,
    /// Kept once, taken back since; the next boot is checked.
    TakenBack,
    /// Kept once, taken back, and gone from the running system.
    VerifiedBack,
}

impl Step {
    /// The state that this step leads to; none for one that leaves it as it is.
    pub fn state(&self) -> Option<State> {
        Some(match self {
            Self::Measuring { .. } => return None,
            Self::Proposed => State::Proposed,
            Self::Baselined => State::Baselined,
            Self::Arming { .. } => State::Arming,
            Self::Armed { .. } => State::Armed,
            Self::Trialing { .. } => State::Trialing,
            Self::Judged { .. } => State::Judged,
            Self::Stepped { .. } => State::Stepped,
            Self::Keeping => State::Keeping,
            Self::Kept { .. } => State::Kept,
            Self::Verified => State::Verified,
            Self::NotRunning { .. } => State::NotRunning,
            Self::Reverted { .. } => State::Reverted,
            Self::NotTaken { .. } => State::NotTaken,
            Self::DidNotBoot { .. } => State::DidNotBoot,
            Self::Inconclusive { .. } => State::Inconclusive,
            Self::TakenBack { .. } => State::TakenBack,
            Self::VerifiedBack => State::VerifiedBack,
        })
    }
}

impl State {
    /// States that this one may be reached from; empty for the first.
    pub fn comes_from(self) -> &'static [Self] {
        use State as S;
        match self {
            S::Proposed => &[],
            S::Baselined => &[S::Proposed],
            S::Arming => &[S::Baselined, S::Stepped],
            S::Armed => &[S::Arming],
            S::Trialing | S::NotTaken => &[S::Armed],
            S::Judged => &[S::Trialing],
            S::Stepped | S::Keeping => &[S::Judged],
            S::Kept => &[S::Keeping],
            S::Verified | S::NotRunning => &[S::Kept],
            S::TakenBack => &[S::Kept, S::Verified, S::NotRunning],
            S::VerifiedBack => &[S::TakenBack],
            S::DidNotBoot => &[S::Armed, S::Trialing],
            S::Reverted | S::Inconclusive => &[
                S::Proposed,
                S::Baselined,
                S::Arming,
                S::Armed,
                S::Trialing,
                S::Judged,
                S::Stepped,
                S::Keeping,
            ],
        }
    }

    /// Nothing is left to do about it at the next boot.
    pub fn ended(self) -> bool {
        use State as S;
        matches!(
            self,
            S::Verified
                | S::NotRunning
                | S::Reverted
                | S::NotTaken
                | S::DidNotBoot
                | S::Inconclusive
                | S::VerifiedBack
        )
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Proposed => "proposed; the baseline is being taken",
            Self::Baselined => "baseline taken, not armed",
            Self::Arming => "being armed",
            Self::Armed => "armed, next boot",
            Self::Trialing => "this boot is the trial; it is being measured",
            Self::Judged => "judged; the verdict is being carried out",
            Self::Stepped => "one step of a set passed; the next is to be armed",
            Self::Keeping => "judged good; the permanent configuration is being written",
            Self::Kept => "kept; verified at the next boot",
            Self::Verified => "kept and running",
            Self::NotRunning => "kept, but a later boot ran without it",
            Self::Reverted => "taken back",
            Self::NotTaken => "not taken: the trial entry was never started",
            Self::DidNotBoot => "did not boot; the old configuration is back",
            Self::Inconclusive => "inconclusive; the old configuration stays",
            Self::TakenBack => "taken back after it was kept; verified at the next boot",
            Self::VerifiedBack => "taken back after it was kept; no longer running",
        }
    }
}

/// Where the events lead; none without any.
pub(super) fn state(events: &[Event]) -> Option<State> {
    events.iter().rev().find_map(|event| event.step.state())
}

/// True when `step` may follow `events`.
pub fn may_follow(events: &[Event], step: &Step) -> bool {
    match (state(events), step.state()) {
        (None, Some(first)) => first.comes_from().is_empty(),
        (Some(_), None) => true,
        (None, None) => false,
        (Some(now), Some(next)) => next.comes_from().contains(&now),
    }
}

/// One event as a line.
pub(super) fn line(boot: &str, step: &Step) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Event { at: now(), boot: boot.to_owned(), step: step.clone() })
}

/// Reads a journal. A last line cut short by a power cut is left out; any other damage is told.
///
/// # Errors
///
/// The line and why.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Event>, String> {
    let text = String::from_utf8_lossy(bytes);
    let whole = text.ends_with('\n');
    let lines: Vec<&str> = text.lines().collect();
    let mut events: Vec<Event> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let last = at + 1 == lines.len();
        match serde_json::from_str::<Event>(line) {
            Ok(event) => {
                if !may_follow(&events, &event.step) {
                    return Err(format!("line {}: this step cannot follow the one before", at + 1));
                }
                events.push(event);
            }
            Err(_) if (last && !whole) || line.trim().is_empty() => {}
            // Cut short, and closed by the run that went on behind it.
            Err(error) if error.is_eof() => {}
            Err(error) => return Err(format!("line {}: {error}", at + 1)),
        }
    }
    Ok(events)
}
