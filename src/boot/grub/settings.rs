//! The files that grub-mkconfig sources, in order, and the two variables in them.

use super::super::family::{Family, family};
use super::super::initramfs::PROGRAM_DIRECTORIES;
use super::super::tuned::{self, Tuned};
use super::{as_assignment, malformed};
use crate::format::grub_defaults::{self, Assignment, Defaults};
use crate::format::grub_value::{self, At, Variable};
use crate::format::{Lines, grub_script};
use crate::root::{Fact, Root, TEXT_LIMIT, Unknown, Why};

/// The variable of all entries, the recovery entry included.
pub(in crate::boot) const LINUX: &str = "GRUB_CMDLINE_LINUX";
/// The variable of normal entries alone.
pub(in crate::boot) const DEFAULT: &str = "GRUB_CMDLINE_LINUX_DEFAULT";
/// The file that is sourced first.
pub(super) const MAIN: &str = "etc/default/grub";
/// The directory of Debian's fragments.
pub(super) const FRAGMENTS: &str = "etc/default/grub.d";

/// One file.
#[derive(Clone, Debug)]
pub(in crate::boot) struct File {
    /// Path as grub-mkconfig names it.
    pub(super) path: String,
    /// The same with links resolved: the file that an edit replaces.
    pub(super) real: String,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Its lines.
    pub(super) lines: Lines,
    /// What it does.
    pub(super) defaults: Defaults,
}

/// All files.
#[derive(Clone, Debug)]
pub(in crate::boot) struct Settings {
    /// In the order that they are sourced; `etc/default/grub` is the first.
    pub(super) files: Vec<File>,
    /// `/bin/sh` knows `NAME+=value`.
    pub(super) plus: bool,
}

/// A word that a variable gives the kernel.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// As the kernel sees it.
    pub(super) text: String,
    /// The argument in the variable's value; none for words of tuned.
    pub(super) argument: Option<grub_script::Argument>,
}

impl Settings {
    /// Reads and parses the files.
    pub(in crate::boot) fn load(root: &Root) -> Result<Self, Unknown> {
        let mut paths = vec![MAIN.to_owned()];
        if reads_fragments(root) {
            match root.list(FRAGMENTS) {
                Fact::Known { value, .. } => {
                    let names = value.into_iter().filter(|n| n.strip_suffix(".cfg").is_some());
                    paths.extend(names.map(|n| format!("{FRAGMENTS}/{n}")));
                }
                Fact::Absent { .. } => {}
                Fact::Unknown(unknown) => return Err(unknown),
            }
        }
        let files = paths.into_iter().filter_map(|path| file(root, path).transpose());
        Ok(Self { files: files.collect::<Result<_, _>>()?, plus: knows_plus(root) })
    }

    /// The value of a variable after all files.
    pub(in crate::boot) fn variable(&self, name: &str) -> Variable {
        let all: Vec<&Defaults> = self.files.iter().map(|f| &f.defaults).collect();
        grub_value::evaluate(&all, name, self.plus)
    }

    /// All assignments of a variable, in order.
    pub(super) fn assignments<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (At, &'a Assignment)> {
        self.files.iter().enumerate().flat_map(move |(file, f)| {
            let events = f.defaults.events.iter().enumerate();
            events
                .filter_map(move |(event, e)| as_assignment(e).map(|a| ((file, event), a)))
                .filter(move |(_, a)| a.name == name)
        })
    }

    /// What the files do to other variables than the two, in order.
    pub(super) fn other_assignments(&self) -> impl Iterator<Item = (&str, Vec<u8>)> {
        let events = self.files.iter().flat_map(|f| f.defaults.events.iter());
        events
            .filter_map(as_assignment)
            .filter(|a| a.name != LINUX && a.name != DEFAULT)
            .map(|a| (a.name.as_str(), a.own_bytes()))
    }

    /// The assignment at a place.
    pub(super) fn assignment(&self, at: At) -> Option<&Assignment> {
        self.files.get(at.0)?.defaults.events.get(at.1).and_then(as_assignment)
    }

    /// The path of a place's file.
    pub(in crate::boot) fn path(&self, at: At) -> String {
        self.files.get(at.0).map(|f| f.path.clone()).unwrap_or_default()
    }

    /// `file:line` of a place.
    pub(super) fn place(&self, at: At) -> String {
        let line = match self.files.get(at.0).and_then(|f| f.defaults.events.get(at.1)) {
            Some(grub_defaults::Event::Assign(a)) => a.line,
            Some(grub_defaults::Event::Unset { line, .. } | grub_defaults::Event::Opaque { line, .. }) => {
                *line
            }
            None => 0,
        };
        format!("{}:{line}", self.path(at))
    }

    /// The text of a line (from 1) in a place's file.
    pub(super) fn line(&self, at: At, line: usize) -> String {
        let text = self.files.get(at.0).map(|f| f.lines.text(&f.bytes, line)).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// The words that a variable gives the kernel; the place where that cannot be told.
    pub(super) fn words(&self, variable: &Variable, tuned: Option<&Tuned>) -> Result<Vec<Word>, Unknown> {
        if let Some((file, trouble)) = &variable.unsettled {
            let path = self.path((*file, 0));
            return Err(malformed(&path, trouble.line, trouble.reason.clone()));
        }
        let arguments = variable.arguments().map_err(|(at, reason)| match at {
            Some(at) => {
                let line = self.assignment(at).map_or(1, |a| a.line);
                malformed(&self.path(at), line, reason)
            }
            None => malformed(MAIN, 1, reason),
        })?;
        let mut words = Vec::new();
        for argument in arguments {
            match argument.variable.as_deref() {
                None => {
                    let text = grub_script::kernel_word(&argument.text);
                    words.push(Word { text, argument: Some(argument) });
                }
                Some("tuned_params") => {
                    let all = tuned.map(|t| t.words.as_slice()).unwrap_or_default();
                    words.extend(all.iter().map(|w| Word { text: w.clone(), argument: None }));
                }
                // Ubuntu's 10_linux sets it to a word for the virtual terminal, or to nothing.
                Some("vt_handoff") => {}
                Some(name) => {
                    let at = variable.bytes.get(argument.range.start).map(|b| b.from).unwrap_or_default();
                    let line = self.assignment(at).map_or(1, |a| a.line);
                    let detail = format!("GRUB computes `${name}` at boot");
                    return Err(malformed(&self.path(at), line, detail));
                }
            }
        }
        Ok(words)
    }

    /// The place of tuned's words, for a refusal.
    pub(super) fn tuned_place(tuned: Option<&Tuned>) -> String {
        format!("{}:{}", tuned::FILE, tuned.map_or(1, |t| t.line))
    }
}

/// One file, parsed. A fragment that is a dangling link is passed over, as `[ -e ]` does in grub-mkconfig.
fn file(root: &Root, path: String) -> Result<Option<File>, Unknown> {
    let bytes = match root.bytes(&path, TEXT_LIMIT) {
        Fact::Known { value, .. } => value,
        Fact::Absent { .. } if path != MAIN => return Ok(None),
        Fact::Absent { .. } => {
            let detail = "not there; expected GRUB's settings";
            return Err(Unknown { path, line: None, why: Why::NotCaptured, detail: detail.to_owned() });
        }
        Fact::Unknown(unknown) => return Err(unknown),
    };
    let defaults = grub_defaults::parse(&bytes).map_err(|t| malformed(&path, t.line, t.reason))?;
    let real = root.canonical(&path).value().cloned().unwrap_or_else(|| path.clone());
    let lines = Lines::new(&bytes);
    Ok(Some(File { path, real, bytes, lines, defaults }))
}

/// Whether grub-mkconfig sources the fragments: its own text says so; without it, the distribution does (the
/// directory is a patch of Debian's).
fn reads_fragments(root: &Root) -> bool {
    for dir in PROGRAM_DIRECTORIES {
        for name in ["grub-mkconfig", "grub2-mkconfig"] {
            if let Some(text) = root.bytes(&format!("{dir}/{name}"), TEXT_LIMIT).value() {
                let needle = b"default/grub.d";
                return text.windows(needle.len()).any(|w| w == needle);
            }
        }
    }
    let update_grub = PROGRAM_DIRECTORIES.iter().any(|dir| root.exists(&format!("{dir}/update-grub")));
    match family(root) {
        Family::Debian => true,
        Family::Other => update_grub,
        _ => false,
    }
}

/// dash does not know `+=`; where `/bin/sh` is not captured, Debian's is dash.
fn knows_plus(root: &Root) -> bool {
    let shell = root.link_name("bin/sh").or(|| root.link_name("usr/bin/sh"));
    match shell.value().map(String::as_str) {
        Some("dash") => false,
        Some(_) => true,
        None => family(root) != Family::Debian,
    }
}
