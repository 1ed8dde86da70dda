//! Files of modprobe.d as kmod reads them (libkmod-config.c, `freadline_wrapped`): a backslash before a line
//! end joins lines, before another character it vanishes; `#` comments only at the start of a line; the rest
//! of an `options` line goes to the kernel, which splits it at blanks outside double quotes.

use super::splice::Splice;
use super::{Trouble, line_of};
use std::ops::Range;

/// A file, as far as options are concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModprobeFile {
    /// `options` lines in order.
    pub lines: Vec<OptionsLine>,
}

/// One `options` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsLine {
    /// Its (first) line, from 1.
    pub number: usize,
    /// All its bytes, the line end included.
    pub range: Range<usize>,
    /// Module, `-` turned into `_`.
    pub module: String,
    /// Options in order.
    pub options: Vec<ModuleOption>,
}

/// One `name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleOption {
    /// Parameter as written.
    pub name: String,
    /// Value, double quotes removed; none for a bare word.
    pub value: Option<String>,
    /// Where it stands.
    pub at: Range<usize>,
    /// It holds double quotes.
    pub quoted: bool,
    /// Why its bytes are not to be rewritten.
    pub obstacle: Option<&'static str>,
}

/// A byte of a joined line and where it stands.
type Source = (u8, Range<usize>);

/// Parses a file; lines that are no `options` line are passed over.
pub fn parse(bytes: &[u8]) -> ModprobeFile {
    let mut file = ModprobeFile::default();
    let mut start = 0;
    let mut number = 1;
    while start < bytes.len() {
        let (text, end) = joined_line(bytes, start);
        if let Some((module, options)) = options_line(&text) {
            file.lines.push(OptionsLine { number, range: start..end, module, options });
        }
        number += line_of(bytes.get(start..end).unwrap_or_default(), end) - 1;
        start = end;
    }
    file
}

/// The logical line at `start` without its line end, and where the next one begins.
fn joined_line(bytes: &[u8], start: usize) -> (Vec<Source>, usize) {
    let mut text = Vec::new();
    let mut pos = start;
    while let Some(byte) = bytes.get(pos) {
        match (byte, bytes.get(pos + 1)) {
            (b'\n', _) => return (text, pos + 1),
            (b'\\', Some(b'\n')) => pos += 2,
            (b'\\', Some(next)) => {
                text.push((*next, pos..pos + 2));
                pos += 2;
            }
            (b'\\', None) => pos += 1,
            _ => {
                text.push((*byte, pos..pos + 1));
                pos += 1;
            }
        }
    }
    (text, pos)
}

fn options_line(text: &[Source]) -> Option<(String, Vec<ModuleOption>)> {
    if text.first()?.0 == b'#' {
        return None;
    }
    let blank = |s: &Source| matches!(s.0, b' ' | b'\t');
    let mut words = text.split(blank).filter(|w| !w.is_empty());
    let string =
        |w: &[Source]| String::from_utf8_lossy(&w.iter().map(|s| s.0).collect::<Vec<u8>>()).into_owned();
    if string(words.next()?) != "options" {
        return None;
    }
    let module_word = words.next()?;
    let module = string(module_word).replace('-', "_");
    let module_end = module_word.last()?.1.end;
    let rest: Vec<Source> = text.iter().filter(|s| s.1.start >= module_end).cloned().collect();
    let mut options = Vec::new();
    let mut word: Vec<Source> = Vec::new();
    let mut quoted = false;
    for source in rest {
        quoted ^= source.0 == b'"';
        if !quoted && source.0.is_ascii_whitespace() && source.0 != b'\r' {
            options.extend(option(&std::mem::take(&mut word)));
        } else {
            word.push(source);
        }
    }
    options.extend(option(&word));
    Some((module, options))
}

fn option(word: &[Source]) -> Option<ModuleOption> {
    let at = word.first()?.1.start..word.last()?.1.end;
    let bytes: Vec<u8> = word.iter().map(|s| s.0).collect();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let bare: String = text.chars().filter(|c| *c != '"').collect();
    let (name, value) = match bare.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (bare.clone(), None),
    };
    let obstacle = if bytes.len() != at.len() {
        Some("it holds a backslash or a joined line")
    } else if bytes.contains(&b'\r') {
        Some("it ends in a carriage return (Windows line end), which the kernel takes as part of the value")
    } else if text.matches('"').count() % 2 == 1 {
        Some("it holds a double quote that is never closed")
    } else if std::str::from_utf8(&bytes).is_err() || bytes.contains(&0) {
        Some("it holds bytes that are no text")
    } else {
        None
    };
    Some(ModuleOption { name, value, at, quoted: text.contains('"'), obstacle })
}

/// `name=value` as it must stand in a file: in double quotes when it holds a blank or `quoted` asks for them.
/// A value that holds a double quote or a control character cannot be written.
pub fn written(name: &str, value: &str, quoted: bool) -> Result<String, String> {
    if let Some(c) = value.chars().find(|c| matches!(c, '"' | '\\') || c.is_control()) {
        return Err(format!("{name}={value}: modprobe.d cannot hold {c:?} in a value"));
    }
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("{name:?}: expected the name of a module parameter"));
    }
    Ok(if quoted || value.contains(' ') { format!("{name}=\"{value}\"") } else { format!("{name}={value}") })
}

/// Gives an option another value, its quoting kept.
pub fn set(line: &OptionsLine, option: &ModuleOption, value: &str) -> Result<Splice, Trouble> {
    if let Some(obstacle) = option.obstacle {
        return Err(Trouble::new(line.number, format!("{} cannot be edited: {obstacle}", option.name)));
    }
    let with =
        written(&option.name, value, option.quoted).map_err(|reason| Trouble::new(line.number, reason))?;
    Ok(Splice { at: option.at.clone(), with: with.into_bytes() })
}

/// Takes options (by their number in the line, in order) out; the whole line when none is left.
pub fn remove(bytes: &[u8], line: &OptionsLine, gone: &[usize]) -> Result<Vec<Splice>, Trouble> {
    if gone.len() == line.options.len() {
        return Ok(vec![Splice::delete(line.range.clone())]);
    }
    let mut splices = Vec::new();
    for option in gone.iter().filter_map(|i| line.options.get(*i)) {
        if let Some(obstacle) = option.obstacle {
            return Err(Trouble::new(line.number, format!("{} cannot be removed: {obstacle}", option.name)));
        }
        let start = option.at.start;
        let blank = start.checked_sub(1).is_some_and(|i| matches!(bytes.get(i), Some(b' ' | b'\t')));
        splices.push(Splice::delete(start - usize::from(blank)..option.at.end));
    }
    Ok(splices)
}
