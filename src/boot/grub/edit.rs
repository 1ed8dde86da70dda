//! The edit plan: additions go to `GRUB_CMDLINE_LINUX_DEFAULT`, so that the recovery entry keeps its line;
//! removals happen where the word stands. The result is read back before it is offered.

use super::super::manual;
use super::super::tuned::Tuned;
use super::super::{Edit, FileEdit, Refusal};
use super::settings::{DEFAULT, FRAGMENTS, File, LINUX, MAIN, Settings, Word};
use super::{commands, malformed};
use crate::format::grub_defaults::Assignment;
use crate::format::grub_value::At;
use crate::format::kernel_cmdline::comparable;
use crate::format::splice::{self, Splice};
use crate::format::{Lines, grub_defaults, grub_edit, grub_script};
use crate::root::{Root, Unknown};
use std::collections::{BTreeMap, BTreeSet};

/// Head of a fragment of our own.
const TEMPLATE: &str = include_str!("../../../templates/grub.d-peerfix.cfg");

/// Plans the edit.
pub(in crate::boot) fn edit(
    root: &Root,
    tuned: Option<&Tuned>,
    add: &[String],
    remove: &[String],
) -> Result<Edit, Refusal> {
    let refuse = |unknown: Unknown| refusal(root, &unknown, add, remove);
    let settings = Settings::load(root).map_err(refuse)?;
    let mut plan = Plan { settings: &settings, tuned, splices: BTreeMap::new(), created: None };
    let mut wanted = plan.take_out(remove).map_err(refuse)?;
    let present: BTreeSet<String> = wanted.iter().map(|w| comparable(w)).collect();
    let mut fresh: Vec<String> = Vec::new();
    for word in add.iter().filter(|w| !present.contains(&comparable(w))) {
        let argument = grub_script::argument_for(word).map_err(|r| refuse(malformed(MAIN, 0, r)))?;
        if !fresh.contains(&argument) {
            wanted.push(grub_script::kernel_word(argument.as_bytes()));
            fresh.push(argument);
        }
    }
    if !fresh.is_empty() {
        plan.put_in(&fresh).map_err(refuse)?;
    }
    let after = plan.result().map_err(refuse)?;
    let effective = check(&settings, &after, tuned, &wanted).map_err(refuse)?;
    Ok(Edit { files: file_edits(&settings, after), commands: commands(root), effective })
}

/// Files whose bytes change.
fn file_edits(settings: &Settings, after: Settings) -> Vec<FileEdit> {
    let mut edits = Vec::new();
    for file in after.files {
        let before = settings.files.iter().find(|f| f.path == file.path).map(|f| f.bytes.clone());
        if before.as_ref() != Some(&file.bytes) {
            edits.push(FileEdit { path: file.real, before, after: file.bytes });
        }
    }
    edits
}

struct Plan<'a> {
    settings: &'a Settings,
    tuned: Option<&'a Tuned>,
    /// Splices by number of the file.
    splices: BTreeMap<usize, Vec<Splice>>,
    /// A fragment of our own that is to be created.
    created: Option<(String, Vec<u8>)>,
}

impl Plan<'_> {
    /// Takes `remove` out of both variables; returns the words that stay.
    fn take_out(&mut self, remove: &[String]) -> Result<Vec<String>, Unknown> {
        let gone: BTreeSet<String> = remove.iter().map(|w| comparable(w)).collect();
        let mut kept = Vec::new();
        for name in [LINUX, DEFAULT] {
            let variable = self.settings.variable(name);
            let words = self.settings.words(&variable, self.tuned)?;
            let (out, stay): (Vec<Word>, Vec<Word>) =
                words.into_iter().partition(|w| gone.contains(&comparable(&w.text)));
            kept.extend(stay.into_iter().map(|w| w.text));
            if let Some(word) = out.iter().find(|w| w.argument.is_none()) {
                let place = Settings::tuned_place(self.tuned);
                let detail =
                    format!("`{}` comes from the active tuned profile; take it out there", word.text);
                return Err(Unknown { path: place, ..malformed("", 0, detail) });
            }
            let arguments: Vec<_> = out.iter().filter_map(|w| w.argument.as_ref()).collect();
            let splices = grub_edit::remove(&variable, &arguments).map_err(|argument| {
                let at = variable.bytes.get(argument.range.start).map(|b| b.from).unwrap_or_default();
                let line = self.settings.assignment(at).map_or(1, |a| a.line);
                let word = grub_script::kernel_word(&argument.text);
                let detail = format!("`{word}` is put together from several assignments");
                malformed(&self.settings.path(at), line, detail)
            })?;
            for ((file, _), splice) in splices {
                self.splices.entry(file).or_default().push(splice);
            }
        }
        Ok(kept)
    }

    /// Adds arguments where they take effect for normal entries.
    fn put_in(&mut self, arguments: &[String]) -> Result<(), Unknown> {
        let variable = self.settings.variable(DEFAULT);
        let overwrites = |at: &&At| at.0 > 0 && self.settings.assignment(**at).is_some_and(|a| !a.appends());
        let Some((overriding, _)) = variable.from.iter().rev().find(overwrites).copied() else {
            // The main file counts; fragments only add to it.
            let own = variable.from.iter().rev().find(|at| at.0 == 0 && !self.is_tuneds(**at));
            match own {
                Some(at) => self.add_to(*at, arguments),
                None => self.add_line(0, arguments, variable.from.iter().any(|at| at.0 == 0)),
            }
            return Ok(());
        };
        // A fragment overwrites what the main file says: only a later fragment survives.
        let own = |path: &str| path.strip_prefix(FRAGMENTS).is_some_and(|n| n.ends_with("-peerfix.cfg"));
        let later =
            self.settings.files.iter().enumerate().rev().find(|(i, f)| *i > overriding && own(&f.path));
        if let Some((file, _)) = later {
            match variable.from.iter().rev().find(|at| at.0 == file) {
                Some(at) => self.add_to(*at, arguments),
                None => self.add_line(file, arguments, true),
            }
            return Ok(());
        }
        let before = self.settings.files.get(overriding).map(|f| f.path.as_str()).unwrap_or_default();
        let names = ["99-peerfix.cfg", "zz-peerfix.cfg", "zzzz-peerfix.cfg"];
        let path = names.iter().map(|n| format!("{FRAGMENTS}/{n}")).find(|p| p.as_str() > before);
        let Some(path) = path else {
            let detail = format!("no fragment of ours would be read after {before}");
            return Err(malformed(before, 1, detail));
        };
        let line = grub_edit::new_line(DEFAULT, arguments, true);
        self.created = Some((path, format!("{TEMPLATE}{line}").into_bytes()));
        Ok(())
    }

    /// The line that tuned adds to the main file and takes out again by its text.
    fn is_tuneds(&self, at: At) -> bool {
        let own = self.settings.assignment(at).map(Assignment::own_bytes).unwrap_or_default();
        own.trim_ascii() == b"$tuned_params"
    }

    fn add_to(&mut self, at: At, arguments: &[String]) {
        let (Some(file), Some(assignment)) = (self.settings.files.get(at.0), self.settings.assignment(at))
        else {
            return;
        };
        let splices = grub_edit::add(&file.bytes, assignment, arguments);
        self.splices.entry(at.0).or_default().extend(splices);
    }

    fn add_line(&mut self, file: usize, arguments: &[String], former: bool) {
        let Some(bytes) = self.settings.files.get(file).map(|f| &f.bytes) else { return };
        let start = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
        let line = format!("{start}{}", grub_edit::new_line(DEFAULT, arguments, former));
        self.splices.entry(file).or_default().push(Splice::insert(bytes.len(), line));
    }

    /// The settings as they would be afterwards.
    fn result(&self) -> Result<Settings, Unknown> {
        let mut after = self.settings.clone();
        for (index, splices) in &self.splices {
            let Some(file) = after.files.get_mut(*index) else { continue };
            if !file.real.starts_with("etc/") {
                let detail = format!("it is a link to /{}, outside /etc", file.real);
                return Err(malformed(&file.path, 1, detail));
            }
            file.bytes = splice::apply(&file.bytes, splices)
                .ok_or_else(|| malformed(&file.path, 1, "the edits of this file overlap"))?;
            file.lines = Lines::new(&file.bytes);
            file.defaults = grub_defaults::parse(&file.bytes)
                .map_err(|t| malformed(&file.path, t.line, format!("after the edit: {}", t.reason)))?;
        }
        if let Some((path, bytes)) = &self.created {
            let defaults = grub_defaults::parse(bytes).map_err(|t| malformed(path, t.line, t.reason))?;
            let (lines, bytes) = (Lines::new(bytes), bytes.clone());
            after.files.push(File { path: path.clone(), real: path.clone(), bytes, lines, defaults });
            // The main file stays first; fragments are sourced by name.
            after.files.get_mut(1..).unwrap_or_default().sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(after)
    }
}

/// Reads the result back: exactly the wanted words, and every other variable as before.
fn check(
    before: &Settings,
    after: &Settings,
    tuned: Option<&Tuned>,
    wanted: &[String],
) -> Result<Vec<String>, Unknown> {
    let mut words = Vec::new();
    for name in [LINUX, DEFAULT] {
        words.extend(after.words(&after.variable(name), tuned)?.into_iter().map(|w| w.text));
    }
    let sorted = |list: &[String]| {
        let mut list: Vec<String> = list.iter().map(|w| comparable(w)).collect();
        list.sort();
        list
    };
    let kept = before.other_assignments().eq(after.other_assignments());
    if sorted(&words) == sorted(wanted) && kept {
        Ok(words)
    } else {
        Err(malformed(MAIN, 0, "the edited settings do not read back as intended; edit them by hand"))
    }
}

fn refusal(root: &Root, unknown: &Unknown, add: &[String], remove: &[String]) -> Refusal {
    let place = match unknown.line {
        Some(0) | None => unknown.path.clone(),
        Some(line) => format!("{}:{line}", unknown.path),
    };
    let mut steps = Vec::new();
    if !add.is_empty() {
        steps.push(format!("in /{MAIN}, add to {DEFAULT}: {}", add.join(" ")));
    }
    if !remove.is_empty() {
        steps.push(format!(
            "take out of {LINUX} and {DEFAULT}, in /{MAIN} and /{FRAGMENTS}: {}",
            remove.join(" ")
        ));
    }
    steps.extend(commands(root).iter().map(manual::as_step));
    Refusal { place, reason: unknown.detail.clone(), manual: steps }
}
