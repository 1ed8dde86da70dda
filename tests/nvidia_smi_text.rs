//! Captured nvidia-smi text in the forms of several drivers and several ways of copying it.

mod common;
use common::Tree;
use peerfix::host::nvidia_smi::{NvidiaSmi, SmiPair};
use peerfix::root::{Fact, Root, Why};

fn read(name: &str, text: impl AsRef<[u8]>) -> NvidiaSmi {
    let tree = Tree::new().file(&format!("captured/{name}"), text);
    NvidiaSmi::read(&Root::open(tree.path()).unwrap())
}

const QUERY: &str = "
==============NVSMI LOG==============

Timestamp                                 : Mon Jan  5 10:00:00 2026
Driver Version                            : 580.65.06
CUDA Version                              : 13.0

Attached GPUs                             : 2
GPU 00000000:C1:00.0
    Product Name                          : NVIDIA RTX Example
    Display Active                        : Disabled
    Addressing Mode                       : HMM
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    GPU Virtualization Mode
        Virtualization Mode               : Pass-Through
    MIG Devices
        Index                             : 0
            FB Memory Usage
                Total                     : 1 MiB
    PCI
        GPU Link Info
            PCIe Generation
                Current                   : 1
    Performance State                     : P8
    FB Memory Usage
        Total                             : 49140 MiB
        Used                              : 3 MiB
    BAR1 Memory Usage
        Total                             : 65536 MiB
GPU 0000000D:01:00.0
    Product Name                          : NVIDIA RTX Example
    Display Active                        : Enabled
    MIG Mode
        Current                           : Enabled
    Performance State                     : P0
    FB Memory Usage
        Total                             : [Unknown Error]
    BAR1 Memory Usage
        Total                             : Insufficient Permissions
";

#[test]
fn a_query_gives_one_entry_per_gpu_by_indentation() {
    let smi = read("nvidia-smi-q.txt", QUERY);
    assert_eq!(smi.driver_version.value().unwrap(), "580.65.06");
    let gpus = smi.gpus.value().unwrap();
    let first = &gpus[0];
    assert_eq!(first.bdf, "0000:c1:00.0");
    assert_eq!(first.name.value().unwrap(), "NVIDIA RTX Example");
    assert_eq!(first.vram.value(), Some(&(49140 << 20)));
    assert_eq!(first.bar1.value(), Some(&(65536 << 20)));
    assert_eq!(first.addressing_mode.value().unwrap(), "HMM");
    assert_eq!(first.display_active.value(), Some(&false));
    assert!(first.mig.is_absent());
    assert_eq!(first.pstate.value(), Some(&8));
    assert_eq!(first.virtualization.value().unwrap(), "Pass-Through");

    let second = &gpus[1];
    assert_eq!(second.bdf, "000d:01:00.0");
    assert_eq!((second.mig.value(), second.pstate.value()), (Some(&true), Some(&0)));
    assert_eq!(second.vram.reason().unwrap().why, Why::Malformed);
    assert_eq!(second.bar1.reason().unwrap().why, Why::Permission);
    // A line that the output lacks is not an answer.
    assert_eq!(second.addressing_mode.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn windows_line_ends_and_a_cut_do_not_hurt_what_is_there() {
    let smi = read("nvidia-smi-q.txt", QUERY.replace('\n', "\r\n"));
    assert_eq!(smi.gpus.value().unwrap()[0].bar1.value(), Some(&(65536 << 20)));
    let cut = QUERY.split("    BAR1").next().unwrap();
    let smi = read("nvidia-smi-q.txt", cut);
    assert!(smi.gpus.value().unwrap()[0].bar1.is_unknown());
}

#[test]
fn a_refusal_is_quoted() {
    let text =
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that ...\n";
    for name in ["q", "topo-m", "topo-p2p-r", "nvlink-s"] {
        let smi = read(&format!("nvidia-smi-{name}.txt"), text);
        let reason = match name {
            "q" => smi.gpus.reason(),
            "topo-m" => smi.topology.reason(),
            "topo-p2p-r" => smi.p2p_read.reason(),
            _ => smi.nvlinks.reason(),
        };
        let reason = reason.unwrap();
        assert_eq!((reason.why, reason.line), (Why::Malformed, Some(1)));
        assert!(reason.detail.contains("couldn't communicate with the NVIDIA driver"), "{}", reason.detail);
    }
}

#[test]
fn no_devices_is_an_empty_list_and_nothing_captured_is_unknown() {
    assert_eq!(read("nvidia-smi-q.txt", "No devices were found\n").gpus.value().map(Vec::len), Some(0));
    let none = read("dmesg.txt", "");
    let unknown = |why: Option<&peerfix::root::Unknown>| why.unwrap().why == Why::NotCaptured;
    assert!(unknown(none.gpus.reason()) && unknown(none.driver_version.reason()));
    assert!(unknown(none.topology.reason()) && unknown(none.nvlinks.reason()));
}

fn cell(pairs: &Fact<Vec<SmiPair>>, from: i64, to: i64) -> &str {
    let found = pairs.value().unwrap().iter().find(|p| p.from == from && p.to == to);
    found.map_or("-", |p| p.value.as_str())
}

#[test]
fn the_topology_matrix_is_read_with_nics_affinities_and_escapes() {
    let text = "\t\u{1b}[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\n\
                GPU0\t X \tNV4\tSYS\tPIX\t0-15,32-47\t0\t\tN/A\n\
                GPU1\tNV4\t X \tSYS\tPHB\t0-15,32-47\t0\t\tN/A\n\
                GPU2\tSYS\tSYS\t X \tSYS\t\t\t\tN/A\n\
                NIC0\tPIX\tPHB\tSYS\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n";
    let smi = read("nvidia-smi-topo-m.txt", text);
    assert_eq!(smi.topology.value().unwrap().len(), 6);
    assert_eq!((cell(&smi.topology, 0, 1), cell(&smi.topology, 2, 0)), ("NV4", "SYS"));
    let pasted = text.replace('\t', "     ");
    assert_eq!(read("nvidia-smi-topo-m.txt", pasted).topology.value(), smi.topology.value());
}

#[test]
fn the_peer_matrices_are_read_by_direction() {
    let text = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tGNS\tX\t\n\nLegend:\n\n  X    = Self\n  GNS  = GPU not supported\n";
    let smi = read("nvidia-smi-topo-p2p-w.txt", text);
    assert_eq!((cell(&smi.p2p_write, 0, 1), cell(&smi.p2p_write, 1, 0)), ("OK", "GNS"));
    assert!(smi.p2p_read.is_unknown());
}

#[test]
fn cut_and_foreign_matrices_are_malformed() {
    let rows = " \tGPU0\tGPU1\n GPU0\tX\tOK\n";
    let cut = read("nvidia-smi-topo-p2p-r.txt", rows).p2p_read;
    assert!(cut.reason().unwrap().detail.contains("2 GPU columns but 1 GPU rows"));
    let short = read("nvidia-smi-topo-p2p-r.txt", " \tGPU0\tGPU1\n GPU0\tX\n").p2p_read;
    assert_eq!(short.reason().unwrap().line, Some(2));
    for text in [&b""[..], b"hello\n", b"\xff\xff", &vec![b'G'; 10 << 20]] {
        let smi = read("nvidia-smi-topo-m.txt", text);
        assert_eq!(smi.topology.reason().unwrap().why, Why::Malformed);
    }
    let many = format!("GPU0 {}\n", "GPU1 ".repeat(100_000));
    assert!(read("nvidia-smi-topo-m.txt", many).topology.is_unknown());
}

#[test]
fn nvlink_states_are_read_in_every_form() {
    let links = |text: &str| {
        let smi = read("nvidia-smi-nvlink-s.txt", text);
        smi.nvlinks.value().unwrap().iter().map(|l| (l.gpu, l.link, l.active, l.mb_per_s)).collect::<Vec<_>>()
    };
    assert_eq!(
        links(
            "GPU 0: NVIDIA Example (UUID: GPU-1)\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>\nGPU 1: NVIDIA Example (UUID: GPU-2)\n"
        ),
        [(0, 0, true, 25781), (0, 1, false, 0)]
    );
    assert_eq!(
        links(
            "GPU 0: A (UUID: GPU-1) Link 0: 25 GB/s (Active) Link 1: 25 GB/s (Inactive) GPU 1: A (UUID: GPU-2) Link 0: 25 GB/s (Active)\n"
        ),
        [(0, 0, true, 25000), (0, 1, false, 0), (1, 0, true, 25000)]
    );
    assert_eq!(
        links(
            "GPU 0: A (UUID: GPU-1)\nNVML: Unable to retrieve NVLink information as all links are inActive\n"
        ),
        [(0, -1, false, 0)]
    );
}

#[test]
fn foreign_nvlink_text_is_malformed() {
    for text in ["", "nothing\n", "Link 0: 25 GB/s\n"] {
        assert_eq!(read("nvidia-smi-nvlink-s.txt", text).nvlinks.reason().unwrap().why, Why::Malformed);
    }
}

#[test]
fn hostile_queries_are_survived() {
    for text in [&b"\xff"[..], b"GPU 00000000:02:00.0", b"GPU :::\n", &vec![b' '; 10 << 20]] {
        let smi = read("nvidia-smi-q.txt", text);
        assert!(smi.driver_version.is_unknown());
    }
    let deep: Vec<String> = (0..2000).map(|n| format!("{}Section\n", " ".repeat(n + 1))).collect();
    let smi = read("nvidia-smi-q.txt", format!("GPU 00000000:02:00.0\n{}", deep.concat()));
    assert!(smi.gpus.value().unwrap()[0].vram.is_unknown());
}
