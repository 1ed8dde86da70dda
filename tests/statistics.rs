//! The verdict's statistics against an independent implementation, tables, and their own symmetries.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::cast_precision_loss)]

mod common;

use common::record::Random;
use peerfix::verdict::stats::mann_whitney::{normal_quantile, normal_tail, test};
use peerfix::verdict::stats::null::Pool;
use peerfix::verdict::stats::shift::{self, hodges_lehmann};
use peerfix::verdict::stats::{binomial, median};
use proptest::prelude::*;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

#[test]
fn the_rank_test_agrees_with_statrs() {
    let mut random = Random(11);
    // The other implementation's exact two-sided p holds only where its first set is the larger one; equal
    // sizes follow by hand below.
    for (n, m) in [(6, 5), (9, 5), (9, 8), (15, 3), (11, 10)] {
        for shift in [0.0, 0.5, 2.0] {
            let a: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let b: Vec<f64> = (0..m).map(|_| random.normal() + shift).collect();
            let ours = test(&a, &b).unwrap();
            let (u, p) = mannwhitneyu(&a, &b, MannWhitneyUMethod::Exact, Alternative::TwoSided).unwrap();
            assert!(ours.exact && ours.u == u, "{n} {m}: {ours:?}, {u}");
            assert!((ours.p - p).abs() < 1e-9, "{n} {m}: {ours:?}, {p}");
        }
    }
}

#[test]
fn equal_sizes_by_hand() {
    // 5 and 5: 1, 1, 2, 3, 5, 7 arrangements of 252 have U = 0 ... 5.
    let low = [1.0, 2.0, 3.0, 4.0, 5.0];
    for (last, u, tail) in
        [(9.5, 0.0, 1.0), (4.5, 1.0, 2.0), (3.5, 2.0, 4.0), (2.5, 3.0, 7.0), (0.5, 5.0, 19.0)]
    {
        let high = [6.0, 7.0, 8.0, 9.0, last];
        let found = test(&low, &high).unwrap();
        assert!(found.u == u && (found.p - 2.0 * tail / 252.0).abs() < 1e-12, "{last}: {found:?}");
    }
}

#[test]
fn with_ties_it_agrees_with_statrs_too() {
    let mut random = Random(12);
    for (n, m) in [(5, 5), (9, 9), (15, 15), (30, 25)] {
        let mut tied = |shift: f64| (random.normal() + shift).round();
        let a: Vec<f64> = (0..n).map(|_| tied(0.0)).collect();
        let b: Vec<f64> = (0..m).map(|_| tied(1.0)).collect();
        let ours = test(&a, &b).unwrap();
        let (u, p) = mannwhitneyu(
            &a,
            &b,
            MannWhitneyUMethod::AsymptoticInclContinuityCorrection,
            Alternative::TwoSided,
        )
        .unwrap();
        assert!(!ours.exact && ours.u == u);
        assert!((ours.p - p).abs() < 1e-6, "{n} {m}: {ours:?}, {p}");
    }
}

#[test]
fn distributions_agree_with_statrs() {
    let normal = Normal::new(0.0, 1.0).unwrap();
    for z in [0.0, 0.3, 1.0, 2.4, 2.6, 4.0, 6.0] {
        assert!((normal_tail(z) / normal.sf(z) - 1.0).abs() < 1e-5, "{z}");
    }
    for tail in [0.4, 0.025, 1e-4, 1e-8] {
        assert!((normal_tail(normal_quantile(tail)) / tail - 1.0).abs() < 1e-6, "{tail}");
    }
    for (n, p) in [(5_u32, 0.1), (9, 0.5), (201, 0.02), (60, 0.97)] {
        let theirs = Binomial::new(p, u64::from(n)).unwrap();
        for k in 1..=n {
            let (ours, want) = (binomial::upper_tail(n as usize, p, k as usize), theirs.sf(u64::from(k) - 1));
            assert!((ours - want).abs() < 1e-9, "{n} {p} {k}: {ours} {want}");
        }
    }
}

#[test]
fn the_interval_of_the_median_covers_it() {
    let mut random = Random(13);
    for n in [9, 15] {
        let covered = (0..4000)
            .filter(|_| {
                let set: Vec<f64> = (0..n).map(|_| random.normal()).collect();
                let interval = median::interval(&set, 0.95).unwrap();
                interval.lower <= 0.0 && interval.upper >= 0.0
            })
            .count();
        assert!((3780..=4000).contains(&covered), "{n}: {covered} of 4000");
    }
}

#[test]
fn the_interval_of_the_shift_covers_it() {
    let mut random = Random(14);
    for (n, m) in [(5, 5), (9, 9), (30, 25)] {
        let covered = (0..1000)
            .filter(|_| {
                let mut set = |n: usize, at: f64| (0..n).map(|_| random.normal() + at).collect::<Vec<_>>();
                let interval = shift::interval(&set(n, 0.0), &set(m, 1.0), 0.95).unwrap();
                interval.lower <= 1.0 && interval.upper >= 1.0
            })
            .count();
        assert!(covered >= 935, "{n} {m}: {covered} of 1000");
    }
}

#[test]
fn the_enumerated_bootstrap_is_what_drawing_approaches() {
    let mut random = Random(15);
    let residuals: Vec<f64> = (0..40).map(|_| random.normal()).collect();
    let pool = Pool::new(&residuals);
    let mut pick = |n: usize| {
        let set: Vec<f64> = (0..n)
            .map(|_| {
                let at = random.uniform() * residuals.len() as f64;
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                residuals[at as usize]
            })
            .collect();
        median::median(&set).unwrap()
    };
    for (a, b) in [(9, 9), (5, 15)] {
        let quantile = pool.quantile(a, b, 0.05);
        let beyond = (0..20_000).filter(|_| pick(a) - pick(b) > quantile + 1e-9).count();
        assert!((700..=1080).contains(&beyond), "{a} {b}: {beyond} of 20000 beyond {quantile}");
    }
}

fn samples() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.1..1000.0_f64, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn order_of_samples_is_irrelevant(a in samples(), b in samples()) {
        let reversed: Vec<f64> = a.iter().rev().copied().collect();
        prop_assert_eq!(median::interval(&a, 0.95), median::interval(&reversed, 0.95));
        prop_assert_eq!(test(&a, &b), test(&reversed, &b));
        prop_assert_eq!(hodges_lehmann(&a, &b), hodges_lehmann(&reversed, &b));
    }

    #[test]
    fn exchanging_the_sets_mirrors_the_result(a in samples(), b in samples()) {
        let (there, back) = (test(&a, &b).unwrap(), test(&b, &a).unwrap());
        prop_assert!((there.p - back.p).abs() < 1e-12);
        prop_assert_eq!(there.u + back.u, (a.len() * b.len()) as f64);
        let (there, back) = (hodges_lehmann(&a, &b).unwrap(), hodges_lehmann(&b, &a).unwrap());
        prop_assert!((there + back).abs() < 1e-9);
    }

    #[test]
    fn a_shift_shifts(a in samples(), b in samples(), by in -500.0..500.0_f64) {
        let moved: Vec<f64> = b.iter().map(|x| x + by).collect();
        let (plain, shifted) = (hodges_lehmann(&a, &b).unwrap(), hodges_lehmann(&a, &moved).unwrap());
        prop_assert!((shifted - plain - by).abs() < 1e-6);
        let interval = shift::interval(&a, &b, 0.95).unwrap();
        prop_assert!(interval.lower <= plain && plain <= interval.upper);
    }

    #[test]
    fn a_rarer_chance_reaches_farther(a in samples(), n in 1_usize..20, m in 1_usize..20) {
        let pool = Pool::new(&a);
        prop_assert!(pool.quantile(n, m, 0.001) >= pool.quantile(n, m, 0.05) - 1e-9);
    }

    #[test]
    fn nothing_panics(a in prop::collection::vec(any::<f64>(), 0..12), b in prop::collection::vec(any::<f64>(), 0..12)) {
        let _ = (test(&a, &b), hodges_lehmann(&a, &b), shift::interval(&a, &b, 0.95), median::interval(&a, 0.95));
        let _ = Pool::new(&a).quantile(a.len(), b.len(), 0.01);
    }
}
