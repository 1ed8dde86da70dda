//! What `provision --yes` does: for each finding the first free rung, or a refusal.

use super::Change;
use crate::boot::Refusal;
use crate::rules::{Finding, Status};
use std::collections::BTreeSet;

/// What the person or profile allows.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Risks accepted by name.
    pub accepted: BTreeSet<String>,
    /// Rules that may change something; empty means all.
    pub only: BTreeSet<String>,
}

/// The chosen changes.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Ids to apply, in order.
    pub chosen: Vec<String>,
    /// Ids already configured and not yet running.
    pub pending: Vec<String>,
    /// Findings left without a free rung, and why.
    pub left: Vec<(String, String)>,
}

/// A chosen change that cannot be made; nothing may be written.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Change id.
    pub id: String,
    /// The edit's refusal.
    pub refusal: Refusal,
}

impl Selection {
    /// A fault is left whose ladder stops at a rung that needs consent.
    pub fn wants_consent(&self, findings: &[Finding]) -> bool {
        self.left.iter().any(|(rule, why)| {
            why.contains("--accept-risk")
                && findings.iter().any(|f| &f.rule == rule && f.status == Status::Fail)
        })
    }
}

impl Policy {
    /// True when every risk of the change that needs consent is accepted.
    pub fn consents(&self, change: &Change) -> bool {
        self.missing(change).is_empty()
    }

    /// Risks of the change that need consent and do not have it.
    fn missing<'a>(&self, change: &'a Change) -> Vec<&'a str> {
        let missing = change.consents.iter().filter(|risk| !self.accepted.contains(*risk));
        missing.map(String::as_str).collect()
    }

    fn may_touch(&self, rule: &str) -> bool {
        self.only.is_empty() || self.only.contains(rule)
    }
}

/// Chooses per finding of status fail or warn the first rung that is not manual, conditional or blocked and
/// whose consent, if it needs any, is given. Rungs behind it stay unreached; that is no refusal.
pub fn select(findings: &[Finding], changes: &[Change], policy: &Policy) -> Result<Selection, Refused> {
    let mut selection = Selection::default();
    let judged = findings.iter().filter(|f| matches!(f.status, Status::Fail | Status::Warn));
    for finding in judged.filter(|f| policy.may_touch(&f.rule) && !f.changes.is_empty()) {
        let mut obstacles = Vec::new();
        let mut reached = false;
        for change in finding.changes.iter().filter_map(|id| changes.iter().find(|c| &c.id == id)) {
            if let Some(why) = obstacle(change, policy) {
                obstacles.push(format!("{}: {why}", change.name));
                continue;
            }
            if let Some(refusal) = &change.refusal {
                return Err(Refused { id: change.id.clone(), refusal: refusal.clone() });
            }
            let list = if change.pending { &mut selection.pending } else { &mut selection.chosen };
            if !list.contains(&change.id) {
                list.push(change.id.clone());
            }
            reached = true;
            break;
        }
        if !reached {
            selection.left.push((finding.rule.clone(), obstacles.join("; ")));
        }
    }
    Ok(selection)
}

/// Why a rung is passed over; none when it is free. A refused edit is no obstacle: it ends the run.
fn obstacle(change: &Change, policy: &Policy) -> Option<String> {
    if change.manual {
        return Some("a person must do it".to_owned());
    }
    if let Some(condition) = &change.conditional {
        return Some(format!("only after: {condition}"));
    }
    let blocks = change.blocked_by.len() - usize::from(change.refusal.is_some()).min(change.blocked_by.len());
    if blocks > 0 {
        return Some(format!("blocked: {}", change.blocked_by.join("; ")));
    }
    let missing = policy.missing(change);
    if !missing.is_empty() {
        return Some(format!("needs --accept-risk {}", missing.join(" --accept-risk ")));
    }
    None
}
