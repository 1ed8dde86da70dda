//! Turns facts into plain values for rules, with evidence and reasons beside them.

mod serializer;

use crate::root::{Evidence, Unknown};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Plain values, and what stands behind each by JSON pointer (`/host/gpus/0/driver`).
#[derive(Clone, Debug, Default)]
pub struct Projected {
    /// Known facts as their value, absent ones as `null`, unknown ones left out.
    pub value: Value,
    /// Lines behind known and absent facts.
    pub evidence: BTreeMap<String, Vec<Evidence>>,
    /// Reasons of unknown facts.
    pub unknown: BTreeMap<String, Unknown>,
}

/// Projects anything that holds [`crate::root::Fact`]s, in one pass: a server has tens of thousands of facts,
/// and a tree of them in between would cost more than reading them.
pub fn project<T: Serialize>(facts: &T) -> Projected {
    let mut out = Projected::default();
    // Only a map whose keys are no text fails; facts hold none, and without a value every rule is open.
    out.value = serializer::value(facts, &mut out).ok().flatten().unwrap_or(Value::Null);
    out
}
