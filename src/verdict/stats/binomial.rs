//! The binomial distribution, exact.

use super::real;

/// `P(X >= k)` of `n` draws with probability `p` each.
pub fn upper_tail(n: usize, p: f64, k: usize) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    // The shorter tail is summed, so that a small probability keeps its digits.
    if real(k) > real(n) * p { sum(n, p, k, n) } else { (1.0 - sum(n, p, 0, k - 1)).max(0.0) }
}

/// Sum of the probabilities of `from ..= to`, in logarithms: `(1-p)^n` alone would underflow.
fn sum(n: usize, p: f64, from: usize, to: usize) -> f64 {
    let odds = p.ln() - (1.0 - p).ln();
    let mut log = real(n) * (1.0 - p).ln();
    let mut total = 0.0;
    for i in 0..=to {
        if i >= from {
            total += log.exp();
        }
        log += (real(n - i.min(n)) / real(i + 1)).ln() + odds;
    }
    total.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::upper_tail;

    #[test]
    fn fair_coins() {
        assert!((upper_tail(5, 0.5, 3) - 0.5).abs() < 1e-12);
        assert!((upper_tail(5, 0.5, 5) - 1.0 / 32.0).abs() < 1e-12);
        assert!((upper_tail(10, 0.5, 1) - 1023.0 / 1024.0).abs() < 1e-12);
    }

    #[test]
    fn ends() {
        assert!((upper_tail(4, 0.3, 0) - 1.0).abs() < 1e-12);
        assert!(upper_tail(4, 0.3, 5).abs() < 1e-12);
        assert!(upper_tail(4, 0.0, 1).abs() < 1e-12);
        assert!((upper_tail(4, 1.0, 4) - 1.0).abs() < 1e-12);
        assert!(upper_tail(2000, 0.999, 2000) > 0.1);
    }
}
