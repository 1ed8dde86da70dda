//! Statements from tokens.

use super::lexer::{Token, tokens};
use super::{Block, Command, Statement, Word};
use crate::format::{Trouble, line_of};

/// Nesting that no generated menu comes near.
const DEEPEST: usize = 50;
/// Words that open, part or close a statement where a command could begin.
const RESERVED: [&str; 11] =
    ["if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "function"];

/// Parses a script; the first line that GRUB would not take.
pub fn parse(bytes: &[u8]) -> Result<Vec<Statement>, Trouble> {
    let mut parser = Parser { bytes, tokens: tokens(bytes)?, at: 0, depth: 0 };
    let statements = parser.list(&[], None)?;
    match parser.peek() {
        None => Ok(statements),
        Some(_) => Err(parser.trouble("what was expected here is a command")),
    }
}

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
            Some(Token::Open(at) | Token::Close(at)) => *at,
            Some(Token::End) | None => self.before(),
        };
        Trouble::new(line_of(self.bytes, at), reason)
    }

    /// Where the token before this one stands.
    fn before(&self) -> usize {
        let known = self.tokens.get(..self.at).unwrap_or_default().iter().rev().find_map(|t| match t {
            Token::Word(word) => Some(word.range.end),
            Token::Open(at) | Token::Close(at) => Some(*at),
            Token::End => None,
        });
        known.unwrap_or_default()
    }

    /// Statements up to one of `stops` (left alone), or to the brace that closes the one at `open`.
    fn list(&mut self, stops: &[&str], open: Option<usize>) -> Result<Vec<Statement>, Trouble> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.trouble("nested too deeply"));
        }
        let mut statements = Vec::new();
        loop {
            match self.peek() {
                Some(Token::End) => self.at += 1,
                None if stops.is_empty() && open.is_none() => break,
                None => {
                    let wanted = if open.is_some() { "}".to_owned() } else { stops.join("` or `") };
                    return Err(self.trouble(format!("the text ends before `{wanted}`")));
                }
                Some(Token::Close(_)) if open.is_some() => break,
                Some(Token::Close(_)) => return Err(self.trouble("a `}` that nothing opened")),
                Some(Token::Open(_)) => return Err(self.trouble("a `{` that belongs to no command")),
                Some(Token::Word(_)) => match self.reserved() {
                    Some(word) if stops.contains(&word) => break,
                    Some("if") => statements.push(self.condition()?),
                    Some("function") => statements.push(self.function()?),
                    Some("while" | "until" | "for") => statements.push(self.repetition()?),
                    Some(word) => return Err(self.trouble(format!("a `{word}` that belongs to nothing"))),
                    None => statements.push(Statement::Command(self.command()?)),
                },
            }
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn condition(&mut self) -> Result<Statement, Trouble> {
        let mut arms = Vec::new();
        loop {
            self.at += 1;
            let test = self.list(&["then"], None)?;
            self.at += 1;
            let body = self.list(&["elif", "else", "fi"], None)?;
            arms.push((test, body));
            let end = self.reserved();
            if end == Some("elif") {
                continue;
            }
            self.at += 1;
            let mut otherwise = Vec::new();
            if end == Some("else") {
                otherwise = self.list(&["fi"], None)?;
                self.at += 1;
            }
            return Ok(Statement::If { arms, otherwise });
        }
    }

    fn function(&mut self) -> Result<Statement, Trouble> {
        self.at += 1;
        let name = match self.peek() {
            Some(Token::Word(word)) => String::from_utf8_lossy(&word.text().unwrap_or_default()).into_owned(),
            _ => return Err(self.trouble("expected the name of a function")),
        };
        self.at += 1;
        while matches!(self.peek(), Some(Token::End)) {
            self.at += 1;
        }
        Ok(Statement::Function { name, body: self.block()?.statements })
    }

    fn repetition(&mut self) -> Result<Statement, Trouble> {
        self.at += 1;
        let mut body = self.list(&["do"], None)?;
        self.at += 1;
        body.extend(self.list(&["done"], None)?);
        self.at += 1;
        Ok(Statement::Loop { body })
    }

    fn block(&mut self) -> Result<Block, Trouble> {
        let Some(Token::Open(open)) = self.peek().cloned() else { return Err(self.trouble("expected `{`")) };
        self.at += 1;
        let statements = self.list(&[], Some(open))?;
        let Some(Token::Close(close)) = self.peek().cloned() else {
            return Err(self.trouble("expected `}`"));
        };
        self.at += 1;
        Ok(Block { range: open + 1..close, statements })
    }

    fn command(&mut self) -> Result<Command, Trouble> {
        let mut words: Vec<Word> = Vec::new();
        let mut block = None;
        while let Some(token) = self.peek() {
            match token {
                Token::Word(word) if block.is_none() => {
                    words.push(word.clone());
                    self.at += 1;
                }
                Token::Open(_) if block.is_none() => block = Some(self.block()?),
                Token::End | Token::Close(_) => break,
                _ => return Err(self.trouble("expected the end of the command after its block")),
            }
        }
        let start = words.first().map_or(0, |w| w.range.start);
        let end = words.last().map_or(start, |w| w.range.end);
        let end = block.as_ref().map_or(end, |b: &Block| b.range.end + 1);
        Ok(Command { range: start..end, words, block })
    }
}
