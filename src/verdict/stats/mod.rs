//! Statistics of the verdict: pure functions of samples, without clock, seed or global state.
//!
//! Nothing is drawn at random: where others resample, [`null`] enumerates what resampling would converge to.

pub mod binomial;
pub mod mann_whitney;
pub mod median;
pub mod null;
pub mod shift;

/// The finite samples in ascending order.
pub fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// A count as a real number; counts here stay far below 2^52.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}
