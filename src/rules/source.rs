//! Rule files as text: where a value stands, and errors that show the place.

use super::expr::ExprError;
use miette::{Diagnostic, NamedSource, SourceSpan};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::DeValue;

/// A rule file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name for people: `rules/iommu.toml`, `etc/peerfix/rules.d/site.toml`.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
}

/// Something wrong in a rule file.
#[derive(Clone, Debug, thiserror::Error, Diagnostic)]
#[error("{file}:{line}:{column}: {message}")]
pub struct RuleError {
    /// File.
    pub file: String,
    /// Line from 1.
    pub line: usize,
    /// Column from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[help]
    pub help: Option<String>,
    #[source_code]
    source_code: NamedSource<Arc<str>>,
    #[label("here")]
    span: SourceSpan,
}

impl Source {
    /// An error at bytes of this file.
    pub fn error(&self, span: Range<usize>, message: impl Into<String>, help: &str) -> RuleError {
        let start = self.text.floor_char_boundary(span.start.min(self.text.len()));
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        RuleError {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            help: (!help.is_empty()).then(|| help.to_owned()),
            source_code: NamedSource::new(&self.name, Arc::clone(&self.text)).with_language("TOML"),
            span: (start, span.end.saturating_sub(start)).into(),
        }
    }

    /// An error inside the string that stands at `literal`.
    pub fn error_within(&self, literal: Range<usize>, error: &ExprError) -> RuleError {
        let raw = self.text.get(literal.clone()).unwrap_or_default();
        let start = literal.start + raw_offset(raw, error.span.start);
        let end = literal.start + raw_offset(raw, error.span.end);
        self.error(start..end.max(start), error.message.clone(), &error.help)
    }
}

/// The value at a dotted path below `root`; numbers are indices. Where the path ends early, the last value on
/// it, so that an error about a missing key points at its table.
pub(super) fn locate(root: &Spanned<DeValue<'_>>, path: &str) -> Range<usize> {
    let mut at = root;
    for step in path.split('.').filter(|s| !s.is_empty()) {
        let next = match at.get_ref() {
            DeValue::Table(table) => {
                table.iter().find(|(key, _)| key.get_ref() == step).map(|(_, value)| value)
            }
            DeValue::Array(array) => step.parse::<usize>().ok().and_then(|index| array.get(index)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    at.span()
}

/// Where byte `at` of a string's value stands in its literal, quotes included.
fn raw_offset(raw: &str, at: usize) -> usize {
    let quotes = if raw.starts_with("'''") || raw.starts_with("\"\"\"") { 3 } else { 1 };
    let mut start = quotes;
    if quotes == 3 {
        // A newline right after the quotes is no part of the value.
        let body = raw.get(3..).unwrap_or_default();
        start += if body.starts_with("\r\n") { 2 } else { usize::from(body.starts_with('\n')) };
    }
    if raw.starts_with('\'') {
        return (start + at).min(raw.len());
    }
    let mut value = 0;
    let mut chars = raw.get(start..).unwrap_or_default().char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let escape = (c == '\\').then(|| chars.peek().map_or(' ', |(_, next)| *next));
        if escape.is_some_and(char::is_whitespace) {
            // The backslash at the end of a line eats all blanks that follow.
            while chars.next_if(|(_, next)| next.is_whitespace()).is_some() {}
            continue;
        }
        if value >= at {
            return start + offset;
        }
        let Some(kind) = escape else {
            value += c.len_utf8();
            continue;
        };
        chars.next();
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code: String = (0..digits).filter_map(|_| chars.next().map(|(_, c)| c)).collect();
        let decoded = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
        value += decoded.map_or(1, char::len_utf8);
    }
    raw.len().saturating_sub(quotes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeTable;

    fn shown(file: &str, path: &str, span: Range<usize>) -> (usize, usize, String) {
        let source = Source { name: "x.toml".into(), text: file.into() };
        let root = DeTable::parse(file).unwrap();
        let span_of_root = root.span();
        let root = Spanned::new(span_of_root, DeValue::Table(root.into_inner()));
        let error = ExprError { message: "m".into(), span, help: String::new() };
        let error = source.error_within(locate(&root, path), &error);
        let start = error.span.offset();
        (error.line, error.column, file[start..start + error.span.len()].to_owned())
    }

    #[test]
    fn a_place_in_a_string_is_found_in_the_file() {
        assert_eq!(shown("a = 'xx yy'", "a", 3..5), (1, 9, "yy".into()));
        assert_eq!(shown("a = \"x\\\"\\u00e9 yy\"", "a", 5..7), (1, 16, "yy".into()));
        assert_eq!(shown("[[r]]\na = '''\nxx\n  yy'''", "r.0.a", 5..7), (4, 3, "yy".into()));
        assert_eq!(shown("a = \"\"\"\nxx \\\n   yy\"\"\"", "a", 3..5), (3, 4, "yy".into()));
        assert_eq!(shown("a = ['é', 'yy']", "a.1", 0..2), (1, 12, "yy".into()));
    }

    #[test]
    fn a_missing_key_points_at_its_table() {
        let file = "[r]\nb = 1\n";
        assert_eq!(shown(file, "r.nosuch", 0..0).0, 1);
    }
}
