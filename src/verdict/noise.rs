//! What the samples of two records do by themselves.
//!
//! Residuals are logarithms of sample over median of the set (one arm of one pair in one record), so that
//! they are shares, and gains and losses are mirror images. The most extreme residual of a set is drawn in to
//! the second most extreme: one stray sample among five is outvoted by the median and must not pass for a
//! second mode. Of the sets that share a name only a quarter (at least one) is treated so, those with the
//! farthest strays: what strays in more of them is a mode. What this and the fitted median take away is given
//! back by a factor of `1 + 2/n`.

use super::stats::median::{median, of_sorted};
use super::stats::null::Pool;
use super::stats::{real, sorted};
use crate::bench::record::{Arm, Outcome, Record};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Samples that an arm needs to be judged: as many as a quick run takes.
pub const MIN_SAMPLES: usize = 5;

/// Which way is better, and what noise an arm shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// GB/s: larger is better.
    Throughput,
    /// Microseconds: smaller is better.
    Microseconds,
    /// Nanoseconds: smaller is better.
    Nanoseconds,
}

impl Kind {
    /// By the unit; none for a unit that is not known.
    pub fn of(unit: &str) -> Option<Self> {
        match unit {
            "GB/s" => Some(Self::Throughput),
            "us" => Some(Self::Microseconds),
            "ns" => Some(Self::Nanoseconds),
            _ => None,
        }
    }

    /// A time.
    pub fn is_latency(self) -> bool {
        self != Self::Throughput
    }
}

/// Name of an arm, both numbers of samples, bits of the tail.
type Key = (String, usize, usize, u64);

/// Noise of both records.
#[derive(Debug, Default)]
pub struct Noise {
    pools: BTreeMap<String, Pool>,
    /// Quantiles found already: many pairs share name and sizes.
    known: RefCell<BTreeMap<Key, f64>>,
    /// Noise floor of throughput: how far apart two medians of one record lie, as a logarithm.
    pub bulk: f64,
    /// The same of latencies.
    pub latency: f64,
}

impl Noise {
    /// Gathers residuals by the name of the arm, and the floors.
    pub fn of(before: &Record, after: &Record) -> Self {
        let mut sets: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
        let mut noise = Self::default();
        for record in [before, after] {
            let (mut bulk, mut own, mut latency) = (Vec::new(), Vec::new(), Vec::new());
            for arm in arms(record).filter(|arm| arm.outcome == Outcome::Measured) {
                let Some(logs) = logarithms(&arm.samples) else { continue };
                sets.entry(&arm.name).or_default().push(logs.clone());
                let list = match Kind::of(&arm.unit) {
                    Some(Kind::Throughput) if arm.name == "self" => &mut own,
                    Some(Kind::Throughput) => &mut bulk,
                    Some(_) => &mut latency,
                    None => continue,
                };
                list.extend(halves(&logs));
            }
            let middle = |list: &[f64]| of_sorted(&sorted(list)).unwrap_or(0.0);
            noise.bulk = noise.bulk.max(middle(&bulk)).max(middle(&own));
            noise.latency = noise.latency.max(middle(&latency));
        }
        noise.pools = sets.iter().map(|(name, sets)| ((*name).to_owned(), shared(sets))).collect();
        noise
    }

    /// [`Pool::quantile`] of the residuals of all sets of `arm`; 0 when there are none.
    pub fn quantile(&self, arm: &str, a: usize, b: usize, tail: f64) -> f64 {
        let Some(pool) = self.pools.get(arm) else { return 0.0 };
        let key = (arm.to_owned(), a, b, tail.to_bits());
        if let Some(found) = self.known.borrow().get(&key) {
            return *found;
        }
        let found = pool.quantile(a, b, tail);
        self.known.borrow_mut().insert(key, found);
        found
    }
}

/// Every arm of a record.
fn arms(record: &Record) -> impl Iterator<Item = &Arm> {
    record.pairs.iter().flat_map(|pair| &pair.arms).chain(&record.fabric)
}

/// Logarithms in the order taken; none with too few samples, or one that is not a positive number.
pub fn logarithms(samples: &[f64]) -> Option<Vec<f64>> {
    let sound = samples.len() >= MIN_SAMPLES && samples.iter().all(|x| x.is_finite() && *x > 0.0);
    sound.then(|| samples.iter().map(|x| x.ln()).collect())
}

/// The pool of sets that share a name.
fn shared(sets: &[Vec<f64>]) -> Pool {
    let mut all: Vec<Set> = sets.iter().filter_map(|logs| Set::of(logs)).collect();
    all.sort_unstable_by(|a, b| b.stray().total_cmp(&a.stray()));
    let drawn_in = (all.len() / 4).max(1).min(all.len());
    let (strays, plain) = all.split_at(drawn_in);
    let residuals = strays.iter().flat_map(Set::drawn_in).chain(plain.iter().flat_map(Set::plain));
    Pool::new(&residuals.collect::<Vec<f64>>())
}

/// The pool of two sets alone, strays drawn in.
pub fn alone(a: &[f64], b: &[f64]) -> Pool {
    let sets = [Set::of(a), Set::of(b)];
    Pool::new(&sets.iter().flatten().flat_map(Set::drawn_in).collect::<Vec<f64>>())
}

/// Residuals of one set, the most extreme first.
struct Set(Vec<f64>);

impl Set {
    fn of(logs: &[f64]) -> Option<Self> {
        let middle = median(logs)?;
        let given_back = 1.0 + 2.0 / real(logs.len());
        let mut all: Vec<f64> = logs.iter().map(|x| (x - middle) * given_back).collect();
        all.sort_unstable_by(|a, b| b.abs().total_cmp(&a.abs()));
        Some(Self(all))
    }

    fn size(&self, rank: usize) -> f64 {
        self.0.get(rank).map_or(0.0, |x| x.abs())
    }

    /// How far the most extreme residual stands off from the next.
    fn stray(&self) -> f64 {
        self.size(0) - self.size(1)
    }

    fn plain(&self) -> impl Iterator<Item = f64> {
        self.0.iter().copied()
    }

    fn drawn_in(&self) -> impl Iterator<Item = f64> {
        let second = self.size(1);
        self.0.iter().map(move |x| x.clamp(-second, second))
    }
}

/// How far the median of the first half of the samples lies from that of the second.
fn halves(logs: &[f64]) -> Option<f64> {
    let (first, second) = logs.split_at(logs.len() / 2);
    Some((median(first)? - median(second)?).abs())
}
