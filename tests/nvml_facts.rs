//! The NVIDIA driver asked through NVML: the same facts and the same judgement as from captured text of the
//! same host, and a reason where it does not answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Tree;
use common::distro::grub_cmdline;
use common::fakes::in_child;
use common::hosts::nvidia_card;
use common::kernel_log::KernelLog;
use common::machine::Cpus;
use common::nvidia::{Card, Driver, HMM_OFF};
use common::nvidia_smi::{SmiGpu, nvlink, peers, topology};
use common::pci::{Function, Link, MIB, Pci};
use peerfix::boot::Boot;
use peerfix::host::Host;
use peerfix::host::nvidia_smi::{NvidiaSmi, SmiGpu as Entry};
use peerfix::host::nvml;
use peerfix::pairs::{Outcome, Pair, judge};
use peerfix::root::{Fact, Root};
use peerfix::rules::{Catalogue, Facts, evaluate};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const RELEASE: &str = "6.8.0-60-generic";
const DRIVER: &str = "570.124.06";
const NAME: &str = "NVIDIA Example 2080";
/// Addresses of the fake GPUs 0 and 1.
const GPUS: [&str; 2] = ["0000:1a:00.0", "0000:2b:00.0"];

/// What the fakes are told so that they describe the GPUs of [`host`].
const SAME: &str = "name=NVIDIA Example 2080;capability=7.5;memory=11264M;bar1=256M;driver=570.124.06;\
                    display=on;link=1x8;link-max=3x16;pstate=8";

/// The host without any output of nvidia-smi.
fn host() -> Tree {
    let cmdline = grub_cmdline(RELEASE, "quiet splash");
    let port = Link::new((1, 8), (4, 8));
    let card = Link::new((1, 8), (3, 16));
    let gpu = |bdf, registers, memory| {
        nvidia_card(bdf, 0x1e07, registers, (memory, 256 * MIB), card).subsystem(0x1043, 0x866a).dma_mask(47)
    };
    let functions = vec![
        Function::host_bridge("0000:00:00.0", 0x1022, 0x1480),
        Function::host_bridge("0000:00:03.0", 0x1022, 0x1482),
        Function::root_port("0000:00:03.1", 0x1022, 0x1483, port).below(gpu(
            GPUS[0],
            0xf000_0000,
            0x7f_c000_0000,
        )),
        Function::root_port("0000:00:03.2", 0x1022, 0x1483, port).below(gpu(
            GPUS[1],
            0xe800_0000,
            0x7f_8000_0000,
        )),
    ];
    let log = KernelLog::new(RELEASE, &cmdline, "Example X1").policy("Translated").native_aer();
    let tree = Tree::new()
        .kernel(RELEASE, &cmdline)
        .kernel_config(RELEASE, &[])
        .cpus(Cpus::VERMEER)
        .board("Example", "X1", "X1")
        .memory(64)
        .ubuntu(RELEASE, "quiet splash")
        .file("etc/modprobe.d/uvm.conf", HMM_OFF)
        .log(&log.nvidia(DRIVER, &GPUS));
    let tree = Pci::new().bus("0000:00", -1, functions).write(tree);
    let cards = GPUS.map(|bdf| Card { bdf, model: NAME, dma_bits: 47 });
    Driver::new(DRIVER).without_hmm().write(tree, &cards)
}

/// The same with captured text.
fn captured(level: &str, read: &str, write: &str, links: &str) -> Tree {
    let gpus = GPUS.map(|bdf| SmiGpu {
        bdf,
        name: NAME,
        vram_mib: 11_264,
        bar1_mib: 256,
        generation: (3, 1),
        width: (16, 8),
        display: bdf == GPUS[0],
    });
    host()
        .smi_query(DRIVER, Some("None"), &gpus)
        .file("captured/nvidia-smi-topo-m.txt", topology(2, |_, _| level.to_owned()))
        .file("captured/nvidia-smi-topo-p2p-r.txt", read)
        .file("captured/nvidia-smi-topo-p2p-w.txt", write)
        .file("captured/nvidia-smi-nvlink-s.txt", links)
}

/// A host, its pairs, and the status of every rule.
struct Judged {
    host: Host,
    pairs: Vec<Pair>,
    rules: BTreeMap<String, String>,
}

fn judged(host: Host) -> Judged {
    let pairs = judge(&host);
    let boot = Boot::default();
    let found = evaluate(&Catalogue::embedded().0, &Facts { host: &host, boot: &boot, pairs: &pairs });
    let rules = found.iter().map(|f| (f.rule.clone(), format!("{:?}", f.status))).collect();
    Judged { host, pairs, rules }
}

fn from_text(tree: &Tree) -> Judged {
    let root = Root::open(tree.path()).unwrap();
    judged(Host::read(&root, &root))
}

fn from_driver() -> Judged {
    let tree = host();
    let root = Root::open(tree.path()).unwrap();
    judged(Host::with(&root, &root, &|_| nvml::read()))
}

/// A fact without what stands behind it.
fn bare<T: std::fmt::Debug>(fact: &Fact<T>) -> String {
    match fact {
        Fact::Known { value, .. } => format!("{value:?}"),
        Fact::Absent { .. } => "absent".to_owned(),
        Fact::Unknown(_) => "unknown".to_owned(),
    }
}

fn entry(gpu: &Entry) -> String {
    let numbers = [
        &gpu.vram,
        &gpu.bar1,
        &gpu.pstate,
        &gpu.generation,
        &gpu.width,
        &gpu.max_generation,
        &gpu.max_width,
        &gpu.replays,
    ];
    let numbers: Vec<String> = numbers.map(bare).to_vec();
    let flags = [&gpu.display_active, &gpu.mig].map(bare);
    format!("{} {} {} {flags:?} {numbers:?}", gpu.bdf, bare(&gpu.name), bare(&gpu.virtualization))
}

fn facts(smi: &NvidiaSmi) -> Vec<String> {
    let mut all: Vec<String> = smi.gpus.value().unwrap().iter().map(entry).collect();
    all.push(bare(&smi.driver_version));
    all.extend([&smi.topology, &smi.p2p_read, &smi.p2p_write].map(bare));
    all.push(bare(&smi.nvlinks));
    all
}

/// Both ways to know one host agree in facts, rungs and findings.
#[track_caller]
fn agree(driver: &Judged, text: &Judged) {
    assert_eq!(facts(&driver.host.smi), facts(&text.host.smi));
    for gpu in driver.host.smi.gpus.value().unwrap() {
        assert_ne!(bare(&gpu.replays), "unknown");
    }
    let shown = |judged: &Judged| format!("{:#?}", judged.pairs);
    assert_eq!(shown(driver), shown(text));
    assert_eq!(driver.rules, text.rules);
}

#[test]
fn a_bridge_that_works() {
    let config = format!("{SAME};nvlinks=2;nvlink-mb-s=25781");
    in_child("a_bridge_that_works", &config, || {
        let driver = from_driver();
        let (read, write) = (peers(2, "OK"), peers(2, "OK"));
        agree(&driver, &from_text(&captured("NV2", &read, &write, &nvlink(NAME, 2, 2, Some("25.781")))));
        assert_eq!(driver.pairs[0].route, "NV2");
        assert_eq!(driver.pairs[0].granted, Outcome::Pass);
        assert_eq!(driver.rules["nvlink/bridge-inactive"], "Pass");
        assert_eq!(driver.rules["gpu/peer-unsupported"], "Pass");
    });
}

#[test]
fn a_bridge_that_does_not() {
    let config = format!("{SAME};nvlinks=2;nvlinks-down=2;p2p-read=2;p2p-write=2;topology=30");
    in_child("a_bridge_that_does_not", &config, || {
        let driver = from_driver();
        let (read, write) = (peers(2, "GNS"), peers(2, "GNS"));
        agree(&driver, &from_text(&captured("PHB", &read, &write, &nvlink(NAME, 2, 2, None))));
        assert_eq!(driver.rules["nvlink/bridge-inactive"], "Fail");
        assert_eq!(driver.rules["gpu/peer-unsupported"], "Fail");
        assert_eq!(driver.pairs[0].grant_why, "the driver answers GNS");
    });
}

#[test]
fn one_direction_that_a_registry_key_refuses() {
    let config = format!("{SAME};p2p-write=4@0>1;topology=40");
    in_child("one_direction_that_a_registry_key_refuses", &config, || {
        let write = peers(2, "OK").replace(" GPU0\tX\tOK", " GPU0\tX\tDR");
        let driver = from_driver();
        agree(&driver, &from_text(&captured("NODE", &peers(2, "OK"), &write, &nvlink(NAME, 2, 0, None))));
        let rung = driver.pairs[0].rungs.iter().find(|r| r.rung == "driver-grant").unwrap();
        assert_eq!((rung.a_to_b, rung.b_to_a), (Outcome::Fail, Outcome::Pass));
        assert_eq!(driver.pairs[0].route, "NODE");
    });
}

#[test]
fn every_level_of_the_topology_has_its_word() {
    for (level, word) in [(0, "PIX"), (10, "PIX"), (20, "PXB"), (30, "PHB"), (40, "NODE"), (50, "SYS")] {
        let config = format!("topology={level}");
        in_child("every_level_of_the_topology_has_its_word", &config, || {
            let smi = nvml::read();
            let cells = smi.topology.value().unwrap();
            assert!(cells.len() == 2 && cells.iter().all(|cell| cell.value == word), "{cells:?}");
        });
    }
}

/// What a call that fails with an error leaves unknown, and what it leaves alone.
#[test]
fn one_question_without_an_answer_leaves_the_others() {
    const TEST: &str = "one_question_without_an_answer_leaves_the_others";
    let fails = |code: u32, call: &str| format!("{SAME};fault=error:{code};call={call}");
    // Function not found: an old library. Lost GPU. A code that is new.
    for code in [13, 15, 777] {
        in_child(TEST, &fails(code, "nvmlDeviceGetBAR1MemoryInfo"), || {
            let driver = from_driver();
            let smi = &driver.host.smi.gpus.value().unwrap()[1];
            assert!(smi.bar1.is_unknown() && smi.vram.value().is_some(), "{smi:?}");
            // The PCI tree shows the aperture all the same.
            assert_eq!(driver.host.gpus[1].bar1.value(), Some(&(256 << 20)));
        });
        in_child(TEST, &fails(code, "nvmlDeviceGetP2PStatus"), || {
            let driver = from_driver();
            assert!(driver.host.smi.p2p_read.is_unknown() && driver.host.smi.topology.value().is_some());
            let pair = &driver.pairs[0];
            assert_eq!(pair.granted, Outcome::Unknown);
            assert!(pair.grant_why.starts_with("the driver's peer matrix is not known: nvml: "), "{pair:?}");
            assert_eq!(driver.rules["gpu/peer-unsupported"], "Unknown");
        });
        in_child(TEST, &fails(code, "nvmlDeviceGetTopologyCommonAncestor"), || {
            let driver = from_driver();
            assert!(driver.host.smi.topology.is_unknown());
            assert_eq!(driver.pairs[0].route, "PHB", "as the PCI tree shows it");
        });
        in_child(TEST, &fails(code, "nvmlDeviceGetCurrPcieLinkGeneration"), || {
            let gpus = nvml::read().gpus;
            let gpu = &gpus.value().unwrap()[0];
            assert!(gpu.generation.is_unknown() && gpu.width.value() == Some(&8), "{gpu:?}");
        });
        in_child(TEST, &fails(code, "nvmlDeviceGetPcieReplayCounter"), || {
            assert!(nvml::read().gpus.value().unwrap()[0].replays.is_unknown());
        });
    }
    in_child(TEST, &fails(3, "nvmlDeviceGetPcieReplayCounter"), || {
        assert!(nvml::read().gpus.value().unwrap()[0].replays.is_absent(), "not supported");
    });
}

#[test]
fn values_that_are_new_are_unknown() {
    const TEST: &str = "values_that_are_new_are_unknown";
    in_child(TEST, &format!("{SAME};topology=77;p2p-read=9;pstate=99"), || {
        let smi = nvml::read();
        assert!(smi.topology.is_unknown() && smi.p2p_read.is_unknown(), "{smi:?}");
        assert!(smi.p2p_write.value().is_some());
        assert!(smi.gpus.value().unwrap()[0].pstate.is_unknown());
    });
    in_child(TEST, "p2p-read=9@0>1", || {
        let smi = nvml::read();
        let cells = smi.p2p_read.value().unwrap();
        assert_eq!(cells.len(), 1, "the other direction is known: {cells:?}");
        assert!(smi.p2p_read.evidence().iter().any(|line| line.text.starts_with("GPU 1 to GPU 0: ")));
    });
}

#[test]
fn a_driver_that_does_not_start_says_why() {
    const TEST: &str = "a_driver_that_does_not_start_says_why";
    // Driver not loaded, permission, library and module of two versions, all GPUs lost.
    for (code, call) in [
        (9, "nvmlInit_v2"),
        (4, "nvmlInit_v2"),
        (18, "nvmlInit_v2"),
        (999, "nvmlDeviceGetCount_v2"),
        (15, "nvmlDeviceGetHandleByIndex_v2"),
        (15, "nvmlDeviceGetPciInfo_v3"),
    ] {
        in_child(TEST, &format!("{SAME};fault=error:{code};call={call}"), || {
            let driver = from_driver();
            let reason = driver.host.smi.gpus.reason().unwrap_or_else(|| panic!("{:?}", driver.host.smi));
            assert!(reason.path == "nvml" && !reason.detail.is_empty(), "{reason}");
            assert_eq!(driver.host.gpus[0].bar1.value(), Some(&(256 << 20)), "from the PCI tree");
            assert_eq!(driver.rules["gpu/peer-unsupported"], "Unknown");
        });
    }
}

#[test]
fn a_driver_that_hangs_is_left_alone() {
    let config = "fault=hang;call=nvmlDeviceGetBAR1MemoryInfo";
    in_child("a_driver_that_hangs_is_left_alone", config, || {
        let start = Instant::now();
        let smi = nvml::read_within(Duration::from_millis(300));
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(smi.gpus.reason().unwrap().detail.contains("does not answer within 0.3 s"), "{smi:?}");
    });
}

#[test]
fn no_gpu_is_known_to_be_none() {
    in_child("no_gpu_is_known_to_be_none", "gpus=0", || {
        let smi = nvml::read();
        assert_eq!(smi.gpus.value().map(Vec::len), Some(0));
        assert_eq!(smi.topology.value().map(Vec::len), Some(0));
    });
}

#[test]
fn sixteen_gpus_take_no_time() {
    in_child("sixteen_gpus_take_no_time", "gpus=16;nvlinks=18", || {
        let start = Instant::now();
        let smi = nvml::read();
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert_eq!(smi.topology.value().unwrap().len(), 240);
        assert_eq!(smi.nvlinks.value().unwrap().len(), 288);
    });
}

#[test]
fn without_the_library_the_loader_is_quoted() {
    let smi = nvml::read();
    // On a host with a driver this is no test of that.
    if let Some(reason) = smi.gpus.reason() {
        assert!(reason.to_string().contains("libnvidia-ml.so.1"), "{reason}");
        assert!(smi.nvlinks.is_unknown() && smi.p2p_write.is_unknown());
    }
}
