//! `peerfix/rules` and `peerfix/rule`.

use super::{VERSION, Version};
use crate::rules::model::Rule;
use crate::rules::{Catalogue, Severity};
use schemars::JsonSchema;
use serde::Serialize;

/// `peerfix/rules`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RulesDocument<'a> {
    /// `peerfix/rules`.
    #[schemars(extend("const" = "peerfix/rules"))]
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
    #[schemars(extend("const" = "peerfix/rule"))]
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
