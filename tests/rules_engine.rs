//! The rules engine: what a rule sees, when it fires, what it says when facts are missing, and what is wrong
//! with a rule file.

mod common;

use common::Tree;
use peerfix::boot::Boot;
use peerfix::host::gpu::Gpu;
use peerfix::host::{Host, Projected, project};
use peerfix::root::{Evidence, Fact, Root, Why};
use peerfix::rules::engine::evaluate_projected;
use peerfix::rules::source::Source;
use peerfix::rules::{
    Catalogue, Facts, Finding, RuleError, Severity, Status, embedded, evaluate, examples, worst,
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

/// A rule file with one rule; `checks` is TOML for the checks, remedies and more keys.
fn file(applies: &str, checks: &str) -> String {
    format!(
        r#"[[rule]]
id = "test/rule"
title = "Something is wrong"
severity = "medium"
rationale = "It matters."
refuted_by = "A look."
by_hand = "look"
sources = ["a document"]
applies = '''{applies}'''
not_applicable = "Does not apply."
pass = "All {{size(host.gpus)}} are right."
{checks}

[[rule.example]]
name = "none"
expect = "pass"
[rule.example.facts]
"#
    )
}

const CHECK: &str = r#"
[[rule.check]]
status = "fail"
each = "host.gpus"
as = "g"
if = "g.numa_node == 1"
summary = "{size(items)} of them: {subjects}."
"#;

fn load(text: &str) -> (Catalogue, Vec<RuleError>) {
    Catalogue::from_sources([Source { name: "rules/test.toml".into(), text: text.into() }])
}

fn judge(text: &str, facts: Value) -> Vec<Finding> {
    let (catalogue, errors) = load(text);
    assert!(errors.is_empty(), "{errors:#?}");
    evaluate_projected(&catalogue, &Projected { value: facts, ..Projected::default() })
}

/// `line:column message` of each error.
fn errors(text: &str) -> Vec<String> {
    let (catalogue, errors) = load(text);
    assert!(catalogue.rules().is_empty(), "a rule with errors is left out");
    errors.into_iter().map(|e| format!("{}:{} {}", e.line, e.column, e.message)).collect()
}

fn statuses(findings: &[Finding]) -> Vec<Status> {
    findings.iter().map(|f| f.status).collect()
}

fn gpus(nodes: &[Value]) -> Value {
    let gpus = nodes.iter().enumerate().map(|(i, node)| {
        let mut gpu = json!({"bdf": format!("0000:0{i}:00.0")});
        if !node.is_string() {
            gpu["numa_node"] = node.clone();
        }
        gpu
    });
    json!({"host": {"gpus": gpus.collect::<Vec<_>>()}})
}

/// Marks a fact as unknown in [`gpus`].
fn unknown() -> Value {
    json!("unknown")
}

#[test]
fn the_hardware_condition_is_judged_first() {
    let rule = file("host.live", CHECK);
    let not = judge(&rule, json!({"host": {"live": false}}));
    assert_eq!((not[0].status, not[0].summary.as_str()), (Status::NotApplicable, "Does not apply."));
    let open = judge(&rule, json!({"host": {}}));
    assert_eq!(statuses(&open), [Status::Unknown]);
    assert_eq!(open[0].evidence, [Evidence::new("host.live", "not known")]);
    assert_eq!(open[0].summary, "Not decided (Something is wrong): host.live: not known.");
}

#[test]
fn one_finding_per_check_names_all_its_items_in_order() {
    let found = judge(&file("true", CHECK), gpus(&[json!(1), json!(0), json!(1)]));
    assert_eq!(statuses(&found), [Status::Fail]);
    assert_eq!(found[0].subjects, ["0000:00:00.0", "0000:02:00.0"]);
    assert_eq!(found[0].summary, "2 of them: 0000:00:00.0, 0000:02:00.0.");
    assert_eq!(found[0].severity, Severity::Medium);
    assert_eq!(found[0].refuted_by, "A look.");
}

#[test]
fn one_unknown_fact_hides_no_other_finding() {
    let found = judge(&file("true", CHECK), gpus(&[json!(1), unknown(), json!(0)]));
    assert_eq!(statuses(&found), [Status::Fail, Status::Unknown]);
    assert_eq!(found[1].subjects, ["0000:01:00.0"]);
    assert_eq!(found[1].evidence, [Evidence::new("host.gpus[1].numa_node", "not known")]);
    assert_eq!(worst(&found), Some(Status::Fail));
    let quiet = judge(&file("true", CHECK), gpus(&[json!(0), unknown()]));
    assert_eq!(statuses(&quiet), [Status::Unknown], "unknown is never a pass");
}

#[test]
fn nothing_fired_and_nothing_unknown_is_one_pass() {
    let found = judge(&file("true", CHECK), gpus(&[json!(0), Value::Null]));
    assert_eq!(statuses(&found), [Status::Pass]);
    assert_eq!(found[0].summary, "All 2 are right.");
    assert!(!found[0].refuted_by.is_empty() && found[0].remedies.is_empty());
}

#[test]
fn the_first_check_that_fires_decides_an_item() {
    let checks = format!(
        "{CHECK}
[[rule.check]]
status = 'warn'
severity = 'low'
each = 'host.gpus.filter(o, o.numa_node != 5)'
as = 'o'
if = 'o.numa_node > 0'
summary = 'others: {{subjects}}'
"
    );
    let found = judge(&file("true", &checks), gpus(&[json!(1), json!(2), json!(5), unknown(), json!(-1)]));
    assert_eq!(statuses(&found), [Status::Fail, Status::Warn, Status::Unknown]);
    assert_eq!(found[0].subjects, ["0000:00:00.0"]);
    assert_eq!(found[1].subjects, ["0000:01:00.0"]);
    assert_eq!(found[1].severity, Severity::Low);
    assert_eq!(found[2].subjects, ["0000:03:00.0"]);
    assert_eq!(found[2].evidence.len(), 1, "the same reason is given once");
}

#[test]
fn an_item_open_in_one_check_may_be_decided_by_another() {
    let checks = format!(
        "{CHECK}\n[[rule.check]]\nstatus = 'warn'\neach = 'host.gpus'\nas = 'g'\nif = 'true'\nsummary = 'all'\n"
    );
    let found = judge(&file("true", &checks), gpus(&[unknown()]));
    assert_eq!(statuses(&found), [Status::Warn]);
}

#[test]
fn an_unknown_list_leaves_its_check_open() {
    let checks = CHECK.replace("host.gpus\"", "host.measured\"").replace("g.numa_node == 1", "g.verified");
    let checks = checks.replace("summary", "subject = \"g.from\"\nsummary");
    let found = judge(&file("true", &checks), json!({"host": {"gpus": []}}));
    assert_eq!(statuses(&found), [Status::Unknown]);
    assert!(found[0].subjects.is_empty());
}

#[test]
fn an_absent_fact_is_named_as_absent() {
    let checks = CHECK.replace("g.numa_node == 1", "g.numa_node > 1");
    let found = judge(&file("true", &checks), gpus(&[Value::Null]));
    assert_eq!(found[0].evidence[0].text, "host.gpus[0].numa_node is absent");
}

#[test]
fn evidence_is_the_lines_of_the_facts_that_decided() {
    let mut host = Host::default();
    for (n, node) in [(1, 1), (2, 0)] {
        let numa_node = Fact::known(node, Evidence::at(format!("sys/{n}/numa_node"), 1, node.to_string()));
        let driver = Fact::known("nvidia".into(), Evidence::new(format!("sys/{n}/driver"), "-> nvidia"));
        host.gpus.push(Gpu { bdf: format!("0000:0{n}:00.0"), numa_node, driver, ..Gpu::default() });
    }
    host.gpus.push(Gpu {
        bdf: "0000:03:00.0".into(),
        numa_node: Fact::unknown("sys/3/numa_node", Why::Permission, "run as root to read it"),
        ..Gpu::default()
    });
    let checks =
        format!("{CHECK}detail = 'node {{g.numa_node}}'\nevidence = ['g.driver', 'host.kernel.release']\n");
    let (catalogue, errors) = load(&file("true", &checks));
    assert!(errors.is_empty(), "{errors:?}");
    let found = evaluate(&catalogue, &Facts { host: &host, boot: &Boot::default(), pairs: &[] });
    let shown: Vec<String> = found[0].evidence.iter().map(|e| format!("{} {}", e.source, e.text)).collect();
    assert_eq!(
        shown,
        ["sys/1/driver -> nvidia", "host.kernel.release not captured", "sys/1/numa_node 1", "derived node 1"]
    );
    assert_eq!(found[1].evidence[0].source, "sys/3/numa_node");
    assert_eq!(found[1].evidence[0].text, "permission denied (run as root to read it)");
}

const REMEDIES: &str = r#"
[[rule.remedy]]
name = "first"
kind = "kernel-cmdline"
explain = "For {subjects}."
offer = "host.live"
add = ["iommu=pt"]

[[rule.remedy]]
name = "second"
kind = "kernel-cmdline"
explain = "Then {size(items)}."
add = ["x={size(items)}", "{*items.map(i, 'g=' + i.bdf)*}"]
remove = ["{host.iommu.active ? 'a' : 'b'}"]
pulls = "iommu:off"
risk = [
    { name = "dma-isolation", if = "host.live", consent = true },
    { name = "stray-dma", if = "!host.live" },
]
blocked = [
    { if = "host.isolation.vfio.size() > 0", because = "{host.isolation.vfio} in use" },
    { if = "host.isolation.guests.size() > 0", because = "guests run" },
]
conditional = "{host.live ? 'a look' : ''}"
steps = ["{host.live ? 'press' : ''}", "turn"]

[[rule.remedy]]
name = "third"
kind = "firmware"
explain = "Or so."
steps = ["press"]
"#;

#[test]
fn remedies_are_filled_in_and_counted_over_what_is_offered() {
    let rule = file("true", &format!("{CHECK}{REMEDIES}"));
    let mut facts = gpus(&[json!(1), json!(1)]);
    facts["host"]["live"] = json!(false);
    facts["host"]["iommu"] = json!({"active": true});
    facts["host"]["isolation"] = json!({"vfio": ["0000:09:00.0"]});
    let found = judge(&rule, facts.clone());
    let names: Vec<(&str, i64)> = found[0].remedies.iter().map(|r| (r.name.as_str(), r.ladder)).collect();
    assert_eq!(names, [("second", 1), ("third", 2)]);
    let second = &found[0].remedies[0];
    assert_eq!(second.explain, "Then 2.");
    assert_eq!(second.add, ["x=2", "g=0000:00:00.0", "g=0000:01:00.0"]);
    assert_eq!(second.remove, ["a"]);
    assert_eq!(
        (second.risks.as_slice(), second.consents.is_empty()),
        (["stray-dma".to_owned()].as_slice(), true)
    );
    assert_eq!(second.blocked_by, ["0000:09:00.0 in use"]);
    assert_eq!(
        (second.conditional.as_deref(), second.steps.as_slice()),
        (None, ["turn".to_owned()].as_slice())
    );
    let texts: Vec<&str> = found[0].evidence.iter().map(|e| e.text.as_str()).collect();
    assert!(texts.contains(&"not known whether something in use blocks second"), "{texts:?}");

    // Unknown: the remedy and its risks stand; a word with a hole does not.
    facts["host"].as_object_mut().unwrap().remove("live");
    let found = judge(&rule, facts.clone());
    let second = &found[0].remedies[1];
    assert_eq!((second.risks.len(), second.consents.is_empty()), (2, false));
    facts["host"].as_object_mut().unwrap().remove("iommu");
    let found = judge(&rule, facts);
    let names: Vec<&str> = found[0].remedies.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["first", "third"]);
    assert!(
        found[0].evidence.iter().any(|e| e.text == "remedy second is not offered: its words are not known")
    );
}

#[test]
fn a_check_may_offer_some_remedies_and_give_unknown_itself() {
    let check = CHECK.replace("\"fail\"", "\"unknown\"") + "remedies = ['third']\n";
    let more = format!("{check}{}{REMEDIES}", CHECK.replace("== 1", "== 9"));
    let found = judge(&file("true", &more), gpus(&[json!(1)]));
    assert_eq!(statuses(&found), [Status::Unknown]);
    assert_eq!(found[0].remedies.len(), 1);
}

#[test]
fn errors_in_expressions_name_file_line_and_column() {
    let text =
        file("host.iomu.active", &CHECK.replace("g.numa_node == 1", "g.numa_node == 'one' && g.nod == 1"));
    assert_eq!(
        errors(&text),
        ["9:19 no field `iomu` in Host", "17:7 compares int with string", "17:33 no field `nod` in Gpu",]
    );
    let (_, all) = load(&text);
    assert!(all[0].help.as_ref().unwrap().starts_with("did you mean `iommu`?"), "{:?}", all[0].help);
    let shown = format!("{:?}", miette::Report::new(all[1].clone()));
    assert!(shown.contains("rules/test.toml:17:7") && shown.contains("here"), "{shown}");
}

#[test]
fn errors_in_templates_and_remedies_are_placed_too() {
    let checks = format!(
        "{CHECK}detail = 'é {{g.nosuch}}'\n{}",
        REMEDIES.replace("i.bdf", "i.bfd").replace("guests run", "{guests}")
    );
    assert_eq!(
        errors(&file("true", &checks)),
        ["19:16 no field `nosuch` in Gpu", "32:52 no field `bfd` in Gpu", "41:60 unknown name `guests`"]
    );
}

#[test]
fn all_unknown_keys_are_reported() {
    let text = file("true", &CHECK.replace("summary", "sumary = 'x'\nextra = 1\nsummary"))
        .replace("title", "tile = 1\ntitle")
        + "[other]\n";
    let found = errors(&text);
    assert_eq!(found.len(), 4, "{found:?}");
    for (error, expected) in found.iter().zip([
        "3:1 unknown field `tile`",
        "19:1 unknown field `sumary`",
        "20:1 unknown field `extra`",
        "28:2 unknown key `other`",
    ]) {
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn names_that_lead_nowhere_are_errors() {
    let checks = format!("{CHECK}remedies = ['first', 'nosuch']\n{REMEDIES}")
        .replace("\"stray-dma\"", "\"stray\"")
        .replace("iommu:off", "iommu");
    assert_eq!(
        errors(&file("true", &checks)),
        [
            "19:22 unknown remedy `nosuch`",
            "29:8 no check offers remedy `second`",
            "34:9 expected `option:direction`",
            "37:14 unknown risk `stray`",
            "47:8 no check offers remedy `third`",
        ]
    );
    assert_eq!(errors(&file("true", &CHECK.replace("as = \"g\"\n", "")))[0], "13:1 `each` without `as`");
    assert!(
        errors(&file("true", &CHECK.replace("\"fail\"", "\"not-applicable\"")))[0]
            .contains("a check gives fail, warn, unknown")
    );
    assert!(errors(&file("true", &CHECK.replace("\"g\"", "\"host\"")))[0].contains("cannot name an item"));
    assert!(errors(&file("true", &CHECK.replace("\"host.gpus\"", "\"pairs\"")))[0].contains("has no `bdf`"));
    assert!(
        errors(&file("true", &CHECK.replace("\"host.gpus\"", "\"host.live\"")))[0]
            .contains("expected a list, found bool")
    );
    assert!(errors(&file("1", CHECK))[0].contains("expected true or false, found int"));
    assert!(
        errors(&file("true", CHECK).replace("test/rule", "Test"))[0].starts_with("2:6 `Test` is no rule id")
    );
}

#[test]
fn an_id_stands_once() {
    let text = file("true", CHECK);
    let (catalogue, errors) = load(&format!("{text}\n{text}"));
    assert_eq!(catalogue.rules().len(), 1);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].message, "rule `test/rule` stands in rules/test.toml:1 already");
}

#[test]
fn hostile_files_are_refused_with_a_place() {
    for text in [
        "[[rule]",
        "rule = 1",
        "\u{0}",
        "[[rule]]\nid = 5",
        "rule = [1]",
        &"[".repeat(5000),
        &"a.".repeat(50_000),
    ] {
        let (catalogue, errors) = load(text);
        assert!(catalogue.rules().is_empty() && !errors.is_empty(), "{}", &text[..text.len().min(20)]);
        assert!(errors.iter().all(|e| e.line >= 1 && e.file == "rules/test.toml"));
    }
    let long = format!("host.live && {}", "true && ".repeat(600));
    assert!(errors(&file(&long, CHECK))[0].contains("the limit is 4096"));
}

#[test]
fn the_sites_rules_join_the_embedded_ones() {
    let built_in = Catalogue::embedded().0.rules().len();
    let tree = Tree::new()
        .file("etc/peerfix/rules.d/site.toml", file("true", CHECK).replace("test/rule", "site/own"))
        .file("etc/peerfix/rules.d/twice.toml", file("true", CHECK).replace("test/rule", "site/own"))
        .file("etc/peerfix/rules.d/notes.txt", "no rules")
        .file("etc/peerfix/rules.d/broken.toml", b"\xff\xfe");
    let (catalogue, errors) = Catalogue::load(&Root::open(tree.path()).unwrap());
    assert_eq!(catalogue.rules().len(), built_in + 1);
    assert!(catalogue.get("site/own").is_some());
    let files: Vec<&str> = errors.iter().map(|e| e.file.as_str()).collect();
    assert_eq!(files, ["etc/peerfix/rules.d/broken.toml", "etc/peerfix/rules.d/twice.toml"], "{errors:?}");
    let none = Catalogue::load(&Root::open(Tree::new().dir("etc").path()).unwrap_or_else(|_| Root::live()));
    assert!(none.0.rules().len() >= built_in);
}

#[test]
fn as_root_files_that_others_can_write_are_refused() {
    let tree = Tree::new().file("etc/peerfix/rules.d/site.toml", file("true", CHECK));
    let path = tree.path().join("etc/peerfix/rules.d/site.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let root = Root::open(tree.path()).unwrap();
    let (catalogue, errors) = Catalogue::load(&root);
    if nix::unistd::geteuid().is_root() {
        assert!(catalogue.get("test/rule").is_none());
        assert!(errors[0].message.starts_with("refused: others than root can write"), "{errors:?}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::set_permissions(path.parent().unwrap(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Catalogue::load(&root).0.get("test/rule").is_none(), "nor may the folder be theirs");
    } else {
        assert!(errors.is_empty() && catalogue.get("test/rule").is_some());
    }
}

#[test]
fn every_rule_file_is_embedded() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<String> =
        entries.map(|e| format!("rules/{}", e.unwrap().file_name().to_string_lossy())).collect();
    let mut listed: Vec<String> = embedded::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    files.sort();
    listed.sort();
    assert_eq!(files, listed);
}

#[test]
fn the_embedded_rules_compile_and_keep_their_examples() {
    let (catalogue, errors) = Catalogue::embedded();
    assert!(errors.is_empty(), "{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    let errors = examples::check(&catalogue);
    let shown: Vec<String> =
        errors.iter().map(|e| format!("{e}\n    {}", e.help.clone().unwrap_or_default())).collect();
    assert!(errors.is_empty(), "{}", shown.join("\n"));
}

#[test]
fn a_host_of_which_nothing_is_known_passes_no_rule_on_facts() {
    let (catalogue, _) = Catalogue::embedded();
    let found = evaluate_projected(&catalogue, &Projected { value: json!({}), ..Projected::default() });
    assert!(found.iter().all(|f| f.status == Status::Unknown), "{found:#?}");
    assert!(found.len() >= catalogue.rules().len());
}

#[test]
fn examples_must_match_the_schema_and_their_status() {
    let example = |facts: &str, expect: &str| {
        let text =
            file("true", CHECK).replace("expect = \"pass\"", &format!("expect = \"{expect}\"")) + facts;
        let (catalogue, errors) = load(&text);
        assert!(errors.is_empty(), "{errors:?}");
        let errors = examples::check(&catalogue);
        errors.into_iter().map(|e| format!("{}:{} {}", e.line, e.column, e.message)).collect::<Vec<_>>()
    };
    let fires = "host.gpus = [{ bdf = 'a', numa_node = 1 }]";
    assert_eq!(
        example(fires, "fail"),
        ["2:6 `test/rule` has no example that leaves it quiet (pass or not-applicable)"]
    );
    assert_eq!(example(fires, "pass")[0], "23:10 example `none` gives fail, not pass");
    assert_eq!(
        example("host.gpus = [{ bdf = 'a', numa_nod = 1 }]", "pass")[0],
        "25:38 no field `numa_nod` in Gpu"
    );
    assert_eq!(example("host.gpus = [{ bdf = 1 }]", "pass")[0], "25:22 expected string, found integer");
    assert_eq!(
        example("host.gpus = [{ bdf = 'a', numa_node = '@absent' }]", "pass").len(),
        1,
        "no firing example"
    );
    assert_eq!(example("hosts = 1", "pass")[0], "25:9 unknown name `hosts`");
    assert_eq!(
        example("pairs = [{ p2pdma = 'maybe' }]", "pass")[0],
        "25:21 `maybe` is no value of this fact"
    );
}

/// Prints what loading 60 rules and judging a host of 300 GPUs costs (`--nocapture`).
#[test]
fn what_an_audit_of_a_large_host_costs() {
    let rule = file("host.gpus.exists(g, g.compute)", &format!("{CHECK}{REMEDIES}"));
    let scan = "!host.gpus.exists(d, d.bdf.startsWith(g.bdf) && d.numa_node == 7 && g.driver == 'nvidia')";
    let rule = rule.replace("g.numa_node == 1", scan);
    let sources = (0..60).map(|n| Source {
        name: format!("rules/{n}.toml"),
        text: rule.replace("test/rule", &format!("test/rule{n}")).into(),
    });
    let sources: Vec<Source> = sources.collect();
    let start = Instant::now();
    let types = peerfix::rules::expr::Scope::facts();
    let schema = start.elapsed();
    assert!(types.get("host").is_some());
    let start = Instant::now();
    let (catalogue, errors) = Catalogue::from_sources(sources);
    let load = start.elapsed();
    assert!(errors.is_empty() && catalogue.rules().len() == 60, "{errors:?}");

    let mut host = Host::default();
    for n in 0..300 {
        let numa_node = Fact::known(0, Evidence::at(format!("sys/{n}/numa_node"), 1, "0"));
        host.gpus.push(Gpu { bdf: format!("0000:{n:02x}:00.0"), numa_node, ..Gpu::default() });
    }
    host.gpus[0].compute = true;
    let boot = Boot::default();
    let start = Instant::now();
    let facts = project(&Facts { host: &host, boot: &boot, pairs: &[] });
    let plain = start.elapsed();
    let start = Instant::now();
    let found = evaluate_projected(&catalogue, &facts);
    println!(
        "schema {schema:?}; load and compile 60 rules {load:?}; project 300 GPUs {plain:?}; judge {:?}; {} findings",
        start.elapsed(),
        found.len()
    );
}
