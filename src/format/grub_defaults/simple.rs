//! Simple commands: assignments, and commands that change variables in other ways.

use super::{Event, Trouble, assignment};
use crate::format::Lines;
use crate::format::shell::{Piece, Tail};
use std::collections::HashSet;
use std::ops::Range;

/// Commands that can set any variable; a later assignment settles it again.
const SETS: [&str; 14] = [
    "eval",
    ".",
    "source",
    "read",
    "getopts",
    "declare",
    "typeset",
    "local",
    "let",
    "mapfile",
    "readarray",
    "time",
    "coproc",
    "printf -v",
];

/// Commands after which nothing later in the files is certain: they end the reading, freeze variables or
/// change what words mean.
const ENDS: [&str; 9] =
    ["exit", "return", "exec", "readonly", "alias", "shopt", "enable", "command", "builtin"];

/// Special built-ins (POSIX, section 2.14) that are not named above: an assignment before one of them outlives
/// it in some shells.
const SPECIAL: [&str; 9] = [":", "export", "unset", "set", "shift", "times", "trap", "break", "continue"];

/// The name of a command that is quoted or computed.
const COMPUTED: &str = "\0";

/// The simple command being read.
#[derive(Default)]
pub(super) struct Command {
    /// Events of assignment words before the command's name, of `export` arguments and of `unset`.
    pending: Vec<Event>,
    /// How many of them stand before the name.
    prefix: usize,
    /// First word.
    pub(super) name: Option<String>,
    /// The next word is the target of a redirection.
    pub(super) redirect: bool,
    /// It has a redirection.
    pub(super) redirected: bool,
    /// It follows a compound command: only redirections may follow.
    pub(super) closed: bool,
    /// Offset of its first token.
    pub(super) start: Option<usize>,
}

impl Command {
    /// What may follow the end of a compound command.
    pub(super) fn after_construct() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// True while it is nothing but one word.
    pub(super) fn is_one_word(&self) -> bool {
        self.name.is_some() && self.pending.is_empty() && !self.redirect
    }

    /// True for bash's `[[ … ]]`.
    pub(super) fn is_test(&self) -> bool {
        self.name.as_deref() == Some("[[")
    }

    /// Takes a word; `text` when it is literal.
    pub(super) fn word(
        &mut self,
        bytes: &[u8],
        lines: &Lines,
        (pieces, tail, range): (&[Piece], Tail, &Range<usize>),
        text: Option<&str>,
    ) -> Result<(), Trouble> {
        let line = lines.of(range.start);
        let assignment = |exported| assignment::parse(bytes, line, pieces, tail, range, exported);
        match self.name.as_deref() {
            None => {
                if let Some(found) = assignment(false) {
                    if found.value.is_empty() && bytes.get(range.end) == Some(&b'(') {
                        return Err(Trouble::new(line, "an array, which not every shell knows"));
                    }
                    self.pending.push(Event::Assign(found));
                } else {
                    self.prefix = self.pending.len();
                    self.name = Some(text.unwrap_or(COMPUTED).to_owned());
                }
            }
            Some("unset") => match text {
                Some("-v") => {}
                Some(name) if !name.starts_with('-') => {
                    self.pending.push(Event::Unset { name: name.to_owned(), line, obstacle: None });
                }
                _ => self.name = Some(COMPUTED.to_owned()),
            },
            Some("export") => {
                if let Some(found) = assignment(true) {
                    self.pending.push(Event::Assign(found));
                } else if text.is_none() {
                    self.name = Some(COMPUTED.to_owned());
                }
            }
            Some(name @ ("printf" | "command")) if text == Some("-v") => {
                self.name = Some(format!("{name} -v"));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// What the finished command does; `obstacle` when it may not run.
    pub(super) fn events(
        self,
        obstacle: Option<&str>,
        functions: &HashSet<String>,
        line: usize,
    ) -> Vec<Event> {
        let name = self.name.as_deref().unwrap_or_default();
        let lasting = ENDS.contains(&name) || functions.contains(name) || name == COMPUTED;
        let opaque = lasting || SETS.contains(&name);
        let special = opaque || SPECIAL.contains(&name);
        // Before an ordinary command an assignment lasts for that command alone: no event.
        let passing = if self.name.is_none() || special { 0 } else { self.prefix };
        let mut events = Vec::new();
        for (index, mut event) in self.pending.into_iter().enumerate().skip(passing) {
            match &mut event {
                Event::Assign(a) if special && index < self.prefix => {
                    a.obstacle.get_or_insert_with(|| "it stands before a command".to_owned());
                }
                Event::Assign(a) => a.obstacle = a.obstacle.take().or(obstacle.map(str::to_owned)),
                Event::Unset { obstacle: o, .. } => *o = obstacle.map(str::to_owned),
                Event::Opaque { .. } => {}
            }
            events.push(event);
        }
        if opaque {
            let what = if name == COMPUTED { "a computed command".to_owned() } else { format!("`{name}`") };
            events.push(Event::Opaque { line, what, lasting });
        }
        events
    }
}

/// Variables that expansions in `text` set: `${NAME:=value}` and assignments in `$((…))`.
pub(super) fn expansions(text: &[u8], line: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let at = |needle: &'static [u8]| {
        text.windows(needle.len()).enumerate().filter(move |(_, w)| *w == needle).map(|(i, _)| i)
    };
    for start in at(b"${").map(|i| i + 2) {
        let rest = text.get(start..).unwrap_or_default();
        let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let (name, after) = rest.split_at(len);
        if after.starts_with(b"=") || after.starts_with(b":=") {
            events.push(may_set(Some(&String::from_utf8_lossy(name)), line, "an expansion may set it"));
        }
    }
    let arithmetic = at(b"$((").next().is_some();
    if arithmetic && [&b"="[..], b"++", b"--"].iter().any(|n| text.windows(n.len()).any(|w| w == *n)) {
        events.push(may_set(None, line, ""));
    }
    events
}

/// Something other than an assignment sets `name`, or a variable that cannot be told.
pub(super) fn may_set(name: Option<&str>, line: usize, why: &str) -> Event {
    match name {
        Some(name) => Event::Unset { name: name.to_owned(), line, obstacle: Some(why.to_owned()) },
        None => Event::Opaque { line, what: "an expansion or a loop".to_owned(), lasting: false },
    }
}
