//! The lines under a finding: facts read, facts quoted, reasons of unknown ones, and derived lines.

use crate::root::Evidence;
use crate::rules::expr::{Cause, Env, Expr, Place, Verdict, WhyOpen};
use std::collections::HashSet;

/// Most lines of one finding.
const LIMIT: usize = 24;
/// Derived lines that are kept although the facts alone would fill the limit.
const DERIVED: usize = 12;

/// Facts looked up for one finding; a rule that fires because none of 300 devices is right has read thousands.
const LOOKED_UP: usize = 1024;

/// Lines without repetitions, in order of arrival.
#[derive(Default)]
pub(super) struct Lines {
    facts: Vec<Evidence>,
    derived: Vec<Evidence>,
    seen: HashSet<(String, Option<u32>, String)>,
    looked_up: usize,
}

impl Lines {
    /// The lines behind facts that an expression read.
    pub(super) fn facts(&mut self, env: &Env<'_>, reads: &[Place]) {
        let room = LOOKED_UP.saturating_sub(self.looked_up);
        self.looked_up += reads.len();
        for place in reads.iter().take(room) {
            for line in env.evidence(&place.pointer()) {
                self.push(line.clone());
            }
        }
    }

    /// The lines behind facts that the rule names; an unknown one is quoted with its reason.
    pub(super) fn quote<'a>(&mut self, env: &Env<'a>, paths: &'a [Expr]) {
        for path in paths {
            match path.eval(env).verdict {
                Verdict::Value(value) => {
                    if let Some(place) = value.place() {
                        for line in env.evidence_within(&place.pointer()) {
                            self.push(line.clone());
                        }
                    }
                }
                Verdict::Undetermined(causes) => causes.iter().for_each(|cause| self.reason(env, cause)),
            }
        }
    }

    /// Why a fact did not decide.
    pub(super) fn reason(&mut self, env: &Env<'_>, cause: &Cause) {
        let path = cause.place.as_ref().map(Place::path).unwrap_or_default();
        let pointer = cause.place.as_ref().map(Place::pointer).unwrap_or_default();
        let line = match &cause.why {
            WhyOpen::Unknown => match env.reason(&pointer) {
                Some(reason) => {
                    let source = if reason.path.is_empty() { path } else { reason.path.clone() };
                    let why = reason.why.words();
                    let text = if reason.detail.is_empty() {
                        why.to_owned()
                    } else {
                        format!("{why} ({})", reason.detail)
                    };
                    Evidence { source, line: reason.line, text }
                }
                None => Evidence::new(path, "not known"),
            },
            WhyOpen::Absent => {
                let found = env.evidence(&pointer).first();
                let source = found.map_or_else(|| "derived".to_owned(), |e| e.source.clone());
                let what = if path.is_empty() { "a value".to_owned() } else { path };
                Evidence { source, line: found.and_then(|e| e.line), text: format!("{what} is absent") }
            }
            WhyOpen::Problem(text) => {
                Evidence::new(if path.is_empty() { "derived".to_owned() } else { path }, text.clone())
            }
        };
        self.push(line);
    }

    /// A line that follows from others.
    pub(super) fn derived(&mut self, text: String) {
        if !text.is_empty() && self.is_new(&Evidence::new("derived", text.clone())) {
            self.derived.push(Evidence::new("derived", text));
        }
    }

    fn push(&mut self, line: Evidence) {
        if self.is_new(&line) {
            self.facts.push(line);
        }
    }

    fn is_new(&mut self, line: &Evidence) -> bool {
        self.seen.insert((line.source.clone(), line.line, line.text.clone()))
    }

    /// Facts, then derived lines; what is too much is counted in a last line.
    pub(super) fn finish(mut self) -> Vec<Evidence> {
        let total = self.facts.len() + self.derived.len();
        if total > LIMIT {
            let derived = self.derived.len().min(DERIVED.max((LIMIT - 1).saturating_sub(self.facts.len())));
            self.derived.truncate(derived);
            self.facts.truncate(LIMIT - 1 - derived);
        }
        let mut lines = self.facts;
        lines.append(&mut self.derived);
        let left_out = total - lines.len();
        if left_out > 0 {
            let least = if self.looked_up > LOOKED_UP { "at least " } else { "" };
            lines.push(Evidence::new("derived", format!("{least}{left_out} more lines")));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_24_lines_and_the_last_counts_the_rest() {
        for (facts, derived) in
            [(30, 0), (0, 30), (30, 30), (30, 2), (2, 30), (20, 4), (24, 0), (25, 0), (20, 5)]
        {
            let mut lines = Lines::default();
            for n in 0..facts {
                lines.push(Evidence::at("a", n, "x"));
                lines.push(Evidence::at("a", n, "x"));
            }
            for n in 0..derived {
                lines.derived(n.to_string());
            }
            let done = lines.finish();
            let total = facts + derived;
            if total <= 24 {
                assert_eq!(done.len(), total);
            } else {
                assert_eq!(done.len(), 24, "{facts} {derived}");
                assert_eq!(done[23].text, format!("{} more lines", total - 23));
                assert_eq!(
                    done.iter().filter(|e| e.source == "a").count() < facts,
                    facts > 23 - derived.min(12)
                );
            }
        }
    }
}
