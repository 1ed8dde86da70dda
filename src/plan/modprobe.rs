//! Changes of module options.

use super::{Change, Site, apply_edit};
use crate::boot;

/// Splits `module.parameter=value` words, makes the edit, and tells whether it is configured already.
pub(super) fn fill(site: Site<'_>, change: &mut Change) -> Option<()> {
    let edit = boot::modprobe_edit(site.root, &wanted(&change.add), &change.remove);
    if let Some(edit) = apply_edit(change, edit)
        && edit.files.is_empty()
    {
        if change.add.is_empty() {
            return None;
        }
        change.pending = true;
    }
    Some(())
}

/// `module.parameter` and value of each word.
pub(super) fn wanted(words: &[String]) -> Vec<(String, String)> {
    words
        .iter()
        .map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (name.to_owned(), value.to_owned())
        })
        .collect()
}
