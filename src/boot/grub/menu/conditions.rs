//! `[ … ]` and `test` (grub-core/commands/test.c), three-valued.

use super::{Files, Menu, Value};
use crate::format::grub_cfg::{Command, Statement};
use crate::root::Fact;

impl Menu {
    /// Whether the condition of an `if` holds; none when that is not known.
    pub(super) fn holds(&self, files: &Files<'_>, condition: &[Statement]) -> Option<bool> {
        match condition.last()? {
            Statement::Command(command) => self.succeeds(files, command),
            _ => None,
        }
    }

    fn succeeds(&self, files: &Files<'_>, command: &Command) -> Option<bool> {
        let words: Option<Vec<Vec<u8>>> = command.words.iter().flat_map(|w| self.expand(w)).collect();
        let words = words?;
        let texts: Vec<String> = words.iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match texts.as_slice() {
            ["[", inner @ .., "]"] | ["test", inner @ ..] => either(files, inner),
            ["true"] => Some(true),
            ["false"] => Some(false),
            _ => None,
        }
    }
}

/// `a -o b`; `-a` binds closer.
fn either(files: &Files<'_>, words: &[&str]) -> Option<bool> {
    let terms: Vec<Option<bool>> = words.split(|w| *w == "-o").map(|term| both(files, term)).collect();
    if terms.contains(&Some(true)) {
        return Some(true);
    }
    terms.iter().all(Option::is_some).then_some(false)
}

fn both(files: &Files<'_>, words: &[&str]) -> Option<bool> {
    let terms: Vec<Option<bool>> = words.split(|w| *w == "-a").map(|term| one(files, term)).collect();
    if terms.contains(&Some(false)) {
        return Some(false);
    }
    terms.iter().all(Option::is_some).then_some(true)
}

fn one(files: &Files<'_>, words: &[&str]) -> Option<bool> {
    match words {
        [] => Some(false),
        ["!", rest @ ..] => one(files, rest).map(|holds| !holds),
        ["-z"] => Some(true),
        ["-z", text] => Some(text.is_empty()),
        ["-f" | "-e", path] => Some(files.host_path(path).is_some()),
        ["-s", path] => match files.host_path(path).map(|host| files.read(&host)) {
            None | Some(Fact::Absent { .. }) => Some(false),
            Some(Fact::Known { value, .. }) => Some(!value.is_empty()),
            Some(Fact::Unknown(_)) => None,
        },
        [a, "=" | "==", b] => Some(a == b),
        [a, "!=", b] => Some(a != b),
        ["-n", text] | [text] => Some(!text.is_empty()),
        _ => None,
    }
}

/// What two ways have in common.
pub(super) fn merged(a: &Value, b: &Value) -> Value {
    if a == b { a.clone() } else { None }
}
