//! What the difference of two medians does by noise alone: the bootstrap of the median, enumerated.
//!
//! Drawing `n` samples from a pool of `K` residuals and taking their median gives the j-th smallest residual
//! or less with the probability that a binomial variable of `n` draws and `j/K` reaches the middle rank.
//! So the distribution that resampling approaches is known exactly: no seed, and tails of 1e-6 cost nothing.

use super::binomial::upper_tail;
use super::{real, sorted};

/// Residuals used at most; more are thinned evenly, both ends kept.
const POOL: usize = 2048;
/// Samples counted per set at most: more make the median no surer than its systematic part is.
const DRAWS: usize = 201;

/// A pool of residuals, ascending.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    residuals: Vec<f64>,
}

impl Pool {
    /// A pool of `residuals`: logarithms of sample over median of its set.
    pub fn new(residuals: &[f64]) -> Self {
        let all = sorted(residuals);
        if all.len() <= POOL {
            return Self { residuals: all };
        }
        let last = all.len() - 1;
        let residuals = (0..POOL).filter_map(|i| all.get(i * last / (POOL - 1)).copied()).collect();
        Self { residuals }
    }

    /// The smallest `q >= 0` with `P(A - B > q) <= tail`, where A and B are medians of `a` and `b` draws.
    pub fn quantile(&self, a: usize, b: usize, tail: f64) -> f64 {
        let (Some(first), Some(last)) = (self.residuals.first(), self.residuals.last()) else { return 0.0 };
        let upto_a = self.cumulative(a);
        let upto_b = if a == b { upto_a.clone() } else { self.cumulative(b) };
        let (mut low, mut high) = (0.0, last - first);
        if self.beyond(&upto_a, &upto_b, 0.0) <= tail {
            return 0.0;
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if self.beyond(&upto_a, &upto_b, middle) <= tail { high = middle } else { low = middle }
        }
        high
    }

    /// `P(median of draws <= residual)` for each residual. An even number of draws counts as one fewer.
    fn cumulative(&self, draws: usize) -> Vec<f64> {
        let draws = draws.clamp(1, DRAWS);
        let draws = if draws.is_multiple_of(2) { draws - 1 } else { draws };
        let size = real(self.residuals.len());
        (1..=self.residuals.len()).map(|j| upper_tail(draws, real(j) / size, draws / 2 + 1)).collect()
    }

    /// `P(A - B > q)`.
    fn beyond(&self, upto_a: &[f64], upto_b: &[f64], q: f64) -> f64 {
        let mut reach = 0;
        let mut before = 0.0;
        let mut sum = 0.0;
        for (b, upto) in self.residuals.iter().zip(upto_b) {
            while self.residuals.get(reach).is_some_and(|a| *a <= b + q) {
                reach += 1;
            }
            let within = reach.checked_sub(1).and_then(|i| upto_a.get(i)).copied().unwrap_or(0.0);
            sum += (upto - before) * (1.0 - within);
            before = *upto;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn two_values_by_hand() {
        // Medians of three draws from {0, 1}: each with 1/2; A - B is 1 with 1/4.
        let pool = Pool::new(&[0.0, 1.0]);
        assert!(pool.quantile(3, 3, 0.26) < 1e-9);
        assert!((pool.quantile(3, 3, 0.24) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_rare_stray_sample_is_outvoted_and_a_second_mode_is_not() {
        let mut strays = vec![0.0; 98];
        strays.extend([-0.2, -0.2]);
        assert!(Pool::new(&strays).quantile(9, 9, 1e-5) < 1e-9);
        let mut modes = vec![0.0; 70];
        modes.extend([0.3; 30]);
        assert!((Pool::new(&modes).quantile(15, 15, 1e-3) - 0.3).abs() < 1e-9);
    }

    #[test]
    fn no_noise_no_width() {
        assert!(Pool::new(&[]).quantile(9, 9, 0.01).abs() < 1e-12);
        assert!(Pool::new(&[0.0; 40]).quantile(9, 9, 0.01).abs() < 1e-12);
    }
}
