//! Tokens of GRUB script.

use super::{Part, Word};
use crate::format::{Trouble, line_of};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word.
    Word(Word),
    /// A line end, at this offset.
    Newline(usize),
    /// `;`, at this offset.
    Semicolon(usize),
    /// `{`, at this offset.
    Open(usize),
    /// `}`, at this offset.
    Close(usize),
}

/// All tokens. GRUB's grammar has no use for `|`, `&`, `<` and `>`: a script that holds them unquoted is refused,
/// as is what GRUB's lexer takes for no token (a lone `$`) and what is followed nowhere here (`$"…"`).
pub(super) fn tokens(bytes: &[u8]) -> Result<Vec<Token>, Trouble> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' => at += 1,
            b'\n' | b';' | b'{' | b'}' => {
                tokens.push(match byte {
                    b'\n' => Token::Newline(at),
                    b';' => Token::Semicolon(at),
                    b'{' => Token::Open(at),
                    _ => Token::Close(at),
                });
                at += 1;
            }
            // GRUB leaves carriage returns out wherever they stand (grub_file_getline).
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => at += 1,
            b'#' => at += bytes.get(at..).unwrap_or_default().iter().take_while(|b| **b != b'\n').count(),
            b'|' | b'&' | b'<' | b'>' => {
                let shown = char::from(*byte);
                return Err(trouble(bytes, at, format!("GRUB script knows no unquoted `{shown}` here")));
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

fn trouble(bytes: &[u8], at: usize, reason: impl Into<String>) -> Trouble {
    Trouble::new(line_of(bytes, at), reason)
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
            b'\r' | 0 => return Err(trouble(bytes, at, "a carriage return or NUL inside a line")),
            b'\\' => {
                plain = false;
                match bytes.get(at + 1) {
                    Some(b'\n') => {}
                    Some(next) => text.push(*next),
                    None => return Err(trouble(bytes, at, "a backslash at the end")),
                }
                at += 2;
            }
            b'\'' => {
                plain = false;
                let rest = bytes.get(at + 1..).unwrap_or_default();
                let Some(length) = rest.iter().position(|b| *b == b'\'') else {
                    return Err(trouble(bytes, at, "a single quote that is never closed"));
                };
                text.extend_from_slice(rest.get(..length).unwrap_or_default());
                if length == 0 {
                    empty(&mut text, &mut parts);
                }
                at += length + 2;
            }
            b'"' => {
                plain = false;
                let end = double(bytes, at, &mut text, &mut parts)?;
                if end == at + 2 {
                    empty(&mut text, &mut parts);
                }
                at = end;
            }
            b'$' => {
                plain = false;
                at = dollar(bytes, at, false, &mut text, &mut parts)?;
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
            (Some(b'$'), _) => at = dollar(bytes, at, true, text, parts)?,
            (Some(byte), _) => {
                text.push(*byte);
                at += 1;
            }
            (None, _) => return Err(trouble(bytes, open, "a double quote that is never closed")),
        }
    }
}

/// The variable at a `$`; gives the offset behind it.
fn dollar(
    bytes: &[u8],
    at: usize,
    quoted: bool,
    text: &mut Vec<u8>,
    parts: &mut Vec<Part>,
) -> Result<usize, Trouble> {
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
        Some(b'"') if brace == 0 && !quoted => {
            return Err(trouble(bytes, at, "a translated text ($\"…\"), whose words only GRUB knows"));
        }
        _ => 0,
    };
    if length == 0 || (brace == 1 && rest.get(length) != Some(&b'}')) {
        return Err(trouble(bytes, at, "a `$` that begins no variable"));
    }
    flush(text, parts);
    let name = String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned();
    parts.push(Part::Variable { name, quoted });
    Ok(at + 1 + length + 2 * brace)
}

/// `''` makes an argument, while a joined line alone makes none.
fn empty(text: &mut Vec<u8>, parts: &mut Vec<Part>) {
    flush(text, parts);
    parts.push(Part::Text(Vec::new()));
}

fn flush(text: &mut Vec<u8>, parts: &mut Vec<Part>) {
    if !text.is_empty() {
        parts.push(Part::Text(std::mem::take(text)));
    }
}
