//! The first lines and the last line of a report: is anything wrong, what does it cost, what to type next.

use crate::plan::{Audit, Change, Policy, select};
use crate::root::Why;
use crate::rules::Status;

/// What an audit comes down to.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// Findings of status fail.
    pub fails: usize,
    /// Findings of status warn.
    pub warns: usize,
    /// Findings of status unknown.
    pub unknowns: usize,
    /// Changes that `provision --yes` would make.
    pub chosen: Vec<String>,
    /// Changes configured and waiting for a reboot.
    pub pending: Vec<String>,
    /// Reboots they need.
    pub reboots: u32,
    /// Minutes they take, roughly: editing and regenerating, and five per reboot of a server.
    pub minutes: u32,
    /// What stops working.
    pub loses: Vec<String>,
    /// Facts that root could read and this user could not.
    pub need_root: usize,
    /// An edit that cannot be made, in words.
    pub refused: Option<String>,
}

impl Outlook {
    /// Draws the outlook for a run without consents.
    pub fn of(audit: &Audit, policy: &Policy) -> Self {
        let count = |status| audit.with_status(status).count();
        let mut outlook = Self {
            fails: count(Status::Fail),
            warns: count(Status::Warn),
            unknowns: count(Status::Unknown),
            need_root: audit.unknown.iter().filter(|u| u.why == Why::Permission).count(),
            ..Self::default()
        };
        match select(&audit.findings, &audit.changes, policy) {
            Ok(selection) => {
                outlook.chosen = selection.chosen;
                outlook.pending = selection.pending;
            }
            Err(refused) => {
                outlook.refused = Some(format!("{}: {}", refused.refusal.place, refused.refusal.reason));
            }
        }
        let chosen: Vec<&Change> = audit.changes.iter().filter(|c| outlook.chosen.contains(&c.id)).collect();
        if chosen.iter().any(|c| c.reboot) {
            outlook.reboots = 1;
            outlook.minutes = 7;
        }
        for change in chosen {
            for loss in &change.loses {
                if !outlook.loses.contains(loss) {
                    outlook.loses.push(loss.clone());
                }
            }
        }
        outlook
    }

    /// One sentence: is anything wrong.
    pub fn verdict(&self) -> String {
        let unknown = match self.unknowns {
            0 => String::new(),
            1 => "; 1 rule could not be judged".to_owned(),
            n => format!("; {n} rules could not be judged"),
        };
        match (self.fails, self.warns) {
            (0, 0) if self.unknowns == 0 => "Nothing wrong was found.".to_owned(),
            (0, 0) => format!("Nothing wrong was found in what could be read{unknown}."),
            (0, w) => {
                format!("Nothing is broken; {}{unknown}.", plural(w, "risk or remark", "risks and remarks"))
            }
            (f, 0) => format!("{} found{unknown}.", plural(f, "fault", "faults")),
            (f, w) => format!(
                "{} found, and {}{unknown}.",
                plural(f, "fault", "faults"),
                plural(w, "risk or remark", "risks and remarks")
            ),
        }
    }

    /// What the free changes cost.
    pub fn cost(&self) -> String {
        if let Some(refused) = &self.refused {
            return format!("A change is needed that cannot be made safely: {refused}.");
        }
        if self.chosen.is_empty() && !self.pending.is_empty() {
            return "The changes are configured; they take effect at the next reboot.".to_owned();
        }
        if self.chosen.is_empty() {
            return if self.fails + self.warns == 0 {
                "Nothing to change.".to_owned()
            } else {
                "No change is free to make: what is left needs your consent, firmware, or hands on the machine."
                    .to_owned()
            };
        }
        let what = plural(self.chosen.len(), "change", "changes");
        let mut text = format!("{what} without further consent: 1 reboot, about {} minutes", self.minutes);
        if self.loses.is_empty() {
            text.push_str("; nothing stops working.");
        } else {
            text.push_str("; lost: ");
            text.push_str(&self.loses.join("; "));
            text.push('.');
        }
        text
    }

    /// What to type next. `target` is the option that names the place (`--host DIR`), or empty when live.
    pub fn next(&self, target: &str) -> String {
        let mut steps = Vec::new();
        if self.need_root > 0 {
            steps.push(format!(
                "{} root (sudo peerfix audit)",
                plural(self.need_root, "fact needs", "facts need")
            ));
        }
        if !self.pending.is_empty() {
            steps.push("reboot".to_owned());
        }
        if !self.chosen.is_empty() || self.refused.is_some() {
            steps.insert(0, format!("peerfix plan{target}"));
            if target.is_empty() && self.refused.is_none() {
                steps.insert(1, "then sudo peerfix provision --yes --no-trial".to_owned());
            }
        } else if self.fails + self.warns + self.unknowns > 0 {
            steps.insert(0, "peerfix rules explain RULE for each finding above".to_owned());
        }
        if steps.is_empty() { "nothing".to_owned() } else { steps.join("; ") }
    }
}

/// `1 fault`, `2 faults`.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}
