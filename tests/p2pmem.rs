//! Drives that read into memory of other devices: what is found, that right data is never accused, that each fault is
//! named, and that nothing is ever written to a drive (`common::drives` checks that after every run).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Tree;
use common::drives::{Bench, Drives, bdf, gpu_libraries};
use common::run::peerfix;
use peerfix::bench::record::{Backend, Outcome};
use peerfix::bench::run::digest;
use peerfix::host::Host;
use peerfix::host::p2pmem::P2pmem;
use peerfix::root::{Root, Why};
use peerfix::verdict::document::{About, Call, Overall};
use peerfix::verdict::{Settings, compare};

const QUICK: [&str; 2] = ["--p2pmem", "--quick"];
/// Arms of a way in a full treatment.
const ARMS: [&str; 6] = ["first-page", "p2p-read", "p2p-read-4096", "self", "staged", "staged-4096"];
/// Words of a page.
const PAGE: u64 = 512;
/// Words of a quick bulk transfer.
const BULK: u64 = (1 << 20) / 8;

fn quick(fault: &str) -> Bench {
    Drives::new(2).bench(fault, &QUICK)
}

fn facts(tree: &Tree) -> P2pmem {
    P2pmem::read(&Root::open(tree.path()).unwrap())
}

#[test]
fn drives_memory_and_pairs_are_found() {
    let drives = Drives::new(2).with(|tree| {
        // A drive without memory, one over a network, and a device with memory that is no drive.
        tree.drive(2)
            .without("sys/devices/pci0000:00/0000:00:09.0/0000:01:00.0/0000:02:02.0/0000:05:00.0/p2pmem")
            .file("sys/class/nvme/nvme9/address", "traddr=10.0.0.1,trsvcid=4420\n")
            .file("sys/bus/pci/devices/0000:44:00.0/p2pmem/size", "4096\n")
            .file("sys/bus/pci/devices/0000:44:00.0/p2pmem/available", "many\n")
            .file("sys/bus/pci/devices/0000:44:00.0/p2pmem/published", "0\n")
    });
    let facts = facts(&drives.tree);
    let providers = facts.providers.value().unwrap();
    assert_eq!(
        providers.iter().map(|p| p.bdf.as_str()).collect::<Vec<_>>(),
        [&bdf(0), &bdf(1), "0000:44:00.0"]
    );
    assert_eq!(providers[0].size.value(), Some(&(16 << 20)));
    assert_eq!(providers[0].published.value(), Some(&true));
    assert_eq!(providers[2].published.value(), Some(&false));
    assert_eq!(providers[2].available.reason().unwrap().why, Why::Malformed);
    assert!(providers[2].allocate.is_absent());
    let found = facts.drives.value().unwrap();
    assert_eq!(found.iter().map(|d| d.bdf.clone()).collect::<Vec<_>>(), [bdf(0), bdf(1), bdf(2)]);
    assert_eq!(found[1].namespaces[0].block, "nvme1n1");
    assert_eq!(found[1].namespaces[0].bytes.value(), Some(&(8 << 20)));
    assert_eq!(found[1].model.value().map(String::as_str), Some("Fake NVMe Ctrl"));
    let ways = facts.ways();
    let ways = ways.value().unwrap();
    assert_eq!(ways.len(), 7, "two others for each drive with memory, three for the one without: {ways:?}");
    assert!(ways.iter().all(|(from, to)| from != to));
}

#[test]
fn what_a_capture_left_out_is_not_known() {
    let bare = facts(&Tree::new().dir("sys"));
    assert_eq!(bare.providers.reason().unwrap().why, Why::NotCaptured);
    assert_eq!(bare.drives.reason().unwrap().why, Why::NotCaptured);
    assert!(bare.ways().is_unknown());
    let without = facts(&Tree::new().dir("sys/bus/pci/devices/0000:03:00.0").dir("sys/class/nvme"));
    assert!(without.providers.is_unknown(), "a capture may have left the folder out");
    assert_eq!(without.drives.value().map(Vec::len), Some(0));
}

#[test]
fn a_namespace_with_two_controllers_is_shared() {
    let tree =
        Drives::new(2).tree.dir("sys/class/nvme/nvme1/nvme0c1n1").dir("sys/class/nvme/nvme0/nvme0c0n1");
    let drives = facts(&tree.without("sys/class/nvme/nvme0/nvme0n1")).drives;
    let spaces = |at: usize| &drives.value().unwrap()[at].namespaces;
    assert!(spaces(0)[0].shared && spaces(0)[0].block == "nvme0n1");
    assert!(spaces(1).iter().any(|space| space.block == "nvme1n1" && !space.shared));
}

#[test]
fn right_data_is_never_accused() {
    for args in [&QUICK[..], &["--p2pmem", "--budget", "20"]] {
        let run = Drives::new(2).bench("", args).exits(0);
        let record = run.record();
        assert_eq!(record.backend, Backend::P2pmem);
        assert_eq!(record.hash, digest(record));
        assert!(record.id.starts_with("p2pmem-"), "{}", record.id);
        assert_eq!(record.pairs.len(), 2);
        for pair in &record.pairs {
            let mut names: Vec<&str> = pair.arms.iter().map(|arm| arm.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, ARMS);
            assert_eq!((pair.route.as_str(), pair.granted), ("PIX", Some(true)));
            assert!((pair.ceiling_gb_s - 3.94).abs() < 0.01, "{}", pair.ceiling_gb_s);
        }
        for arm in run.arms() {
            assert!(arm.outcome == Outcome::Measured && arm.errors.is_empty(), "{}", run.brief());
            assert!(arm.words_checked > 0 && arm.deltas.iommu_faults == Some(0), "{}", run.brief());
            assert!(arm.name == "first-page" || arm.samples.len() >= 5, "{}", run.brief());
            assert!(arm.name == "first-page" || arm.links.len() == 2, "{}", run.brief());
        }
        assert!(record.gpus.iter().all(|gpu| gpu.memory == 16 << 20 && gpu.uuid_hash.len() == 16));
        assert_eq!(record.gpus[0].link_max.generation, 4);
        assert!(record.notes.is_empty(), "{:?}", record.notes);
        assert!(run.ran.stdout.contains("drive reads into peer memory"), "{}", run.ran.stdout);
    }
}

#[test]
fn each_fault_is_named_by_what_it_does_to_the_data() {
    for (fault, mechanism, words) in [
        ("drop", "untouched", PAGE),
        ("zeros", "zero", PAGE),
        ("stale", "stale", PAGE),
        ("flip:8", "torn", PAGE / 8),
        ("drop-sector:8", "untouched", PAGE / 8),
    ] {
        let run = quick(&format!("fault={fault}")).exits(1);
        for (from, to) in [(0, 1), (1, 0)] {
            let found = run.mechanisms(from, to, "first-page");
            assert_eq!(found, [(mechanism.to_owned(), words)].into(), "{fault}: {}", run.brief());
            // A wrong page ends the peer arms; the control goes on.
            assert_eq!(run.arm(from, to, "p2p-read").outcome, Outcome::Skipped, "{}", run.brief());
            for name in ["staged", "staged-4096", "self"] {
                let arm = run.arm(from, to, name);
                assert!(arm.outcome == Outcome::Measured && arm.samples.len() >= 5, "{}", run.brief());
            }
        }
    }
}

#[test]
fn a_fault_of_long_transfers_alone_is_found_after_the_first_page() {
    let run = quick("fault=shift").exits(1);
    let found = run.mechanisms(0, 1, "p2p-read");
    // The last page comes from beyond the transfer.
    assert_eq!(found.get("shifted"), Some(&(BULK - PAGE)), "{}", run.brief());
    assert!(run.arm(0, 1, "p2p-read").errors[0].detail.contains("+4096 bytes"));
    assert_eq!(run.arm(0, 1, "first-page").outcome, Outcome::Measured);
    let long = quick("fault=drop-sector:2048;min=4097").exits(1);
    assert_eq!(long.mechanisms(1, 0, "p2p-read"), [("untouched".to_owned(), 64)].into(), "{}", long.brief());
}

#[test]
fn a_fault_that_comes_while_time_is_taken_is_found() {
    // First page, one verified transfer of each peer arm, two of each to warm up: that is what comes before.
    let run = quick("fault=drop;pair=0>1;after=7").exits(1);
    assert!(
        run.arms().any(|arm| arm.outcome == Outcome::Corrupt && !arm.samples.is_empty()),
        "{}",
        run.brief()
    );
    assert!(run.pair(1, 0).arms.iter().all(|arm| arm.outcome != Outcome::Corrupt), "{}", run.brief());
}

#[test]
fn one_direction_alone_is_named() {
    let run = quick("fault=drop;pair=0>1").exits(1);
    assert_eq!(
        run.mechanisms(0, 1, "first-page"),
        [("one-direction".to_owned(), PAGE)].into(),
        "{}",
        run.brief()
    );
    assert_eq!(run.arm(1, 0, "first-page").outcome, Outcome::Measured);
}

#[test]
fn a_path_that_the_kernel_refuses_is_no_error() {
    let run = quick("fault=refuse").exits(6);
    for name in ["first-page", "p2p-read", "p2p-read-4096"] {
        let arm = run.arm(0, 1, name);
        assert_eq!(arm.outcome, Outcome::Refused, "{}", run.brief());
        assert!(
            arm.why.contains("the kernel maps no peer path from 0000:03:00.0 to 0000:04:00.0"),
            "{}",
            arm.why
        );
    }
    assert_eq!(run.pair(0, 1).granted, Some(false));
    assert_eq!(run.arm(0, 1, "staged").outcome, Outcome::Measured);
    assert!(run.ran.stderr.contains("the kernel maps no path"), "{}", run.ran.stderr);
    let half = quick("fault=refuse;pair=1>0").exits(0);
    assert_eq!(half.arm(1, 0, "p2p-read").outcome, Outcome::Refused);
    assert_eq!(half.arm(0, 1, "p2p-read").outcome, Outcome::Measured);
}

#[test]
fn an_error_of_the_drive_is_no_refusal() {
    let run = quick("fault=error:5").exits(1);
    let arm = run.arm(0, 1, "first-page");
    assert!(arm.outcome == Outcome::Failed && arm.why.contains("os error 5"), "{}", run.brief());
}

#[test]
fn a_hang_and_a_crash_are_named_and_the_control_goes_on() {
    for (fault, outcome) in [("hang", Outcome::Hang), ("crash", Outcome::Crash)] {
        let run = quick(&format!("fault={fault};pair=0>1;min=4097")).exits(1);
        assert_eq!(run.arm(0, 1, "p2p-read").outcome, outcome, "{}", run.brief());
        assert_eq!(run.arm(1, 0, "p2p-read").outcome, Outcome::Skipped, "{}", run.brief());
        assert_eq!(run.arm(0, 1, "staged").outcome, Outcome::Measured, "{}", run.brief());
    }
}

#[test]
fn wrong_data_by_way_of_the_host_speaks_of_the_host() {
    let before = quick("").exits(0);
    // Of three reads into host memory one is wrong: two agree on the content, the staged one differs.
    let run = quick("fault=flip:64;path=host;every=3").exits(1);
    let staged = || run.arms().filter(|arm| arm.name.starts_with("staged"));
    assert!(staged().any(|arm| arm.outcome == Outcome::Corrupt), "{}", run.brief());
    let peers = || run.arms().filter(|arm| arm.name.starts_with("p2p-read"));
    let broken = |from: usize, to: usize| {
        ["staged", "staged-4096"].iter().any(|name| run.arm(from, to, name).outcome != Outcome::Measured)
    };
    for (from, to) in [(0, 1), (1, 0)] {
        assert!(
            !broken(from, to) || run.arm(from, to, "p2p-read").outcome == Outcome::Skipped,
            "{}",
            run.brief()
        );
    }
    assert!(peers().all(|arm| arm.outcome != Outcome::Corrupt), "{}", run.brief());
    let verdict = compare(before.record(), run.record(), &Settings::default());
    assert_eq!((verdict.verdict, verdict.about), (Overall::Corrupt, About::Host), "{}", verdict.reason);
}

#[test]
fn blocks_that_change_while_they_are_read_prove_nothing() {
    let run = quick("fault=flip;path=host;every=2").exits(6);
    assert!(
        run.arms().all(|arm| arm.outcome == Outcome::Skipped || arm.name == "first-page"),
        "{}",
        run.brief()
    );
    assert!(run.arm(0, 1, "staged").why.contains("change meanwhile"), "{}", run.brief());
}

#[test]
fn a_blank_drive_is_measured_and_the_doubt_is_told() {
    let drives = Drives::new(2).with(|tree| tree.file("dev/nvme0n1", vec![0; common::drives::SIZE]));
    let run = drives.bench("", &QUICK).exits(0);
    assert!(run.record().notes.iter().any(|note| note.contains("only zeros")), "{:?}", run.record().notes);
    let lost = drives.bench("fault=drop", &QUICK).exits(1);
    assert_eq!(
        lost.mechanisms(0, 1, "first-page"),
        [("untouched".to_owned(), PAGE)].into(),
        "{}",
        lost.brief()
    );
}

#[test]
fn faults_in_the_kernels_log_are_tied_to_the_arm() {
    let run = quick("fault=drop;pair=0>1;fault=iommu;pair=0>1").exits(1);
    let page = run.arm(0, 1, "first-page");
    assert_eq!((page.outcome, page.deltas.iommu_faults), (Outcome::Corrupt, Some(1)), "{}", run.brief());
    // A fault ends the peer arms at once, right data or not.
    assert!(run.pair(1, 0).arms.iter().all(|arm| arm.name != "first-page"), "{}", run.brief());
    let logged = quick("fault=iommu;pair=0>1").exits(1);
    let page = logged.arm(0, 1, "first-page");
    assert_eq!((page.outcome, page.deltas.iommu_faults), (Outcome::Measured, Some(1)), "{}", logged.brief());
    assert!(
        logged.arm(0, 1, "p2p-read").why.contains("1 IOMMU faults during the first page"),
        "{}",
        logged.brief()
    );
}

#[test]
fn verdicts_judge_these_arms_like_those_of_gpus() {
    let drives = Drives::new(2);
    let [clean, lost, refused] = ["", "fault=drop", "fault=refuse"].map(|fault| drives.bench(fault, &QUICK));
    let judge = |a: &Bench, b: &Bench| compare(a.record(), b.record(), &Settings::default());
    let cured = judge(&lost, &clean);
    assert_eq!((cured.verdict, cured.about), (Overall::Better, About::Peer), "{}", cured.reason);
    let spoilt = judge(&clean, &lost);
    assert_eq!((spoilt.verdict, spoilt.about), (Overall::Corrupt, About::Peer), "{}", spoilt.reason);
    let opened = judge(&refused, &clean);
    let of = |name: &str| opened.arms.iter().find(|arm| arm.arm == name).unwrap();
    assert_eq!(of("p2p-read").replaces.as_deref(), Some("staged"));
    assert_eq!(of("p2p-read-4096").replaces.as_deref(), Some("staged-4096"));
    assert!(matches!(of("first-page").verdict, Call::OnlyAfter));
    assert_ne!(opened.verdict, Overall::Incomparable, "{}", opened.reason);
    // The command says the same by its exit code.
    let ran = peerfix(&["compare", clean.file.to_str().unwrap(), lost.file.to_str().unwrap()]);
    assert_eq!(ran.code, 4, "{ran:?}");
}

#[test]
fn more_drives_than_can_be_timed_are_verified() {
    let run = Drives::new(5).bench("", &QUICK).exits(0);
    assert_eq!(run.record().pairs.len(), 20);
    let timed = run.arms().filter(|arm| arm.name == "p2p-read" && !arm.samples.is_empty()).count();
    let right = run.arms().filter(|arm| arm.name == "p2p-read" && arm.outcome == Outcome::Measured).count();
    assert_eq!((timed, right), (12, 20), "{}", run.brief());
}

#[test]
fn a_drive_and_memory_elsewhere_are_one_direction() {
    let gone = "sys/devices/pci0000:00/0000:00:09.0/0000:01:00.0/0000:02:00.0/0000:03:00.0/p2pmem";
    let run = Drives::new(2).with(|tree| tree.without(gone)).bench("", &QUICK).exits(0);
    assert_eq!(run.record().pairs.len(), 1);
    assert!(run.pair(0, 1).arms.iter().all(|arm| arm.name != "self"), "the drive has no memory of its own");
}

#[test]
fn what_cannot_be_measured_is_named() {
    let device = "sys/devices/pci0000:00/0000:00:09.0/0000:01:00.0/0000:02:00.0/0000:03:00.0";
    for (change, word) in [
        (("p2pmem/published", "0\n"), "does not publish"),
        (("p2pmem/available", "100\n"), "100 bytes of its 16777216"),
        (("p2pmem/published", "maybe\n"), "expected 0 or 1"),
    ] {
        let drives = Drives::new(1).with(|tree| tree.file(&format!("{device}/{}", change.0), change.1));
        let run = drives.bench("", &QUICK).exits(6);
        assert!(run.ran.stderr.contains(word), "{}", run.ran.stderr);
    }
    let alone = Drives::new(1).bench("", &QUICK).exits(6);
    assert!(
        alone.ran.stderr.contains("no drive can read into memory of another device"),
        "{}",
        alone.ran.stderr
    );
    let old = Drives::new(2).with(|tree| tree.without(&format!("{device}/p2pmem/allocate")));
    let run = old.bench("", &QUICK).exits(0);
    assert!(run.record().notes.iter().any(|note| note.contains("Linux 6.2")), "{:?}", run.record().notes);
    let none = Drives::new(2).with(|tree| tree.without("dev/nvme0n1"));
    let count = none.count;
    let none = Drives { count: 0, ..none };
    assert_eq!(count, 2);
    let run = none.bench("", &QUICK).exits(0);
    assert!(run.arm(0, 1, "p2p-read").why.contains("dev/nvme0n1: No such file"), "{}", run.brief());
    assert_eq!(run.arm(1, 0, "p2p-read").outcome, Outcome::Measured, "{}", run.brief());
}

#[test]
fn a_drive_that_is_in_use_keeps_others_from_nothing() {
    // A read of the memory's owner that is refused ends nothing but that arm.
    let run = quick("fault=refuse;path=own").exits(0);
    assert_eq!(run.arm(0, 1, "self").outcome, Outcome::Refused, "{}", run.brief());
    assert_eq!(run.arm(0, 1, "p2p-read").outcome, Outcome::Measured, "{}", run.brief());
}

#[test]
fn drives_stand_in_where_there_are_no_gpus() {
    let drives = Drives::new(2);
    let run = drives.bench("", &["--quick"]).exits(0);
    assert_eq!(run.record().backend, Backend::P2pmem);
    assert!(run.record().notes[0].contains("in place of GPUs"), "{:?}", run.record().notes);
    assert!(run.ran.stdout.contains("in place of GPUs"), "{}", run.ran.stdout);
    assert_eq!(run.record().hash, digest(run.record()));
    let libraries = gpu_libraries();
    let gpus =
        drives.bench_with("", &["--quick"], &[("LD_LIBRARY_PATH", libraries.to_str().unwrap())]).exits(0);
    assert_eq!(gpus.record().backend, Backend::Cuda);
    let verdict = compare(run.record(), gpus.record(), &Settings::default());
    assert_eq!(verdict.verdict, Overall::Incomparable);
    let named = drives.bench("", &["--quick", "--gpus", "0"]).exits(6);
    assert!(named.record.is_none(), "who names GPUs wants no drives");
}

#[test]
fn records_of_drives_say_nothing_about_gpus() {
    let run = quick("").exits(0);
    let text = std::fs::read(&run.file).unwrap();
    let name = format!("var/lib/peerfix/records/{}.json", run.record().id);
    let tree = Tree::new().dir("sys").file(&name, text);
    let root = Root::open(tree.path()).unwrap();
    assert!(Host::read(&root, &root).measured.is_absent());
}

#[test]
fn words_that_contradict_each_other_are_usage() {
    for more in ["--gpus=0", "--wait"] {
        let ran = peerfix(&["bench", "--p2pmem", more]).exits(2);
        assert!(ran.stderr.contains("--p2pmem"), "{}", ran.stderr);
    }
}
