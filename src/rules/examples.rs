//! The examples that each rule carries: small facts with the status they must give (`rules check`).

use super::catalogue::{Catalogue, CompiledRule};
use super::engine::{judge, worst};
use super::expr::{Schema, Scope, Type};
use super::model::Example;
use super::source::{RuleError, locate};
use super::{Finding, Status};
use crate::host::Projected;
use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Stands for an absent fact in the facts of an example.
const ABSENT: &str = "@absent";

/// Judges every example of every rule; each rule needs one that fires (fail or warn) and one that does not
/// (pass or not-applicable).
pub fn check(catalogue: &Catalogue) -> Vec<RuleError> {
    catalogue.rules().iter().flat_map(check_rule).collect()
}

/// Judges the examples of one rule.
pub fn check_rule(rule: &CompiledRule) -> Vec<RuleError> {
    let mut checker = Checker { rule, node: node(rule), errors: Vec::new() };
    let examples = &rule.rule.example;
    for (index, example) in examples.iter().enumerate() {
        checker.example(index, example);
    }
    let any = |statuses: &[Status]| examples.iter().any(|e| statuses.contains(&e.expect));
    // A rule whose checks only explain (status pass) has nothing to fire.
    let fires = rule.rule.check.iter().any(|c| matches!(c.status, Status::Fail | Status::Warn));
    if fires && !any(&[Status::Fail, Status::Warn]) {
        checker.wrong("id", format!("`{}` has no example that fires it (fail or warn)", rule.rule.id), "");
    }
    if !any(&[Status::Pass, Status::NotApplicable]) {
        let message =
            format!("`{}` has no example that leaves it quiet (pass or not-applicable)", rule.rule.id);
        checker.wrong("id", message, "");
    }
    checker.errors
}

/// The plain facts of an example: what is not named is unknown.
pub fn facts(example: &Example) -> Projected {
    Projected { value: Json::Object(object(&example.facts)), ..Projected::default() }
}

fn object(table: &toml::Table) -> Map<String, Json> {
    table.iter().map(|(key, value)| (key.clone(), json(value))).collect()
}

fn json(value: &toml::Value) -> Json {
    match value {
        toml::Value::String(text) if text == ABSENT => Json::Null,
        toml::Value::String(text) => Json::from(text.as_str()),
        toml::Value::Integer(number) => Json::from(*number),
        toml::Value::Float(number) => Json::from(*number),
        toml::Value::Boolean(value) => Json::from(*value),
        toml::Value::Datetime(time) => Json::from(time.to_string()),
        toml::Value::Array(values) => values.iter().map(json).collect(),
        toml::Value::Table(table) => Json::Object(object(table)),
    }
}

/// The rule's table in its file, for places.
fn node(rule: &CompiledRule) -> Option<Spanned<DeValue<'_>>> {
    let document = DeTable::parse(&rule.source.text).ok()?.into_inner();
    let (_, rules) = document.into_iter().find(|(key, _)| key.get_ref() == "rule")?;
    let DeValue::Array(rules) = rules.into_inner() else { return None };
    let id = |node: &Spanned<DeValue<'_>>| {
        node.get_ref().get("id").and_then(|id| id.get_ref().as_str().map(str::to_owned))
    };
    rules.into_iter().find(|node| id(node).as_deref() == Some(&rule.rule.id))
}

struct Checker<'a> {
    rule: &'a CompiledRule,
    node: Option<Spanned<DeValue<'a>>>,
    errors: Vec<RuleError>,
}

impl Checker<'_> {
    fn wrong(&mut self, path: &str, message: impl Into<String>, help: &str) {
        let span = self.node.as_ref().map_or(0..0, |node| locate(node, path));
        self.errors.push(self.rule.source.error(span, message, help));
    }

    fn example(&mut self, index: usize, example: &Example) {
        let path = format!("example.{index}");
        let scope = Scope::facts();
        let before = self.errors.len();
        for (name, value) in &example.facts {
            let path = format!("{path}.facts.{name}");
            match scope.get(name) {
                Some(ty) => self.fits(&path, value, ty, scope.schema()),
                None => self.wrong(&path, format!("unknown name `{name}`"), "known: host, boot, pairs"),
            }
        }
        if self.errors.len() > before {
            return;
        }
        let facts = facts(example);
        let findings = judge(self.rule, &facts);
        let found = worst(&findings).unwrap_or(Status::Unknown);
        if found != example.expect {
            let message =
                format!("example `{}` gives {}, not {}", example.name, word(found), word(example.expect));
            self.wrong(&format!("{path}.expect"), message, &told(&findings));
        }
        if let Some(expected) = &example.remedies {
            let mut offered: Vec<&str> = Vec::new();
            for offer in findings.iter().flat_map(|f| &f.remedies) {
                if !offered.contains(&offer.name.as_str()) {
                    offered.push(&offer.name);
                }
            }
            if offered != *expected {
                let message = format!(
                    "example `{}` offers [{}], not [{}]",
                    example.name,
                    offered.join(", "),
                    expected.join(", ")
                );
                self.wrong(&format!("{path}.remedies"), message, &told(&findings));
            }
        }
    }

    /// A value of an example against the schema: a misspelt field would be an unknown fact.
    fn fits(&mut self, path: &str, value: &toml::Value, ty: &Type, schema: &Schema) {
        match (value, ty) {
            (toml::Value::String(text), _) if text == ABSENT => {}
            (_, Type::Any)
            | (toml::Value::Boolean(_), Type::Bool)
            | (toml::Value::Integer(_), Type::Int | Type::Double)
            | (toml::Value::Float(_), Type::Double)
            | (toml::Value::String(_), Type::Text) => {}
            (toml::Value::String(text), Type::Word(words)) => {
                if !words.contains(text) {
                    self.wrong(path, format!("`{text}` is no value of this fact"), &words.join(", "));
                }
            }
            (toml::Value::Array(values), Type::List(element)) => {
                for (index, value) in values.iter().enumerate() {
                    self.fits(&format!("{path}.{index}"), value, element, schema);
                }
            }
            (toml::Value::Table(table), Type::Object(object)) => {
                let Some(fields) = schema.fields_of(object) else { return };
                for (name, value) in table {
                    let path = format!("{path}.{name}");
                    let Some(ty) = fields.get(name) else {
                        let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                        let help = format!("fields here: {}", known.join(", "));
                        self.wrong(&path, format!("no field `{name}` in {object}"), &help);
                        continue;
                    };
                    self.fits(&path, value, ty, schema);
                }
            }
            (value, ty) => {
                self.wrong(
                    path,
                    format!("expected {ty}, found {}", value.type_str()),
                    "`@absent` stands for an absent fact",
                );
            }
        }
    }
}

/// What the rule said, one finding a line.
fn told(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|f| format!("{}: {}", word(f.status), f.summary));
    lines.collect::<Vec<_>>().join("\n")
}

fn word(status: Status) -> &'static str {
    match status {
        Status::NotApplicable => "not-applicable",
        Status::Pass => "pass",
        Status::Unknown => "unknown",
        Status::Warn => "warn",
        Status::Fail => "fail",
    }
}
