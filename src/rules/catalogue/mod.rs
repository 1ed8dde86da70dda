//! Loads rule files: the embedded ones and a site's own; every error of every file is reported.
//!
//! A rule with an error is left out and the others stay usable: one bad site rule must not hide what the
//! built-in ones find.

mod compile;
mod names;
mod read;
mod remedy;
mod site;

pub use compile::{CompiledCheck, CompiledRule, Each};
pub use names::RISKS;
pub use remedy::CompiledRemedy;

use super::embedded;
use super::source::{RuleError, Source};
use crate::root::Root;
use std::collections::BTreeMap;

/// Rules ready to be judged, in catalogue order.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    rules: Vec<CompiledRule>,
}

impl Catalogue {
    /// The rules in the binary.
    pub fn embedded() -> (Self, Vec<RuleError>) {
        Self::from_sources(embedded_sources())
    }

    /// The rules in the binary and those below `etc/peerfix/rules.d` of `root`. When this process runs as
    /// root, files and folders there that others can write are refused.
    pub fn load(root: &Root) -> (Self, Vec<RuleError>) {
        let (sources, mut errors) = site::sources(root);
        let (catalogue, more) = Self::from_sources(embedded_sources().chain(sources));
        errors.extend(more);
        (catalogue, errors)
    }

    /// The rules of these files.
    pub fn from_sources(sources: impl IntoIterator<Item = Source>) -> (Self, Vec<RuleError>) {
        let mut catalogue = Self::default();
        let mut errors = Vec::new();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for source in sources {
            let (rules, mut wrong) = read::rules(&source);
            for found in rules {
                let id = found.rule.id.clone();
                if let Some(first) = seen.get(&id) {
                    let message = format!("rule `{id}` stands in {first} already");
                    let help = "give it another id; no rule replaces another";
                    wrong.push(source.error(found.id_at, message, help));
                    continue;
                }
                seen.insert(id, format!("{}:{}", source.name, found.line));
                match compile::rule(&source, found) {
                    Ok(rule) => catalogue.rules.push(rule),
                    Err(more) => wrong.extend(more),
                }
            }
            wrong.sort_by_key(|e| (e.line, e.column));
            errors.extend(wrong);
        }
        (catalogue, errors)
    }

    /// All rules.
    pub fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    /// The rule with this id.
    pub fn get(&self, id: &str) -> Option<&CompiledRule> {
        self.rules.iter().find(|r| r.rule.id == id)
    }
}

fn embedded_sources() -> impl Iterator<Item = Source> {
    embedded::FILES.iter().map(|(name, text)| Source { name: (*name).to_owned(), text: (*text).into() })
}
