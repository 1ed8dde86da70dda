//! Order statistics of samples: nothing is thrown away, nothing is assumed about the distribution.

/// Median; 0 of nothing.
pub fn median(samples: &[f64]) -> f64 {
    let sorted = sorted(samples);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), middle.checked_sub(1).and_then(|below| sorted.get(below))) {
        (Some(upper), Some(lower)) if sorted.len().is_multiple_of(2) => f64::midpoint(*lower, *upper),
        (Some(value), _) => *value,
        (None, _) => 0.0,
    }
}

/// Interval of the median between two order statistics: the narrowest symmetric pair that covers it with at
/// least 95 %, else (fewer than six samples) the whole range.
pub fn interval(samples: &[f64]) -> [f64; 2] {
    let sorted = sorted(samples);
    let rank = lower_rank(sorted.len());
    let low = sorted.get(rank).copied().unwrap_or(0.0);
    let high = sorted.len().checked_sub(rank + 1).and_then(|at| sorted.get(at)).copied().unwrap_or(low);
    [low, high]
}

/// Largest `k` so that the median lies between the (k+1)th smallest and (k+1)th largest with 95 %: the tail of
/// a binomial distribution with one half.
fn lower_rank(count: usize) -> usize {
    let exponent = i32::try_from(count).unwrap_or(i32::MAX);
    let mut term = 0.5f64.powi(exponent);
    let mut tail = 0.0;
    let mut rank = 0;
    while rank < count / 2 {
        tail += term;
        if 2.0 * tail > 0.05 {
            break;
        }
        rank += 1;
        #[allow(clippy::cast_precision_loss)] // counts of samples
        {
            term *= (count - rank + 1) as f64 / rank as f64;
        }
    }
    // `rank` terms fit: the interval runs from the rank-th value, counted from 1.
    rank.saturating_sub(1)
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&[]).abs() < 1e-12);
    }

    #[test]
    fn intervals_follow_the_binomial_table() {
        // Conover, Practical Nonparametric Statistics: n = 9 gives the 2nd and 8th, n = 15 the 4th and 12th.
        for (count, low, high) in [(5, 1, 5), (6, 1, 6), (9, 2, 8), (15, 4, 12), (20, 6, 15)] {
            let samples: Vec<f64> = (1..=count).map(f64::from).collect();
            let [below, above] = interval(&samples);
            assert!(
                (below - f64::from(low)).abs() < 1e-9 && (above - f64::from(high)).abs() < 1e-9,
                "{count}"
            );
        }
    }
}
