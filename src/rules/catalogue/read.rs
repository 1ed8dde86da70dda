//! TOML to rules. Every unknown key and every badly shaped rule is reported, not only the first.

use crate::rules::model::Rule;
use crate::rules::source::{RuleError, Source};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// Errors reported for one rule before giving up on it.
const ERROR_LIMIT: usize = 32;

/// A rule as the file holds it.
pub(super) struct Found<'t> {
    pub(super) rule: Rule,
    pub(super) node: Spanned<DeValue<'t>>,
    pub(super) id_at: Range<usize>,
    pub(super) line: usize,
}

/// The rules of a file that have the right shape, and what is wrong with the others.
pub(super) fn rules(source: &Source) -> (Vec<Found<'_>>, Vec<RuleError>) {
    let (document, syntax) = DeTable::parse_recoverable(&source.text);
    if !syntax.is_empty() {
        let error = |e: &toml::de::Error| {
            source.error(e.span().unwrap_or(0..0), format!("not TOML: {}", e.message()), "")
        };
        return (Vec::new(), syntax.iter().map(error).collect());
    }
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    for (key, value) in document.into_inner() {
        match (key.get_ref().as_ref(), value.into_inner()) {
            ("rule", DeValue::Array(array)) => {
                for node in array {
                    match rule(source, node) {
                        Ok(found) => rules.push(found),
                        Err(more) => errors.extend(more),
                    }
                }
            }
            (name, _) => {
                errors.push(source.error(
                    key.span(),
                    format!("unknown key `{name}`"),
                    "a rule file holds [[rule]] tables",
                ));
            }
        }
    }
    (rules, errors)
}

/// One rule. The deserialiser stops at the first unknown key; the key is then taken out and it is asked
/// again, so that the model remains the only list of keys.
fn rule<'t>(source: &Source, node: Spanned<DeValue<'t>>) -> Result<Found<'t>, Vec<RuleError>> {
    let mut errors = Vec::new();
    let mut pruned = node.clone();
    while errors.len() < ERROR_LIMIT {
        match Rule::deserialize(ValueDeserializer::from(pruned.clone())) {
            Ok(rule) if errors.is_empty() => {
                let id_at = super::super::source::locate(&node, "id");
                let line = source.text[..node.span().start].matches('\n').count() + 1;
                return Ok(Found { rule, node, id_at, line });
            }
            Ok(_) => break,
            Err(error) => {
                let span = error.span().unwrap_or(node.span());
                errors.push(source.error(span.clone(), error.message(), ""));
                if !error.message().starts_with("unknown field") || !remove_key(&mut pruned, &span) {
                    break;
                }
            }
        }
    }
    Err(errors)
}

/// Takes out the key that stands at `span`.
fn remove_key(node: &mut Spanned<DeValue>, span: &Range<usize>) -> bool {
    match node.get_mut() {
        DeValue::Table(table) => {
            let key = table.keys().find(|key| key.span() == *span).cloned();
            match key {
                Some(key) => table.remove(&key).is_some(),
                None => table.iter_mut().any(|(_, value)| remove_key(value, span)),
            }
        }
        DeValue::Array(array) => array.iter_mut().any(|value| remove_key(value, span)),
        _ => false,
    }
}
