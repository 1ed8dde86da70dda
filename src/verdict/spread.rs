//! What an arm does from one boot to the next when nothing was changed.

use super::noise::logarithms;
use super::stats::median::median;
use crate::bench::record::{Arm, Outcome, Record};
use std::collections::BTreeMap;

/// Distances between the medians of boots, as logarithms, by the name of the arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    by_arm: BTreeMap<String, f64>,
}

impl Spread {
    /// The largest distance over all pairs that have the arm; nothing from fewer than two records.
    pub fn of(records: &[&Record]) -> Self {
        let mut ends: BTreeMap<(&str, &str, &str), (f64, f64)> = BTreeMap::new();
        let mut spread = Self::default();
        for (from, to, arm) in records.iter().flat_map(|record| arms(record)) {
            let Some(middle) = middle(arm) else { continue };
            let (low, high) = ends.entry((from, to, &arm.name)).or_insert((middle, middle));
            *low = low.min(middle);
            *high = high.max(middle);
            let widest = spread.by_arm.entry(arm.name.clone()).or_default();
            *widest = widest.max(*high - *low);
        }
        spread
    }

    /// The floor of an arm; 0 where boots were not compared.
    pub fn floor(&self, arm: &str) -> f64 {
        self.by_arm.get(arm).copied().unwrap_or(0.0)
    }
}

fn arms(record: &Record) -> impl Iterator<Item = (&str, &str, &Arm)> {
    let pairs = record.pairs.iter();
    let pairs = pairs.flat_map(|p| p.arms.iter().map(move |arm| (p.from.as_str(), p.to.as_str(), arm)));
    pairs.chain(record.fabric.iter().map(|arm| ("", "", arm)))
}

fn middle(arm: &Arm) -> Option<f64> {
    let measured = arm.outcome == Outcome::Measured;
    logarithms(&arm.samples).filter(|_| measured).and_then(|logs| median(&logs))
}
