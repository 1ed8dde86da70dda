//! Asks the JSON of an audit what the contract promises.

use super::Tree;
use super::run::peerfix;
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

/// The rule ids that the design fixes.
pub const RULES: [&str; 35] = [
    "p2pdma/bridge-not-allowed",
    "p2pdma/kernel-config",
    "iommu/faults",
    "iommu/needs-translation",
    "iommu/translated-peer",
    "iommu/ineffective-option",
    "iommu/untrusted-port-translated",
    "bar/bar1-too-small",
    "bar/unassigned",
    "bar/window-limits-resize",
    "nvidia/forcep2p",
    "nvidia/params-not-loaded",
    "nvidia/uvm-hmm",
    "nvidia/version-mismatch",
    "nvidia/driver-absent",
    "gpu/peer-unsupported",
    "kfd/no-peer-link",
    "pcie/link-degraded",
    "pcie/aer-errors",
    "pcie/aer-not-owned",
    "pcie/aspm-port-pm",
    "pcie/acs-redirect",
    "nvlink/bridge-inactive",
    "boot/cmdline-drift",
    "boot/shadowed-setting",
    "modprobe/unknown-parameter",
    "modprobe/shadowed-option",
    "bench/peer-slower-than-staged",
    "env/peer-disabled",
    "isolation/in-use",
    "boot/measured-unlock",
    "topology/cross-socket",
    "host/single-gpu",
    "host/virtual-machine",
    "host/wsl",
];

/// The rungs of the verdict ladder in order.
pub const RUNGS: [&str; 7] = [
    "topology",
    "kernel-permission",
    "driver-grant",
    "copy-engine-data",
    "sm-data",
    "resident-consumer",
    "throughput",
];

/// The audit of a host.
#[derive(Debug)]
pub struct Audit {
    /// Exit code.
    pub code: i32,
    /// The document.
    pub json: Value,
}

/// Audits a captured tree.
#[track_caller]
pub fn audit(tree: &Tree) -> Audit {
    audit_at(tree.path())
}

/// Audits the captured tree at a path.
#[track_caller]
pub fn audit_at(path: &Path) -> Audit {
    let ran = peerfix(&["audit", "--host", path.to_str().unwrap(), "--format", "json"]);
    assert!([0, 1].contains(&ran.code), "audit exits {}: {}", ran.code, ran.stderr);
    Audit { code: ran.code, json: ran.json() }
}

/// Audits of every host, made once in a test program.
pub fn audits() -> &'static [(&'static str, Audit)] {
    static AUDITS: OnceLock<Vec<(&'static str, Audit)>> = OnceLock::new();
    AUDITS.get_or_init(|| super::hosts::ALL.iter().map(|(name, make)| (*name, audit(&make()))).collect())
}

/// Texts of a JSON list.
pub fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap_or(&Vec::new()).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn rank(status: &str) -> usize {
    let order = ["not-applicable", "pass", "unknown", "warn", "fail"];
    order.iter().position(|s| *s == status).unwrap_or_else(|| panic!("no such status: {status}"))
}

impl Audit {
    /// All findings.
    pub fn findings(&self) -> Vec<Finding<'_>> {
        let list = self.json["findings"].as_array().unwrap();
        list.iter().map(|json| Finding { audit: self, json }).collect()
    }

    /// The worst finding of a rule; every rule must appear.
    #[track_caller]
    pub fn finding(&self, rule: &str) -> Finding<'_> {
        let of_rule = self.findings().into_iter().filter(|f| f.rule() == rule);
        of_rule.max_by_key(|f| rank(f.status())).unwrap_or_else(|| panic!("{rule} is not in the findings"))
    }

    /// Findings of status fail or warn.
    pub fn wrong(&self) -> Vec<Finding<'_>> {
        self.findings().into_iter().filter(|f| ["fail", "warn"].contains(&f.status())).collect()
    }

    /// Checks that nothing fails and that warnings, if any, come from the rules (or topics) in `allowed`.
    #[track_caller]
    pub fn is_quiet(&self, allowed: &[&str]) -> &Self {
        let loud: Vec<&Value> = self
            .wrong()
            .into_iter()
            .filter(|f| f.is_fail() || !allowed.iter().any(|a| f.rule().starts_with(a)))
            .map(|f| f.json)
            .collect();
        assert!(loud.is_empty(), "expected silence, got {loud:#?}");
        assert_eq!(self.code, 0, "exit code of a quiet audit");
        self
    }

    /// All changes.
    pub fn changes(&self) -> Vec<Change<'_>> {
        self.json["changes"].as_array().unwrap().iter().map(Change).collect()
    }

    /// The first change that adds this word.
    #[track_caller]
    pub fn change_adding(&self, word: &str) -> Change<'_> {
        let found = self.changes().into_iter().find(|c| c.adds().iter().any(|w| w == word));
        found.unwrap_or_else(|| panic!("no change adds {word}: {:#?}", self.json["changes"]))
    }

    /// Checks that no change adds this word.
    #[track_caller]
    pub fn no_change_adding(&self, word: &str) -> &Self {
        let found = self.changes().into_iter().find(|c| c.adds().iter().any(|w| w == word));
        assert!(found.is_none(), "{word} is added by {:#?}", found.unwrap().0);
        self
    }

    /// Checks that no change is proposed at all.
    #[track_caller]
    pub fn no_changes(&self) -> &Self {
        assert!(self.changes().is_empty(), "expected no change: {:#?}", self.json["changes"]);
        self
    }

    /// A pair by its two BDFs.
    #[track_caller]
    pub fn pair(&self, a: &str, b: &str) -> Pair<'_> {
        let pairs = self.json["pairs"].as_array().unwrap();
        let found = pairs.iter().find(|p| p["a"] == a && p["b"] == b);
        Pair(found.unwrap_or_else(|| panic!("no pair {a} {b}: {pairs:#?}")))
    }
}

/// One finding.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'a> {
    audit: &'a Audit,
    /// The document's part.
    pub json: &'a Value,
}

impl<'a> Finding<'a> {
    /// Rule id.
    pub fn rule(&self) -> &'a str {
        self.json["rule"].as_str().unwrap()
    }

    /// Status.
    pub fn status(&self) -> &'a str {
        self.json["status"].as_str().unwrap()
    }

    fn is_fail(&self) -> bool {
        self.status() == "fail"
    }

    /// Checks the status.
    #[track_caller]
    pub fn is(self, status: &str) -> Self {
        assert_eq!(self.status(), status, "status of {:#?}", self.json);
        self
    }

    /// Checks that it neither fails nor warns.
    #[track_caller]
    pub fn does_not_fire(self) -> Self {
        assert!(!["fail", "warn"].contains(&self.status()), "fires: {:#?}", self.json);
        self
    }

    /// Checks that it fails or warns.
    #[track_caller]
    pub fn fires(self) -> Self {
        assert!(["fail", "warn"].contains(&self.status()), "does not fire: {:#?}", self.json);
        self
    }

    /// Subjects.
    pub fn subjects(&self) -> Vec<String> {
        strings(&self.json["subjects"])
    }

    /// Checks that a subject is named.
    #[track_caller]
    pub fn names(self, subject: &str) -> Self {
        assert!(self.subjects().iter().any(|s| s == subject), "does not name {subject}: {:#?}", self.json);
        self
    }

    /// Checks that the subject is named before all others.
    #[track_caller]
    pub fn names_first(self, subject: &str) -> Self {
        let first = self.subjects().first().cloned();
        assert_eq!(first.as_deref(), Some(subject), "first subject of {:#?}", self.json);
        self
    }

    /// Checks that a subject is not named.
    #[track_caller]
    pub fn does_not_name(self, subject: &str) -> Self {
        assert!(!self.subjects().iter().any(|s| s == subject), "names {subject}: {:#?}", self.json);
        self
    }

    /// Checks that the text of the finding (summary, evidence, subjects, refutation) contains `words`,
    /// compared without case.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        let text = self.json.to_string().to_lowercase();
        assert!(text.contains(&words.to_lowercase()), "does not say {words:?}: {:#?}", self.json);
        self
    }

    /// Checks that a number is told, with or without separators between its digits.
    #[track_caller]
    pub fn counts(self, number: u64) -> Self {
        let text: String = self
            .json
            .to_string()
            .chars()
            .filter(|c| !matches!(c, ',' | '_' | '\'' | '\u{a0}' | '\u{202f}' | ' '))
            .collect();
        assert!(text.contains(&number.to_string()), "does not count {number}: {:#?}", self.json);
        self
    }

    /// Checks that the text does not contain `words`.
    #[track_caller]
    pub fn does_not_say(self, words: &str) -> Self {
        let text = self.json.to_string().to_lowercase();
        assert!(!text.contains(&words.to_lowercase()), "says {words:?}: {:#?}", self.json);
        self
    }

    /// Checks that a line of evidence stands in `source`.
    #[track_caller]
    pub fn quotes(self, source: &str) -> Self {
        let evidence = self.json["evidence"].as_array().unwrap();
        let found = evidence.iter().any(|e| e["source"].as_str().is_some_and(|s| s.ends_with(source)));
        assert!(found, "no evidence from {source}: {:#?}", self.json);
        self
    }

    /// The changes for it, in ladder order.
    pub fn ladder(&self) -> Vec<Change<'a>> {
        let ids = strings(&self.json["changes"]);
        let changes = self.audit.json["changes"].as_array().unwrap();
        ids.iter()
            .map(|id| changes.iter().find(|c| c["id"] == id.as_str()).map(Change))
            .map(|c| c.unwrap_or_else(|| panic!("a change of {:#?} does not exist", self.json)))
            .collect()
    }

    /// Words that the rungs of its ladder add, in order.
    pub fn ladder_words(&self) -> Vec<String> {
        self.ladder().iter().flat_map(Change::adds).collect()
    }
}

/// One change.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a>(
    /// The document's part.
    pub &'a Value,
);

impl Change<'_> {
    /// Words added.
    pub fn adds(&self) -> Vec<String> {
        strings(&self.0["add"])
    }

    /// Words removed.
    pub fn removes(&self) -> Vec<String> {
        strings(&self.0["remove"])
    }

    /// Kind.
    pub fn kind(&self) -> &str {
        self.0["kind"].as_str().unwrap()
    }

    /// Place on the ladder.
    pub fn rung(&self) -> i64 {
        self.0["ladder"].as_i64().unwrap()
    }

    /// Consent is required.
    pub fn needs_consent(&self) -> bool {
        self.0["consent"] == "required"
    }

    /// Something blocks it.
    pub fn is_blocked(&self) -> bool {
        !strings(&self.0["blocked_by"]).is_empty()
    }

    /// A person must do it.
    pub fn is_manual(&self) -> bool {
        self.0["manual"] == true
    }

    /// Something must be established first.
    pub fn is_conditional(&self) -> bool {
        self.0.get("conditional").is_some_and(|c| !c.is_null())
    }

    /// Nothing keeps `provision --yes` from choosing it.
    pub fn is_free(&self) -> bool {
        !self.needs_consent() && !self.is_blocked() && !self.is_manual() && !self.is_conditional()
    }

    /// Checks a risk name.
    #[track_caller]
    pub fn risks(self, name: &str) -> Self {
        assert!(strings(&self.0["risks"]).iter().any(|r| r == name), "no risk {name}: {:#?}", self.0);
        self
    }

    /// Checks that the text contains `words`, compared without case.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        let text = self.0.to_string().to_lowercase();
        assert!(text.contains(&words.to_lowercase()), "does not say {words:?}: {:#?}", self.0);
        self
    }
}

/// One pair.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a>(
    /// The document's part.
    pub &'a Value,
);

impl Pair<'_> {
    /// Checks the route.
    #[track_caller]
    pub fn is_routed(self, route: &str) -> Self {
        assert_eq!(self.0["route"], route, "route of {:#?}", self.0);
        self
    }

    /// Outcome of a rung: `a` to `b`, and `b` to `a`.
    #[track_caller]
    pub fn outcomes(&self, rung: &str) -> (String, String) {
        let rungs = self.0["rungs"].as_array().unwrap();
        let found = rungs.iter().find(|r| r["rung"] == rung);
        let found = found.unwrap_or_else(|| panic!("no rung {rung}: {:#?}", self.0));
        let text = |key: &str| found[key].as_str().unwrap().to_owned();
        (text("a_to_b"), text("b_to_a"))
    }

    /// Checks both directions of a rung.
    #[track_caller]
    pub fn rung(self, rung: &str, outcome: &str) -> Self {
        let (there, back) = self.outcomes(rung);
        assert_eq!((there.as_str(), back.as_str()), (outcome, outcome), "{rung} of {:#?}", self.0);
        self
    }
}
