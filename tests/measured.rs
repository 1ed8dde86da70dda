//! What the newest benchmark record in the state folder says of the host: `bench/peer-slower-than-staged`, and
//! the rungs that only a measurement can judge.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Tree;
use common::contract::{Audit, audit};
use common::hosts;
use common::record::{bdf, calm, ends, first, scaled};
use peerfix::bench::record::{Outcome, Record};
use peerfix::bench::run::seal;
use peerfix::host::Host;
use peerfix::host::measured::FOLDER;
use peerfix::root::Root;

/// The GPUs of the host.
const GPUS: [&str; 2] = ["0000:01:00.0", "0000:41:00.0"];
const RULE: &str = "bench/peer-slower-than-staged";

/// `record` as if this host had measured it in its present boot.
fn here(mut record: Record, tree: &Tree) -> Record {
    let root = Root::open(tree.path()).unwrap();
    let host = Host::read(&root, &root);
    let moved = |name: &str| GPUS[usize::from(name == bdf(1))].to_owned();
    for pair in &mut record.pairs {
        (pair.from, pair.to) = (moved(&pair.from), moved(&pair.to));
        // Checked where they landed, on every path.
        pair.arms.push(common::record::arm("resident", "us", 4096, &[3.0; 5]));
    }
    for gpu in &mut record.gpus {
        let at = host.gpus.iter().find(|here| here.bdf == moved(&gpu.bdf)).unwrap();
        gpu.bdf.clone_from(&at.bdf);
        gpu.name = at.name.value().unwrap().clone();
        gpu.domain_type = Some(at.domain_type.value().map_or("none", String::as_str).to_owned());
    }
    record.state.boot_id = Some(host.kernel.boot_id.value().expect("a boot id").clone());
    record.state.driver = host.nvidia.version.value().cloned();
    record.state.cpu = host.cpu.name.value().cloned();
    for arm in record.pairs.iter_mut().flat_map(|pair| &mut pair.arms) {
        let mut sorted = arm.samples.clone();
        sorted.sort_by(f64::total_cmp);
        arm.median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    }
    record
}

fn keep(tree: Tree, mut record: Record) -> Tree {
    seal(&mut record);
    let text = serde_json::to_string_pretty(&record).unwrap() + "\n";
    tree.file(&format!("{FOLDER}/{}.json", record.id), text)
}

fn host() -> Tree {
    hosts::two_4090_patched().file("proc/sys/kernel/random/boot_id", "9a0c4c1e-0000-4000-8000-00000000a11c\n")
}

/// The audit of the host with this record.
fn with(change: impl FnOnce(Record) -> Record) -> Audit {
    let tree = host();
    let record = change(here(calm(1), &tree));
    audit(&keep(tree, record))
}

fn rung(audit: &Audit, name: &str) -> (String, String) {
    audit.pair(GPUS[0], GPUS[1]).outcomes(name)
}

fn both(outcome: &str) -> (String, String) {
    (outcome.to_owned(), outcome.to_owned())
}

fn slower(record: Record) -> Record {
    // 394 GB/s become 4.7, below the 52.8 of staging.
    ["ce-read", "ce-write"].into_iter().fold(record, |mut record, name| {
        record = scaled(record, name, 0.012);
        let arm = first(&mut record, name);
        arm.median = arm.samples[0];
        record
    })
}

#[test]
fn staging_that_wins_is_named_and_no_boot_option_is_offered() {
    let audit = with(slower);
    let finding = audit.finding(RULE).is("warn");
    let finding = finding.says("NCCL_P2P_DISABLE=1").says("GGML_CUDA_NO_PEER_COPY");
    finding.names("0000:01:00.0-0000:41:00.0").does_not_name("0000:41:00.0-0000:01:00.0");
    let finding = finding.quotes("var/lib/peerfix/records/20300102T030405Z-00000001.json");
    assert!(finding.ladder().is_empty(), "never a change");
    assert_eq!(rung(&audit, "throughput"), ("fail".to_owned(), "pass".to_owned()));
    assert_eq!(rung(&audit, "copy-engine-data"), both("pass"), "slow and right");
}

#[test]
fn peer_copies_that_win_are_quiet_and_pass_every_rung() {
    let audit = with(|record| record);
    audit.finding(RULE).is("pass");
    for name in ["copy-engine-data", "sm-data", "resident-consumer", "throughput"] {
        assert_eq!(rung(&audit, name), both("pass"), "{name}");
    }
}

#[test]
fn without_a_record_it_is_said() {
    let bare = audit(&host());
    bare.finding(RULE).is("not-applicable").says("No benchmark record of this host").says("peerfix bench");
    for name in ["copy-engine-data", "sm-data", "resident-consumer", "throughput"] {
        assert_eq!(rung(&bare, name), both("unknown"), "{name}");
    }
    // Files that are no records do not count.
    let tree = host().file(&format!("{FOLDER}/notes.txt"), "x").file(&format!("{FOLDER}/latest.json"), "x");
    audit(&tree).finding(RULE).is("not-applicable");
}

#[test]
fn wrong_data_fails_the_rung_of_the_engine_in_the_direction_that_initiates() {
    // Pair 0 to 1: GPU 0 writes, GPU 1 reads.
    for (arm, name, outcomes) in [
        ("ce-write", "copy-engine-data", ("fail", "pass")),
        ("ce-read", "copy-engine-data", ("pass", "fail")),
        ("sm-write", "sm-data", ("fail", "pass")),
        ("sm-read", "sm-data", ("pass", "fail")),
        ("resident", "resident-consumer", ("fail", "pass")),
        ("bidirectional", "copy-engine-data", ("fail", "fail")),
        ("allreduce-256", "sm-data", ("fail", "fail")),
    ] {
        let audit = with(|record| ends(record, arm, Outcome::Corrupt));
        assert_eq!(rung(&audit, name), (outcomes.0.to_owned(), outcomes.1.to_owned()), "{arm}");
    }
    let hang = with(|record| ends(record, "sm-read", Outcome::Hang));
    assert_eq!(rung(&hang, "sm-data").1, "fail");
    let skipped = with(|record| ends(record, "sm-read", Outcome::Skipped));
    assert_eq!(rung(&skipped, "sm-data"), ("pass".to_owned(), "unknown".to_owned()));
    let faults = with(|mut record| {
        first(&mut record, "ce-write").deltas.iommu_faults = Some(3);
        record
    });
    assert_eq!(rung(&faults, "copy-engine-data").0, "fail");
    let unchecked = with(|mut record| {
        first(&mut record, "ce-write").words_checked = 0;
        record
    });
    assert_eq!(rung(&unchecked, "copy-engine-data").0, "unknown", "speed without a check proves nothing");
}

#[test]
fn a_record_of_another_boot_or_state_feeds_the_rule_and_no_rung() {
    type Change = fn(&mut Record);
    let changes: [(&str, Change); 4] = [
        ("another boot", |r| r.state.boot_id = Some("elsewhen".to_owned())),
        ("not known", |r| r.state.boot_id = None),
        ("driver 1.2.3", |r| r.state.driver = Some("1.2.3".to_owned())),
        ("IOMMU domain", |r| r.gpus[1].domain_type = Some("identity".to_owned())),
    ];
    for (why, change) in changes {
        let tree = if why == "IOMMU domain" { translated(host()) } else { host() };
        let mut record = slower(here(calm(1), &tree));
        change(&mut record);
        let audit = audit(&keep(tree, record));
        audit.finding(RULE).is("warn");
        for name in ["copy-engine-data", "throughput"] {
            assert_eq!(rung(&audit, name), both("unknown"), "{why}");
        }
        let rungs = audit.json["pairs"][0]["rungs"].as_array().unwrap();
        assert!(rungs[6]["why"].as_str().unwrap().contains(why), "{why}: {}", rungs[6]);
    }
}

/// The second GPU in a translating domain.
fn translated(tree: Tree) -> Tree {
    tree.file("sys/kernel/iommu_groups/30/type", "DMA-FQ\n")
        .link(
            "sys/kernel/iommu_groups/30/devices/0000:41:00.0",
            "../../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0",
        )
        .link(
            "sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/iommu_group",
            "../../../../kernel/iommu_groups/30",
        )
}

#[test]
fn a_record_that_cannot_be_judged_is_unknown_with_the_reason() {
    let tree = host();
    let mut sealed = slower(here(calm(1), &tree));
    seal(&mut sealed);
    let text = serde_json::to_string_pretty(&sealed).unwrap();
    let name = format!("{FOLDER}/20300102T030405Z-00000001.json");
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("not a readable record", b"{".to_vec()),
        ("not a readable record", Vec::new()),
        ("not a readable record", b"\xff\xfe".to_vec()),
        ("not a readable record", "[".repeat(100_000).into_bytes()),
        ("not a readable record", text.as_bytes()[..text.len() / 2].to_vec()),
        ("found peerfix/audit", text.replacen("peerfix/record", "peerfix/audit", 1).into_bytes()),
        ("record version 2", text.replacen("\"major\": 1", "\"major\": 2", 1).into_bytes()),
        ("hash mismatch", text.replacen("\"seed\": 1", "\"seed\": 2", 1).into_bytes()),
        ("hash mismatch", text.replacen(&sealed.hash, "", 1).into_bytes()),
    ];
    for (why, bytes) in cases {
        let audit = audit(&host().file(&name, bytes));
        audit.finding(RULE).is("unknown").says(why);
        assert_eq!(rung(&audit, "copy-engine-data"), both("unknown"), "{why}");
        assert!(audit.json["pairs"][0]["rungs"][3]["why"].as_str().unwrap().contains(why), "{why}");
    }
    let folder = audit(&host().dir(&name));
    folder.finding(RULE).is("unknown");
    let link = audit(&host().link(&name, "20300102T030405Z-00000001.json"));
    link.finding(RULE).is("unknown");
}

#[test]
fn the_newest_record_counts_alone() {
    let tree = host();
    let mut older = slower(here(calm(1), &tree));
    older.id = "20300101T000000Z-ffffffff".to_owned();
    let newer = here(calm(2), &tree);
    let tree = keep(keep(tree, older), newer);
    audit(&tree).finding(RULE).is("pass");
    let tree = tree.file(&format!("{FOLDER}/20310101T000000Z-00000000.json"), "{");
    audit(&tree).finding(RULE).is("unknown");
}

#[test]
fn a_record_of_another_machine_is_not_taken_for_this_one() {
    let other = with(|mut record| {
        record.state.cpu = Some("Another CPU".to_owned());
        record
    });
    other.finding(RULE).is("unknown").says("another machine").says("Another CPU");
    let moved = with(|mut record| {
        record.gpus[0].bdf = "0000:77:00.0".to_owned();
        record
    });
    moved.finding(RULE).is("unknown").says("0000:77:00.0");
}

#[test]
fn rejected_requests_in_the_log_outrank_a_record_that_went_well() {
    let tree = hosts::z890();
    let text = audit(&tree);
    let (a, b) = {
        let pair = &text.json["pairs"][0];
        (pair["a"].as_str().unwrap().to_owned(), pair["b"].as_str().unwrap().to_owned())
    };
    let lost = text.pair(&a, &b).outcomes("copy-engine-data");
    assert!(lost.0 == "fail" || lost.1 == "fail", "{lost:?}");
    let root = Root::open(tree.path()).unwrap();
    let host = Host::read(&root, &root);
    let mut record = calm(1);
    for (gpu, at) in record.gpus.iter_mut().zip([&a, &b]) {
        let here = host.gpus.iter().find(|gpu| gpu.bdf == *at).unwrap();
        gpu.bdf.clone_from(at);
        gpu.name = here.name.value().cloned().unwrap_or_default();
        gpu.domain_type = here.domain_type.value().cloned();
    }
    let of = |name: &str| if name == bdf(0) { a.clone() } else { b.clone() };
    for pair in &mut record.pairs {
        (pair.from, pair.to) = (of(&pair.from), of(&pair.to));
    }
    record.state.boot_id = host.kernel.boot_id.value().cloned();
    record.state.driver = host.nvidia.version.value().cloned();
    record.state.cpu = host.cpu.name.value().cloned();
    assert!(record.state.boot_id.is_some());
    let after = audit(&keep(tree, record));
    let now = after.pair(&a, &b).outcomes("copy-engine-data");
    for (before, now) in [(&lost.0, &now.0), (&lost.1, &now.1)] {
        let wanted = if before == "fail" { "fail" } else { "pass" };
        assert_eq!(now, wanted);
    }
}
