//! Collects what several places say about one question, and what could not be read on the way.

use crate::root::{Evidence, Fact, Root, Unknown, Why};

/// Findings in words with their lines, and the reasons of places that could not be read.
#[derive(Default)]
pub(super) struct Gather {
    found: Vec<(String, Evidence)>,
    notes: Vec<Evidence>,
    unread: Vec<Unknown>,
}

impl Gather {
    pub(super) fn add(&mut self, words: impl Into<String>, evidence: Evidence) {
        let words = words.into();
        if self.found.iter().all(|(known, _)| *known != words) {
            self.found.push((words, evidence));
        }
    }

    pub(super) fn unread(&mut self, reason: Unknown) {
        self.unread.push(reason);
    }

    /// A line that supports what was found, or that nothing was.
    pub(super) fn note(&mut self, evidence: Evidence) {
        self.notes.push(evidence);
    }

    /// Takes over what another place could not read.
    pub(super) fn unread_of(&mut self, other: &Self) {
        self.unread.extend(other.unread.iter().cloned());
    }

    /// Why something could not be read.
    pub(super) fn first_unread(&self) -> Option<Unknown> {
        self.unread.first().cloned()
    }

    /// The text of a file, if it is there and readable.
    pub(super) fn text(&mut self, root: &Root, path: &str) -> Option<String> {
        match root.bytes(path, crate::root::TEXT_LIMIT) {
            // Configuration may hold names in any encoding; only the words looked for matter.
            Fact::Known { value, .. } => Some(String::from_utf8_lossy(&value).into_owned()),
            Fact::Absent { .. } => None,
            Fact::Unknown(reason) => {
                self.unread(reason);
                None
            }
        }
    }

    /// The files of a directory that end in `suffix`, with their path; none when it is not there.
    pub(super) fn files(&mut self, root: &Root, directory: &str, suffix: &str) -> Vec<(String, String)> {
        match root.list(directory) {
            Fact::Known { value, .. } => value
                .into_iter()
                .filter_map(|name| {
                    Some((format!("{directory}/{name}"), name.strip_suffix(suffix)?.to_owned()))
                })
                .collect(),
            Fact::Absent { .. } => Vec::new(),
            Fact::Unknown(reason) => {
                self.unread(reason);
                Vec::new()
            }
        }
    }

    /// Findings stand even if something else could not be read; "none" needs every place.
    pub(super) fn finish(self, place: &str, none: &str) -> Fact<Vec<String>> {
        let (words, mut evidence): (Vec<String>, Vec<Evidence>) = self.found.into_iter().unzip();
        match self.unread.first() {
            Some(reason) if words.is_empty() => return Fact::Unknown(reason.clone()),
            _ => {}
        }
        if words.is_empty() {
            evidence.push(Evidence::new(place, none));
        }
        evidence.extend(self.notes);
        evidence.extend(self.unread.iter().map(|u| Evidence::new(u.path.as_str(), format!("not read: {u}"))));
        Fact::from_lines(words, evidence)
    }
}

/// A place that a captured tree lacks and whose absence proves nothing.
pub(super) fn not_captured(path: &str, detail: &str) -> Unknown {
    Unknown { path: path.to_owned(), line: None, why: Why::NotCaptured, detail: detail.to_owned() }
}
