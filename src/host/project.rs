//! Turns facts into plain values for rules, with evidence and reasons beside them.

use crate::root::{Evidence, Unknown};
use serde::Serialize;
use serde_json::{Map, Value};
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

/// Projects anything that holds [`crate::root::Fact`]s.
pub fn project<T: Serialize>(facts: &T) -> Projected {
    let mut out = Projected::default();
    let tree = serde_json::to_value(facts).unwrap_or(Value::Null);
    let value = walk(tree, &mut String::new(), &mut out);
    out.value = value.unwrap_or(Value::Null);
    out
}

/// Walks one value; `None` for an unknown fact.
fn walk(value: Value, path: &mut String, out: &mut Projected) -> Option<Value> {
    match value {
        Value::Object(mut map) => match map.get("$fact").and_then(Value::as_str).map(str::to_owned) {
            None => {
                let mut plain = Map::new();
                for (key, child) in map {
                    let length = path.len();
                    path.push('/');
                    path.push_str(&key);
                    if let Some(child) = walk(child, path, out) {
                        plain.insert(key, child);
                    }
                    path.truncate(length);
                }
                Some(Value::Object(plain))
            }
            Some(kind) if kind == "unknown" => {
                if let Some(reason) = map.remove("reason").and_then(|r| reason_from(&r)) {
                    out.unknown.insert(path.clone(), reason);
                }
                None
            }
            Some(kind) => {
                let evidence = map.remove("evidence").map(|e| evidence_from(&e)).unwrap_or_default();
                out.evidence.insert(path.clone(), evidence);
                if kind == "absent" {
                    return Some(Value::Null);
                }
                walk(map.remove("value").unwrap_or(Value::Null), path, out)
            }
        },
        Value::Array(items) => {
            let mut plain = Vec::with_capacity(items.len());
            for (index, item) in items.into_iter().enumerate() {
                let length = path.len();
                path.push('/');
                path.push_str(&index.to_string());
                plain.push(walk(item, path, out).unwrap_or(Value::Null));
                path.truncate(length);
            }
            Some(Value::Array(plain))
        }
        other => Some(other),
    }
}

fn evidence_from(value: &Value) -> Vec<Evidence> {
    let lines = value.as_array().map(Vec::as_slice).unwrap_or_default();
    lines
        .iter()
        .map(|e| Evidence {
            source: text(e, "source"),
            line: e.get("line").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()),
            text: text(e, "text"),
        })
        .collect()
}

fn reason_from(value: &Value) -> Option<Unknown> {
    use crate::root::Why;
    let why = match value.get("why").and_then(Value::as_str)? {
        "permission" => Why::Permission,
        "not-captured" => Why::NotCaptured,
        "malformed" => Why::Malformed,
        "too-large" => Why::TooLarge,
        "derived" => Why::Derived,
        _ => Why::Unreadable,
    };
    Some(Unknown {
        path: text(value, "path"),
        line: value.get("line").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()),
        why,
        detail: text(value, "detail"),
    })
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
