//! GRUB with a generated grub.cfg: `etc/default/grub`, and on Debian's GRUB `etc/default/grub.d/*.cfg`.

mod edit;
mod menu;
mod regenerate;
mod settings;
pub mod trial;

pub(super) use edit::edit;
pub(super) use regenerate::commands;
pub(super) use settings::{DEFAULT, LINUX, Settings};

use super::matters::{missing_from, that_matter};
use super::tuned::Tuned;
use super::{Place, Reading, Shadow};
use crate::format::grub_defaults::{Assignment, Event};
use crate::format::grub_script;
use crate::format::grub_value::{At, Variable};
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use std::collections::BTreeSet;

/// Reads the words that GRUB's configuration gives the default entry.
pub(super) fn read(root: &Root, tuned: Option<&Tuned>) -> Reading {
    let settings = match Settings::load(root) {
        Ok(settings) => settings,
        Err(unknown) => return Reading { configured: Fact::Unknown(unknown), ..Reading::default() },
    };
    let mut reading = Reading { configured: configured(&settings, tuned), ..Reading::default() };
    let configured = reading.configured.value().cloned().unwrap_or_default();
    for name in [LINUX, DEFAULT] {
        let variable = settings.variable(name);
        let in_force: BTreeSet<At> = variable.from.iter().copied().collect();
        for (at, assignment) in settings.assignments(name) {
            reading.places.push(place(&settings, at, assignment, in_force.contains(&at)));
        }
        for (at, by) in &variable.overridden {
            let Some(assignment) = settings.assignment(*at) else { continue };
            let words = own_words(assignment);
            if !words.is_empty() {
                reading.shadowed.push(Shadow {
                    by: settings.place(*by),
                    lost: missing_from(&words, &configured),
                    ..shadow(&settings, *at, assignment)
                });
            }
        }
    }
    reading
}

fn configured(settings: &Settings, tuned: Option<&Tuned>) -> Fact<Vec<String>> {
    let mut words = Vec::new();
    let mut evidence = Vec::new();
    for name in [LINUX, DEFAULT] {
        let variable = settings.variable(name);
        match settings.words(&variable, tuned) {
            Ok(found) => words.extend(found.into_iter().map(|w| w.text)),
            Err(stop) => return Fact::Unknown(stop),
        }
        for at in &variable.from {
            if let Some(a) = settings.assignment(*at) {
                evidence.push(Evidence::at(settings.path(*at), a.line, settings.line(*at, a.line)));
            }
        }
    }
    if evidence.is_empty() {
        evidence.push(Evidence::new(settings::MAIN, "sets neither variable"));
    }
    Fact::from_lines(words, evidence)
}

fn place(settings: &Settings, at: At, assignment: &Assignment, effective: bool) -> Place {
    Place {
        file: settings.path(at),
        line: i64::try_from(assignment.line).unwrap_or(i64::MAX),
        variable: assignment.name.clone(),
        words: own_words(assignment),
        effective,
        dynamic: assignment.obstacle.is_some() || grub_script::split(&assignment.own_bytes()).is_err(),
    }
}

fn shadow(settings: &Settings, at: At, assignment: &Assignment) -> Shadow {
    Shadow {
        file: settings.path(at),
        line: i64::try_from(assignment.line).unwrap_or(i64::MAX),
        text: settings.line(at, assignment.line),
        ..Shadow::default()
    }
}

/// The words that one assignment itself sets; empty for a dynamic one.
fn own_words(assignment: &Assignment) -> Vec<String> {
    if assignment.obstacle.is_some() {
        return Vec::new();
    }
    let split = grub_script::split(&assignment.own_bytes()).unwrap_or_default();
    split.iter().map(|a| grub_script::kernel_word(&a.text)).collect()
}

/// Words of `GRUB_CMDLINE_LINUX*` that matter, for loaders that ignore these variables.
pub(super) fn ignored(settings: &Settings, name: &str) -> Vec<(At, Vec<String>)> {
    let variable: Variable = settings.variable(name);
    let found = variable.from.iter().filter_map(|at| settings.assignment(*at).map(|a| (*at, own_words(a))));
    found.map(|(at, words)| (at, that_matter(&words))).filter(|(_, w)| !w.is_empty()).collect()
}

/// A shadow for an assignment at `at`.
pub(super) fn ignored_shadow(settings: &Settings, at: At, by: &str, lost: Vec<String>) -> Option<Shadow> {
    let assignment = settings.assignment(at)?;
    Some(Shadow { by: by.to_owned(), lost, ..shadow(settings, at, assignment) })
}

/// Every place that sets one of the two variables, as ineffective.
pub(super) fn ineffective_places(settings: &Settings) -> Vec<Place> {
    [LINUX, DEFAULT]
        .iter()
        .flat_map(|name| settings.assignments(name))
        .map(|(at, assignment)| place(settings, at, assignment, false))
        .collect()
}

/// Malformed text at a line of a settings file.
fn malformed(path: &str, line: usize, detail: impl Into<String>) -> Unknown {
    Unknown {
        path: path.to_owned(),
        line: u32::try_from(line).ok(),
        why: Why::Malformed,
        detail: detail.into(),
    }
}

/// True when the assignment's event is the one at `at`.
fn as_assignment(event: &Event) -> Option<&Assignment> {
    match event {
        Event::Assign(a) => Some(a),
        _ => None,
    }
}
