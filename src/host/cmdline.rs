//! `/proc/cmdline` as the kernel splits it (lib/cmdline.c `next_arg`, kernel/params.c `parse_args`).

use schemars::JsonSchema;
use serde::Serialize;

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cmdline {
    /// The text without its final newline.
    pub text: String,
    /// The words in order, quotes kept as they stand in the text.
    pub words: Vec<String>,
    /// The same words split at the first `=`.
    pub options: Vec<CmdlineOption>,
}

/// One word of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CmdlineOption {
    /// The word as written.
    pub word: String,
    /// What stands before `=`, with `-` turned into `_` as the kernel compares parameters.
    pub key: String,
    /// What stands after `=`, enclosing double quotes removed; none for a bare word.
    pub value: Option<String>,
    /// The value split at commas (`pci=realloc,noats`), empty pieces left out; empty for a bare word.
    pub list: Vec<String>,
}

impl Cmdline {
    /// Splits `text` at blanks outside double quotes; words after ` -- ` belong to init and are left out.
    pub fn parse(text: &str) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let mut line = Self { text: text.to_owned(), ..Self::default() };
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches(is_blank);
            if rest.is_empty() {
                return line;
            }
            let (word, after) = rest.split_at(end_of_word(rest));
            if split(word) == ("--", None) {
                return line;
            }
            line.words.push(word.to_owned());
            line.options.push(CmdlineOption::parse(word));
            rest = after;
        }
    }

    /// The last value of `key` (the last word wins); `Some(None)` for a bare word.
    pub fn last(&self, key: &str) -> Option<Option<&str>> {
        let key = key.replace('-', "_");
        self.options.iter().rev().find(|o| o.key == key).map(|o| o.value.as_deref())
    }

    /// True when `word` stands on the line, compared as the kernel does (`-` and `_` alike in the key).
    /// Whether another word wins over it is another question: [`Cmdline::last`].
    pub fn has(&self, word: &str) -> bool {
        Self::parse(word)
            .options
            .first()
            .is_some_and(|w| self.options.iter().any(|o| o.key == w.key && o.value == w.value))
    }

    /// True when any word `key=…` holds `item` between its commas: `pci=realloc,noaer` has `noaer`.
    pub fn has_item(&self, key: &str, item: &str) -> bool {
        let key = key.replace('-', "_");
        self.options.iter().any(|o| o.key == key && o.list.iter().any(|i| i == item))
    }
}

impl CmdlineOption {
    fn parse(word: &str) -> Self {
        let (key, value) = split(word);
        let list =
            value.unwrap_or_default().split(',').filter(|i| !i.is_empty()).map(str::to_owned).collect();
        Self { word: word.to_owned(), key: key.replace('-', "_"), value: value.map(str::to_owned), list }
    }
}

/// Splits one word. As in the kernel, the first `=` counts even inside quotes (`"key=a b"`), one at the very
/// start does not, and the quotes that go are those around the word or around the value.
fn split(word: &str) -> (&str, Option<&str>) {
    let (quoted, body) = match word.strip_prefix('"') {
        Some(body) => (true, body),
        None => (false, word),
    };
    let equals = body.bytes().enumerate().skip(1).find(|(_, b)| *b == b'=').map(|(at, _)| at);
    let Some((key, value)) = equals.and_then(|at| body.split_at_checked(at)) else {
        return (if quoted { without_closing(body) } else { body }, None);
    };
    let value = value.strip_prefix('=').unwrap_or(value);
    match value.strip_prefix('"') {
        Some(inner) => (key, Some(without_closing(inner))),
        None if quoted => (key, Some(without_closing(value))),
        None => (key, Some(value)),
    }
}

fn without_closing(text: &str) -> &str {
    text.strip_suffix('"').unwrap_or(text)
}

/// Byte length of the word that `text` begins with. An unclosed quote runs to the end of the line.
fn end_of_word(text: &str) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if is_blank(c) && !quoted {
            return at;
        }
    }
    text.len()
}

/// The kernel's `isspace` within ASCII.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}
