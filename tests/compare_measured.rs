//! From `peerfix bench` to `peerfix compare`: records of the fake drivers, as the program writes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::fakes::Bench;
use common::run::{Ran, peerfix};
use peerfix::bench::record::{Arm, Record};
use peerfix::bench::run::{digest, seal};
use peerfix::bench::store::Destination;
use peerfix::verdict::document::{Call, Cause, Overall};
use peerfix::verdict::read::{self, Hash};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A record of the fakes told `config`; the exit code of the run does not matter here.
///
/// The fakes model the time of a device. What the clock of the host times, `latency-copy-*`, `latency-loop-*`
/// and `driver-staged-*`, tells of the other tests that run on this host, so these arms are taken out again.
fn measured(folder: &Path, name: &str, config: &str) -> PathBuf {
    let file = folder.join(name);
    let (ran, _) = Bench::of(config).run(&["bench", "--quick", "-o", file.to_str().unwrap()]);
    let text = std::fs::read(&file).unwrap_or_else(|e| panic!("no record: {e}: {ran:?}"));
    let read = read::record(&text).unwrap();
    assert_eq!(read.hash, Hash::Matches, "as it was written");
    let mut record = read.record;
    assert_eq!(record.hash, digest(&record), "numbers come back as they were written");
    let timed_by_host = |arm: &Arm| {
        ["latency-copy-", "latency-loop-", "driver-staged-"].iter().any(|name| arm.name.starts_with(name))
    };
    record.pairs.iter_mut().for_each(|pair| pair.arms.retain(|arm| !timed_by_host(arm)));
    seal(&mut record);
    std::fs::write(&file, serde_json::to_string_pretty(&record).unwrap()).unwrap();
    file
}

/// One clean record for all tests.
fn clean() -> &'static Path {
    static CLEAN: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, file) = CLEAN.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = measured(folder.path(), "clean.json", "seed=11");
        (folder, file)
    });
    file
}

fn compare(before: &Path, after: &Path) -> Ran {
    peerfix(&["compare", before.to_str().unwrap(), after.to_str().unwrap(), "--format", "json"])
}

fn verdict(ran: &Ran) -> peerfix::verdict::Verdict {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

#[test]
fn two_clean_records_differ_by_noise_alone() {
    let folder = tempfile::tempdir().unwrap();
    let again = measured(folder.path(), "again.json", "seed=12");
    let ran = compare(clean(), &again).exits_one_of(&[0, 5]);
    let verdict = verdict(&ran);
    let odd: Vec<String> = verdict
        .arms
        .iter()
        // A quick run may take too few samples of an arm to judge it.
        .filter(|a| a.verdict != Call::Same && !a.why.starts_with("too few samples"))
        .map(|a| format!("{a:?}"))
        .collect();
    assert!(odd.is_empty(), "{}", odd.join("\n"));
    assert!(matches!(verdict.verdict, Overall::Same | Overall::Inconclusive), "{}", verdict.reason);
    assert!(verdict.arms.iter().any(|a| a.verdict == Call::Same && a.cause == Cause::Speed));
}

#[test]
fn a_direction_that_became_slow_is_worse() {
    let folder = tempfile::tempdir().unwrap();
    let slow = measured(folder.path(), "slow.json", "seed=13;fault=slow:300;pair=0>1;engine=ce;min=65536");
    let ran = compare(clean(), &slow).exits(4);
    let verdict = verdict(&ran);
    assert_eq!(verdict.verdict, Overall::Worse, "{}", verdict.reason);
    let worse = |from: &str, arm: &str| {
        let arm = verdict.arms.iter().find(|a| a.arm == arm && a.from.as_deref() == Some(from)).unwrap();
        arm.verdict == Call::Worse
    };
    assert!(worse("0000:1a:00.0", "ce-write") && worse("0000:1a:00.0", "ce-read"), "{}", verdict.reason);
    assert!(!worse("0000:2b:00.0", "ce-write") && !worse("0000:2b:00.0", "sm-write"), "the other direction");
    let back = compare(&slow, clean());
    let verdict = self::verdict(&back.exits_one_of(&[0, 5]));
    assert!(verdict.arms.iter().all(|a| a.verdict != Call::Worse), "{}", verdict.reason);
}

#[test]
fn data_that_became_wrong_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = measured(folder.path(), "wrong.json", "seed=14;fault=drop-sector:64;pair=0>1;min=65536");
    let ran = compare(clean(), &wrong).exits(4);
    assert_eq!(verdict(&ran).verdict, Overall::Corrupt);
    let text = peerfix(&["compare", clean().to_str().unwrap(), wrong.to_str().unwrap()]).exits(4).stdout;
    assert!(text.starts_with("Corrupt: ") && text.contains("1a:00.0 to 2b:00.0"), "{text}");
}

#[test]
fn another_host_is_incomparable_and_the_fields_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let other = measured(folder.path(), "other.json", "seed=15;name=NVIDIA Fake 8000;link-max=4x16");
    let ran = compare(clean(), &other).exits(5);
    let found = verdict(&ran);
    assert_eq!(found.verdict, Overall::Incomparable);
    let fields: Vec<&str> = found.incomparable.iter().map(|d| d.field.as_str()).collect();
    assert_eq!(fields, ["gpus[0].name", "gpus[0].link_max", "gpus[1].name", "gpus[1].link_max"]);
    let text = peerfix(&["compare", clean().to_str().unwrap(), other.to_str().unwrap()]).exits(5).stdout;
    assert!(text.starts_with("Incomparable: gpus[0].name was \"NVIDIA Fake 9000\" before"), "{text}");
    let four = measured(folder.path(), "four.json", "seed=16;gpus=3");
    let found = verdict(&compare(clean(), &four).exits(5));
    assert_eq!(found.incomparable.iter().map(|d| d.field.as_str()).collect::<Vec<_>>(), ["gpus"]);
}

#[test]
fn an_edited_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(clean()).unwrap();
    let mut record: Record = serde_json::from_str(&text).unwrap();
    let arm = record.pairs[0].arms.iter_mut().find(|a| a.name == "ce-write").unwrap();
    arm.samples.iter_mut().for_each(|x| *x *= 2.0);
    let edited = folder.path().join("edited.json");
    std::fs::write(&edited, serde_json::to_string_pretty(&record).unwrap()).unwrap();
    let ran = compare(clean(), &edited).exits(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("edited.json: hash mismatch"), "{}", ran.stderr);
}

#[test]
fn an_output_that_is_a_link_or_a_device_is_written_through_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let record: Record = serde_json::from_slice(&std::fs::read(clean()).unwrap()).unwrap();
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    std::fs::write(&target, "longer than nothing").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let write = |to: &Path| Destination::prepare(Some(to)).and_then(|to| to.write(&record));
    write(&link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(read::record(&std::fs::read(&target).unwrap()).unwrap().record, record);
    let device = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    write(&device).unwrap();
    assert!(device.is_symlink() && std::fs::read("/dev/null").unwrap().is_empty());
    assert!(write(folder.path()).is_err(), "a folder");
    assert!(write(&folder.path().join("no/such/folder")).is_err());
}
