//! Tokens of GRUB script.

use super::{Part, Word};
use crate::format::{Trouble, line_of};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word.
    Word(Word),
    /// A line end or `;`.
    End,
    /// `{`, at this offset.
    Open(usize),
    /// `}`, at this offset.
    Close(usize),
}

/// All tokens. GRUB's grammar has no use for `|`, `&`, `<` and `>`: a script that holds them unquoted is refused.
pub(super) fn tokens(bytes: &[u8]) -> Result<Vec<Token>, Trouble> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' => at += 1,
            b'\n' | b';' => {
                tokens.push(Token::End);
                at += 1;
            }
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => at += 1,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'#' => at += bytes.get(at..).unwrap_or_default().iter().take_while(|b| **b != b'\n').count(),
            b'{' | b'}' => {
                tokens.push(if *byte == b'{' { Token::Open(at) } else { Token::Close(at) });
                at += 1;
            }
            b'|' | b'&' | b'<' | b'>' => {
                let shown = char::from(*byte);
                let reason = format!("GRUB script knows no unquoted `{shown}` here");
                return Err(Trouble::new(line_of(bytes, at), reason));
            }
            _ => {
                let word = word(bytes, at)?;
                at = word.range.end;
                tokens.push(Token::Word(word));
            }
        }
    }
    Ok(tokens)
}

fn word(bytes: &[u8], start: usize) -> Result<Word, Trouble> {
    let mut parts = Vec::new();
    let mut text = Vec::new();
    let mut at = start;
    let mut plain = true;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b';' | b'{' | b'}' | b'|' | b'&' | b'<' | b'>' => break,
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => break,
            b'\\' => {
                plain = false;
                match bytes.get(at + 1) {
                    Some(b'\n') | None => {}
                    Some(next) => text.push(*next),
                }
                at = (at + 2).min(bytes.len());
            }
            b'\'' => {
                plain = false;
                let rest = bytes.get(at + 1..).unwrap_or_default();
                let Some(length) = rest.iter().position(|b| *b == b'\'') else {
                    return Err(Trouble::new(line_of(bytes, at), "a single quote that is never closed"));
                };
                text.extend_from_slice(rest.get(..length).unwrap_or_default());
                at += length + 2;
            }
            b'"' => {
                plain = false;
                at = double(bytes, at, &mut text, &mut parts)?;
            }
            b'$' => {
                plain = false;
                at = dollar(bytes, at, false, &mut text, &mut parts);
            }
            _ => {
                text.push(*byte);
                at += 1;
            }
        }
    }
    flush(&mut text, &mut parts);
    Ok(Word { range: start..at, parts, plain })
}

fn double(bytes: &[u8], open: usize, text: &mut Vec<u8>, parts: &mut Vec<Part>) -> Result<usize, Trouble> {
    let mut at = open + 1;
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'"'), _) => return Ok(at + 1),
            (Some(b'\\'), Some(next @ (b'"' | b'\\' | b'$'))) => {
                text.push(*next);
                at += 2;
            }
            (Some(b'\\'), Some(b'\n')) => at += 2,
            (Some(b'$'), _) => at = dollar(bytes, at, true, text, parts),
            (Some(byte), _) => {
                text.push(*byte);
                at += 1;
            }
            (None, _) => {
                return Err(Trouble::new(line_of(bytes, open), "a double quote that is never closed"));
            }
        }
    }
}

/// The variable at a `$`, or the `$` itself; gives the offset behind it.
fn dollar(bytes: &[u8], at: usize, quoted: bool, text: &mut Vec<u8>, parts: &mut Vec<Part>) -> usize {
    let rest = bytes.get(at + 1..).unwrap_or_default();
    let (brace, rest) = match rest.split_first() {
        Some((b'{', inner)) => (1, inner),
        _ => (0, rest),
    };
    let length = match rest.first() {
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
        }
        Some(b'0'..=b'9') => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
        Some(b'@' | b'*' | b'#' | b'?') => 1,
        _ => 0,
    };
    if length == 0 || (brace == 1 && rest.get(length) != Some(&b'}')) {
        text.push(b'$');
        return at + 1;
    }
    flush(text, parts);
    let name = String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned();
    parts.push(Part::Variable { name, quoted });
    at + 1 + length + 2 * brace
}

fn flush(text: &mut Vec<u8>, parts: &mut Vec<Part>) {
    if !text.is_empty() {
        parts.push(Part::Text(std::mem::take(text)));
    }
}
