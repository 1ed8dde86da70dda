//! Byte lexer for shell text: what `/bin/sh` sees in `/etc/default/grub` and its fragments (POSIX shell
//! command language, section 2.3). Tokens cover every byte of the input, so that an edit can keep the rest.

mod expansion;
mod lexer;

pub use lexer::lex;

use super::Trouble;
use std::ops::Range;

/// How a byte of a word is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// Not at all.
    None,
    /// By a backslash outside quotes.
    Backslash,
    /// Between single quotes.
    Single,
    /// Between double quotes.
    Double,
}

/// One byte of a word's value, or one expansion. Quote characters and joined lines leave no piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The byte that the shell sees; none for an expansion (`$x`, `${…}`, `$(…)`, backticks).
    pub byte: Option<u8>,
    /// How it is quoted.
    pub quote: Quote,
    /// Where it stands: one byte, two for an escaped one, all of an expansion.
    pub at: Range<usize>,
}

/// How a word ends, which decides where bytes can be added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// In an unquoted part, or the word is empty.
    Open,
    /// In single quotes that close at this offset.
    Single(usize),
    /// In double quotes that close at this offset.
    Double(usize),
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Blanks, tabs and joined lines.
    Blank,
    /// The end of a line.
    Newline,
    /// `#` to the end of the line.
    Comment,
    /// Body and delimiter of a here-document.
    HereDocument,
    /// `;`, `&&`, `(`, `>` …
    Operator,
    /// A word.
    Word {
        /// Its value.
        pieces: Vec<Piece>,
        /// Its end.
        tail: Tail,
    },
    /// What follows a place that cannot be followed.
    Rest,
}

/// A token and the bytes it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub range: Range<usize>,
}

/// All tokens of a file. Their ranges follow each other without a gap from the first byte to the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexed {
    /// Tokens in order.
    pub tokens: Vec<Token>,
    /// Why the last token is [`Kind::Rest`].
    pub trouble: Option<Trouble>,
}
