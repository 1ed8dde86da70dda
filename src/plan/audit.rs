//! Everything that is judged of one host: facts, findings, pairs, changes.

use super::{Change, Site, changes};
use crate::boot::Boot;
use crate::host::{self, Host};
use crate::pairs::{self, Pair};
use crate::root::{Root, Unknown, Why};
use crate::rules::{Catalogue, Facts, Finding, Status, evaluate_projected};

/// One judged host.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Facts.
    pub host: Host,
    /// Boot configuration.
    pub boot: Boot,
    /// Pairs.
    pub pairs: Vec<Pair>,
    /// Findings, most harmful first.
    pub findings: Vec<Finding>,
    /// Changes, in order.
    pub changes: Vec<Change>,
    /// Every fact that is not known, by where it should have come from.
    pub unknown: Vec<Unknown>,
}

impl Audit {
    /// Judges a host: hardware and the running kernel from `hardware`, configuration from `config` (the same
    /// place unless a target root is prepared on another machine).
    pub fn of(hardware: &Root, config: &Root, catalogue: &Catalogue) -> Self {
        let host = Host::read(hardware, config);
        let boot = Boot::read(config, &host);
        let pairs = pairs::judge(&host);
        let facts = Facts { host: &host, boot: &boot, pairs: &pairs };
        let projected = host::project(&facts);
        let mut findings = evaluate_projected(catalogue, &projected);
        let mut unknown: Vec<Unknown> = Vec::new();
        for reason in projected.unknown.into_values().filter(|u| u.why != Why::Derived) {
            if !unknown.iter().any(|u| u.path == reason.path && u.why == reason.why) {
                unknown.push(reason);
            }
        }
        let changes = changes(Site { root: config, host: &host, boot: &boot }, &mut findings);
        findings.sort_by_key(|f| (std::cmp::Reverse(f.status), std::cmp::Reverse(f.severity)));
        Self { host, boot, pairs, findings, changes, unknown }
    }

    /// The place that changes are planned for.
    pub fn site<'a>(&'a self, config: &'a Root) -> Site<'a> {
        Site { root: config, host: &self.host, boot: &self.boot }
    }

    /// Findings of one status.
    pub fn with_status(&self, status: Status) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.status == status)
    }

    /// The changes of a finding, in ladder order.
    pub fn changes_of<'a>(&'a self, finding: &'a Finding) -> impl Iterator<Item = &'a Change> {
        finding.changes.iter().filter_map(|id| self.changes.iter().find(|c| &c.id == id))
    }
}
