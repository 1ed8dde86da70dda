//! Hodges and Lehmann's shift between two sets of samples, with its distribution-free interval.

use super::mann_whitney::critical;
use super::median::{Interval, of_sorted};
use super::{real, sorted};

/// Differences beyond this are thinned: 1024 samples on both sides.
const LIMIT: usize = 1 << 20;

/// The median of all differences `after - before`: how far the second set lies from the first.
pub fn hodges_lehmann(before: &[f64], after: &[f64]) -> Option<f64> {
    of_sorted(&differences(before, after))
}

/// The interval that inverts the rank test at `confidence`; the whole range, with confidence 0, where the
/// sets are too small for it (fewer than four and four at 95 %).
pub fn interval(before: &[f64], after: &[f64], confidence: f64) -> Option<Interval> {
    let all = differences(before, after);
    let (n, m) = (sorted(before).len(), sorted(after).len());
    let whole = Interval { lower: *all.first()?, upper: *all.last()?, confidence: 0.0 };
    if n * m > LIMIT {
        return Some(whole);
    }
    let Some(c) = critical(n, m, (1.0 - confidence) / 2.0) else { return Some(whole) };
    match (all.get(c), all.get(all.len().saturating_sub(c + 1))) {
        (Some(lower), Some(upper)) => Some(Interval { lower: *lower, upper: *upper, confidence }),
        _ => Some(whole),
    }
}

fn differences(before: &[f64], after: &[f64]) -> Vec<f64> {
    let (before, after) = (sorted(before), sorted(after));
    let step = (real(before.len() * after.len()) / real(LIMIT)).sqrt().ceil().max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let step = step as usize;
    let mut all = Vec::new();
    for b in before.iter().step_by(step) {
        all.extend(after.iter().step_by(step).map(|a| a - b));
    }
    all.sort_unstable_by(f64::total_cmp);
    all
}

#[cfg(test)]
#[allow(clippy::float_cmp)]
mod tests {
    use super::{hodges_lehmann, interval};

    #[test]
    fn by_hand() {
        // Differences: 3 4 6, 2 3 5, 0 1 3.
        let (before, after) = ([1.0, 2.0, 4.0], [4.0, 5.0, 7.0]);
        assert_eq!(hodges_lehmann(&before, &after), Some(3.0));
        assert!(
            interval(&before, &after, 0.95)
                .is_some_and(|i| i.confidence == 0.0 && i.lower == 0.0 && i.upper == 6.0)
        );
        assert_eq!(hodges_lehmann(&[], &after), None);
    }

    #[test]
    fn five_and_five() {
        // c = 2 at 95 %: the third smallest and third largest of 25 differences.
        let before = [0.0, 10.0, 20.0, 30.0, 40.0];
        let after = [1.0, 12.0, 23.0, 34.0, 45.0];
        let found = interval(&before, &after, 0.95);
        assert!(found.is_some_and(|i| i.lower == -28.0 && i.upper == 34.0), "{found:?}");
    }

    #[test]
    fn one_stray_sample_does_not_move_it() {
        let before = [100.0, 100.1, 99.9, 100.2, 60.0];
        let after = [90.0, 90.1, 89.9, 90.2, 89.8];
        assert!(hodges_lehmann(&before, &after).is_some_and(|s| (s + 10.0).abs() < 0.3));
    }
}
