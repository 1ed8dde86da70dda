//! Mann-Whitney's rank test: exact for small samples without ties, else normal with tie correction.

use super::{real, sorted};

/// Largest `n * m` for which the distribution of U is counted out.
const EXACT: usize = 400;

/// U of the first set over the second and the two-sided p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// Pairs in which the first set's sample is the larger one; ties count half.
    pub u: f64,
    /// Probability of a U at least as far from the middle when both come from one distribution.
    pub p: f64,
    /// Counted out rather than approximated.
    pub exact: bool,
}

/// Tests whether both sets come from one distribution; none when either has no finite sample.
pub fn test(first: &[f64], second: &[f64]) -> Option<Test> {
    let (first, second) = (sorted(first), sorted(second));
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let below = |value: f64| second.partition_point(|other| *other < value);
    let upto = |value: f64| second.partition_point(|other| *other <= value);
    let u: f64 = first.iter().map(|value| f64::midpoint(real(below(*value)), real(upto(*value)))).sum();
    let (n, m) = (first.len(), second.len());
    let ties = ties(&first, &second);
    if ties == 0.0 && n * m <= EXACT {
        return Some(Test { u, p: exact(n, m, u), exact: true });
    }
    let p = approximate(n, m, u, ties);
    Some(Test { u, p, exact: false })
}

/// Two-sided p of a U by the normal distribution, corrected for continuity and ties.
fn approximate(n: usize, m: usize, u: f64, ties: f64) -> f64 {
    let (product, total) = (real(n) * real(m), real(n + m));
    let variance = product / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance > 0.0 {
        let z = ((u - product / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
        (2.0 * normal_tail(z)).min(1.0)
    } else {
        1.0
    }
}

/// Sum of `t^3 - t` over groups of equal values.
fn ties(a: &[f64], b: &[f64]) -> f64 {
    let all = sorted(&[a, b].concat());
    all.chunk_by(|x, y| x.partial_cmp(y).is_some_and(std::cmp::Ordering::is_eq))
        .map(|group| real(group.len()).powi(3) - real(group.len()))
        .sum()
}

/// Two-sided p of an untied U.
fn exact(n: usize, m: usize, u: f64) -> f64 {
    let counts = counts(n, m);
    let all: f64 = counts.iter().sum();
    let extreme = u.min(real(n * m) - u);
    let tail: f64 = counts.iter().enumerate().filter(|(i, _)| real(*i) <= extreme).map(|(_, c)| c).sum();
    (2.0 * tail / all).min(1.0)
}

/// Arrangements of `n` and `m` samples by their U: coefficients of the Gaussian binomial `[n+m over n]`.
fn counts(n: usize, m: usize) -> Vec<f64> {
    let size = n * m + 1;
    let mut counts = vec![0.0; size];
    if let Some(first) = counts.first_mut() {
        *first = 1.0;
    }
    for i in 1..=n {
        // Times (1 - q^(m+i)), then divided by (1 - q^i).
        for at in (m + i..size).rev() {
            let lower = counts.get(at - m - i).copied().unwrap_or(0.0);
            if let Some(count) = counts.get_mut(at) {
                *count -= lower;
            }
        }
        for at in i..size {
            let lower = counts.get(at - i).copied().unwrap_or(0.0);
            if let Some(count) = counts.get_mut(at) {
                *count += lower;
            }
        }
    }
    counts
}

/// The largest `c` with `P(U <= c) <= tail`; none when even `U = 0` is likelier.
pub(super) fn critical(n: usize, m: usize, tail: f64) -> Option<usize> {
    if n * m > EXACT {
        let (product, total) = (real(n) * real(m), real(n + m));
        let c = product / 2.0 - normal_quantile(tail) * (product * (total + 1.0) / 12.0).sqrt() - 0.5;
        return (0..n * m).take_while(|i| real(*i) <= c).last();
    }
    let counts = counts(n, m);
    let all: f64 = counts.iter().sum();
    let mut sum = 0.0;
    let reached = counts.iter().take_while(|count| {
        sum += **count;
        sum / all <= tail
    });
    reached.count().checked_sub(1)
}

/// `P(Z > z)` of the standard normal, `z >= 0`: by its continued fraction above 2.5, by its series below.
pub fn normal_tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 2.5 {
        let fraction = (1..=60).rev().fold(0.0, |rest, i| f64::from(i) / (z + rest));
        return density / (z + fraction);
    }
    let mut term = z;
    let mut sum = z;
    for i in 1..60 {
        term *= z * z / f64::from(2 * i + 1);
        sum += term;
    }
    0.5 - density * sum
}

/// The `z` with `P(Z > z) = tail`, `0 < tail <= 0.5`.
pub fn normal_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 38.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if normal_tail(middle) > tail { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::{critical, normal_quantile, normal_tail, test};

    #[test]
    fn full_separation_has_the_smallest_p() {
        let low: Vec<f64> = (1..=5).map(f64::from).collect();
        let high: Vec<f64> = (11..=15).map(f64::from).collect();
        let found = test(&low, &high);
        assert!(found.is_some_and(|t| t.exact && t.u == 0.0 && (t.p - 2.0 / 252.0).abs() < 1e-12));
    }

    #[test]
    fn critical_values_of_the_printed_tables() {
        // Two-sided 5 %.
        for (n, m, c) in
            [(5, 5, Some(2)), (9, 9, Some(17)), (4, 4, Some(0)), (3, 3, None), (15, 15, Some(64))]
        {
            assert_eq!(critical(n, m, 0.025), c, "{n} {m}");
        }
    }

    #[test]
    fn equal_constants_do_not_differ() {
        assert!(test(&[2.0; 6], &[2.0; 6]).is_some_and(|t| (t.p - 1.0).abs() < 1e-12));
        assert_eq!(test(&[], &[1.0]), None);
    }

    #[test]
    fn normal() {
        for (z, tail) in [(0.0, 0.5), (1.0, 0.158_655_253_931), (1.959_963_985, 0.025), (4.0, 3.167_124e-5)] {
            assert!((normal_tail(z) / tail - 1.0).abs() < 1e-6, "{z}");
        }
        assert!((normal_quantile(0.025) - 1.959_963_985).abs() < 1e-6);
        assert!((normal_tail(2.499_999) / normal_tail(2.500_001) - 1.0).abs() < 1e-4);
    }
}
