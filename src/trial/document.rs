//! `trial.json`: what a trial boot is to show, written once before anything is measured.

use crate::ledger::{ChangeRecord, Version};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name of the format.
pub const SCHEMA: &str = "peerfix/trial";
/// Version written by this program: major changes meaning, minor only adds.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// A trial: one change, or a set of changes that open a way for transfers only together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the format.
    pub version: Version,
    /// Id: `t1`, `t2`, ...
    pub id: String,
    /// When it was proposed, UTC.
    pub at: String,
    /// Version of the program that proposed it.
    pub program: String,
    /// The changes, in the order in which they are tried; all but the last of a set are steps.
    pub members: Vec<ChangeRecord>,
    /// What the person allowed.
    pub policy: TrialPolicy,
    /// Names of changes that earlier trials of this run rejected.
    pub tried: Vec<String>,
    /// Kernel release of the baseline.
    pub kernel: String,
    /// Command line of the baseline.
    pub cmdline: String,
    /// Boot id of the baseline.
    pub boot_id: String,
}

/// What the person or the profile allowed when the trial was proposed; the boot unit goes on by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPolicy {
    /// Risks accepted by name.
    pub accepted: BTreeSet<String>,
    /// Rules that may change something; empty means all.
    pub only: BTreeSet<String>,
    /// Reboot without asking: into the trial, and after the verdict into what it decided.
    pub reboot: bool,
    /// Keep a change that makes a transfer possible though slower than what it replaces.
    pub accept_slower: bool,
    /// Percent of speed that staged transfers may lose.
    pub max_staged_loss: f64,
    /// Let the hardware watchdog restart a trial that hangs, where there is one.
    pub watchdog: bool,
    /// Measure in quick mode.
    pub quick: bool,
    /// Seconds of measuring, for each record; 0 is no limit.
    pub budget_s: f64,
    /// Seconds from the start of the trial boot after which the machine reboots unless the trial is judged.
    pub deadline_s: u32,
}

impl Default for TrialPolicy {
    fn default() -> Self {
        Self {
            accepted: BTreeSet::new(),
            only: BTreeSet::new(),
            reboot: false,
            accept_slower: false,
            max_staged_loss: 3.0,
            watchdog: true,
            quick: false,
            budget_s: 0.0,
            deadline_s: 900,
        }
    }
}

impl Trial {
    /// Reads the document.
    ///
    /// # Errors
    ///
    /// Why it is not one, in words.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
            version: Version,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if head.schema != SCHEMA {
            return Err(format!("expected schema {SCHEMA:?}, found {:?}", head.schema));
        }
        if head.version.major != VERSION.major {
            return Err(format!("format {} is newer than this program knows ({VERSION})", head.version));
        }
        serde_json::from_slice(bytes).map_err(|e| e.to_string())
    }

    /// Names of the changes, for people.
    pub fn title(&self) -> String {
        self.members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(" + ")
    }

    /// Words that the members up to and with `member` add and remove, as the kernel of a trial boot is to see them.
    /// Options of modules are words too: `nvidia.NVreg_X=1`.
    pub fn words(&self, member: usize) -> (Vec<String>, Vec<String>) {
        let mut add: Vec<String> = Vec::new();
        let mut remove: Vec<String> = Vec::new();
        for change in self.members.iter().take(member + 1) {
            add.extend(change.add.iter().filter(|w| !add.contains(w)).cloned().collect::<Vec<_>>());
            remove.extend(change.remove.iter().filter(|w| !remove.contains(w)).cloned().collect::<Vec<_>>());
        }
        (add, remove)
    }

    /// The last member's index: only its trial is judged by measurement.
    pub fn last(&self) -> usize {
        self.members.len().saturating_sub(1)
    }
}

/// What is pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// This trial.
    Trial(String),
    /// The next change, once the old configuration runs again: this trial has ended.
    After(String),
}

/// The mark that makes the boot unit run, as lines of `key=value`; its generator reads `deadline`.
pub(super) fn mark(pending: &Pending, policy: &TrialPolicy) -> String {
    match pending {
        Pending::Trial(id) => format!("trial={id}\ndeadline={}\n", policy.deadline_s),
        Pending::After(id) => format!("after={id}\n"),
    }
}

/// What a mark says; none for one that says nothing.
pub fn pending(mark: &[u8]) -> Option<Pending> {
    let text = String::from_utf8_lossy(mark);
    let named = |id: &&str| {
        id.strip_prefix('t').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let value =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).filter(named).map(str::to_owned);
    value("trial=").map(Pending::Trial).or_else(|| value("after=").map(Pending::After))
}

/// Now, in whole seconds.
pub(super) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
