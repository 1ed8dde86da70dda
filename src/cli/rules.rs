//! `peerfix rules`.

use super::args::{Global, RulesArgs, RulesCommand};
use super::exit::{Exit, Failure};
use super::place::Place;
use super::print;
use crate::report::{Format, document, markdown, text};
use crate::rules::{Catalogue, RuleError, Source, examples};
use std::path::{Path, PathBuf};

/// Lists, explains or checks the catalogue.
pub(super) fn run(global: &Global, args: &RulesArgs) -> Result<Exit, Failure> {
    let config = Place::reading(global.host.as_deref(), None)?.config;
    match &args.command {
        RulesCommand::List => {
            let catalogue = super::catalogue(global, &config);
            print(&match global.form() {
                Format::Json => document::json(&document::RulesDocument::of(&catalogue)),
                Format::Markdown => markdown::rules::catalogue(&catalogue),
                Format::Text => text::rule::list(&catalogue),
            })?;
            Ok(Exit::Done)
        }
        RulesCommand::Explain { id } => {
            let catalogue = super::catalogue(global, &config);
            let rule = catalogue
                .get(id)
                .ok_or_else(|| Failure::usage(format!("{id}: no such rule; see `peerfix rules list`")))?;
            print(&match global.form() {
                Format::Json => document::json(&document::RuleDocument::of(&rule.rule)),
                Format::Markdown => markdown::rules::explain(&rule.rule),
                Format::Text => text::rule::explain(&rule.rule),
            })?;
            Ok(Exit::Done)
        }
        RulesCommand::Check { files } => check(&config, files),
    }
}

/// Checks files and examples; every error is printed, not only the first.
fn check(config: &crate::root::Root, files: &[PathBuf]) -> Result<Exit, Failure> {
    let (catalogue, mut errors) = if files.is_empty() {
        Catalogue::load(config)
    } else {
        let sources: Vec<Source> = files.iter().map(|f| source(f)).collect::<Result<_, _>>()?;
        Catalogue::from_sources(sources)
    };
    errors.extend(examples::check(&catalogue));
    if errors.is_empty() {
        let examples: usize = catalogue.rules().iter().map(|r| r.rule.example.len()).sum();
        print(&format!("{} rules, {examples} examples: all as expected\n", catalogue.rules().len()))?;
        return Ok(Exit::Done);
    }
    let text: Vec<String> = errors.into_iter().map(shown).collect();
    Err(Failure::usage(format!("{} errors in rule files\n{}", text.len(), text.join("\n"))))
}

/// An error with the lines around it.
fn shown(error: RuleError) -> String {
    let headline = error.to_string();
    format!("{headline}\n{:?}", miette::Report::new(error))
}

fn source(path: &Path) -> Result<Source, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(Source { name: path.display().to_string(), text: text.into() })
}
