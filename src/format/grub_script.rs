//! GRUB script, the second reading of a command line: `grub-mkconfig` pastes the value of
//! `GRUB_CMDLINE_LINUX*` unquoted on a `linux` line of grub.cfg, where GRUB splits it again
//! (grub-core/script/yylex.l); the kernel's text is then built by grub-core/lib/cmdline.c.

use std::ops::Range;

/// One argument of the `linux` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Where it stands in the value, quotes included.
    pub range: Range<usize>,
    /// Its text without GRUB's quotes.
    pub text: Vec<u8>,
    /// The argument is one GRUB variable and nothing else: its name.
    pub variable: Option<String>,
}

/// Why a value does not reach the kernel as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Offset in the value.
    pub at: usize,
    /// What GRUB makes of it.
    pub reason: String,
}

/// GRUB's lexer has no token for it, and the whole grub.cfg would not be taken.
const LONE: &str = "a `$` that begins no variable of GRUB";

/// Splits a value as GRUB does.
pub fn split(value: &[u8]) -> Result<Vec<Argument>, Broken> {
    let mut arguments = Vec::new();
    let mut pos = 0;
    while let Some(byte) = value.get(pos) {
        if matches!(byte, b' ' | b'\t') {
            pos += 1;
            continue;
        }
        if *byte == b'#' {
            return Err(broken(pos, "GRUB takes `#` at the start of a word as the start of a comment"));
        }
        let argument = argument(value, pos)?;
        pos = argument.range.end;
        arguments.push(argument);
    }
    Ok(arguments)
}

fn broken(at: usize, reason: impl Into<String>) -> Broken {
    Broken { at, reason: reason.into() }
}

fn argument(value: &[u8], start: usize) -> Result<Argument, Broken> {
    let mut text = Vec::new();
    let mut pos = start;
    while let Some(byte) = value.get(pos) {
        match byte {
            b' ' | b'\t' => break,
            b'\\' => {
                let next = value.get(pos + 1).filter(|b| **b != b'\n');
                text.push(*next.ok_or_else(|| broken(pos, "a backslash that GRUB joins with what follows"))?);
                pos += 2;
            }
            b'\'' => {
                let rest = value.get(pos + 1..).unwrap_or_default();
                let len = rest.iter().position(|b| *b == b'\'');
                let len = len.ok_or_else(|| broken(pos, "a single quote that GRUB never sees closed"))?;
                text.extend_from_slice(rest.get(..len).unwrap_or_default());
                pos += len + 2;
            }
            b'"' => pos = double(value, pos, &mut text)?,
            b'$' => match variable(value, pos) {
                None => return Err(broken(pos, LONE)),
                Some((name, end)) => {
                    let alone = pos == start && matches!(value.get(end), None | Some(b' ' | b'\t'));
                    if !alone {
                        return Err(broken(pos, format!("GRUB replaces `${name}` inside a word")));
                    }
                    let text = value.get(start..end).unwrap_or_default().to_vec();
                    return Ok(Argument { range: start..end, text, variable: Some(name) });
                }
            },
            b';' | b'&' | b'|' | b'<' | b'>' | b'{' | b'}' | b'\n' => {
                let shown = char::from(*byte).escape_default();
                return Err(broken(pos, format!("GRUB ends the command at an unquoted `{shown}`")));
            }
            _ => {
                text.push(*byte);
                pos += 1;
            }
        }
    }
    Ok(Argument { range: start..pos, text, variable: None })
}

fn double(value: &[u8], open: usize, text: &mut Vec<u8>) -> Result<usize, Broken> {
    let mut pos = open + 1;
    loop {
        match (value.get(pos), value.get(pos + 1)) {
            (Some(b'"'), _) => return Ok(pos + 1),
            (Some(b'\\'), Some(next @ (b'"' | b'\\' | b'$'))) => {
                text.push(*next);
                pos += 2;
            }
            (Some(b'\\'), Some(b'\n')) => return Err(broken(pos, "a line that GRUB joins")),
            (Some(b'$'), _) => {
                let inside = "GRUB replaces a `$` name inside double quotes";
                return Err(broken(pos, variable(value, pos).map_or(LONE, |_| inside)));
            }
            (Some(byte), _) => {
                text.push(*byte);
                pos += 1;
            }
            (None, _) => return Err(broken(open, "a double quote that GRUB never sees closed")),
        }
    }
}

/// Name and end of the variable at a `$`, if GRUB takes it as one.
fn variable(value: &[u8], pos: usize) -> Option<(String, usize)> {
    let rest = value.get(pos + 1..)?;
    let (brace, rest) = match rest.split_first() {
        Some((b'{', inner)) => (1, inner),
        _ => (0, rest),
    };
    let len = match rest.first()? {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
        }
        b'0'..=b'9' => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
        b'@' | b'*' | b'#' | b'?' => 1,
        _ => return None,
    };
    if brace == 1 && rest.get(len) != Some(&b'}') {
        return None;
    }
    let name = String::from_utf8_lossy(rest.get(..len)?).into_owned();
    Some((name, pos + 1 + len + 2 * brace))
}

/// The word as the kernel gets it: GRUB puts double quotes around an argument that holds a blank and a
/// backslash before `\`, `'` and `"`.
pub fn kernel_word(argument: &[u8]) -> String {
    let text = String::from_utf8_lossy(argument);
    let mut word = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '\'' | '"') {
            word.push('\\');
        }
        word.push(c);
    }
    if word.contains(' ') { format!("\"{word}\"") } else { word }
}

/// The argument that makes GRUB hand `word` to the kernel; the reason when no argument can.
pub fn argument_for(word: &str) -> Result<String, String> {
    let argument: String = word.chars().filter(|c| *c != '"').collect();
    if word.matches('"').count() % 2 == 1 {
        return Err(format!("`{word}`: a double quote that is never closed"));
    }
    if argument.is_empty() || argument.starts_with(' ') {
        return Err(format!("`{word}`: expected a word of a command line"));
    }
    match argument.chars().find(|c| matches!(c, '\\' | '\'') || c.is_control()) {
        Some(c) => Err(format!("`{word}`: GRUB cannot hand {c:?} to the kernel unchanged")),
        None => Ok(argument),
    }
}

/// The argument as it must stand in a value, with GRUB's single quotes where needed, or double quotes when
/// the value itself stands in single quotes of the shell.
pub fn quoted(argument: &str, double: bool) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.,:/=+%@^!~".contains(&b);
    if argument.bytes().all(plain) {
        argument.to_owned()
    } else if double {
        format!("\"{}\"", argument.replace('$', "\\$"))
    } else {
        format!("'{argument}'")
    }
}

#[cfg(test)]
mod tests {
    use super::{argument_for, kernel_word, quoted, split};

    fn words(value: &str) -> Vec<String> {
        split(value.as_bytes()).unwrap().iter().map(|a| kernel_word(&a.text)).collect()
    }

    #[test]
    fn quotes_and_backslashes_are_grubs_own() {
        assert_eq!(words(r"quiet 'pci=a;b' iommu=pt"), ["quiet", "pci=a;b", "iommu=pt"]);
        assert_eq!(words(r"pci=a\;b x"), ["pci=a;b", "x"]);
        assert_eq!(words(r#""dyndbg=file x +p""#), [r#""dyndbg=file x +p""#]);
        assert_eq!(words("  a\tb "), ["a", "b"]);
    }

    #[test]
    fn what_ends_the_command_is_named() {
        for (value, at) in [
            ("a b;c", 3),
            ("a #b", 2),
            ("a 'b", 2),
            ("a{b", 1),
            ("a \\", 2),
            ("a=$b", 2),
            ("a$", 1),
            ("\"a$\"", 2),
        ] {
            assert_eq!(split(value.as_bytes()).unwrap_err().at, at, "{value}");
        }
        assert_eq!(split(b"a $tuned_params").unwrap()[1].variable.as_deref(), Some("tuned_params"));
    }

    #[test]
    fn a_word_survives_quoting() {
        for word in ["iommu=pt", "pci=disable_acs_redir=0000:00:01.0;0000:00:02.0", r#""a=b c""#, "x=$y"] {
            for double in [false, true] {
                let text = quoted(&argument_for(word).unwrap(), double);
                assert_eq!(words(&text), [word], "{text}");
            }
        }
        assert!(argument_for("a'b").is_err() && argument_for("").is_err() && argument_for("a\nb").is_err());
    }
}
