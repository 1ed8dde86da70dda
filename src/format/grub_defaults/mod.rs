//! `/etc/default/grub` and `grub.d/*.cfg`: the assignments that `grub-mkconfig` gets by sourcing them.
//!
//! Only what certainly happens counts as settled. An assignment inside `if`, `case`, a loop, a function, a
//! group, a pipeline or after `&&` carries the obstacle; commands that can set any variable are events too.

mod assignment;
mod commands;
mod simple;

use super::shell::{Piece, Tail};
use super::{Trouble, shell};
use std::ops::Range;

/// A file of settings, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// What the file does to variables, in order.
    pub events: Vec<Event>,
}

/// Something that sets variables, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// `NAME=value`, `NAME+=value`, `export NAME=value`.
    Assign(Assignment),
    /// `unset NAME`, or something else that may change it (a loop variable, `${NAME:=value}`).
    Unset {
        /// Variable.
        name: String,
        /// Line from 1.
        line: usize,
        /// Why it may not happen.
        obstacle: Option<String>,
    },
    /// A command that may set or freeze any variable (`eval`, `source`, a function of the file ...).
    Opaque {
        /// Line from 1.
        line: usize,
        /// The command.
        what: String,
        /// Nothing after it is certain, not even a plain assignment.
        lasting: bool,
    },
}

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Variable.
    pub name: String,
    /// Line of the name, from 1.
    pub line: usize,
    /// The whole word, from the name to the end of the value.
    pub word: Range<usize>,
    /// The value as written, quotes included.
    pub value: Range<usize>,
    /// How the value ends.
    pub tail: Tail,
    /// Written `NAME+=value`, which bash knows and dash does not.
    pub plus: bool,
    /// The value: bytes, and places where the variable's former value stands.
    pub elements: Vec<Element>,
    /// Why the value or its effect cannot be told.
    pub obstacle: Option<String>,
}

/// Part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A byte and the bytes of the file that make it.
    Byte {
        /// The byte.
        byte: u8,
        /// Where it stands.
        at: Range<usize>,
    },
    /// What the variable held before (`$NAME`, `${NAME}`, `NAME+=`).
    Former {
        /// Followed by a blank when it is not empty (`${NAME:+$NAME }`).
        blank: bool,
    },
}

impl Assignment {
    /// True when the former value is part of the new one.
    pub fn appends(&self) -> bool {
        self.elements.iter().any(|e| matches!(e, Element::Former { .. }))
    }

    /// The bytes that this assignment itself contributes.
    pub fn own_bytes(&self) -> Vec<u8> {
        self.elements
            .iter()
            .map(|e| match e {
                Element::Byte { byte, .. } => *byte,
                Element::Former { .. } => b' ',
            })
            .collect()
    }
}

/// Parses a file. Fails where the shell's reading cannot be followed at all; nothing after that place is known.
pub fn parse(bytes: &[u8]) -> Result<Defaults, Trouble> {
    let lexed = shell::lex(bytes);
    if let Some(trouble) = lexed.trouble {
        return Err(trouble);
    }
    commands::events(bytes, &lexed.tokens).map(|events| Defaults { events })
}

/// The unquoted literal text of a word: only such words are reserved words, names of assignments or commands
/// that can be told.
fn literal(pieces: &[Piece], range: &Range<usize>) -> Option<String> {
    let plain = |p: &Piece| match p.byte {
        Some(byte) if p.quote == shell::Quote::None && byte.is_ascii() => Some(char::from(byte)),
        _ => None,
    };
    let text: String = pieces.iter().map(plain).collect::<Option<_>>()?;
    (text.len() == range.len()).then_some(text)
}
