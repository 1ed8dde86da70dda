//! Files in the source tree that are made from the program: man pages, JSON schemas, completions, the
//! catalogue of rules. They are checked in, and must be what the program says today.
//!
//! After a change: `PEERFIX_UPDATE=1 cargo test --test drift`.

mod common;

use clap::CommandFactory;
use common::run::peerfix;
use peerfix::cli::args::Cli;
use peerfix::report::document as doc;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Compares a folder with what it should hold, or writes it.
#[track_caller]
fn is_current(folder: &str, wanted: &BTreeMap<String, String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if std::env::var_os("PEERFIX_UPDATE").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        for stale in names(&folder).iter().filter(|n| !wanted.contains_key(*n)) {
            std::fs::remove_file(folder.join(stale)).unwrap();
        }
        for (name, text) in wanted {
            std::fs::write(folder.join(name), text).unwrap();
        }
        return;
    }
    let wanted_names: BTreeSet<String> = wanted.keys().cloned().collect();
    let help = "write it again: PEERFIX_UPDATE=1 cargo test --test drift";
    assert_eq!(names(&folder), wanted_names, "files of {}: {help}", folder.display());
    for (name, text) in wanted {
        let path = folder.join(name);
        let stands = std::fs::read_to_string(&path).unwrap();
        let differs = text.lines().zip(stands.lines()).position(|(a, b)| a != b);
        assert!(
            *text == stands,
            "{} differs from the program at line {}: {help}",
            path.display(),
            differs.map_or_else(|| "of its end".to_owned(), |line| (line + 1).to_string()),
        );
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).map(|e| e.flatten().collect::<Vec<_>>()).unwrap_or_default();
    entries.iter().map(|e| e.file_name().into_string().unwrap()).collect()
}

#[test]
fn man_pages() {
    let made = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(Cli::command(), made.path()).unwrap();
    let pages = names(made.path())
        .into_iter()
        .map(|name| {
            let text = std::fs::read_to_string(made.path().join(&name)).unwrap();
            (name, text)
        })
        .collect();
    is_current("man", &pages);
}

fn schema<T: JsonSchema>() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut text = serde_json::to_string_pretty(&generator.into_root_schema_for::<T>()).unwrap();
    text.push('\n');
    text
}

#[test]
fn schemas_of_the_documents() {
    let schemas = [
        ("audit", schema::<doc::AuditDocument<'static>>()),
        ("plan", schema::<doc::PlanDocument<'static>>()),
        ("provision", schema::<doc::ProvisionDocument<'static>>()),
        ("status", schema::<doc::StatusDocument<'static>>()),
        ("history", schema::<doc::HistoryDocument<'static>>()),
        ("change", schema::<doc::ShowDocument<'static>>()),
        ("revert", schema::<doc::RevertDocument<'static>>()),
        ("rules", schema::<doc::RulesDocument<'static>>()),
        ("rule", schema::<doc::RuleDocument<'static>>()),
        ("record", schema::<peerfix::bench::record::Record>()),
        ("verdict", schema::<peerfix::verdict::Verdict>()),
        ("health", schema::<peerfix::host::health::Health>()),
        ("judgement", schema::<peerfix::verdict::gate::Judgement>()),
    ];
    let files = schemas.map(|(name, text)| (format!("{name}.json"), text));
    is_current("schema", &BTreeMap::from(files));
}

#[test]
fn completions() {
    let shells = ["bash", "zsh", "fish"];
    let files =
        shells.map(|shell| (format!("peerfix.{shell}"), peerfix(&["completions", shell]).exits(0).stdout));
    is_current("completions", &BTreeMap::from(files));
}

#[test]
fn catalogue_of_rules() {
    let (catalogue, errors) = peerfix::rules::Catalogue::embedded();
    assert!(errors.is_empty(), "{errors:?}");
    let made = "<!-- Made from rules/*.toml: PEERFIX_UPDATE=1 cargo test --test drift -->\n";
    let text = peerfix::report::markdown::rules::catalogue(&catalogue);
    is_current("doc", &BTreeMap::from([("rules.md".to_owned(), format!("{made}{text}"))]));
}
