//! The shape of a rule file (`rules/*.toml`). Every string named "expression" is CEL over `host`, `boot` and
//! `pairs`; every string named "template" is text in which `{expression}` is replaced by its value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One topic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// Rules in order.
    pub rule: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `topic/name`.
    pub id: String,
    /// What is wrong when it fires, in a few words.
    pub title: String,
    /// Severity of its findings unless a check says otherwise.
    pub severity: Severity,
    /// What is at stake.
    #[serde(default)]
    pub about: About,
    /// Why it matters.
    pub rationale: String,
    /// What would show that a finding is mistaken.
    pub refuted_by: String,
    /// How to check by hand.
    pub by_hand: String,
    /// Kernel files, driver headers, specifications, documents.
    pub sources: Vec<String>,
    /// Expression: the hardware condition. Judged first; false is `not-applicable`.
    pub applies: String,
    /// Summary when it does not apply.
    pub not_applicable: String,
    /// Template: summary when no check fires.
    pub pass: String,
    /// Checks; for each item the first whose `if` is true decides.
    pub check: Vec<Check>,
    /// Remedies, least isolation lost first: the ladder.
    #[serde(default)]
    pub remedy: Vec<Remedy>,
    /// Facts that fire it and facts that do not.
    pub example: Vec<Example>,
}

/// One way a rule can fire.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Status of the finding: `fail` or `warn`, `unknown` where the facts are known but do not decide, `pass`
    /// where the check explains why all is well.
    pub status: Status,
    /// Overrides the rule's severity.
    pub severity: Option<Severity>,
    /// Expression: a list; the check runs for each item. Without it the check runs once.
    pub each: Option<String>,
    /// Name of the item in the expressions of this check.
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// Expression: true fires.
    #[serde(rename = "if")]
    pub condition: String,
    /// Expression: a string or a list of strings, the subject of an item; default `NAME.bdf`.
    pub subject: Option<String>,
    /// Template: the finding's sentence; `subjects` (list of strings) and `items` (matching items) are known.
    pub summary: String,
    /// Template per matching item, added to the evidence as a derived line.
    pub detail: Option<String>,
    /// Paths of facts (`host.kernel.cmdline`, `NAME.driver`) whose lines are quoted besides those that the
    /// expressions read.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Names of the remedies for this check; none given means all of the rule.
    pub remedies: Option<Vec<String>>,
}

/// One rung of the ladder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// Stable name, `iommu-pt`.
    pub name: String,
    /// Kind of the change.
    pub kind: Kind,
    /// Template: what it does and why it is tried here.
    pub explain: String,
    /// Expression: offered only when true (default). Undetermined means offered.
    pub offer: Option<String>,
    /// Templates: words to add. Module options are `module.parameter=value`. An expression between `{*` and
    /// `*}` that makes a list gives one word per element.
    #[serde(default)]
    pub add: Vec<String>,
    /// Templates: words to remove; only those that stand on the running or configured command line (or in
    /// modprobe.d) are listed in the change.
    #[serde(default)]
    pub remove: Vec<String>,
    /// `option:direction`; two changes that pull one option in two directions exclude each other.
    pub pulls: Option<String>,
    /// Name of a set: changes of one set open a way for transfers only together, so their trials are judged as one.
    pub set: Option<String>,
    /// Risks that `--accept-risk` names.
    #[serde(default)]
    pub risk: Vec<Risk>,
    /// Templates: what is lost.
    #[serde(default)]
    pub loses: Vec<String>,
    /// What blocks it.
    #[serde(default)]
    pub blocked: Vec<Blocker>,
    /// Template: what must be established first; the change is then conditional, never free.
    pub conditional: Option<String>,
    /// Templates: steps for a person; present makes the change manual.
    #[serde(default)]
    pub steps: Vec<String>,
    /// Templates: what must be true afterwards.
    #[serde(default)]
    pub expect: Vec<String>,
}

/// A named risk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Risk {
    /// `dma-isolation`, `acs-isolation`, `stray-dma`, `kernel-patch`, `unsafe-registry-key`,
    /// `hardening-policy`, `unattended-unlock`.
    pub name: String,
    /// Expression: the risk exists only when true (default). Undetermined means it exists.
    #[serde(rename = "if")]
    pub condition: Option<String>,
    /// Needs recorded consent.
    #[serde(default)]
    pub consent: bool,
}

/// Something that forbids a remedy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocker {
    /// Expression: blocks when true. Undetermined does not block, and is said.
    #[serde(rename = "if")]
    pub condition: String,
    /// Template: the reason.
    pub because: String,
}

/// Facts and the status they must give. Facts not named are unknown; the string `@absent` is absence.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What the example shows.
    pub name: String,
    /// The worst status of the rule's findings.
    pub expect: Status,
    /// `host`, `boot`, `pairs`.
    pub facts: toml::Table,
    /// Names of remedies that must be offered, in order; not checked when left out.
    pub remedies: Option<Vec<String>>,
}

/// Status of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The condition that would need it is not there.
    NotApplicable,
    /// Judged and right.
    Pass,
    /// A needed fact is unknown; never counts as pass.
    Unknown,
    /// Judged; a risk or a lesser fault.
    Warn,
    /// Judged and wrong.
    Fail,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// For the reader's information.
    Info,
    /// Cosmetic or rare.
    Low,
    /// Costs speed or reliability.
    Medium,
    /// Transfers missing or very slow.
    High,
    /// Wrong data or loss of the host.
    Critical,
}

/// What is at stake when a rule fires: what a change for it must show to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// Right data, working devices, a host that stays up: worth keeping where nothing gets faster.
    Correctness,
    /// Transfers that are refused or missing: worth keeping where what they replace is no faster.
    Reach,
    /// Speed alone.
    Speed,
    /// What is configured, counted or shown: changes no transfer. What a rule is about that does not say.
    #[default]
    Reporting,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Words of the kernel command line.
    KernelCmdline,
    /// Options in modprobe.d.
    Modprobe,
    /// A patched kernel.
    KernelPatch,
    /// A setting of the running kernel.
    Runtime,
    /// A firmware (BIOS) setting.
    Firmware,
    /// Slot, riser, bridge, card.
    Hardware,
}
