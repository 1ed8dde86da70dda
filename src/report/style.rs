//! Colour and wrapping. Colour is dropped by the stream when it is no terminal.

use crate::rules::Status;
use anstyle::{AnsiColor, Style};

/// Width that text is wrapped to.
pub const WIDTH: usize = 100;

/// Style of a status word.
pub fn status(status: Status) -> Style {
    let colour = match status {
        Status::Fail => AnsiColor::Red,
        Status::Warn => AnsiColor::Yellow,
        Status::Unknown => AnsiColor::Magenta,
        Status::Pass => AnsiColor::Green,
        Status::NotApplicable => AnsiColor::BrightBlack,
    };
    colour.on_default().bold()
}

/// Bold.
pub fn bold() -> Style {
    Style::new().bold()
}

/// Dimmed.
pub fn dim() -> Style {
    Style::new().dimmed()
}

/// Wraps `text` with `indent` blanks before each line, the first line after `lead`.
pub fn wrap(lead: &str, indent: usize, text: &str) -> String {
    let blanks = " ".repeat(indent);
    let mut first = format!("{lead:indent$}");
    if !lead.is_empty() && !first.ends_with(' ') {
        first.push(' ');
    }
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&blanks)
        .break_words(false)
        // Paths and rule ids hold slashes and dashes, and stay whole.
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text.trim(), options)
}

/// A status as people read it.
pub fn word(status: Status) -> &'static str {
    match status {
        Status::Fail => "FAIL",
        Status::Warn => "WARN",
        Status::Unknown => "UNKNOWN",
        Status::Pass => "ok",
        Status::NotApplicable => "n/a",
    }
}
