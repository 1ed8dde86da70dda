//! The interval of a change against threshold and noise.
//!
//! Worse and better need the whole interval beyond the threshold, where the interval holds for all judged
//! speeds of the two records together (Bonferroni; Holm's steps would not leave intervals), and the shift by
//! Hodges and Lehmann beyond it too. Same needs a change within the threshold or the noise, and so little
//! noise that a change of 10 % (or of twice the threshold) would have been seen. The rest is inconclusive.

use super::document::{Call, Change};
use super::noise::{Kind, Noise, alone, logarithms};
use super::stats::mann_whitney;
use super::stats::median::median;
use super::stats::shift::hodges_lehmann;
use crate::bench::record::Arm;

/// The change that must not hide behind `same`, in percent.
pub const RESOLUTION: f64 = 10.0;

/// The measure, in the units people write.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Percent.
    pub percent: f64,
    /// Microseconds, for latencies.
    pub micros: f64,
    /// Noise floor as a logarithm.
    pub floor: f64,
    /// Chance of one wrong call on either side.
    pub tail: f64,
}

/// Judges the samples of `after` against those of `before`, two arms of one unit.
pub fn judge(before: &Arm, after: &Arm, noise: &Noise, limit: Threshold) -> (Call, Option<Change>, String) {
    let open = |why: String| (Call::Inconclusive, None, why);
    let Some(kind) = Kind::of(&after.unit) else {
        return open(format!("unit {:?} is not known", after.unit));
    };
    if before.unit != after.unit {
        return open(format!("units differ: {:?} and {:?}", before.unit, after.unit));
    }
    let (Some(a), Some(b)) = (logarithms(&before.samples), logarithms(&after.samples)) else {
        return open(unsound(before, after));
    };
    let (Some(from), Some(to)) = (median(&a), median(&b)) else { return open(unsound(before, after)) };
    let shift = hodges_lehmann(&a, &b).unwrap_or(to - from);
    let own = alone(&a, &b);
    // How far noise lifts and lowers the difference: the sets of this name in both records, and for the
    // family also these two sets alone, which may be the noisy ones among quiet pairs.
    let shared =
        |n, m, tail| noise.quantile(&before.name, n, m, tail).max(noise.quantile(&after.name, n, m, tail));
    let both_ways = |reach: &dyn Fn(usize, usize) -> f64| {
        let up = reach(b.len(), a.len());
        (up, if a.len() == b.len() { up } else { reach(a.len(), b.len()) })
    };
    let family = both_ways(&|n, m| shared(n, m, limit.tail).max(own.quantile(n, m, limit.tail)));
    let single = both_ways(&|n, m| shared(n, m, 0.025));
    let practical = practical(kind, from.min(to), limit);
    let threshold = practical.max(limit.floor);
    let difference = to - from;
    let ends = |(up, down): (f64, f64)| (difference - up, difference + down);
    let (low, high) = ends(family);
    let change = Change {
        percent: percent(difference),
        interval: [percent(low), percent(high)],
        alone: [percent(ends(single).0), percent(ends(single).1)],
        shift_percent: percent(shift),
        rank_p: mann_whitney::test(&a, &b).map_or(1.0, |t| t.p),
        threshold_percent: percent(threshold),
    };
    let (fell, rose) = (high < -threshold && shift < -threshold, low > threshold && shift > threshold);
    let (worse, better) = if kind.is_latency() { (rose, fell) } else { (fell, rose) };
    let resolution = (2.0 * practical).max((RESOLUTION / 100.0).ln_1p());
    let within = difference.abs() <= threshold.max(if difference > 0.0 { family.0 } else { family.1 });
    let seen = -ends(single).0 <= resolution && ends(single).1 <= resolution;
    let (call, why) = if worse {
        (Call::Worse, String::new())
    } else if better {
        (Call::Better, String::new())
    } else if !within {
        (Call::Inconclusive, "the interval reaches across the threshold".to_owned())
    } else if !seen {
        let why = format!("samples scatter so much that a change of {:.0} % could hide", percent(resolution));
        (Call::Inconclusive, why)
    } else if below_floor(kind, (low, high, shift), practical, limit) {
        let (micros, here) = (limit.micros, percent(practical));
        (
            Call::Same,
            format!("within the floor of {micros} us, {here:.0} % of this latency: not judged below it"),
        )
    } else {
        (Call::Same, String::new())
    };
    (call, Some(change), why)
}

/// Only the floor in microseconds keeps this change from being called.
fn below_floor(kind: Kind, (low, high, shift): (f64, f64, f64), practical: f64, limit: Threshold) -> bool {
    let share = (limit.percent / 100.0).ln_1p().max(limit.floor);
    let moved = (low > share && shift > share) || (high < -share && shift < -share);
    kind.is_latency() && practical > share && moved
}

/// The practical threshold as a logarithm; `smaller` is the logarithm of the smaller median.
fn practical(kind: Kind, smaller: f64, limit: Threshold) -> f64 {
    let share = (limit.percent / 100.0).ln_1p();
    let absolute = match kind {
        Kind::Throughput => return share,
        Kind::Microseconds => limit.micros,
        Kind::Nanoseconds => limit.micros * 1000.0,
    };
    share.max((absolute / smaller.exp()).ln_1p())
}

/// A logarithm of a ratio as percent.
pub fn percent(logarithm: f64) -> f64 {
    logarithm.exp_m1() * 100.0
}

fn unsound(before: &Arm, after: &Arm) -> String {
    let needed = super::noise::MIN_SAMPLES;
    let (a, b) = (before.samples.len(), after.samples.len());
    if a.min(b) < needed {
        return format!("too few samples: {a} before and {b} after, {needed} are needed");
    }
    "a sample is not a positive number".to_owned()
}
