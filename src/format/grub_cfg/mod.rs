//! GRUB script as grub.cfg and custom.cfg hold it: commands, blocks and conditions with the bytes they stand in
//! (grub-core/script/yylex.l, parser.y). Nothing is written from it: edits splice the original bytes.

mod lexer;
mod parser;

pub(crate) use parser::is_name;
pub use parser::parse;

use std::ops::Range;

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text without its quotes.
    Text(Vec<u8>),
    /// A variable; unquoted, its value is split at blanks.
    Variable {
        /// Its name.
        name: String,
        /// It stands in double quotes.
        quoted: bool,
    },
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where it stands, quotes included.
    pub range: Range<usize>,
    /// Its pieces, an empty text for `''`; none for a joined line, which gives no argument.
    pub parts: Vec<Part>,
    /// Holds no quote, backslash or variable.
    pub plain: bool,
}

impl Statement {
    /// This statement's commands and those inside of it, in order; blocks of commands are not entered.
    pub fn commands(&self) -> Vec<&Command> {
        let lists: Vec<&Vec<Statement>> = match self {
            Self::Command(command) => return vec![command],
            Self::If { arms, otherwise } => {
                arms.iter().flat_map(|(test, body)| [test, body]).chain([otherwise]).collect()
            }
            Self::Function { body, .. } | Self::Loop { body, .. } => vec![body],
        };
        lists.into_iter().flatten().flat_map(Self::commands).collect()
    }
}

impl Word {
    /// The text of a word without variables.
    pub fn text(&self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(bytes) => text.extend_from_slice(bytes),
                Part::Variable { .. } => return None,
            }
        }
        Some(text)
    }

    /// True for exactly this text without variables.
    pub fn is(&self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text.as_bytes())
    }
}

/// A command with its words and, for `menuentry` and `submenu`, its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// From the first word to the end of the last word or block.
    pub range: Range<usize>,
    /// Words, the command's name first.
    pub words: Vec<Word>,
    /// What stands in braces.
    pub block: Option<Block>,
}

/// What stands between two braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Between the braces.
    pub range: Range<usize>,
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A command.
    Command(Command),
    /// `if`, with its `elif`s: conditions and what they lead to.
    If {
        /// Condition and body.
        arms: Vec<(Vec<Statement>, Vec<Statement>)>,
        /// After `else`.
        otherwise: Vec<Statement>,
    },
    /// `function NAME { … }`.
    Function {
        /// Name.
        name: String,
        /// Body.
        body: Vec<Statement>,
    },
    /// `while`, `until`, `for`.
    Loop {
        /// The variable of a `for`.
        variable: Option<String>,
        /// Everything in it, the condition first.
        body: Vec<Statement>,
    },
}
