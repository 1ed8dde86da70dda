//! The median and its interval by order statistics (exact binomial, no distribution assumed).

use super::binomial::upper_tail;
use super::sorted;

/// An interval and the confidence that it really has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Confidence reached, 0 to 1; below the one asked for when there are too few samples for it.
    pub confidence: f64,
}

/// The median of the finite samples; none when there is none.
pub fn median(samples: &[f64]) -> Option<f64> {
    of_sorted(&sorted(samples))
}

/// The median of ascending values.
pub fn of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get(values.len() / 2 - 1)?;
    Some(lower + (upper - lower) / 2.0)
}

/// The narrowest symmetric pair of order statistics that holds the median with `confidence`, or the whole
/// range where no pair does (fewer than six samples at 95 %).
pub fn interval(samples: &[f64], confidence: f64) -> Option<Interval> {
    let values = sorted(samples);
    let n = values.len();
    // P(X(k) > median) = P(fewer than k samples lie below it) = P(at least n-k+1 lie above).
    let reached = |k: usize| 1.0 - 2.0 * upper_tail(n, 0.5, n - k + 1);
    let mut k = 1;
    while k < n / 2 && reached(k + 1) >= confidence {
        k += 1;
    }
    let (lower, upper) = (*values.get(k - 1)?, *values.get(n - k)?);
    Some(Interval { lower, upper, confidence: reached(k).max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::{interval, median};

    #[test]
    fn odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(interval(&[], 0.95), None);
    }

    #[test]
    fn ranks_of_the_usual_tables() {
        // Ranks of 95 % intervals as in tables of the sign test.
        for (n, rank, reached) in
            [(6, 1, 0.96875), (9, 2, 0.9609), (10, 2, 0.9785), (15, 4, 0.9648), (20, 6, 0.9586)]
        {
            let samples: Vec<f64> = (1..=n).map(f64::from).collect();
            let found = interval(&samples, 0.95).unwrap_or(super::Interval {
                lower: 0.0,
                upper: 0.0,
                confidence: 0.0,
            });
            assert_eq!((found.lower, found.upper), (f64::from(rank), f64::from(n + 1 - rank)), "{n}");
            assert!((found.confidence - reached).abs() < 1e-4, "{n}: {}", found.confidence);
        }
    }

    #[test]
    fn too_few_samples_say_so() {
        let found = interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95);
        assert!(
            found.is_some_and(|i| i.lower < 1.5 && i.upper > 4.5 && (i.confidence - 0.9375).abs() < 1e-12)
        );
        assert!(interval(&[1.0], 0.95).is_some_and(|i| i.confidence.abs() < 1e-12));
    }
}
