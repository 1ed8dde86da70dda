//! What is wrong with words that a drive brought: the error map where the right words are not a pattern of ours.

use crate::bench::errors::{ErrorMap, Mechanism};
use crate::bench::pattern::Pattern;
use std::collections::BTreeMap;

/// Lower half of a word.
const LOW: u64 = 0xffff_ffff;

/// Compares what landed with what ought to be there. `poison` is what the memory was filled with, `before` what the
/// transfers before this one brought, the newest first.
pub(super) fn compare(expected: &[u64], landed: &[u64], poison: &Pattern, before: &[Vec<u64>]) -> ErrorMap {
    let mut map = ErrorMap::default();
    map.checked = landed.len() as u64;
    let mut places = None;
    for (index, (right, word)) in (0u32..).zip(expected.iter().zip(landed)) {
        if right == word {
            continue;
        }
        let at = index as usize;
        let (mechanism, detail) = if *word == poison.word(index) {
            (Mechanism::Untouched, None)
        } else if *word == 0 {
            (Mechanism::Zero, None)
        } else if let Some(back) = before.iter().position(|held| held.get(at) == Some(word)) {
            (Mechanism::Stale, i64::try_from(back + 1).ok())
        } else if let Some(from) = places.get_or_insert_with(|| unique(expected)).get(word) {
            (Mechanism::Shifted, from.map(|from| (from - i64::from(index)) * 8))
        } else if word >> 32 == right >> 32 || word & LOW == right & LOW {
            (Mechanism::Torn, None)
        } else {
            ours(poison, index, *word)
        };
        map.note(mechanism, u64::from(index) * 8, 1, detail);
    }
    map
}

/// Words of the transfer with their index; without one where the word stands in several places.
fn unique(words: &[u64]) -> BTreeMap<u64, Option<i64>> {
    let mut places = BTreeMap::new();
    for (index, word) in (0i64..).zip(words) {
        places.entry(*word).and_modify(|place| *place = None).or_insert(Some(index));
    }
    places
}

/// Poison of another iteration, memory or place, or nothing of ours.
fn ours(poison: &Pattern, index: u32, word: u64) -> (Mechanism, Option<i64>) {
    match poison.parts(word) {
        Some(parts) if parts.tag != poison.tag => (Mechanism::Foreign, Some(i64::from(parts.tag))),
        Some(parts) if parts.iteration != poison.iteration => {
            let back = (i64::from(poison.iteration) - i64::from(parts.iteration)).rem_euclid(4096);
            (Mechanism::Stale, Some(back))
        }
        Some(parts) => (Mechanism::Shifted, Some((i64::from(parts.index) - i64::from(index)) * 8)),
        None => (Mechanism::Other, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pattern::mix64;

    const POISON: Pattern = Pattern { key: 9, tag: 3, iteration: 7 };

    #[test]
    fn each_mechanism_has_its_name_and_right_words_are_not_accused() {
        let expected: Vec<u64> = (1..=512).map(mix64).collect();
        let older_data: Vec<u64> = (2001..=2512).map(mix64).collect();
        let before = [(1001..=1512).map(mix64).collect(), older_data];
        assert!(compare(&expected, &expected, &POISON, &before).clean());
        let older = Pattern { iteration: 5, ..POISON };
        let foreign = Pattern { tag: 4, ..POISON };
        let of = |word: &dyn Fn(u32) -> u64| {
            let landed: Vec<u64> = (0..512).map(word).collect();
            let errors = compare(&expected, &landed, &POISON, &before).errors("");
            assert_eq!(errors.len(), 1, "{errors:?}");
            (errors[0].mechanism.clone(), errors[0].detail.clone(), errors[0].words)
        };
        let right = |index: u32| expected[index as usize];
        for (found, mechanism, detail, words) in [
            (of(&|i| POISON.word(i)), "untouched", "still holds", 512),
            (of(&|_| 0), "zero", "zeros", 512),
            (of(&|i| before[0][i as usize]), "stale", "1 iterations", 512),
            (of(&|i| before[1][i as usize]), "stale", "2 iterations", 512),
            (of(&|i| older.word(i)), "stale", "2 iterations", 512),
            (of(&|i| foreign.word(i)), "foreign-buffer", "0x4", 512),
            (of(&|i| right((i + 64) % 512)), "shifted", "+512 bytes", 512),
            (of(&|i| right(i) & LOW), "torn", "half", 512),
            (of(&|i| mix64(u64::from(i) + 9000)), "other", "nothing", 512),
            (of(&|i| if i == 9 { POISON.word(9) } else { right(i) }), "untouched", "still holds", 1),
        ] {
            assert_eq!((found.0.as_str(), found.2), (mechanism, words));
            assert!(found.1.contains(detail), "{found:?}");
        }
    }

    #[test]
    fn zeros_among_zeros_are_right() {
        let map = compare(&[0; 8], &[0; 8], &POISON, &[]);
        assert!(map.clean());
        assert_eq!(map.checked, 8);
    }
}
