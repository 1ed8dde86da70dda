//! What the program prints is what its published schemas promise.
//!
//! A small reader of the JSON Schema words that the files in `schema/` use; an unknown word fails the test.

mod common;

use common::contract::audits;
use common::fakes::Bench;
use common::run::{on_host, on_root, peerfix};
use common::{Tree, hosts};
use serde_json::Value;

fn published(name: &str) -> Value {
    let path = format!("{}/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[track_caller]
fn conforms(name: &str, document: &Value) {
    let root = published(name);
    let mut wrong = Vec::new();
    check(&root, &root, document, name, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words that say nothing about validity here; integers are read as `i64` or `u64` anyway.
const NOTES: [&str; 6] = ["$schema", "$defs", "title", "description", "format", "default"];

fn check(root: &Value, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
    for (word, says) in schema.as_object().unwrap() {
        let right = match word.as_str() {
            note if NOTES.contains(&note) => true,
            "$ref" => {
                let target = says.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(target).unwrap(), value, at, wrong);
                true
            }
            "type" => {
                let fits = |t: &Value| is_a(t.as_str().unwrap(), value);
                says.as_array().map_or_else(|| fits(says), |all| all.iter().any(fits))
            }
            "const" => value == says,
            "enum" => says.as_array().unwrap().contains(value),
            "minimum" => value.is_null() || value.as_f64() >= says.as_f64(),
            "anyOf" | "oneOf" => says.as_array().unwrap().iter().any(|option| {
                let mut inner = Vec::new();
                check(root, option, value, at, &mut inner);
                inner.is_empty()
            }),
            "required" => {
                says.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some())
            }
            "properties" | "additionalProperties" => {
                let known = schema.get("properties");
                for (key, inner) in value.as_object().into_iter().flatten() {
                    let named = known.and_then(|k| k.get(key));
                    match named.or(schema.get("additionalProperties")) {
                        Some(schema) => check(root, schema, inner, &format!("{at}/{key}"), wrong),
                        None => wrong.push(format!("{at}/{key}: not in the schema")),
                    }
                }
                true
            }
            "minItems" => value.as_array().is_none_or(|v| v.len() as u64 >= says.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|v| v.len() as u64 <= says.as_u64().unwrap()),
            "prefixItems" => {
                let both = value.as_array().into_iter().flatten().zip(says.as_array().unwrap());
                for (index, (item, schema)) in both.enumerate() {
                    check(root, schema, item, &format!("{at}/{index}"), wrong);
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, says, item, &format!("{at}/{index}"), wrong);
                }
                true
            }
            other => panic!("{at}: this test does not know the word {other}"),
        };
        if !right {
            wrong.push(format!("{at}: {word} {says} against {value}"));
        }
    }
}

fn is_a(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}

#[test]
fn audits_and_plans_of_every_host() {
    for (_, audit) in audits() {
        conforms("audit", &audit.json);
    }
    for make in [hosts::z890, hosts::x99, hosts::turin_stock, hosts::x570_inactive] {
        conforms("plan", &on_host(&make(), &["plan"]).json());
    }
    conforms("audit", &on_host(&Tree::new().dir("etc"), &["audit"]).json());
}

#[test]
fn the_life_of_a_change() {
    let tree = hosts::z890();
    conforms("provision", &on_root(&tree, &["provision", "--no-trial", "--yes"]).json());
    conforms("provision", &on_root(&tree, &["provision", "--no-trial", "--yes"]).json());
    conforms("status", &on_root(&tree, &["status"]).json());
    conforms("change", &on_root(&tree, &["show", "last"]).json());
    conforms("revert", &on_root(&tree, &["revert", "--dry-run"]).json());
    conforms("revert", &on_root(&tree, &["revert"]).json());
    conforms("history", &on_root(&tree, &["history"]).json());
}

#[test]
fn the_catalogue() {
    conforms("rules", &peerfix(&["rules", "list", "--format", "json"]).json());
    conforms("rule", &peerfix(&["rules", "explain", "iommu/faults", "--format", "json"]).json());
}

#[test]
fn records_and_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let record = |name: &str, config: &str| {
        let (ran, _) = Bench::of(config).run(&["bench", "--quick", "--format", "json", "-o", &file(name)]);
        let document = ran.json();
        conforms("record", &document);
        let written: Value = serde_json::from_str(&std::fs::read_to_string(file(name)).unwrap()).unwrap();
        assert_eq!(written, document, "what is printed is what is written");
    };
    record("clean", "seed=3");
    record("wrong", "seed=4;nvlinks=4;fault=stale;pair=0>1;engine=ce;min=65536");
    record("other", "seed=5;gpus=3;fault=refuse");
    for (before, after) in [("clean", "clean"), ("clean", "wrong"), ("wrong", "clean"), ("clean", "other")] {
        let args = ["compare", &file(before), &file(after), "--format", "json"];
        conforms("verdict", &peerfix(&args).json());
    }
}
