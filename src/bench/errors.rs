//! The error map: what is wrong with each word, and so which mechanism failed.

use super::pattern::{POISON, Parts, Pattern};
use super::record::DataError;
use std::collections::BTreeMap;

/// Bytes of a word.
const WORD: u64 = 8;

/// What is wrong with one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// The poison still stands: the transfer never reached it.
    Untouched,
    /// Right place, earlier iteration.
    Stale,
    /// Zero.
    Zero,
    /// A word of the same transfer from another place.
    Shifted,
    /// A word of another buffer.
    Foreign,
    /// Half of the expected word.
    Torn,
    /// The initiator reads back what it wrote; the owner never got it.
    Mirror,
    /// Nothing that we wrote.
    Other,
}

impl Mechanism {
    /// Stable name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Untouched => "untouched",
            Self::Stale => "stale",
            Self::Zero => "zero",
            Self::Shifted => "shifted",
            Self::Foreign => "foreign-buffer",
            Self::Torn => "torn",
            Self::Mirror => "mirror",
            Self::Other => "other",
        }
    }
}

/// Judges a word that is not the expected one.
pub fn judge(expected: &Pattern, index: u32, word: u64) -> (Mechanism, Option<Parts>) {
    if word == POISON {
        return (Mechanism::Untouched, None);
    }
    if word == 0 {
        return (Mechanism::Zero, None);
    }
    let right = expected.word(index);
    if word >> 32 == right >> 32 || word & 0xffff_ffff == right & 0xffff_ffff {
        return (Mechanism::Torn, None);
    }
    match expected.parts(word) {
        Some(parts) if parts.tag != expected.tag => (Mechanism::Foreign, Some(parts)),
        Some(parts) if parts.iteration != expected.iteration => (Mechanism::Stale, Some(parts)),
        Some(parts) => (Mechanism::Shifted, Some(parts)),
        None => (Mechanism::Other, None),
    }
}

/// Wrong words of one check.
#[derive(Clone, Debug, Default)]
pub struct ErrorMap {
    found: BTreeMap<Mechanism, Found>,
    /// Words compared.
    pub checked: u64,
}

#[derive(Clone, Debug, Default)]
struct Found {
    words: u64,
    first: u64,
    last: u64,
    /// How often each detail came: shift in bytes, or iterations back, or tag.
    details: BTreeMap<i64, u64>,
}

/// Different details that are kept for one mechanism.
const DETAILS: usize = 256;

impl ErrorMap {
    /// Compares words that begin at index `first` of the transfer.
    pub fn compare(&mut self, expected: &Pattern, first: u32, words: &[u64]) {
        let mut index = first;
        for word in words {
            if *word != expected.word(index) {
                self.wrong(expected, index, *word);
            }
            index = index.wrapping_add(1);
        }
        self.checked += words.len() as u64;
    }

    /// Notes one wrong word.
    pub fn wrong(&mut self, expected: &Pattern, index: u32, word: u64) {
        let (mechanism, parts) = judge(expected, index, word);
        let detail = parts.map(|parts| match mechanism {
            Mechanism::Stale => (i64::from(expected.iteration) - i64::from(parts.iteration)).rem_euclid(4096),
            Mechanism::Foreign => i64::from(parts.tag),
            _ => (i64::from(parts.index) - i64::from(index)) * 8,
        });
        self.note(mechanism, u64::from(index) * WORD, 1, detail);
    }

    /// Notes words of a known mechanism.
    pub fn note(&mut self, mechanism: Mechanism, offset: u64, words: u64, detail: Option<i64>) {
        let found =
            self.found.entry(mechanism).or_insert_with(|| Found { first: offset, ..Found::default() });
        found.words += words;
        found.first = found.first.min(offset);
        found.last = found.last.max(offset);
        if let Some(detail) = detail
            && (found.details.len() < DETAILS || found.details.contains_key(&detail))
        {
            *found.details.entry(detail).or_default() += 1;
        }
    }

    /// Wrong words.
    pub fn words(&self) -> u64 {
        self.found.values().map(|found| found.words).sum()
    }

    /// No wrong word.
    pub fn clean(&self) -> bool {
        self.found.is_empty()
    }

    /// The only mechanism is the poison that stands.
    pub fn only_untouched(&self) -> bool {
        !self.found.is_empty() && self.found.keys().all(|mechanism| *mechanism == Mechanism::Untouched)
    }

    /// The mechanism of most words.
    pub fn most(&self) -> Option<Mechanism> {
        self.found.iter().max_by_key(|(_, found)| found.words).map(|(mechanism, _)| *mechanism)
    }

    /// Renames what was untouched: the initiator's own view showed right data.
    pub fn as_mirror(&mut self) {
        if let Some(found) = self.found.remove(&Mechanism::Untouched) {
            self.found.insert(Mechanism::Mirror, found);
        }
    }

    /// Adds another check.
    pub fn add(&mut self, other: Self) {
        self.checked += other.checked;
        for (mechanism, theirs) in other.found {
            match self.found.get_mut(&mechanism) {
                Some(ours) => {
                    ours.words += theirs.words;
                    ours.first = ours.first.min(theirs.first);
                    ours.last = ours.last.max(theirs.last);
                    for (detail, count) in theirs.details {
                        *ours.details.entry(detail).or_default() += count;
                    }
                }
                None => {
                    self.found.insert(mechanism, theirs);
                }
            }
        }
    }

    /// As the record keeps it, most words first. `seen` says who saw it.
    pub fn errors(&self, seen: &str) -> Vec<DataError> {
        let mut errors: Vec<DataError> = self
            .found
            .iter()
            .map(|(mechanism, found)| DataError {
                mechanism: mechanism.name().to_owned(),
                detail: detail(*mechanism, found, seen),
                words: found.words,
                first: found.first,
                last: found.last,
            })
            .collect();
        errors.sort_by_key(|error| std::cmp::Reverse(error.words));
        errors
    }
}

fn detail(mechanism: Mechanism, found: &Found, seen: &str) -> String {
    let usual = found.details.iter().max_by_key(|(_, count)| **count).map(|(value, _)| *value);
    let words = match (mechanism, usual) {
        (Mechanism::Untouched, _) => "the destination still holds what stood there before".to_owned(),
        (Mechanism::Zero, _) => "zeros".to_owned(),
        (Mechanism::Stale, Some(back)) => format!("data of {back} iterations before"),
        (Mechanism::Shifted, Some(shift)) => {
            let pages =
                if shift % 4096 == 0 { format!(" ({} pages of 4 KiB)", shift / 4096) } else { String::new() };
            format!("data from {shift:+} bytes away{pages}")
        }
        (Mechanism::Foreign, Some(tag)) => format!("data of another buffer (tag {tag:#x})"),
        (Mechanism::Torn, _) => "half of each word is right".to_owned(),
        (Mechanism::Mirror, _) => {
            "the initiator reads back what it wrote, the memory's owner never got it".to_owned()
        }
        _ => "nothing that was written by this run".to_owned(),
    };
    if seen.is_empty() { words } else { format!("{words}; seen by {seen}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERN: Pattern = Pattern { key: 0x1234_5678_9abc_def0, tag: 5, iteration: 7 };

    fn named(words: impl Fn(u32) -> u64) -> Vec<DataError> {
        let mut map = ErrorMap::default();
        let words: Vec<u64> = (100..612).map(words).collect();
        map.compare(&PATTERN, 100, &words);
        assert_eq!(map.checked, 512);
        map.errors("")
    }

    #[test]
    fn right_words_are_not_accused() {
        assert!(named(|i| PATTERN.word(i)).is_empty());
    }

    #[test]
    fn each_mechanism_has_its_name() {
        let stale = Pattern { iteration: 5, ..PATTERN };
        let wrapped = Pattern { iteration: 4095, ..PATTERN };
        let foreign = Pattern { tag: 6, ..PATTERN };
        let other = Pattern { key: 1, ..PATTERN };
        let half = |i: u32| PATTERN.word(i) & 0xffff_ffff | 0x1111_1111 << 32;
        for (errors, mechanism, detail) in [
            (named(|_| POISON), "untouched", "still holds"),
            (named(|_| 0), "zero", "zeros"),
            (named(|i| stale.word(i)), "stale", "2 iterations"),
            (named(|i| wrapped.word(i)), "stale", "8 iterations"),
            (named(|i| PATTERN.word(i + 512)), "shifted", "+4096 bytes away (1 pages"),
            (named(|i| foreign.word(i)), "foreign-buffer", "0x6"),
            (named(half), "torn", "half"),
            (named(|i| other.word(i)), "other", "nothing"),
        ] {
            assert_eq!(errors.len(), 1, "{mechanism}: {errors:?}");
            assert_eq!(errors[0].mechanism, mechanism);
            assert!(errors[0].detail.contains(detail), "{}", errors[0].detail);
            assert_eq!((errors[0].words, errors[0].first, errors[0].last), (512, 800, 611 * 8));
        }
    }

    #[test]
    fn one_lost_sector_is_located() {
        let errors = named(|i| if (200..204).contains(&i) { POISON } else { PATTERN.word(i) });
        assert_eq!(errors.len(), 1);
        assert_eq!((errors[0].words, errors[0].first, errors[0].last), (4, 1600, 1624));
    }
}
