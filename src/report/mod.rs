//! Presents values: text, JSON, Markdown. Decides nothing.

pub mod document;
pub mod markdown;
pub mod markdown_compare;
pub mod next;
pub mod style;
pub mod text;

/// Output form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs, versioned.
    Json,
    /// For issue threads.
    Markdown,
}
