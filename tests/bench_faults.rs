//! Every way in which transfers go wrong is caught and named by `peerfix bench`; a clean driver is never accused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
use common::fakes::{Bench, old_driver};
use common::run::Ran;
use peerfix::bench::record::{Arm, Outcome, PairRecord, Record};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Addresses of the fake GPUs 0 and 1.
const GPU: [&str; 2] = ["0000:1a:00.0", "0000:2b:00.0"];

/// Arms whose data pass the peer path.
const PEER: [&str; 6] = ["first-page", "ce-read", "ce-write", "sm-read", "sm-write", "resident"];

/// What one run of the benchmark gave.
struct Run {
    ran: Ran,
    record: Option<Record>,
    wall: Duration,
}

fn bench_with(bench: &Bench) -> Run {
    Run::of(bench, &["--quick"])
}

fn bench(config: &str) -> Run {
    bench_with(&Bench::of(config))
}

impl Run {
    fn of(bench: &Bench, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("record.json");
        let mut args = vec!["bench", "-o", file.to_str().unwrap()];
        args.extend(more);
        let (ran, wall) = bench.run(&args);
        let record = std::fs::read_to_string(&file).ok().map(|text| serde_json::from_str(&text).unwrap());
        Self { ran, record, wall }
    }

    #[track_caller]
    fn record(&self) -> &Record {
        self.record.as_ref().unwrap_or_else(|| panic!("no record: {:?}", self.ran))
    }

    #[track_caller]
    fn pair(&self, from: usize, to: usize) -> &PairRecord {
        self.record().pairs.iter().find(|p| p.from == GPU[from] && p.to == GPU[to]).unwrap()
    }

    #[track_caller]
    fn dense(&self) -> &Arm {
        self.record().fabric.iter().find(|a| a.name == "dense").unwrap()
    }

    /// Checks the exit code.
    #[track_caller]
    fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.ran.code, code, "{:?}\n{}", self.ran, self.brief());
        self
    }

    /// Every arm in a line, for messages.
    fn brief(&self) -> String {
        let Some(record) = &self.record else { return "no record".to_owned() };
        let mut text = format!("{} s, phases {:?}\n", record.seconds, record.phases);
        for note in &record.notes {
            let _ = writeln!(text, "note: {note}");
        }
        let pairs = record.pairs.iter().map(|p| (format!("{}>{}", p.from, p.to), &p.arms));
        for (name, arms) in pairs.chain([("fabric".to_owned(), &record.fabric)]) {
            for arm in arms {
                let _ = writeln!(
                    text,
                    "{name} {} {:?} {} {:?} {}",
                    arm.name, arm.outcome, arm.median, arm.errors, arm.why
                );
            }
        }
        text
    }

    fn arms(&self) -> impl Iterator<Item = &Arm> {
        let record = self.record();
        record.pairs.iter().flat_map(|p| &p.arms).chain(&record.fabric)
    }

    /// No arm of the pair was found wrong.
    #[track_caller]
    fn clean(&self, from: usize, to: usize) {
        for arm in &self.pair(from, to).arms {
            let right = matches!(arm.outcome, Outcome::Measured | Outcome::Skipped | Outcome::Refused);
            // Arms over both directions share the fault of the other one.
            let shared = ["bidirectional", "allreduce"].iter().any(|n| arm.name.starts_with(n));
            assert!(right || shared, "{} of the clean direction: {}", arm.name, self.brief());
        }
    }
}

fn arm<'a>(pair: &'a PairRecord, name: &str) -> &'a Arm {
    pair.arms.iter().find(|a| a.name == name).unwrap_or_else(|| panic!("no arm {name}"))
}

/// Peer arms of the pair with wrong data, and the mechanisms in them.
fn corrupt(pair: &PairRecord) -> Vec<(String, Vec<String>)> {
    pair.arms
        .iter()
        .filter(|a| a.outcome == Outcome::Corrupt)
        .map(|a| (a.name.clone(), a.errors.iter().map(|e| e.mechanism.clone()).collect()))
        .collect()
}

/// Seeds with which the clean driver runs: `PEERFIX_FAKE_SEEDS`, else what takes some ten seconds.
fn seeds() -> u64 {
    std::env::var("PEERFIX_FAKE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

#[test]
fn a_clean_driver_is_never_accused() {
    let next = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > seeds() {
                        return;
                    }
                    let noise = [0.0, 0.002, 0.02][usize::try_from(seed % 3).unwrap()];
                    not_accused(&bench(&format!("seed={seed};noise={noise}")));
                }
            });
        }
    });
}

/// Every arm was measured and found right, its data checked where they landed.
#[track_caller]
fn not_accused(run: &Run) {
    run.exits(0);
    assert_eq!(run.record().pairs.len(), 2);
    for arm in run.arms() {
        assert!(arm.outcome == Outcome::Measured && arm.errors.is_empty(), "{}: {}", arm.name, run.brief());
        assert!(arm.words_checked > 0, "{} was not checked: {}", arm.name, run.brief());
    }
    for pair in &run.record().pairs {
        for name in PEER.iter().chain(&["staged", "staged-double", "latency-copy-4", "latency-loop-2048x32"])
        {
            arm(pair, name);
        }
    }
}

#[test]
fn a_full_run_measures_and_checks_every_arm() {
    let run = Run::of(&Bench::of("seed=7"), &[]);
    not_accused(&run);
    for bytes in [4, 256, 4096, 65_536, 1 << 20] {
        for (from, to) in [(0, 1), (1, 0)] {
            let by_driver = arm(run.pair(from, to), &format!("driver-staged-{bytes}"));
            let by_peer = arm(run.pair(from, to), &format!("latency-copy-{bytes}"));
            assert_eq!((by_driver.bytes, by_peer.bytes), (bytes, bytes));
            // Two passes.
            assert!(by_driver.samples.len() >= 9 && by_peer.samples.len() >= 9, "{}", run.brief());
        }
    }
    // Links as they were while bytes moved, source before destination.
    assert!(run.arms().filter(|a| a.name != "first-page").all(|a| a.links.len() == 2), "{}", run.brief());
}

#[test]
fn wrong_data_is_caught_and_named_by_its_mechanism() {
    for (fault, mechanisms) in [
        ("drop-sector:64", &["untouched"][..]),
        ("drop", &["untouched", "one-direction"]),
        ("zeros", &["zero"]),
        ("flip:16", &["torn", "other"]),
        ("mirror", &["mirror"]),
    ] {
        let run = bench(&format!("fault={fault};pair=0>1"));
        run.exits(1);
        let found = corrupt(run.pair(0, 1));
        assert!(!found.is_empty(), "{fault}: {}", run.brief());
        let first = &found[0].1[0];
        assert!(mechanisms.contains(&first.as_str()), "{fault} is called {first}: {}", run.brief());
        run.clean(1, 0);
        // The control is clean: the fault is the peer path's, not the host's.
        assert_eq!(arm(run.pair(0, 1), "staged").outcome, Outcome::Measured, "{}", run.brief());
    }
}

/// Nothing larger is wrong: only the copies of that size tell.
#[test]
fn faults_of_small_copies_are_caught() {
    for (bytes, name) in [(4, "latency-copy-4"), (32, "latency-loop-2048x32"), (65_536, "latency-copy-65536")]
    {
        for (fault, mechanism) in [("drop", "untouched"), ("zeros", "zero")] {
            let run = bench(&format!("fault={fault};pair=0>1;engine=ce;min={bytes};max={bytes}"));
            run.exits(1);
            let found = arm(run.pair(0, 1), name);
            assert_eq!(found.outcome, Outcome::Corrupt, "{name}: {}", run.brief());
            assert_eq!(found.errors[0].mechanism, mechanism, "{name}: {}", run.brief());
        }
    }
}

#[test]
fn small_copies_are_also_timed_without_peer_access() {
    let run = bench("");
    for (from, to) in [(0, 1), (1, 0)] {
        for name in ["driver-staged-4", "driver-staged-65536"] {
            let found = arm(run.pair(from, to), name);
            assert_eq!(found.outcome, Outcome::Measured, "{}", run.brief());
            assert!(found.words_checked > 0 && found.median > 0.0 && found.unit == "us", "{found:?}");
        }
    }
}

/// Nothing reaches the destination through the host: told as wrong data, without a look through a window that is shut.
#[test]
fn wrong_small_copies_by_the_driver_are_told_as_such() {
    let run = bench("fault=drop;path=host;op=write;pair=0>1;min=65536;max=65536");
    run.exits(1);
    let found = arm(run.pair(0, 1), "driver-staged-65536");
    assert_eq!(found.outcome, Outcome::Corrupt, "{}", run.brief());
    assert_eq!(found.errors[0].mechanism, "untouched", "{}", run.brief());
    assert_eq!(arm(run.pair(0, 1), "ce-write").outcome, Outcome::Measured, "{}", run.brief());
}

/// The destination reads by its own engine; the source may not look there at all.
#[test]
fn data_that_never_come_where_only_reading_is_granted_are_told_as_wrong_data() {
    let run = bench("fault=refuse;pair=1>0;fault=drop;pair=0>1;engine=ce;op=read;min=64K");
    run.exits(1);
    let read = arm(run.pair(0, 1), "ce-read");
    assert_eq!(arm(run.pair(0, 1), "ce-write").outcome, Outcome::Refused, "{}", run.brief());
    assert_eq!(read.outcome, Outcome::Corrupt, "{}", run.brief());
    assert_eq!(read.errors[0].mechanism, "untouched", "{}", run.brief());
}

#[test]
fn sums_of_several_pairs_name_the_directions_they_leave_out() {
    let run = bench("gpus=3;fault=refuse;pair=0>1");
    run.exits(0);
    let dense = run.dense();
    assert_eq!(dense.outcome, Outcome::Measured, "{}", run.brief());
    assert!(dense.why.contains(&format!("without {} to {}", GPU[1], GPU[0])), "{}", dense.why);
    assert!(!dense.why.contains(&format!("{} to {}", GPU[0], GPU[1])), "{}", dense.why);
    // Its share is of those that took part: the ports of the fake GPUs are shared.
    assert!(dense.share > 0.2 && dense.share < 1.0, "{}", dense.share);
}

/// Bytes of one transfer of the dense arm among three fake GPUs.
const SLICE: &str = "min=8M;max=8M";

#[test]
fn wrong_data_of_several_pairs_at_once_name_the_direction() {
    // At the first transfers, then only at those after the samples.
    for after in [0, 9] {
        let run = bench(&format!("gpus=3;fault=zeros;pair=0>1;{SLICE};after={after}"));
        run.exits(1);
        let dense = run.dense();
        assert_eq!(dense.outcome, Outcome::Corrupt, "{}", run.brief());
        assert_eq!(dense.errors.len(), 1, "{}", run.brief());
        assert_eq!(dense.errors[0].mechanism, "zero", "{}", run.brief());
        assert!(dense.errors[0].detail.contains(&format!("{} to {}", GPU[0], GPU[1])), "{}", run.brief());
        assert_eq!(dense.samples.is_empty(), after == 0, "{}", run.brief());
    }
}

#[test]
fn after_a_failed_arm_of_several_pairs_each_of_them_is_looked_at() {
    // Six streams are made before any arm, the seventh by the dense one.
    let run = bench("gpus=3;fault=error:999;call=cuStreamCreate;after=6");
    let dense = run.dense();
    assert_eq!(dense.outcome, Outcome::Failed, "{}", run.brief());
    let notes: Vec<_> = run.record().notes.iter().filter(|n| n.contains("one page from")).collect();
    assert_eq!(notes.len(), 6, "{}", run.brief());
    assert!(notes.iter().all(|n| n.ends_with("right")), "{}", run.brief());

    let run = bench(&format!("gpus=3;fault=error:719;engine=ce;{SLICE}"));
    let all = run.record().notes.join(" ");
    assert_eq!(run.dense().outcome, Outcome::Failed, "{}", run.brief());
    for gpu in run.record().gpus.iter().map(|g| &g.bdf) {
        assert!(all.contains(&format!("{gpu} is lost")), "{gpu}: {}", run.brief());
    }
}

/// A run with a file in place of the kernel's log, to which the fake driver writes.
fn bench_logged(config: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let kmsg = folder.path().join("kmsg");
    std::fs::write(&kmsg, "").unwrap();
    bench_with(&Bench { kmsg: Some(kmsg), ..Bench::of(config) })
}

#[test]
fn a_rejected_first_page_ends_the_pair_and_late_counts_are_waited_for() {
    let run = bench_logged("fault=iommu:40;pair=0>1;times=1");
    run.exits(1);
    let page = arm(run.pair(0, 1), "first-page");
    assert_eq!(page.deltas.iommu_faults, Some(41), "{}", run.brief());
    for (from, to) in [(0, 1), (1, 0)] {
        assert_eq!(arm(run.pair(from, to), "ce-read").outcome, Outcome::Skipped, "{}", run.brief());
        assert_eq!(arm(run.pair(from, to), "staged").outcome, Outcome::Measured, "{}", run.brief());
    }
}

#[test]
fn an_xid_is_tied_to_its_arm_and_ends_the_pair() {
    let run = bench_logged("fault=xid:31;engine=sm;op=read;pair=0>1;min=64K;times=1");
    run.exits(1);
    assert_eq!(arm(run.pair(0, 1), "sm-read").deltas.xids, Some(vec![31]), "{}", run.brief());
    for pair in &run.record().pairs {
        for other in pair.arms.iter().filter(|a| a.name != "sm-read") {
            assert!(other.deltas.xids.iter().all(Vec::is_empty), "{}: {}", other.name, run.brief());
        }
    }
    assert_eq!(arm(run.pair(1, 0), "ce-read").outcome, Outcome::Skipped, "{}", run.brief());
}

#[test]
fn a_crash_with_a_fault_has_its_late_counts_too() {
    let run = bench_logged("fault=iommu:9;engine=sm;op=write;min=64K;fault=crash;engine=sm;op=write;min=64K");
    let crashed = arm(run.pair(0, 1), "sm-write");
    assert_eq!(crashed.outcome, Outcome::Crash, "{}", run.brief());
    assert!(crashed.deltas.iommu_faults.is_some_and(|n| n >= 1), "{}", run.brief());
}

#[test]
fn a_driver_that_hangs_before_anything_is_measured_is_said() {
    let run = bench("fault=hang;path=host;min=1M;max=2M");
    run.exits(1);
    assert!(run.record().notes.iter().any(|n| n.contains("could not be made ready")), "{}", run.brief());
    assert!(run.ran.stderr.contains("nothing was measured"), "{}", run.ran.stderr);
}

#[test]
fn after_a_wrong_first_page_the_pair_moves_nothing_more_by_peer() {
    let run = bench("fault=zeros;pair=0>1");
    let pair = run.pair(0, 1);
    assert_eq!(arm(pair, "first-page").outcome, Outcome::Corrupt, "{}", run.brief());
    for name in ["ce-read", "ce-write", "sm-read", "sm-write"] {
        let moved = pair.arms.iter().find(|a| a.name == name && a.outcome != Outcome::Skipped);
        assert!(moved.is_none(), "{name}: {}", run.brief());
    }
}

#[test]
fn faults_of_large_transfers_are_caught_after_a_clean_first_page() {
    for (fault, mechanism) in [
        ("drop-sector:4096", "untouched"),
        ("drop-sector:100000", "untouched"),
        ("shift", "shifted"),
        ("foreign", "foreign-buffer"),
        ("zeros", "zero"),
    ] {
        let run = bench(&format!("fault={fault};pair=0>1;min=64K"));
        run.exits(1);
        let pair = run.pair(0, 1);
        assert_eq!(arm(pair, "first-page").outcome, Outcome::Measured, "{fault}: {}", run.brief());
        let found = corrupt(pair);
        let named = found.iter().any(|(_, mechanisms)| mechanisms.iter().any(|m| m == mechanism));
        assert!(named, "{fault} is not called {mechanism}: {}", run.brief());
        run.clean(1, 0);
    }
}

#[test]
fn stale_data_is_told_from_data_that_never_came() {
    let run = bench("fault=stale;pair=0>1");
    run.exits(1);
    let named = corrupt(run.pair(0, 1)).iter().any(|(_, m)| m.iter().any(|m| m == "stale"));
    assert!(named, "{}", run.brief());
    run.clean(1, 0);
}

#[test]
fn the_engine_and_direction_at_fault_are_the_ones_named() {
    for (filter, name) in [
        ("engine=ce;op=read", "ce-read"),
        ("engine=ce;op=write", "ce-write"),
        ("engine=sm;op=read", "sm-read"),
        ("engine=sm;op=write", "sm-write"),
    ] {
        let run = bench(&format!("fault=drop-sector:512;pair=0>1;min=64K;{filter}"));
        run.exits(1);
        let found = corrupt(run.pair(0, 1));
        assert!(found.iter().any(|(arm, _)| arm == name), "{filter}: {}", run.brief());
        let all = ["ce-read", "ce-write", "sm-read", "sm-write"];
        for other in all.iter().filter(|n| **n != name) {
            assert!(!found.iter().any(|(arm, _)| arm == other), "{filter}, {other}: {}", run.brief());
        }
    }
}

#[test]
fn a_flag_that_overtakes_its_data_is_caught_by_the_resident_consumer_alone() {
    let run = bench("fault=late;pair=0>1");
    run.exits(1);
    let found: Vec<_> = corrupt(run.pair(0, 1)).into_iter().map(|(arm, _)| arm).collect();
    assert_eq!(found, ["resident"], "{}", run.brief());
}

#[test]
fn wrong_data_through_the_host_speak_of_the_host() {
    let run = bench("fault=flip:4096;path=host;min=64K");
    run.exits(1);
    let staged = arm(run.pair(0, 1), "staged");
    assert_eq!(staged.outcome, Outcome::Corrupt, "{}", run.brief());
    let told = run.ran.printed().to_lowercase() + &run.record().notes.join(" ").to_lowercase();
    assert!(told.contains("host"), "{told}");
    for name in ["ce-read", "sm-read"] {
        assert_ne!(arm(run.pair(0, 1), name).outcome, Outcome::Corrupt, "{}", run.brief());
    }
}

#[test]
fn a_slow_direction_is_measured_not_accused() {
    let run = bench("fault=slow:400;pair=0>1");
    run.exits(0);
    for name in ["ce-read", "ce-write", "sm-read", "sm-write"] {
        let (slow, fast) = (arm(run.pair(0, 1), name).median, arm(run.pair(1, 0), name).median);
        assert!(slow < fast / 3.0, "{name} {slow} {fast}: {}", run.brief());
    }
}

#[test]
fn a_hang_names_its_arm_and_the_run_goes_on() {
    let run = bench("fault=hang;engine=sm;op=read;pair=0>1;min=64K");
    assert_eq!(arm(run.pair(0, 1), "sm-read").outcome, Outcome::Hang, "{}", run.brief());
    assert_eq!(arm(run.pair(0, 1), "staged").outcome, Outcome::Measured, "{}", run.brief());
    run.clean(1, 0);
    assert_eq!(arm(run.pair(1, 0), "staged").outcome, Outcome::Measured, "{}", run.brief());
    assert_eq!(arm(run.pair(1, 0), "sm-read").outcome, Outcome::Skipped, "{}", run.brief());
    assert_ne!(run.ran.code, 0, "{}", run.brief());
    assert!(run.wall < Duration::from_secs(100), "{:?}", run.wall);
}

#[test]
fn a_hang_in_the_first_page_ends_the_pair_only() {
    let run = bench("fault=hang;pair=0>1");
    assert_eq!(arm(run.pair(0, 1), "first-page").outcome, Outcome::Hang, "{}", run.brief());
    run.clean(1, 0);
    for (from, to) in [(0, 1), (1, 0)] {
        assert_eq!(arm(run.pair(from, to), "ce-read").outcome, Outcome::Skipped, "{}", run.brief());
        assert_eq!(arm(run.pair(from, to), "staged").outcome, Outcome::Measured, "{}", run.brief());
    }
}

#[test]
fn a_crash_names_its_arm_and_the_run_goes_on() {
    let run = bench("fault=crash;engine=sm;op=write;pair=0>1;min=64K");
    assert_eq!(arm(run.pair(0, 1), "sm-write").outcome, Outcome::Crash, "{}", run.brief());
    assert_eq!(arm(run.pair(0, 1), "staged").outcome, Outcome::Measured, "{}", run.brief());
    run.clean(1, 0);
    assert_eq!(arm(run.pair(1, 0), "staged").outcome, Outcome::Measured, "{}", run.brief());
    assert_ne!(run.ran.code, 0, "{}", run.brief());
}

#[test]
fn a_refusal_of_one_direction_is_recorded_for_that_direction() {
    let run = bench("fault=refuse;pair=0>1;p2p-read=1@0>1");
    run.exits(0);
    let (refused, granted) = (run.pair(0, 1), run.pair(1, 0));
    assert_eq!((refused.granted, granted.granted), (Some(false), Some(true)), "{}", run.brief());
    assert_eq!(arm(refused, "sm-read").outcome, Outcome::Refused, "{}", run.brief());
    assert_eq!(arm(refused, "staged").outcome, Outcome::Measured, "{}", run.brief());
    assert_eq!(arm(granted, "sm-read").outcome, Outcome::Measured, "{}", run.brief());
    // Every direction that moves data has had its one page first, by whichever GPU may.
    for pair in [refused, granted] {
        assert_eq!(arm(pair, "first-page").outcome, Outcome::Measured, "{}", run.brief());
    }
}

#[test]
fn a_grant_that_fails_when_it_is_used_is_told() {
    let run = bench("fault=enable");
    run.exits(6);
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Refused, "{}", run.brief());
    assert!(run.record().notes.iter().any(|n| n.contains("217")), "{}", run.brief());
}

#[test]
fn a_hang_through_the_host_is_the_host_s() {
    let run = bench("fault=hang;path=host;min=4M");
    run.exits(1);
    assert_eq!(arm(run.pair(0, 1), "staged").outcome, Outcome::Hang, "{}", run.brief());
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Skipped, "{}", run.brief());
}

#[test]
fn an_arm_that_hangs_while_it_is_timed_is_named() {
    // The first transfers are the verified ones; the hang comes later.
    let run = bench("fault=hang;engine=ce;op=read;pair=0>1;min=64K;after=2");
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Hang, "{}", run.brief());
    assert_eq!(arm(run.pair(0, 1), "staged").outcome, Outcome::Measured, "{}", run.brief());
    for pair in &run.record().pairs {
        let mut names: Vec<_> = pair.arms.iter().map(|a| &a.name).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(all, names.len(), "an arm comes twice: {}", run.brief());
    }
}

#[test]
fn after_a_hang_of_one_pair_the_other_pairs_are_measured() {
    let run = bench("gpus=3;fault=hang;pair=0>1;min=64K");
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Hang, "{}", run.brief());
    let others =
        run.record().pairs.iter().filter(|p| ![&p.from, &p.to].iter().all(|g| GPU.contains(&g.as_str())));
    for pair in others {
        assert_eq!(arm(pair, "ce-read").outcome, Outcome::Measured, "{}", run.brief());
    }
}

#[test]
fn an_unknown_error_code_is_told_as_it_is() {
    let run = bench("fault=error:226;engine=ce;op=write;pair=0>1;min=64K");
    let failed = arm(run.pair(0, 1), "ce-write");
    assert_eq!(failed.outcome, Outcome::Failed, "{}", run.brief());
    assert!(failed.why.contains("226"), "{}", failed.why);
    assert_eq!(arm(run.pair(0, 1), "staged").outcome, Outcome::Measured, "{}", run.brief());
    run.clean(1, 0);
}

#[test]
fn sixteen_gpus_are_finished() {
    let run = bench("gpus=16;order=reversed");
    run.exits(0);
    assert_eq!((run.record().gpus.len(), run.record().pairs.len()), (16, 240), "{}", run.brief());
    for arm in run.arms() {
        assert!(matches!(arm.outcome, Outcome::Measured | Outcome::Skipped), "{}", run.brief());
    }
}

#[test]
fn more_gpus_than_peers_allowed_are_finished() {
    let run = bench("gpus=5;max-peers=3");
    run.exits(0);
    let dense = run.record().fabric.iter().find(|a| a.name == "dense").unwrap();
    assert_eq!(dense.outcome, Outcome::Refused, "{}", run.brief());
    assert!(dense.why.contains("TOO_MANY_PEERS"), "{}", dense.why);
    assert!(
        run.record().pairs.iter().all(|p| arm(p, "ce-write").outcome == Outcome::Measured),
        "{}",
        run.brief()
    );
}

#[test]
fn little_memory_makes_smaller_buffers() {
    let run = bench("memory=1G;free=52M");
    run.exits(0);
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Measured, "{}", run.brief());
}

#[test]
fn a_gpu_too_old_for_system_scope_skips_what_needs_it() {
    let run = bench("capability=6.1");
    run.exits(0);
    let resident = arm(run.pair(0, 1), "resident");
    assert_eq!(resident.outcome, Outcome::Skipped, "{}", run.brief());
    assert!(resident.why.contains("6.1") || resident.why.contains("7.0"), "{}", resident.why);
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Measured, "{}", run.brief());
}

#[test]
fn busy_gpus_are_refused_with_the_process_named() {
    let pid = std::process::id();
    let run = bench(&format!("busy=1:{pid}:512M"));
    run.exits(3);
    let told = run.ran.printed();
    for word in [pid.to_string().as_str(), GPU[1], "512", "--wait"] {
        assert!(told.contains(word), "`{word}` is not in: {told}");
    }
}

#[test]
fn its_own_contexts_make_no_gpu_busy() {
    let folder = tempfile::tempdir().unwrap();
    bench(&format!("state={}", folder.path().display())).exits(0);
}

#[test]
fn a_host_without_a_usable_pair_is_told_why() {
    for (config, word) in [("gpus=0", "CUDA_ERROR_NO_DEVICE"), ("gpus=1", "one GPU"), ("mig=on", "MIG")] {
        let run = bench(config);
        run.exits(6);
        assert!(run.ran.stderr.contains(word), "{config}: {}", run.ran.stderr);
    }
}

#[test]
fn a_host_without_the_driver_is_told_so() {
    let nowhere = tempfile::tempdir().unwrap();
    let run = bench_with(&Bench { libraries: nowhere.path().into(), ..Bench::of("") });
    run.exits(6);
    assert!(run.ran.stderr.contains("libcuda.so.1"), "{}", run.ran.stderr);
}

#[test]
fn an_old_driver_is_told_by_what_it_lacks() {
    let run = bench_with(&Bench { libraries: old_driver(), ..Bench::of("") });
    run.exits(6);
    assert!(run.ran.stderr.contains("lacks cu"), "{}", run.ran.stderr);
}

#[test]
fn a_driver_that_cannot_start_is_told_by_its_code() {
    let run = bench("fault=error:999;call=cuInit");
    run.exits(6);
    assert!(run.ran.stderr.contains("999"), "{}", run.ran.stderr);
}

#[test]
fn without_nvml_the_transfers_are_measured_all_the_same() {
    let run = bench("fault=error:18;call=nvmlInit_v2");
    run.exits(0);
    assert_eq!(arm(run.pair(0, 1), "ce-read").outcome, Outcome::Measured, "{}", run.brief());
    assert!(run.record().gpus.iter().all(|g| g.bar1.is_none()), "{}", run.brief());
}

#[test]
fn replays_are_tied_to_the_arm() {
    let run = bench("replays=3");
    let grown = arm(run.pair(0, 1), "ce-read").deltas.replays;
    assert!(grown.is_some_and(|n| n > 0), "{grown:?}: {}", run.brief());
}

/// A worker that waits inside the driver would hold the GPUs for as long as it waits.
#[test]
fn a_worker_ends_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = std::process::Command::new(env!("CARGO_BIN_EXE_peerfix"))
        .args(["bench", "--quick", "-o"])
        .arg(folder.path().join("record.json"))
        .env("LD_LIBRARY_PATH", common::fakes::driver())
        .env("PEERFIX_FAKE", "fault=hang")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let worker = eventually(|| {
        let text = std::fs::read_to_string(&children).unwrap();
        let worker = text.split_whitespace().next()?.to_owned();
        // It has begun when it has read its job: until then a closed pipe would end it anyway.
        let maps = std::fs::read_to_string(format!("/proc/{worker}/maps")).ok()?;
        maps.contains("libcuda.so.1").then_some(worker)
    });
    std::thread::sleep(Duration::from_secs(1));
    parent.kill().unwrap();
    parent.wait().unwrap();
    eventually(|| {
        let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
    assert!(!folder.path().join("record.json").exists());
}

/// Asks until there is an answer, for half a minute.
fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never happened");
}
