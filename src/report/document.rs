//! The versioned JSON documents. Their schemas are made from these types and kept in `schema/`.

use crate::host::gpu::Gpu;
use crate::ledger::history::{Entry, Shown, State};
use crate::ledger::{Applied, CommandOutput, RevertOutcome};
use crate::pairs::{Pair, Rung};
use crate::plan::{Audit, Change, Combined, FileDiff, Policy, Selection};
use crate::report::next::Outlook;
use crate::root::Unknown;
use crate::rules::model::Rule;
use crate::rules::{Catalogue, Finding, Severity};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of a document: readers accept a newer minor, and refuse a newer major.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Version {
    /// Breaking.
    pub major: u32,
    /// Additive.
    pub minor: u32,
}

/// The present version of every document of this program.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// `peerfix/audit` and, without findings and pairs, `peerfix/plan`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AuditDocument<'a> {
    /// `peerfix/audit`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The host in short.
    pub host: HostDocument<'a>,
    /// Findings, most harmful first.
    pub findings: &'a [Finding],
    /// Pairs and their ladders.
    pub pairs: Vec<PairDocument<'a>>,
    /// Proposed changes.
    pub changes: &'a [Change],
    /// Facts that could not be established, with path and reason.
    pub unknown: &'a [Unknown],
}

/// `peerfix/plan`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanDocument<'a> {
    /// `peerfix/plan`.
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

/// The host in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HostDocument<'a> {
    /// Kernel release.
    pub kernel: Option<&'a str>,
    /// Running command line.
    pub cmdline: Option<&'a str>,
    /// Hypervisor; null on bare metal or when not known.
    #[serde(rename = "virtual")]
    pub hypervisor: Option<&'a str>,
    /// CPU vendor id.
    pub cpu: Option<&'a str>,
    /// Boot loader.
    pub loader: Option<&'a str>,
    /// Board.
    pub board: Option<&'a str>,
    /// GPUs.
    pub gpus: Vec<GpuDocument<'a>>,
}

/// One GPU in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GpuDocument<'a> {
    /// BDF.
    pub bdf: &'a str,
    /// `nvidia`, `amd`, `intel`.
    pub vendor: &'a str,
    /// Name.
    pub name: Option<&'a str>,
    /// Driver.
    pub driver: Option<&'a str>,
    /// Takes part in peer transfers.
    pub peer: bool,
    /// Root port.
    pub root_port: &'a str,
    /// NUMA node.
    pub numa_node: Option<i64>,
    /// IOMMU domain type.
    pub domain_type: Option<&'a str>,
    /// Aperture in bytes.
    pub bar1: Option<i64>,
    /// PCIe generation of the card's link now.
    pub link_generation: Option<i64>,
    /// Lanes of the card's link now.
    pub link_width: Option<i64>,
}

/// One pair in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PairDocument<'a> {
    /// Lower BDF.
    pub a: &'a str,
    /// Higher BDF.
    pub b: &'a str,
    /// Route.
    pub route: &'a str,
    /// The verdict ladder.
    pub rungs: &'a [Rung],
}

impl<'a> AuditDocument<'a> {
    /// The document of one audit.
    pub fn of(audit: &'a Audit) -> Self {
        Self {
            schema: "peerfix/audit",
            version: VERSION,
            host: HostDocument::of(audit),
            findings: &audit.findings,
            pairs: audit.pairs.iter().map(PairDocument::of).collect(),
            changes: &audit.changes,
            unknown: &audit.unknown,
        }
    }
}

impl<'a> HostDocument<'a> {
    fn of(audit: &'a Audit) -> Self {
        let host = &audit.host;
        Self {
            kernel: host.kernel.release.value().map(String::as_str),
            cmdline: host.kernel.cmdline.value().map(|line| line.text.as_str()),
            hypervisor: host.virt.hypervisor.value().map(String::as_str),
            cpu: host.cpu.vendor.value().map(String::as_str),
            loader: audit.boot.loader.value().map(String::as_str),
            board: host.virt.board.value().map(String::as_str),
            gpus: host.gpus.iter().map(GpuDocument::of).collect(),
        }
    }
}

impl<'a> GpuDocument<'a> {
    fn of(gpu: &'a Gpu) -> Self {
        Self {
            bdf: &gpu.bdf,
            vendor: &gpu.vendor,
            name: gpu.name.value().map(String::as_str),
            driver: gpu.driver.value().map(String::as_str),
            peer: gpu.compute,
            root_port: &gpu.root_port,
            numa_node: gpu.numa_node.value().copied(),
            domain_type: gpu.domain_type.value().map(String::as_str),
            bar1: gpu.bar1.value().copied(),
            link_generation: gpu.link.generation.value().copied(),
            link_width: gpu.link.width.value().copied(),
        }
    }
}

impl<'a> PairDocument<'a> {
    fn of(pair: &'a Pair) -> Self {
        Self { a: &pair.a, b: &pair.b, route: &pair.route, rungs: &pair.rungs }
    }
}

/// A document as indented JSON with a final newline.
pub fn json<T: Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
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

/// `peerfix/provision`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProvisionDocument<'a> {
    /// `peerfix/provision`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// A file was written or a command run.
    pub changed: bool,
    /// Entry of the ledger; null when nothing was written.
    pub ledger: Option<&'a str>,
    /// Changes that were applied.
    pub applied: Vec<&'a Change>,
    /// Changes configured before and not yet running.
    pub pending: Vec<&'a Change>,
    /// Files as they were edited, all changes together.
    pub edits: &'a [FileDiff],
    /// Command line of the next boot.
    pub effective_cmdline: Option<&'a str>,
    /// Commands that a person must still run.
    pub commands: Vec<String>,
    /// Commands that were run.
    pub ran: Vec<&'a str>,
    /// Rules left without a free rung, and why.
    pub left: Vec<LeftDocument<'a>>,
    /// A reboot is needed.
    pub reboot: bool,
}

/// A rule that nothing was done for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftDocument<'a> {
    /// Rule.
    pub rule: &'a str,
    /// Why.
    pub why: &'a str,
}

impl<'a> ProvisionDocument<'a> {
    /// After writing.
    pub fn of(
        selection: &'a Selection,
        chosen: &[&'a Change],
        pending: &[&'a Change],
        applied: &'a Applied,
        combined: &'a Combined,
        commands: Vec<String>,
    ) -> Self {
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed: applied.changed,
            ledger: applied.id.as_deref(),
            applied: chosen.to_vec(),
            pending: pending.to_vec(),
            edits: &combined.edits,
            effective_cmdline: combined.effective_cmdline.as_deref(),
            commands,
            ran: applied.outputs.iter().map(|output| output.command.as_str()).collect(),
            left: left(selection),
            reboot: true,
        }
    }

    /// When no file was written: commands that an earlier run left may have been run, and an interrupted
    /// change (`ledger`) finished.
    pub fn unchanged(
        selection: &'a Selection,
        pending: &[&'a Change],
        ran: &'a [CommandOutput],
        ledger: Option<&'a str>,
        commands: Vec<String>,
    ) -> Self {
        let changed = !ran.is_empty() || ledger.is_some();
        Self {
            schema: "peerfix/provision",
            version: VERSION,
            changed,
            ledger,
            applied: Vec::new(),
            pending: pending.to_vec(),
            edits: &[],
            effective_cmdline: None,
            commands,
            ran: ran.iter().map(|output| output.command.as_str()).collect(),
            left: left(selection),
            reboot: changed || !pending.is_empty(),
        }
    }
}

fn left(selection: &Selection) -> Vec<LeftDocument<'_>> {
    selection.left.iter().map(|(rule, why)| LeftDocument { rule, why }).collect()
}

/// `peerfix/status`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusDocument<'a> {
    /// `peerfix/status`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// Changes that stand, or are unfinished or damaged.
    pub standing: Vec<&'a Entry>,
    /// Commands that a person must still run.
    pub outstanding: &'a [String],
}

impl<'a> StatusDocument<'a> {
    /// The status of a ledger.
    pub fn of(entries: &'a [Entry], outstanding: &'a [String]) -> Self {
        let standing = entries.iter().filter(|e| stands(e)).collect();
        Self { schema: "peerfix/status", version: VERSION, standing, outstanding }
    }
}

/// A change that is in force, unfinished or damaged.
pub fn stands(entry: &Entry) -> bool {
    entry.unfinished || matches!(entry.state, State::Applied | State::Damaged)
}

/// `peerfix/history`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistoryDocument<'a> {
    /// `peerfix/history`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// All entries, the newest last.
    pub entries: &'a [Entry],
}

impl<'a> HistoryDocument<'a> {
    /// The history of a ledger.
    pub fn of(entries: &'a [Entry]) -> Self {
        Self { schema: "peerfix/history", version: VERSION, entries }
    }
}

/// `peerfix/change`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowDocument<'a> {
    /// `peerfix/change`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The entry with its diffs.
    pub change: &'a Shown,
}

impl<'a> ShowDocument<'a> {
    /// One entry.
    pub fn of(shown: &'a Shown) -> Self {
        Self { schema: "peerfix/change", version: VERSION, change: shown }
    }
}

/// `peerfix/revert`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RevertDocument<'a> {
    /// `peerfix/revert`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// A file was restored or a command run.
    pub changed: bool,
    /// What was taken back.
    pub outcome: &'a RevertOutcome,
}

impl<'a> RevertDocument<'a> {
    /// One outcome.
    pub fn of(outcome: &'a RevertOutcome) -> Self {
        let changed = !outcome.dry_run && !outcome.ids.is_empty();
        Self { schema: "peerfix/revert", version: VERSION, changed, outcome }
    }
}

/// `peerfix/rules`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RulesDocument<'a> {
    /// `peerfix/rules`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The rules.
    pub rules: Vec<RuleBody<'a>>,
}

/// `peerfix/rule`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RuleDocument<'a> {
    /// `peerfix/rule`.
    pub schema: &'static str,
    /// Version.
    pub version: Version,
    /// The rule.
    pub rule: RuleBody<'a>,
}

/// A rule for readers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RuleBody<'a> {
    /// Id.
    pub id: &'a str,
    /// Title.
    pub title: &'a str,
    /// Severity.
    pub severity: Severity,
    /// Why it matters.
    pub rationale: &'a str,
    /// What would show that a finding is mistaken.
    pub refuted_by: &'a str,
    /// How to check by hand.
    pub by_hand: &'a str,
    /// Sources.
    pub sources: &'a [String],
    /// Names of its remedies, in ladder order.
    pub remedies: Vec<&'a str>,
}

impl<'a> RulesDocument<'a> {
    /// The catalogue.
    pub fn of(catalogue: &'a Catalogue) -> Self {
        let rules = catalogue.rules().iter().map(|r| RuleBody::of(&r.rule)).collect();
        Self { schema: "peerfix/rules", version: VERSION, rules }
    }
}

impl<'a> RuleDocument<'a> {
    /// One rule.
    pub fn of(rule: &'a Rule) -> Self {
        Self { schema: "peerfix/rule", version: VERSION, rule: RuleBody::of(rule) }
    }
}

impl<'a> RuleBody<'a> {
    fn of(rule: &'a Rule) -> Self {
        Self {
            id: &rule.id,
            title: &rule.title,
            severity: rule.severity,
            rationale: &rule.rationale,
            refuted_by: &rule.refuted_by,
            by_hand: &rule.by_hand,
            sources: &rule.sources,
            remedies: rule.remedy.iter().map(|r| r.name.as_str()).collect(),
        }
    }
}
