//! The token loop.

use super::expansion::{Extent, extent};
use super::{Kind, Lexed, Piece, Quote, Tail, Token, Trouble};
use crate::format::line_of;

/// Splits `bytes` into tokens; never fails: a place that cannot be followed ends the tokens with
/// [`Kind::Rest`] and names its line.
pub fn lex(bytes: &[u8]) -> Lexed {
    let mut lexer = Lexer { bytes, pos: 0, tokens: Vec::new(), delimiters: Vec::new(), want: None };
    let trouble = loop {
        if lexer.pos >= bytes.len() {
            break lexer.unfinished();
        }
        if let Err((offset, reason)) = lexer.token() {
            let start = lexer.tokens.last().map_or(0, |t| t.range.end);
            lexer.tokens.push(Token { kind: Kind::Rest, range: start..bytes.len() });
            break Some(Trouble::new(line_of(bytes, offset), reason));
        }
    };
    Lexed { tokens: lexer.tokens, trouble }
}

/// A here-document that begins after this line.
struct Delimiter {
    text: Vec<u8>,
    strip_tabs: bool,
    literal: bool,
}

struct Lexer<'a> {
    bytes: &'a [u8],
    pos: usize,
    tokens: Vec<Token>,
    delimiters: Vec<Delimiter>,
    /// The next word is a here-document's delimiter; true for `<<-`.
    want: Option<bool>,
}

type Step = Result<(), (usize, &'static str)>;

const CARRIAGE_RETURN: &str =
    "a carriage return (Windows line end), which the shell takes as part of the text; remove it first";
const NUL: &str = "a NUL byte; this is not shell text";

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.pos + ahead).copied()
    }

    fn push(&mut self, kind: Kind, len: usize) {
        let end = (self.pos + len).min(self.bytes.len());
        self.tokens.push(Token { kind, range: self.pos..end });
        self.pos = end;
    }

    fn joined_line(&self) -> bool {
        self.peek(0) == Some(b'\\') && self.peek(1) == Some(b'\n')
    }

    fn token(&mut self) -> Step {
        match self.peek(0) {
            Some(b' ' | b'\t') => self.blank(),
            Some(b'\\') if self.joined_line() => self.blank(),
            Some(b'\n') => {
                self.push(Kind::Newline, 1);
                return self.here_documents();
            }
            Some(b'#') => {
                let rest = self.bytes.get(self.pos..).unwrap_or_default();
                let len = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                self.push(Kind::Comment, len);
            }
            Some(b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => return self.operator(),
            _ => return self.word(),
        }
        Ok(())
    }

    fn blank(&mut self) {
        let start = self.pos;
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.joined_line() => self.pos += 2,
                _ => break,
            }
        }
        self.tokens.push(Token { kind: Kind::Blank, range: start..self.pos });
    }

    fn operator(&mut self) -> Step {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        if rest.starts_with(b"<<<") {
            return Err((self.pos, "`<<<`, which not every shell knows"));
        }
        let long = [&b"<<-"[..], b"<<", b";;", b";&", b"&&", b"||", b"<&", b"<>", b">>", b">&", b">|"];
        let len = long.iter().find(|o| rest.starts_with(o)).map_or(1, |o| o.len());
        if rest.starts_with(b"<<") {
            self.want = Some(len == 3);
        }
        self.push(Kind::Operator, len);
        Ok(())
    }

    fn word(&mut self) -> Step {
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut tail = Tail::Open;
        let mut quoted = false;
        loop {
            let at = self.pos;
            match self.peek(0) {
                None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => break,
                Some(b'\r') => return Err((at, CARRIAGE_RETURN)),
                Some(0) => return Err((at, NUL)),
                Some(b'\\') => match self.peek(1) {
                    Some(b'\n') => self.pos += 2,
                    Some(b'\r') => return Err((at, CARRIAGE_RETURN)),
                    Some(0) => return Err((at, NUL)),
                    None => return Err((at, "a backslash at the end of the file")),
                    Some(byte) => {
                        pieces.push(Piece { byte: Some(byte), quote: Quote::Backslash, at: at..at + 2 });
                        (tail, quoted) = (Tail::Open, true);
                        self.pos += 2;
                    }
                },
                Some(b'\'') => {
                    tail = self.single(&mut pieces)?;
                    quoted = true;
                }
                Some(b'"') => {
                    tail = self.double(&mut pieces)?;
                    quoted = true;
                }
                Some(b'$' | b'`') => {
                    self.expansion(&mut pieces, Quote::None)?;
                    tail = Tail::Open;
                }
                Some(byte) => {
                    pieces.push(Piece { byte: Some(byte), quote: Quote::None, at: at..at + 1 });
                    tail = Tail::Open;
                    self.pos += 1;
                }
            }
        }
        if let Some(strip_tabs) = self.want.take() {
            if pieces.iter().any(|p| p.byte.is_none()) {
                return Err((start, "a here-document with a computed delimiter"));
            }
            let text = pieces.iter().filter_map(|p| p.byte).collect();
            self.delimiters.push(Delimiter { text, strip_tabs, literal: quoted });
        }
        self.tokens.push(Token { kind: Kind::Word { pieces, tail }, range: start..self.pos });
        Ok(())
    }

    fn single(&mut self, pieces: &mut Vec<Piece>) -> Result<Tail, (usize, &'static str)> {
        let open = self.pos;
        self.pos += 1;
        loop {
            let at = self.pos;
            self.pos += 1;
            match self.bytes.get(at) {
                Some(b'\'') => return Ok(Tail::Single(at)),
                Some(b'\r') => return Err((at, CARRIAGE_RETURN)),
                Some(0) => return Err((at, NUL)),
                None => return Err((open, "a single quote that is never closed")),
                Some(byte) => {
                    pieces.push(Piece { byte: Some(*byte), quote: Quote::Single, at: at..at + 1 });
                }
            }
        }
    }

    fn double(&mut self, pieces: &mut Vec<Piece>) -> Result<Tail, (usize, &'static str)> {
        let open = self.pos;
        self.pos += 1;
        loop {
            let at = self.pos;
            match (self.peek(0), self.peek(1)) {
                (Some(b'"'), _) => {
                    self.pos += 1;
                    return Ok(Tail::Double(at));
                }
                (Some(b'\r'), _) => return Err((at, CARRIAGE_RETURN)),
                (Some(0), _) => return Err((at, NUL)),
                (None, _) => return Err((open, "a double quote that is never closed")),
                (Some(b'\\'), Some(b'\n')) => self.pos += 2,
                (Some(b'\\'), Some(byte @ (b'$' | b'`' | b'"' | b'\\'))) => {
                    pieces.push(Piece { byte: Some(byte), quote: Quote::Double, at: at..at + 2 });
                    self.pos += 2;
                }
                (Some(b'$' | b'`'), _) => self.expansion(pieces, Quote::Double)?,
                (Some(byte), _) => {
                    pieces.push(Piece { byte: Some(byte), quote: Quote::Double, at: at..at + 1 });
                    self.pos += 1;
                }
            }
        }
    }

    fn expansion(&mut self, pieces: &mut Vec<Piece>, quote: Quote) -> Step {
        let at = self.pos;
        match extent(self.bytes, at, quote == Quote::Double) {
            Extent::To(end) if end <= self.bytes.len() => {
                pieces.push(Piece { byte: None, quote, at: at..end });
                self.pos = end;
            }
            Extent::To(_) => return Err((at, "an expansion that the file ends in")),
            Extent::Literal => {
                pieces.push(Piece { byte: Some(b'$'), quote, at: at..at + 1 });
                self.pos += 1;
            }
            Extent::Lost(why) => return Err((at, why)),
        }
        Ok(())
    }

    /// Passes the bodies of the here-documents that the line just ended has opened.
    fn here_documents(&mut self) -> Step {
        for delimiter in std::mem::take(&mut self.delimiters) {
            let start = self.pos;
            loop {
                let rest = self.bytes.get(self.pos..).unwrap_or_default();
                if rest.is_empty() {
                    return Err((start.saturating_sub(1), "a here-document that is never ended"));
                }
                let end = rest.iter().position(|b| *b == b'\n');
                let mut line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                self.pos += end.map_or(rest.len(), |e| e + 1);
                if delimiter.strip_tabs {
                    let tabs = line.iter().take_while(|b| **b == b'\t').count();
                    line = line.get(tabs..).unwrap_or_default();
                }
                if line == delimiter.text {
                    break;
                }
                if !delimiter.literal && line.ends_with(b"\\") {
                    return Err((start, "a joined line in a here-document"));
                }
            }
            self.tokens.push(Token { kind: Kind::HereDocument, range: start..self.pos });
        }
        Ok(())
    }

    fn unfinished(&self) -> Option<Trouble> {
        let open = self.want.is_some() || !self.delimiters.is_empty();
        let line = line_of(self.bytes, self.bytes.len());
        open.then(|| Trouble::new(line, "a here-document that is never ended"))
    }
}
