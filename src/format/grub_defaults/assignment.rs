//! One word of the form `NAME=value`.

use super::{Assignment, Element};
use crate::format::shell::{Piece, Quote, Tail};
use std::ops::Range;

/// The assignment that a word at `line` is, if it is one. `exported` as an argument of `export`, where dash splits and
/// globs unquoted text.
pub(super) fn parse(
    bytes: &[u8],
    line: usize,
    pieces: &[Piece],
    tail: Tail,
    word: &Range<usize>,
    exported: bool,
) -> Option<Assignment> {
    let (name, plus, used) = name(pieces, word.start)?;
    let equals = pieces.get(used.checked_sub(1)?)?;
    let mut assignment = Assignment {
        name,
        line,
        word: word.clone(),
        value: equals.at.end..word.end,
        tail,
        plus,
        elements: Vec::new(),
        obstacle: None,
    };
    if plus {
        assignment.elements.push(Element::Former { blank: false });
    }
    let mut before = b':';
    for piece in pieces.get(used..).unwrap_or_default() {
        let text = bytes.get(piece.at.clone()).unwrap_or_default();
        let Some(byte) = piece.byte else {
            match former(text, &assignment.name) {
                Some(blank) if !(exported && piece.quote == Quote::None) => {
                    assignment.elements.push(Element::Former { blank });
                }
                _ => block(&mut assignment, format!("the value is computed by {}", text.escape_ascii())),
            }
            before = 0;
            continue;
        };
        let bare = piece.quote == Quote::None;
        if bare && byte == b'~' && before == b':' {
            block(&mut assignment, "the shell expands `~` in the value".to_owned());
        }
        if bare && exported && matches!(byte, b'*' | b'?' | b'[') {
            block(&mut assignment, "the shell may expand a pattern in the value".to_owned());
        }
        before = if bare { byte } else { 0 };
        assignment.elements.push(Element::Byte { byte, at: piece.at.clone() });
    }
    if assignment.elements.iter().filter(|e| matches!(e, Element::Former { .. })).count() > 1 {
        block(&mut assignment, "the former value is used twice".to_owned());
    }
    Some(assignment)
}

fn block(assignment: &mut Assignment, why: String) {
    assignment.obstacle.get_or_insert(why);
}

/// The name, whether `+=` follows it, and how many pieces both take.
fn name(pieces: &[Piece], start: usize) -> Option<(String, bool, usize)> {
    let mut name = String::new();
    let mut next = start;
    for (index, piece) in pieces.iter().enumerate() {
        let byte = piece.byte.filter(|_| piece.quote == Quote::None && piece.at.start == next)?;
        next = piece.at.end;
        match byte {
            b'=' if !name.is_empty() => return Some((name, false, index + 1)),
            b'+' if !name.is_empty() => {
                let equals = pieces.get(index + 1)?;
                let follows =
                    equals.byte == Some(b'=') && equals.quote == Quote::None && equals.at.start == next;
                return follows.then_some((name, true, index + 2));
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => name.push(char::from(byte)),
            b'0'..=b'9' if !name.is_empty() => name.push(char::from(byte)),
            _ => return None,
        }
    }
    None
}

/// The forms of a variable's own former value; `Some(true)` when a blank follows a non-empty one.
fn former(text: &[u8], name: &str) -> Option<bool> {
    let text = std::str::from_utf8(text).ok()?.strip_prefix('$')?;
    if text == name {
        return Some(false);
    }
    let rest = text.strip_prefix('{')?.strip_suffix('}')?.strip_prefix(name)?;
    match rest {
        "" | "-" | ":-" => Some(false),
        _ => {
            let inner = rest.strip_prefix(":+").or_else(|| rest.strip_prefix('+'))?;
            let own = [format!("${name}"), format!("${{{name}}}")];
            if own.iter().any(|o| o == inner) {
                return Some(false);
            }
            // `${NAME+$NAME }` keeps the blank for an empty value; blanks do not matter to a command line.
            inner.strip_suffix(' ').filter(|i| own.iter().any(|o| o == i)).map(|_| true)
        }
    }
}
