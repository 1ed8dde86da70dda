//! False alarms and power of the verdict, counted over many synthetic records. Seeded: the counts never vary.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

mod common;

use common::record::{Counts, FULL, Noise, QUICK, Random, record, scaled};
use peerfix::verdict::document::{Call, Overall};
use peerfix::verdict::{Settings, compare};

/// Noise as it is seen on real hosts: throughput, latencies.
fn noises() -> Vec<(&'static str, Noise, Noise)> {
    let gaussian = |sigma| Noise { sigma, ..Noise::default() };
    vec![
        ("gaussian 0.3 %", gaussian(0.003), gaussian(0.003)),
        ("gaussian 1 %", gaussian(0.01), gaussian(0.01)),
        (
            "each record off by 0.4 %",
            Noise { record: 0.004, ..gaussian(0.005) },
            Noise { record: 0.004, ..gaussian(0.01) },
        ),
        ("drift of 2 %", Noise { drift: 0.02, ..gaussian(0.005) }, Noise { drift: 0.02, ..gaussian(0.005) }),
        (
            "1 % of the samples a fifth slower",
            Noise { strays: 0.01, stray: 0.2, ..gaussian(0.005) },
            Noise { strays: 0.01, stray: 0.2, ..gaussian(0.005) },
        ),
    ]
}

struct Tally {
    alarms: usize,
    same: usize,
}

fn repeats(families: u64, gpus: usize, counts: Counts, bulk: Noise, latency: Noise) -> Tally {
    let mut tally = Tally { alarms: 0, same: 0 };
    for seed in 0..families {
        let a = record(seed * 2 + 1, gpus, counts, bulk, latency);
        let b = record(seed * 2 + 2, gpus, counts, bulk, latency);
        let verdict = compare(&a, &b, &Settings::default());
        let alarm =
            verdict.arms.iter().any(|arm| matches!(arm.verdict, Call::Better | Call::Worse | Call::Corrupt));
        tally.alarms += usize::from(alarm);
        tally.same += usize::from(verdict.verdict == Overall::Same);
    }
    tally
}

#[test]
fn repeated_records_are_the_same() {
    for (name, bulk, latency) in noises() {
        for counts in [FULL, QUICK] {
            let tally = repeats(100, 2, counts, bulk, latency);
            println!("{name}, {counts:?}: {} alarms, {} same of 100", tally.alarms, tally.same);
            assert!(tally.alarms < 5, "{name}, {counts:?}: {} false alarms in 100", tally.alarms);
            assert!(tally.same > 95, "{name}, {counts:?}: only {} of 100 the same", tally.same);
        }
    }
}

#[test]
fn latencies_in_two_modes_raise_no_alarm() {
    let bulk = Noise { sigma: 0.005, ..Noise::default() };
    for (chance, mode) in [(0.5, 0.3), (0.3, 0.3), (0.15, 0.3), (0.5, 0.1), (0.3, 0.08)] {
        let latency = Noise { sigma: 0.005, mode_chance: chance, mode, ..Noise::default() };
        for counts in [FULL, QUICK] {
            let tally = repeats(100, 2, counts, bulk, latency);
            println!("{chance} {mode} {counts:?}: {} alarms, {} same of 100", tally.alarms, tally.same);
            assert!(tally.alarms < 5, "{chance} {mode} {counts:?}: {} false alarms in 100", tally.alarms);
        }
    }
}

#[test]
fn eight_gpus_share_one_chance_of_error() {
    let noise = Noise { sigma: 0.01, record: 0.003, ..Noise::default() };
    for counts in [FULL, QUICK] {
        let tally = repeats(5, 8, counts, noise, noise);
        println!("{counts:?}: {} alarms, {} same of 5", tally.alarms, tally.same);
        assert_eq!((tally.alarms, tally.same), (0, 5));
    }
}

#[test]
fn any_two_of_ten_repeated_records_are_the_same() {
    let bulk = Noise { sigma: 0.005, record: 0.003, drift: 0.005, ..Noise::default() };
    let latency = Noise { sigma: 0.01, record: 0.005, strays: 0.01, stray: 0.5, ..Noise::default() };
    let ten: Vec<_> = (70..80).map(|seed| record(seed, 2, FULL, bulk, latency)).collect();
    for (i, a) in ten.iter().enumerate() {
        for b in ten.iter().skip(i + 1) {
            let verdict = compare(a, b, &Settings::default());
            assert_eq!(verdict.verdict, Overall::Same, "{}", verdict.reason);
        }
    }
}

#[test]
fn a_slowdown_of_ten_percent_in_one_arm_is_found() {
    for (name, bulk, latency) in noises() {
        for (counts, arm) in
            [(FULL, "ce-read"), (FULL, "latency-copy-4"), (FULL, "allreduce-16384"), (QUICK, "ce-read")]
        {
            let mut found = 0;
            for seed in 0..100 {
                let a = record(seed * 2 + 1001, 2, counts, bulk, latency);
                let b = record(seed * 2 + 1002, 2, counts, bulk, latency);
                let factor = if arm == "ce-read" { 0.9 } else { 1.1 };
                let verdict = compare(&a, &scaled(b, arm, factor), &Settings::default());
                found += usize::from(verdict.verdict == Overall::Worse);
            }
            println!("{name}, {counts:?}, {arm}: {found} of 100");
            assert!(found >= 95, "{name}, {counts:?}, {arm}: found {found} of 100");
        }
    }
}

#[test]
fn the_generator_is_what_it_says() {
    let mut random = Random(5);
    let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let square = draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64;
    assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.03, "{mean} {square}");
}
