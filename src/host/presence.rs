//! What the absence of a file means.

use crate::root::{Fact, Root, Why};

/// For a file that every kernel makes: its absence says something about the capture (or that the file system
/// is not mounted), never about the host.
pub(super) fn always_made<T>(root: &Root, fact: Fact<T>) -> Fact<T> {
    match fact {
        Fact::Absent { evidence } => {
            let path = evidence.into_iter().next().map(|e| e.source).unwrap_or_default();
            not_captured(root, &path, "every kernel makes this file")
        }
        other => other,
    }
}

/// For a file that is not there although nothing shows that its neighbours were looked at.
pub(super) fn not_captured<T>(root: &Root, path: &str, detail: &str) -> Fact<T> {
    if root.is_live() {
        let detail = format!("{detail}; check that /proc and /sys are mounted");
        return Fact::unknown(path, Why::Unreadable, detail);
    }
    Fact::unknown(path, Why::NotCaptured, format!("{detail}; add it to the capture"))
}

/// For a file that only some kernels make: absent when its directory was captured with anything in it,
/// else unknown.
pub(super) fn absent_beside<T>(root: &Root, directory: &str, fact: Fact<T>) -> Fact<T> {
    if !fact.is_absent() || root.is_live() {
        return fact;
    }
    match root.list(directory) {
        Fact::Known { value, .. } if !value.is_empty() => fact,
        _ => {
            let path = fact.evidence().first().map_or(directory, |e| e.source.as_str()).to_owned();
            not_captured(root, &path, "neither it nor its neighbours were captured")
        }
    }
}
