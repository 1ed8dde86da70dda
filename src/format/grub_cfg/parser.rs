//! Statements from tokens, by GRUB's own grammar (grub-core/script/parser.y): what it takes is taken, and nothing
//! else, so that nothing is followed here that GRUB would stop at.

use super::lexer::{Token, tokens};
use super::{Block, Command, Statement, Word};
use crate::format::{Trouble, line_of};

/// Nesting that no generated menu comes near.
const DEEPEST: usize = 50;
/// Alternatives of one `if`.
const MOST_ARMS: usize = 100;
/// Words that are no command.
const RESERVED: [&str; 17] = [
    "[[", "]]", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "select", "then",
    "until", "while", "function",
];

/// Parses a script; the first line that GRUB would not take.
pub fn parse(bytes: &[u8]) -> Result<Vec<Statement>, Trouble> {
    let mut parser = Parser { bytes, tokens: tokens(bytes)?, at: 0, depth: 0 };
    let mut statements = Vec::new();
    loop {
        parser.newlines();
        if parser.peek().is_none() {
            return Ok(statements);
        }
        statements.push(match parser.reserved() {
            Some("function") => parser.function()?,
            _ => parser.command()?,
        });
        match parser.peek() {
            None => return Ok(statements),
            Some(Token::Newline(_) | Token::Semicolon(_)) => parser.at += 1,
            Some(_) => return Err(parser.trouble("expected the end of the command")),
        }
    }
}

/// Statements, and whether a line end or `;` stands behind the last.
type List = (Vec<Statement>, bool);

struct Parser<'a> {
    bytes: &'a [u8],
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The reserved word that comes next.
    fn reserved(&self) -> Option<&'static str> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        RESERVED.into_iter().find(|r| word.plain && word.is(r))
    }

    fn trouble(&self, reason: impl Into<String>) -> Trouble {
        let at = match self.peek() {
            Some(Token::Word(word)) => word.range.start,
            Some(Token::Open(at) | Token::Close(at) | Token::Newline(at) | Token::Semicolon(at)) => *at,
            None => self.bytes.len().saturating_sub(1),
        };
        let reason = if self.peek().is_none() {
            format!("the text ends here: {}", reason.into())
        } else {
            reason.into()
        };
        Trouble::new(line_of(self.bytes, at), reason)
    }

    fn newlines(&mut self) {
        while matches!(self.peek(), Some(Token::Newline(_))) {
            self.at += 1;
        }
    }

    /// One line end or `;`, and line ends behind it.
    fn delimiters(&mut self) -> bool {
        if !matches!(self.peek(), Some(Token::Newline(_) | Token::Semicolon(_))) {
            return false;
        }
        self.at += 1;
        self.newlines();
        true
    }

    /// One or more commands.
    fn commands(&mut self) -> Result<List, Trouble> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.trouble("nested too deeply"));
        }
        self.newlines();
        let mut statements = vec![self.command()?];
        let ended = loop {
            if !self.delimiters() {
                break false;
            }
            let begins = matches!(self.reserved(), None | Some("if" | "for" | "while" | "until"));
            if !begins || !matches!(self.peek(), Some(Token::Word(_))) {
                break true;
            }
            statements.push(self.command()?);
        };
        self.depth -= 1;
        Ok((statements, ended))
    }

    /// Commands up to the reserved word `end`, which is taken.
    fn commands_until(&mut self, ends: &[&'static str]) -> Result<(Vec<Statement>, &'static str), Trouble> {
        let (statements, ended) = self.commands()?;
        match self.reserved().filter(|word| ended && ends.contains(word)) {
            Some(end) => {
                self.at += 1;
                Ok((statements, end))
            }
            None => Err(self.trouble(format!("expected `{}`", ends.join("` or `")))),
        }
    }

    fn command(&mut self) -> Result<Statement, Trouble> {
        match (self.peek(), self.reserved()) {
            (_, Some("if")) => self.condition(),
            (_, Some("for")) => self.repetition(true),
            (_, Some("while" | "until")) => self.repetition(false),
            (_, Some("function")) => Err(self.trouble("a function that stands inside of something")),
            (_, Some(word)) => Err(self.trouble(format!("a `{word}` that belongs to nothing"))),
            (Some(Token::Word(_)), None) => Ok(Statement::Command(self.simple()?)),
            (Some(Token::Close(_)), None) => Err(self.trouble("a `}` where a command was expected")),
            _ => Err(self.trouble("expected a command")),
        }
    }

    fn condition(&mut self) -> Result<Statement, Trouble> {
        let mut arms = Vec::new();
        self.at += 1;
        loop {
            let (test, _) = self.commands_until(&["then"])?;
            let (body, end) = self.commands_until(&["elif", "else", "fi"])?;
            arms.push((test, body));
            if arms.len() > MOST_ARMS {
                return Err(self.trouble("more alternatives than can be followed here"));
            }
            match end {
                "elif" => {}
                "else" => {
                    let (otherwise, _) = self.commands_until(&["fi"])?;
                    return Ok(Statement::If { arms, otherwise });
                }
                _ => return Ok(Statement::If { arms, otherwise: Vec::new() }),
            }
        }
    }

    fn name(&mut self, what: &str) -> Result<String, Trouble> {
        let name = match self.peek() {
            Some(Token::Word(word)) if word.plain && self.reserved().is_none() => word.text(),
            _ => None,
        };
        let name = name.and_then(|n| String::from_utf8(n).ok()).filter(|n| is_name(n));
        let name = name.ok_or_else(|| self.trouble(format!("expected the name of a {what}")))?;
        self.at += 1;
        Ok(name)
    }

    fn function(&mut self) -> Result<Statement, Trouble> {
        self.at += 1;
        let name = self.name("function")?;
        self.delimiters();
        let (block, ended) = self.block()?;
        if !ended {
            return Err(self.trouble("expected a line end or `;` before the `}` of a function"));
        }
        Ok(Statement::Function { name, body: block.statements })
    }

    fn repetition(&mut self, counted: bool) -> Result<Statement, Trouble> {
        self.at += 1;
        let mut variable = None;
        let mut body = Vec::new();
        if counted {
            variable = Some(self.name("variable")?);
            if self.reserved() != Some("in") {
                return Err(self.trouble("expected `in`"));
            }
            self.arguments()?;
            if !self.delimiters() || self.reserved() != Some("do") {
                return Err(self.trouble("expected `do`"));
            }
            self.at += 1;
        } else {
            body = self.commands_until(&["do"])?.0;
        }
        body.extend(self.commands_until(&["done"])?.0);
        Ok(Statement::Loop { variable, body })
    }

    /// A block, and whether a line end or `;` stands before its `}`.
    fn block(&mut self) -> Result<(Block, bool), Trouble> {
        let Some(Token::Open(open)) = self.peek().cloned() else { return Err(self.trouble("expected `{`")) };
        self.at += 1;
        let (statements, ended) = self.commands()?;
        let Some(Token::Close(close)) = self.peek().cloned() else {
            return Err(self.trouble("expected `}`"));
        };
        self.at += 1;
        Ok((Block { range: open + 1..close, statements }, ended))
    }

    /// Words up to something else. Reserved ones are words here, but for those that GRUB has no use for.
    fn arguments(&mut self) -> Result<Vec<Word>, Trouble> {
        let mut words: Vec<Word> = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            if let Some(word @ ("[[" | "]]")) = self.reserved() {
                return Err(self.trouble(format!("GRUB script knows no unquoted `{word}`")));
            }
            words.push(word.clone());
            self.at += 1;
        }
        Ok(words)
    }

    fn simple(&mut self) -> Result<Command, Trouble> {
        let words = self.arguments()?;
        let block = match self.peek() {
            Some(Token::Open(_)) => Some(self.block()?.0),
            _ => None,
        };
        let start = words.first().map_or(0, |w| w.range.start);
        let end = words.last().map_or(start, |w| w.range.end);
        let end = block.as_ref().map_or(end, |b: &Block| b.range.end + 1);
        Ok(Command { range: start..end, words, block })
    }
}

/// A letter or `_`, then letters, digits and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
