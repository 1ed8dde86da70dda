//! The audit's JSON contract, on every host.

mod common;

use common::contract::{RULES, RUNGS, audit, audits, strings};
use common::hosts;
use common::run::{on_host, peerfix};
use serde_json::Value;
use std::collections::BTreeSet;

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list: {value:#?}"))
}

fn one_of(name: &str, value: &Value, words: &[&str]) {
    assert!(value.as_str().is_some_and(|v| words.contains(&v)), "{name}: {value} is none of {words:?}");
}

fn is_text(name: &str, value: &Value) {
    assert!(value.as_str().is_some_and(|t| !t.trim().is_empty()), "{name}: expected text, found {value}");
}

#[test]
fn every_document_says_what_it_is() {
    let tree = hosts::z890();
    for (command, schema) in [("audit", "peerfix/audit"), ("plan", "peerfix/plan")] {
        let json = on_host(&tree, &[command]).json();
        assert_eq!(json["schema"], schema);
        assert_eq!(json["version"]["major"], 1);
        assert!(json["version"]["minor"].is_u64());
    }
}

#[test]
fn every_fixed_rule_appears_on_every_host() {
    for (name, audit) in audits() {
        let seen: BTreeSet<&str> = audit.findings().iter().map(common::contract::Finding::rule).collect();
        let missing: Vec<&&str> = RULES.iter().filter(|rule| !seen.contains(**rule)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?} not in the findings");
    }
}

#[test]
fn findings_are_whole() {
    for (name, audit) in audits() {
        let changes = list(&audit.json, "changes");
        for finding in list(&audit.json, "findings") {
            let rule = format!("{name} {}", finding["rule"]);
            one_of(&rule, &finding["status"], &["pass", "warn", "fail", "unknown", "not-applicable"]);
            one_of(&rule, &finding["severity"], &["critical", "high", "medium", "low", "info"]);
            is_text(&rule, &finding["summary"]);
            is_text(&rule, &finding["refuted_by"]);
            assert!(list(finding, "subjects").iter().all(Value::is_string), "{rule}");
            for evidence in list(finding, "evidence") {
                is_text(&rule, &evidence["source"]);
                assert!(evidence["text"].is_string(), "{rule}");
                let line = evidence.get("line").filter(|l| !l.is_null());
                assert!(line.is_none_or(|l| l.as_u64().is_some_and(|l| l > 0)), "{rule}: lines count from 1");
                let source = evidence["source"].as_str().unwrap();
                assert!(
                    !source.starts_with('/') || !source.contains("/tmp"),
                    "{rule}: {source} names the capture"
                );
            }
            if finding["status"] == "fail" || finding["status"] == "warn" || finding["status"] == "unknown" {
                assert!(!list(finding, "evidence").is_empty(), "{rule}: a judgement without evidence");
            }
            for id in strings(&finding["changes"]) {
                assert!(changes.iter().any(|c| c["id"] == id.as_str()), "{rule}: no change {id}");
            }
        }
    }
}

#[test]
fn pairs_carry_all_seven_rungs_in_order() {
    for (name, audit) in audits() {
        let gpus: Vec<&str> =
            list(&audit.json["host"], "gpus").iter().filter_map(|g| g["bdf"].as_str()).collect();
        for pair in list(&audit.json, "pairs") {
            let rungs: Vec<&str> = list(pair, "rungs").iter().filter_map(|r| r["rung"].as_str()).collect();
            assert_eq!(rungs, RUNGS, "{name}");
            for rung in list(pair, "rungs") {
                for side in ["a_to_b", "b_to_a"] {
                    one_of(name, &rung[side], &["pass", "fail", "unknown", "not-applicable"]);
                }
                is_text(name, &rung["why"]);
            }
            // Data and throughput are measured; an audit has nothing to pass them with.
            for rung in &list(pair, "rungs")[3..] {
                assert!(
                    rung["a_to_b"] != "pass" && rung["b_to_a"] != "pass",
                    "{name}: {rung} without a measurement"
                );
            }
            is_text(name, &pair["route"]);
            let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
            assert!(a < b && gpus.contains(&a) && gpus.contains(&b), "{name}: {a} {b} of {gpus:?}");
        }
    }
}

#[test]
fn changes_are_whole() {
    let risks = [
        "dma-isolation",
        "acs-isolation",
        "stray-dma",
        "kernel-patch",
        "unsafe-registry-key",
        "hardening-policy",
        "unattended-unlock",
    ];
    let kinds = ["kernel-cmdline", "modprobe", "kernel-patch", "runtime", "firmware", "hardware"];
    for (name, audit) in audits() {
        for (index, change) in list(&audit.json, "changes").iter().enumerate() {
            let what = format!("{name} {}", change["name"]);
            assert_eq!(change["id"], format!("c{}", index + 1), "{what}");
            one_of(&what, &change["kind"], &kinds);
            one_of(&what, &change["consent"], &["none", "required"]);
            is_text(&what, &change["name"]);
            assert!(change["ladder"].as_i64().is_some_and(|rung| rung >= 1), "{what}");
            for word in strings(&change["add"]).iter().chain(&strings(&change["remove"])) {
                assert!(
                    !word.contains(' ') || word.contains('"'),
                    "{what}: one word per element, not {word:?}"
                );
            }
            for rule in strings(&change["rules"]) {
                let named = list(&audit.json, "findings").iter().any(|f| {
                    f["rule"] == rule.as_str()
                        && strings(&f["changes"]).iter().any(|id| change["id"] == id.as_str())
                });
                assert!(named, "{what}: {rule} does not name it");
            }
            assert!(!list(change, "rules").is_empty(), "{what}");
            let named = strings(&change["risks"]);
            assert!(named.iter().all(|r| risks.contains(&r.as_str())), "{what}: {named:?}");
            if change["consent"] == "required" {
                assert!(!named.is_empty(), "{what}: consent to what?");
            }
            assert!(change["manual"].is_boolean() && change["pending"].is_boolean(), "{what}");
            for edit in list(change, "edits") {
                assert!(
                    edit["path"].as_str().is_some_and(|p| p.starts_with("/etc/") || p.starts_with("/boot/")),
                    "{what}"
                );
                assert!(edit["diff"].as_str().is_some_and(|d| d.starts_with("--- ")), "{what}: {edit}");
            }
            if change["manual"] == false && change["pending"] == false {
                assert!(!list(change, "revert").is_empty(), "{what}: no way back");
            }
            if change["kind"] == "kernel-cmdline" && change["manual"] == false {
                is_text(&what, &change["effective_cmdline"]);
                assert!(!list(change, "commands").is_empty(), "{what}: an edit that nothing makes effective");
            }
        }
    }
}

#[test]
fn the_host_is_described() {
    let audit = audit(&hosts::z890());
    let host = &audit.json["host"];
    assert_eq!(host["kernel"], "7.0.0-28-generic");
    assert!(host["cmdline"].as_str().unwrap().contains("quiet splash"));
    assert!(host["virtual"].is_null());
    let gpus = list(host, "gpus");
    let cards: Vec<&Value> = gpus.iter().filter(|g| g["vendor"] == "nvidia").collect();
    assert_eq!(cards.len(), 2);
    assert_eq!(cards[0]["bdf"], "0000:02:00.0");
    assert_eq!(cards[0]["driver"], "nvidia");
    assert!(cards[0]["name"].as_str().unwrap().contains("RTX PRO 5000"));
}

#[test]
fn stdout_is_the_document_and_nothing_else() {
    let tree = hosts::x99();
    let ran = peerfix(&["audit", "--host", tree.path().to_str().unwrap(), "--format", "json", "-v"]);
    assert!(ran.stdout.trim_start().starts_with('{') && ran.stdout.trim_end().ends_with('}'));
    ran.json();
}

#[test]
fn text_and_markdown_name_what_json_names() {
    let tree = hosts::z890();
    let path = tree.path().to_str().unwrap();
    for format in ["text", "markdown"] {
        let ran = peerfix(&["audit", "--host", path, "--format", format]).exits(1);
        for words in ["iommu/faults", "0000:02:00.0", "iommu=pt", "captured/dmesg.txt"] {
            assert!(ran.stdout.contains(words), "{format} does not say {words}: {}", ran.stdout);
        }
        assert!(!ran.stdout.contains('\u{1b}'), "colour in a pipe");
    }
    let text = peerfix(&["audit", "--host", path]).stdout;
    let last: Vec<&str> = text.lines().rev().take(6).collect();
    assert!(last.iter().any(|l| l.starts_with("Next:")), "ends with the next step: {last:?}");
}

#[test]
fn two_runs_say_the_same() {
    let tree = hosts::turin_stock();
    assert_eq!(on_host(&tree, &["audit"]).stdout, on_host(&tree, &["audit"]).stdout);
}

#[test]
fn the_shipped_hosts_give_the_verdicts_of_their_builders() {
    let home = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let z890 = common::contract::audit_at(&home.join("z890-translated"));
    z890.finding("iommu/faults").is("fail").names_first("0000:02:00.0");
    let x99 = common::contract::audit_at(&home.join("x99-r9700"));
    x99.finding("p2pdma/bridge-not-allowed").is("fail");
    x99.finding("iommu/needs-translation").is("fail");
}
