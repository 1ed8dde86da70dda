//! JSON with the byte range of every value, so that one list can be edited and the rest kept. Values are
//! checked as RFC 8259 has them; of members with one name the last counts, as Python's reader has it.

use super::{Trouble, line_of};
use std::ops::Range;

/// Deeper nesting than this is refused.
const DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its bytes.
    pub at: Range<usize>,
    /// What it is.
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Members in order: name, where the name stands, value.
    Object(Vec<(String, Range<usize>, Node)>),
    /// Elements in order.
    Array(Vec<Node>),
    /// A string, decoded.
    String(String),
    /// A number, `true`, `false` or `null`.
    Other,
}

impl Node {
    /// The member `name` of an object.
    pub fn member(&self, name: &str) -> Option<(&Range<usize>, &Node)> {
        match &self.value {
            Value::Object(members) => members.iter().rev().find(|m| m.0 == name).map(|m| (&m.1, &m.2)),
            _ => None,
        }
    }
}

/// Parses a whole document.
pub fn parse(bytes: &[u8]) -> Result<Node, Trouble> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Trouble::new(line_of(bytes, e.valid_up_to()), "expected JSON in UTF-8"))?;
    let mut scanner = Scanner { text, pos: 0 };
    let node = scanner.value(0)?;
    scanner.blank();
    if scanner.pos < text.len() {
        return Err(scanner.expected("nothing after the JSON value"));
    }
    Ok(node)
}

struct Scanner<'a> {
    text: &'a str,
    pos: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    fn expected(&self, what: &str) -> Trouble {
        let found = match self.text.get(self.pos..).and_then(|t| t.chars().next()) {
            Some(c) => format!("{c:?}"),
            None => "the end of the file".to_owned(),
        };
        let line = line_of(self.text.as_bytes(), self.pos);
        Trouble::new(line, format!("malformed JSON: expected {what}, found {found}"))
    }

    fn take(&mut self, byte: u8, what: &str) -> Result<(), Trouble> {
        if self.peek() == Some(byte) {
            self.pos += 1;
            Ok(())
        } else {
            Err(self.expected(what))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Trouble> {
        if depth > DEPTH {
            return Err(self.expected("less deeply nested values"));
        }
        self.blank();
        let start = self.pos;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => self.other()?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Node { at: start..self.pos, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, Trouble> {
        let mut members = Vec::new();
        self.pos += 1;
        self.blank();
        if self.peek() == Some(b'}') {
            self.pos += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.blank();
            let start = self.pos;
            if self.peek() != Some(b'"') {
                return Err(self.expected("a member name in double quotes"));
            }
            let name = self.string()?;
            let at = start..self.pos;
            self.blank();
            self.take(b':', "`:`")?;
            members.push((name, at, self.value(depth + 1)?));
            self.blank();
            if self.peek() == Some(b',') {
                self.pos += 1;
            } else {
                self.take(b'}', "`,` or `}`")?;
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Trouble> {
        let mut elements = Vec::new();
        self.pos += 1;
        self.blank();
        if self.peek() == Some(b']') {
            self.pos += 1;
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.blank();
            if self.peek() == Some(b',') {
                self.pos += 1;
            } else {
                self.take(b']', "`,` or `]`")?;
                return Ok(Value::Array(elements));
            }
        }
    }

    fn string(&mut self) -> Result<String, Trouble> {
        let start = self.pos;
        self.pos += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.pos += 2,
                Some(0..=0x1f) | None => return Err(self.expected("the end of a string")),
                Some(_) => self.pos += 1,
            }
        }
        self.pos += 1;
        let text = self.text.get(start..self.pos).unwrap_or_default();
        serde_json::from_str(text).map_err(|_| {
            let line = line_of(self.text.as_bytes(), start);
            Trouble::new(line, format!("malformed JSON string {text}"))
        })
    }

    fn other(&mut self) -> Result<Value, Trouble> {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let len =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        if serde_json::from_str::<serde_json::Value>(word).is_err() {
            return Err(self.expected("a number, true, false or null"));
        }
        self.pos += len;
        Ok(Value::Other)
    }
}
