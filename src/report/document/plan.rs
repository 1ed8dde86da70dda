//! `peerfix/plan`: the changes of an audit, without findings and pairs.

use super::{VERSION, Version};
use crate::plan::{Audit, Change, Policy};
use crate::report::next::Outlook;
use schemars::JsonSchema;
use serde::Serialize;

/// `peerfix/plan`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanDocument<'a> {
    /// `peerfix/plan`.
    #[schemars(extend("const" = "peerfix/plan"))]
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// Proposed changes.
    pub changes: &'a [Change],
    /// Ids that `provision --yes` would apply without further consent.
    pub chosen: Vec<String>,
    /// Ids configured already and not yet running.
    pub pending: Vec<String>,
    /// Reboots that the chosen changes need.
    pub reboots: u32,
    /// Minutes that they take, roughly.
    pub minutes: u32,
}

impl<'a> PlanDocument<'a> {
    /// The plan under a policy.
    pub fn of(audit: &'a Audit, policy: &Policy) -> Self {
        let outlook = Outlook::of(audit, policy);
        Self {
            schema: "peerfix/plan",
            version: VERSION,
            changes: &audit.changes,
            chosen: outlook.chosen,
            pending: outlook.pending,
            reboots: outlook.reboots,
            minutes: outlook.minutes,
        }
    }
}
