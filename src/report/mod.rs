//! Presents values: text, JSON, Markdown. Decides nothing.
