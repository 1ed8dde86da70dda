//! `[ … ]` and `test` (grub-core/commands/test.c), three-valued.

use super::{Files, Menu, Value};
use crate::format::grub_cfg::{Command, Statement};

/// Tests of a file. GRUB takes no notice of what stands behind one.
const OF_A_FILE: [&str; 4] = ["-d", "-e", "-f", "-s"];

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
            ["[", inner @ .., "]"] | ["test", inner @ ..] => expression(files, inner),
            ["true"] => Some(true),
            ["false"] => Some(false),
            _ => None,
        }
    }
}

/// Terms joined by `-a` or by `-o`. Where both stand, versions of GRUB differ in what binds closer.
fn expression(files: &Files<'_>, words: &[&str]) -> Option<bool> {
    let joined = |by: &str| words.contains(&by);
    let by = match (joined("-a"), joined("-o")) {
        (true, true) => return None,
        (_, true) => "-o",
        _ => "-a",
    };
    let terms: Vec<&[&str]> = words.split(|w| *w == by).collect();
    let before_last = terms.split_last().map_or(&[][..], |(_, before)| before);
    if before_last.iter().any(|term| term.iter().any(|w| OF_A_FILE.contains(w))) {
        return None;
    }
    let (decides, otherwise) = if by == "-o" { (true, false) } else { (false, true) };
    let values: Vec<Option<bool>> = terms.into_iter().map(|term| one(files, term)).collect();
    if values.contains(&Some(decides)) {
        return Some(decides);
    }
    values.iter().all(Option::is_some).then_some(otherwise)
}

fn one(files: &Files<'_>, words: &[&str]) -> Option<bool> {
    match words {
        [] => Some(false),
        [a, "=" | "==", b] => Some(a == b),
        [a, "!=", b] => Some(a != b),
        ["-z", text] => Some(text.is_empty()),
        ["-f" | "-e", path] => files.is_there(path),
        ["-s", path] => files.is_filled(path),
        ["!", rest @ ..] => one(files, rest).map(|holds| !holds),
        ["-n", text] | [text] => Some(!text.is_empty()),
        _ => None,
    }
}

/// What two ways have in common; a variable that one of them does not set is not known.
pub(super) fn merged(a: Option<&Value>, b: Option<&Value>) -> Value {
    match (a, b) {
        (Some(a), Some(b)) if a == b => a.clone(),
        _ => None,
    }
}
