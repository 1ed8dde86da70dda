//! `peerfix compare`: what two records say about the change between them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::record::{FULL, Noise, QUICK, arm, bdf, calm, ends, first, record, scaled};
use common::run::{Ran, peerfix};
use peerfix::bench::record::{Outcome, Record};
use peerfix::verdict::document::{About, ArmVerdict, Call, Cause, Overall};
use peerfix::verdict::read::{self, Hash, ReadError};
use peerfix::verdict::{Settings, Verdict, compare};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::fmt::Write;

fn judge(before: &Record, after: &Record) -> Verdict {
    compare(before, after, &Settings::default())
}

#[track_caller]
fn found<'a>(verdict: &'a Verdict, name: &str) -> &'a ArmVerdict {
    let pair = (Some(bdf(0)), Some(bdf(1)));
    verdict.arms.iter().find(|a| a.arm == name && (a.from.clone(), a.to.clone()) == pair).unwrap()
}

// --- speed ---------------------------------------------------------------------------------------------

#[test]
fn a_slower_arm_is_worse_and_named_with_its_interval() {
    let verdict = judge(&calm(1), &scaled(calm(2), "ce-read", 0.9));
    assert_eq!(verdict.verdict, Overall::Worse);
    assert!(verdict.reason.starts_with("ce-read 20:00.0 to 21:00.0 is slower: -"), "{}", verdict.reason);
    let change = found(&verdict, "ce-read").change.unwrap();
    let [low, high] = change.interval;
    assert!(low < -9.9 && -10.2 < high && high < -9.0 && (change.percent + 10.0).abs() < 0.5, "{change:?}");
    assert_eq!(verdict.arms.iter().filter(|a| a.verdict == Call::Worse).count(), 1);
}

#[test]
fn a_faster_arm_is_better_and_a_shorter_latency_too() {
    assert_eq!(judge(&calm(1), &scaled(calm(2), "sm-write", 1.1)).verdict, Overall::Better);
    assert_eq!(judge(&calm(1), &scaled(calm(2), "latency-copy-4", 0.8)).verdict, Overall::Better);
    assert_eq!(judge(&calm(1), &scaled(calm(2), "latency-copy-4", 1.2)).verdict, Overall::Worse);
}

#[test]
fn a_change_below_the_threshold_is_the_same_and_one_across_it_is_open() {
    assert_eq!(judge(&calm(1), &scaled(calm(2), "ce-read", 0.985)).verdict, Overall::Same);
    let verdict = judge(&calm(1), &scaled(calm(2), "ce-read", 0.965));
    assert_eq!(verdict.verdict, Overall::Inconclusive, "{}", verdict.reason);
    let strict = Settings { threshold_percent: 0.5, ..Settings::default() };
    assert_eq!(compare(&calm(1), &scaled(calm(2), "ce-read", 0.965), &strict).verdict, Overall::Worse);
}

#[test]
fn a_latency_may_move_by_a_fifth_of_a_microsecond() {
    let mut slow = calm(2);
    first(&mut slow, "latency-load").samples.iter_mut().for_each(|x| *x += 150.0);
    let verdict = judge(&calm(1), &slow);
    assert_eq!(verdict.verdict, Overall::Same, "{}", verdict.reason);
    let why = "within the floor of 0.2 us, 24 % of this latency: not judged below it";
    assert_eq!(found(&verdict, "latency-load").why, why);
    assert!(verdict.reason.ends_with(why), "nothing is left out in silence: {}", verdict.reason);
    let text = run(&written(&calm(1)), &written(&slow), &[]).exits(0).stdout.replace('\n', " ");
    assert!(text.contains(why), "{text}");
    assert!(judge(&calm(1), &calm(2)).arms.iter().all(|a| !a.why.contains("floor")), "only what moved");
    first(&mut slow, "latency-load").samples.iter_mut().for_each(|x| *x += 150.0);
    assert_eq!(judge(&calm(1), &slow).verdict, Overall::Worse);
}

#[test]
fn a_noise_floor_known_from_elsewhere_raises_the_threshold() {
    let settings = Settings { floor_percent: 8.0, ..Settings::default() };
    let verdict = compare(&calm(1), &scaled(calm(2), "ce-read", 0.94), &settings);
    assert_eq!(found(&verdict, "ce-read").verdict, Call::Same);
    let change = found(&verdict, "ce-read").change.unwrap();
    assert!(
        (change.threshold_percent - 8.0).abs() < 1e-6
            && (verdict.measure.floor_bulk_percent - 8.0).abs() < 1e-6
    );
}

#[test]
fn too_few_or_senseless_samples_are_inconclusive() {
    let mut few = calm(2);
    first(&mut few, "ce-read").samples.truncate(4);
    let verdict = judge(&calm(1), &few);
    assert_eq!(verdict.verdict, Overall::Inconclusive);
    assert!(verdict.reason.contains("9 before and 4 after, 5 are needed"), "{}", verdict.reason);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut record = calm(2);
        first(&mut record, "ce-read").samples[0] = bad;
        assert_eq!(judge(&calm(1), &record).verdict, Overall::Inconclusive, "{bad}");
    }
}

#[test]
fn scatter_that_hides_ten_percent_is_inconclusive() {
    let wild = Noise { sigma: 0.12, ..Noise::default() };
    let calm = Noise { sigma: 0.005, ..Noise::default() };
    let verdict = judge(&record(1, 2, FULL, calm, wild), &record(2, 2, FULL, calm, wild));
    assert_eq!(verdict.verdict, Overall::Inconclusive, "{}", verdict.reason);
}

// --- data and outcomes ---------------------------------------------------------------------------------

#[test]
fn wrong_data_outranks_any_gain() {
    let after = ends(scaled(calm(2), "sm-read", 2.0), "ce-write", Outcome::Corrupt);
    let verdict = judge(&calm(1), &after);
    assert_eq!((verdict.verdict, verdict.about), (Overall::Corrupt, About::Peer));
    assert!(
        verdict.reason.contains("ce-write") && verdict.reason.contains("8 words stale"),
        "{}",
        verdict.reason
    );
}

#[test]
fn data_that_became_right_is_better_whatever_the_speed() {
    let before = ends(calm(1), "ce-write", Outcome::Corrupt);
    let verdict = judge(&before, &scaled(calm(2), "sm-read", 0.5));
    assert_eq!(verdict.verdict, Overall::Better);
    assert!(verdict.reason.contains("does not outweigh"), "{}", verdict.reason);
    assert_eq!(judge(&before, &before).verdict, Overall::Corrupt, "still wrong");
    let refused = ends(calm(2), "ce-write", Outcome::Refused);
    assert_eq!(
        judge(&before, &refused).verdict,
        Overall::Inconclusive,
        "no longer wrong, no longer possible"
    );
}

#[test]
fn a_wrong_control_arm_is_about_the_host() {
    let after = ends(ends(calm(2), "staged", Outcome::Corrupt), "ce-read", Outcome::Corrupt);
    let verdict = judge(&calm(1), &after);
    assert_eq!((verdict.verdict, verdict.about), (Overall::Corrupt, About::Host));
    assert!(verdict.reason.contains("host is at fault"), "{}", verdict.reason);
}

#[test]
fn arms_that_no_longer_end_well_are_worse() {
    for (outcome, overall) in [
        (Outcome::Hang, Overall::Hang),
        (Outcome::Crash, Overall::Worse),
        (Outcome::Failed, Overall::Worse),
        (Outcome::Refused, Overall::Worse),
        (Outcome::Skipped, Overall::Inconclusive),
    ] {
        assert_eq!(judge(&calm(1), &ends(calm(2), "sm-read", outcome)).verdict, overall, "{outcome:?}");
    }
    for outcome in [Outcome::Hang, Outcome::Crash, Outcome::Failed] {
        let both = judge(&ends(calm(1), "sm-read", outcome), &ends(calm(2), "sm-read", outcome));
        assert_eq!(both.verdict, Overall::Same, "{outcome:?} in both");
        assert_eq!(
            judge(&ends(calm(1), "sm-read", outcome), &calm(2)).verdict,
            Overall::Better,
            "{outcome:?}"
        );
    }
    let worsened =
        judge(&ends(calm(1), "sm-read", Outcome::Refused), &ends(calm(2), "sm-read", Outcome::Hang));
    assert_eq!(worsened.verdict, Overall::Hang);
}

#[test]
fn a_lost_or_new_arm_is_named() {
    let mut fewer = calm(2);
    fewer.pairs[0].arms.retain(|arm| arm.name != "sm-read");
    let lost = judge(&calm(1), &fewer);
    assert_eq!((lost.verdict, found(&lost, "sm-read").verdict), (Overall::Inconclusive, Call::OnlyBefore));
    let new = judge(&fewer, &calm(1));
    assert_eq!((new.verdict, found(&new, "sm-read").verdict), (Overall::Same, Call::OnlyAfter));
}

#[test]
fn arms_over_all_gpus_are_judged_too() {
    let with = |seed, factor: f64| {
        let mut record = calm(seed);
        let samples: Vec<f64> = record.pairs[0].arms[0].samples.iter().map(|x| x * factor).collect();
        record.fabric = vec![arm("dense", "GB/s", 1 << 28, &samples)];
        record
    };
    let verdict = judge(&with(1, 1.0), &with(2, 0.8));
    assert_eq!(verdict.verdict, Overall::Worse);
    assert!(verdict.reason.starts_with("dense over all GPUs"), "{}", verdict.reason);
}

// --- newly possible ------------------------------------------------------------------------------------

const PEER: [&str; 4] = ["ce-read", "ce-write", "sm-read", "sm-write"];

fn refused(seed: u64) -> Record {
    PEER.iter().fold(calm(seed), |record, name| ends(record, name, Outcome::Refused))
}

#[test]
fn a_newly_possible_path_is_compared_with_the_staging_it_replaces() {
    let verdict = judge(&refused(1), &calm(2));
    assert_eq!(verdict.verdict, Overall::Better);
    let arm = found(&verdict, "ce-read");
    assert_eq!(arm.replaces.as_deref(), Some("staged-double"), "the fastest staging");
    assert!(arm.change.unwrap().percent > 500.0);
}

#[test]
fn possible_but_slower_is_said() {
    let after = PEER.iter().fold(calm(2), |record, name| scaled(record, name, 0.05));
    let verdict = judge(&refused(1), &after);
    assert_eq!((verdict.verdict, verdict.possible_but_slower), (Overall::Worse, true));
    assert!(verdict.reason.contains("possible but slower"), "{}", verdict.reason);
    let also = judge(&refused(1), &scaled(after, "staged", 0.5));
    assert_eq!((also.verdict, also.possible_but_slower), (Overall::Worse, false));
}

#[test]
fn small_copies_are_compared_with_staging_of_their_size_only() {
    let before = ends(calm(1), "latency-copy-4096", Outcome::Refused);
    let verdict = judge(&before, &calm(2));
    assert_eq!(found(&verdict, "latency-copy-4096").verdict, Call::OnlyAfter, "no staging of that size");
    let mut before = before;
    let samples: Vec<f64> = first(&mut before, "latency-copy-1024").samples.iter().map(|x| x * 3.0).collect();
    before.pairs[0].arms.push(arm("driver-staged-4096", "us", 4096, &samples));
    let verdict = judge(&before, &calm(2));
    let small = found(&verdict, "latency-copy-4096");
    assert_eq!((small.verdict, small.replaces.as_deref()), (Call::Better, Some("driver-staged-4096")));
}

// --- counters ------------------------------------------------------------------------------------------

#[test]
fn new_faults_make_an_arm_worse_and_vanished_ones_prove_nothing() {
    type Edit = fn(&mut peerfix::bench::record::Deltas);
    let edits: [(Edit, &str); 4] = [
        (|d| d.iommu_faults = Some(3), "3 IOMMU faults"),
        (|d| d.aer_uncorrectable = Some(1), "1 uncorrectable"),
        (|d| d.xids = Some(vec![79]), "Xid 79"),
        (|d| d.aer_correctable = Some(400), "400 correctable"),
    ];
    for (edit, words) in edits {
        let mut after = scaled(calm(2), "ce-read", 1.3);
        edit(&mut first(&mut after, "ce-read").deltas);
        let verdict = judge(&calm(1), &after);
        assert_eq!((verdict.verdict, found(&verdict, "ce-read").cause), (Overall::Worse, Cause::Counters));
        assert!(verdict.reason.contains(words), "{}", verdict.reason);
        let mut before = calm(1);
        edit(&mut first(&mut before, "ce-read").deltas);
        assert_eq!(judge(&before, &calm(2)).verdict, Overall::Same, "{words} gone");
    }
    let mut after = calm(2);
    first(&mut after, "ce-read").deltas.aer_correctable = Some(1);
    assert_eq!(judge(&calm(1), &after).verdict, Overall::Same, "one corrected error is chance");
}

// --- comparable ----------------------------------------------------------------------------------------

#[test]
fn another_machine_or_method_is_incomparable_and_the_field_is_named() {
    type Edit = fn(&mut Record);
    let edits: [(Edit, &str); 13] = [
        (|r| r.mode = "quick".to_owned(), "mode"),
        (|r| r.method = vec!["peer access first".to_owned()], "method"),
        (|r| r.state.cpu = Some("Other".to_owned()), "state.cpu"),
        (|r| r.state.hypervisor = Some("kvm".to_owned()), "state.hypervisor"),
        (|r| r.state.api = None, "state.api"),
        (
            |r| _ = r.state.environment.insert("CUDA_LAUNCH_BLOCKING".to_owned(), "1".to_owned()),
            "state.environment.CUDA_LAUNCH_BLOCKING",
        ),
        (|r| _ = r.gpus.pop(), "gpus"),
        (|r| r.gpus[0].uuid_hash = "other".to_owned(), "gpus[].uuid_hash"),
        (|r| r.gpus[0].bdf = "0000:40:00.0".to_owned(), "gpus[].bdf"),
        (|r| r.gpus.reverse(), "gpus[].bdf"),
        (|r| r.gpus[1].name = "Other".to_owned(), "gpus[1].name"),
        (|r| r.gpus[1].link_max.width = 8, "gpus[1].link_max"),
        (|r| first(r, "ce-read").bytes = 1 << 20, "pairs[0000:20:00.0 to 0000:21:00.0].ce-read.bytes"),
    ];
    for (edit, field) in edits {
        let mut after = calm(2);
        edit(&mut after);
        let verdict = judge(&calm(1), &after);
        assert_eq!(verdict.verdict, Overall::Incomparable, "{field}");
        let first = &verdict.incomparable[0];
        assert_eq!(first.field, field);
        assert!(first.before != first.after && !first.why.is_empty() && verdict.arms.is_empty());
        assert!(verdict.reason.starts_with(field), "{}", verdict.reason);
    }
}

#[test]
fn what_a_change_is_about_may_differ_and_is_listed() {
    let mut after = calm(2);
    after.state.kernel = Some("6.14.1".to_owned());
    after.state.cmdline = Some("BOOT_IMAGE=/other root=... quiet iommu=pt peerfix.trial=0004".to_owned());
    after.state.driver = Some("575.1".to_owned());
    after.state.boot_id = Some("77aa".to_owned());
    after.state.parameters.insert("NVreg_Example".to_owned(), "1".to_owned());
    after.gpus[0].domain_type = Some("identity".to_owned());
    after.gpus[0].bar1 = None;
    after.gpus[0].link_max.generation = 0;
    let verdict = judge(&calm(1), &after);
    assert_eq!(verdict.verdict, Overall::Same);
    let fields: Vec<&str> = verdict.differs.iter().map(|d| d.field.as_str()).collect();
    let want = [
        "state.kernel",
        "state.cmdline",
        "state.driver",
        "state.parameters.NVreg_Example",
        "gpus[0].bar1",
        "gpus[0].domain_type",
    ];
    assert_eq!(fields, want);
    assert_eq!(verdict.differs[1].after, "root=... quiet iommu=pt");
}

#[test]
fn nothing_in_common_is_no_good_news() {
    let mut empty = calm(1);
    empty.pairs.clear();
    assert_eq!(judge(&empty, &empty).verdict, Overall::Inconclusive);
}

// --- laws ----------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn exchanging_the_records_mirrors_every_speed(
        seed in 0_u64..1000, factor in 0.8..1.25_f64, sigma in 0.001..0.03_f64, quick in any::<bool>(),
    ) {
        let noise = Noise { sigma, strays: 0.02, stray: 0.2, ..Noise::default() };
        let counts = if quick { QUICK } else { FULL };
        let a = record(seed, 2, counts, noise, noise);
        let b = scaled(record(seed + 5000, 2, counts, noise, noise), "ce-read", factor);
        let (there, back) = (judge(&a, &b), judge(&b, &a));
        for (x, y) in there.arms.iter().zip(&back.arms) {
            let mirrored = match x.verdict {
                Call::Better => Call::Worse,
                Call::Worse => Call::Better,
                other => other,
            };
            prop_assert_eq!(y.verdict, mirrored, "{}", &x.arm);
        }
    }

    #[test]
    fn scale_and_order_of_samples_change_nothing(seed in 0_u64..1000, scale in 0.01..100.0_f64, factor in 0.85..1.15_f64) {
        let a = calm(seed);
        let b = scaled(calm(seed + 5000), "ce-read", factor);
        let plain = judge(&a, &b);
        let both = judge(&scaled(a.clone(), "ce-read", scale), &scaled(b.clone(), "ce-read", scale));
        let call = |v: &Verdict| found(v, "ce-read").verdict;
        prop_assert_eq!(call(&plain), call(&both));
        // The order matters to the noise floor alone, which a threshold of 3 % covers here.
        let mut turned = b;
        turned.pairs.iter_mut().flat_map(|p| &mut p.arms).for_each(|arm| arm.samples.reverse());
        prop_assert_eq!(call(&plain), call(&judge(&a, &turned)));
    }

    #[test]
    fn nothing_panics_on_any_samples(samples in prop::collection::vec(any::<f64>(), 0..20), unit in "GB/s|us|ns|") {
        let mut b = calm(2);
        let arm = first(&mut b, "ce-read");
        arm.samples = samples;
        arm.unit = unit;
        let verdict = judge(&calm(1), &b);
        let json = serde_json::to_string(&verdict).unwrap();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }

    #[test]
    fn nothing_panics_on_any_document(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read::record(&bytes).is_err());
    }
}

// --- reading -------------------------------------------------------------------------------------------

fn written(record: &Record) -> String {
    let mut record = record.clone();
    record.hash = String::new();
    let digest = Sha256::digest(serde_json::to_string_pretty(&record).unwrap());
    digest.iter().for_each(|byte| write!(record.hash, "{byte:02x}").unwrap());
    serde_json::to_string_pretty(&record).unwrap() + "\n"
}

#[test]
fn a_hash_tells_an_edited_record() {
    let text = written(&calm(1));
    assert_eq!(read::record(text.as_bytes()).unwrap().hash, Hash::Matches);
    let edited = text.replacen("6.12.3", "6.12.4", 1);
    assert_eq!(read::record(edited.as_bytes()).unwrap().hash, Hash::Differs);
    let plain = serde_json::to_string(&calm(1)).unwrap();
    assert_eq!(read::record(plain.as_bytes()).unwrap().hash, Hash::Absent);
}

#[test]
fn a_newer_minor_is_read_and_a_newer_major_refused() {
    let mut value = serde_json::to_value(calm(1)).unwrap();
    value["version"]["minor"] = 9.into();
    value["later"] = "unknown".into();
    value["pairs"][0]["arms"][0]["later"] = 1.into();
    assert!(read::record(value.to_string().as_bytes()).is_ok());
    value["version"]["major"] = 2.into();
    value["program"] = "3.1.0".into();
    value["pairs"] = "another shape".into();
    let error = read::record(value.to_string().as_bytes()).unwrap_err();
    assert_eq!(error, ReadError::Newer { found: 2, program: "3.1.0".to_owned() });
    assert!(error.to_string().contains("peerfix 3.1.0 or newer"));
}

#[test]
fn what_is_no_record_is_told_apart() {
    let other = br#"{"schema": "peerfix/audit", "version": {"major": 1, "minor": 0}}"#;
    assert!(matches!(read::record(other), Err(ReadError::OtherSchema(found)) if found == "peerfix/audit"));
    let whole = written(&calm(1));
    let half = &whole.as_bytes()[..whole.len() / 2];
    assert!(matches!(read::record(half), Err(ReadError::Malformed(_))));
    let deep = "[".repeat(100_000);
    assert!(matches!(read::record(deep.as_bytes()), Err(ReadError::Malformed(_))));
    assert!(matches!(read::record(b"\xff\xfe{}"), Err(ReadError::Malformed(_))));
}

// --- the command ---------------------------------------------------------------------------------------

fn run(before: &str, after: &str, more: &[&str]) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.json"), dir.path().join("b.json"));
    std::fs::write(&a, before).unwrap();
    std::fs::write(&b, after).unwrap();
    let mut args = vec!["compare", a.to_str().unwrap(), b.to_str().unwrap()];
    args.extend(more);
    peerfix(&args)
}

#[test]
fn the_verdict_decides_the_exit_code() {
    let calm_text = written(&calm(1));
    let with = |record: &Record| run(&calm_text, &written(record), &[]);
    assert!(with(&calm(2)).exits(0).stdout.starts_with("Same: none of"));
    assert!(with(&scaled(calm(2), "ce-read", 1.2)).exits(0).stdout.starts_with("Better: ce-read"));
    assert!(with(&scaled(calm(2), "ce-read", 0.9)).exits(4).stdout.starts_with("Worse: ce-read"));
    assert!(with(&ends(calm(2), "ce-read", Outcome::Corrupt)).exits(4).stdout.starts_with("Corrupt: "));
    assert!(with(&ends(calm(2), "ce-read", Outcome::Hang)).exits(4).stdout.starts_with("Hang: "));
    assert!(with(&scaled(calm(2), "ce-read", 0.965)).exits(5).stdout.starts_with("Inconclusive: "));
    let mut other = calm(2);
    other.gpus[0].bdf = "0000:40:00.0".to_owned();
    let ran = with(&other).exits(5);
    assert!(
        ran.stdout.starts_with("Incomparable: gpus[].bdf was \"0000:20:00.0 0000:21:00.0\""),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_threshold_is_given_in_percent() {
    let (a, b) = (written(&calm(1)), written(&scaled(calm(2), "ce-read", 0.94)));
    run(&a, &b, &[]).exits(4);
    run(&a, &b, &["--threshold", "8"]).exits(0);
    for bad in ["0", "-3", "100", "x", "NaN", "inf"] {
        run(&a, &b, &[&format!("--threshold={bad}")]).exits(2);
    }
}

#[test]
fn text_has_a_row_per_arm_and_markdown_and_json_the_same_content() {
    let (a, b) = (written(&calm(1)), written(&scaled(calm(2), "ce-read", 0.9)));
    let text = run(&a, &b, &[]).exits(4).stdout;
    let row = text.lines().find(|l| l.starts_with(" 20:00.0 > 21:00.0") && l.contains("ce-read")).unwrap();
    assert!(row.contains("393.8 GB/s") && row.ends_with("WORSE"), "{row}");
    let json = run(&a, &b, &["--format", "json"]).exits(4).json();
    assert_eq!(json["schema"], "peerfix/verdict");
    assert_eq!(json["version"]["major"], 1);
    assert_eq!(json["verdict"], "worse");
    assert_eq!(json["arms"].as_array().unwrap().len(), 44);
    let markdown = run(&a, &b, &["--format", "markdown"]).exits(4).stdout;
    assert!(markdown.contains("**Worse**") && markdown.contains("| ce-read |"), "{markdown}");
}

#[test]
fn what_cannot_be_read_exits_2_and_names_the_file() {
    let good = written(&calm(1));
    let ran = run(&good, "{", &[]).exits(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("b.json"), "{}", ran.stderr);
    let newer = good.replacen("\"major\": 1", "\"major\": 2", 1);
    assert!(run(&newer, &good, &[]).exits(2).stderr.contains("version 2"));
    assert!(peerfix(&["compare", "/no/such/a", "/no/such/b"]).exits(2).stderr.contains("/no/such/a"));
    assert!(peerfix(&["compare", "/", "/"]).exits(2).stderr.contains("/:"));
}

#[test]
fn an_edited_record_is_refused_and_one_without_a_hash_is_said() {
    let edited = written(&calm(2)).replacen("6.12.3", "6.12.4", 1);
    for (a, b, name) in [(&written(&calm(1)), &edited, "b.json"), (&edited, &written(&calm(1)), "a.json")] {
        let ran = run(a, b, &[]).exits(2);
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(&format!("{name}: hash mismatch")),
            "{}",
            ran.stderr
        );
    }
    let open = serde_json::to_string_pretty(&calm(2)).unwrap();
    let ran = run(&written(&calm(1)), &open, &[]).exits(0);
    assert!(ran.stderr.contains("b.json: carries no hash"), "{}", ran.stderr);
}

#[test]
fn what_the_program_seals_can_be_checked_with_the_tools_of_any_host() {
    let mut record = calm(1);
    peerfix::bench::run::seal(&mut record);
    assert_eq!(serde_json::to_string_pretty(&record).unwrap() + "\n", written(&calm(1)));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("record.json");
    std::fs::write(&file, written(&calm(1))).unwrap();
    let script = "sed 's/^  \"hash\": \"[0-9a-f]*\"/  \"hash\": \"\"/' \"$0\" | head -c -1 | sha256sum";
    let output = std::process::Command::new("sh").args(["-c", script]).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}  -\n", record.hash));
}

#[test]
fn a_record_cannot_steer_the_terminal() {
    let mut hostile = calm(2);
    hostile.id = "\u{1b}]0;owned\u{7}".to_owned();
    hostile.state.kernel = Some("\u{1b}[2J".to_owned());
    let ran = run(&written(&calm(1)), &written(&hostile), &["--color", "always"]).exits(0);
    assert!(!ran.stdout.contains("\u{1b}]") && !ran.stdout.contains("\u{1b}[2J"), "{}", ran.stdout);
}
