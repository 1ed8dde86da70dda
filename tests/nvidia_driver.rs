//! The loaded NVIDIA driver: version, patched builds, live parameters, HMM, what is installed beside it.

mod common;
use common::Tree;
use peerfix::host::nvidia::{Nvidia, parse_registry};
use peerfix::root::{Root, Why};

const CLOSED: &str = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.40.07  Tue Jan  2 10:00:00 UTC 2024\n\
                      GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
const OPEN: &str = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  \
                    (root@p2p-lab)  Mon Jul 14 09:00:00 UTC 2025\nGCC version:  gcc version 13.3.0\n";

fn read(tree: &Tree) -> Nvidia {
    Nvidia::read(&Root::target(tree.path()).unwrap())
}

fn with_version(text: &str) -> Tree {
    Tree::new().file("proc/driver/nvidia/version", text)
}

#[test]
fn the_closed_and_the_open_module_are_told_apart() {
    let closed = read(&with_version(CLOSED));
    assert_eq!(closed.version.value().unwrap(), "550.40.07");
    assert_eq!(closed.branch.value(), Some(&550));
    assert_eq!(closed.open_module.value(), Some(&false));
    let open = read(&with_version(OPEN));
    assert_eq!(open.version.value().unwrap(), "580.65.06");
    assert_eq!(open.open_module.value(), Some(&true));
    // The name of the machine that compiled it is no patch.
    assert!(open.patched.is_absent());
}

#[test]
fn patched_builds_are_recognised_and_vendor_suffixes_are_not_patches() {
    let patched = |text: &str| read(&with_version(text)).patched;
    let suffix = OPEN.replace("580.65.06", "580.65.06-p2p");
    assert_eq!(patched(&suffix).value().unwrap(), "p2p");
    assert_eq!(read(&with_version(&suffix)).version.value().unwrap(), "580.65.06");
    assert_eq!(patched(&OPEN.replace("root@p2p-lab", "geohot@tiny")).value().unwrap(), "geohot");
    assert_eq!(patched(&format!("{OPEN}aikitoria\n")).value(), None);
    assert_eq!(patched(&OPEN.replace("13.3.0", "13.3.0 (aikitoria)")).value().unwrap(), "aikitoria");
    assert!(patched(&OPEN.replace("580.65.06", "580.65.06-vendor.3")).is_absent());
}

#[test]
fn without_the_module_everything_live_is_absent() {
    let none = read(&Tree::new().file("proc/cmdline", "quiet\n").dir("sys/module/amdgpu"));
    assert!(none.version.is_absent() && none.branch.is_absent() && none.open_module.is_absent());
    assert!(none.patched.is_absent() && none.registry.is_absent() && none.parameters.is_absent());
    assert!(none.dynamic_power.is_absent() && none.uvm_disable_hmm.is_absent());
}

#[test]
fn a_capture_that_left_the_driver_out_proves_nothing() {
    let no_proc = read(&Tree::new().dir("sys/bus"));
    assert_eq!(no_proc.version.reason().unwrap().why, Why::NotCaptured);
    assert!(no_proc.registry.is_unknown() && no_proc.uvm_disable_hmm.is_unknown());
    let loaded = read(&Tree::new().file("proc/cmdline", "").file("sys/module/nvidia/refcnt", "3\n"));
    assert_eq!(loaded.version.reason().unwrap().why, Why::NotCaptured);
    let no_params = read(&with_version(CLOSED));
    assert_eq!(no_params.parameters.reason().unwrap().path, "proc/driver/nvidia/params");
}

#[test]
fn live_parameters_come_from_params() {
    let tree = with_version(OPEN).file(
        "proc/driver/nvidia/params",
        "ResmanDebugLevel: 4294967295\nDynamicPowerManagement: 3\nEnableResizableBar: 0\nDmaRemapPeerMmio: 1\n\
         RegistryDwords: \"Alpha=0x11; Beta = 021;Gamma=9\"\nRmMsg: \"\"\n",
    );
    let nvidia = read(&tree);
    assert_eq!(nvidia.dynamic_power.value(), Some(&3));
    assert_eq!(nvidia.enable_resizable_bar.value(), Some(&0));
    assert_eq!(nvidia.dma_remap_peer_mmio.value(), Some(&1));
    assert!(nvidia.grdma_topo_override.is_absent());
    assert_eq!(nvidia.registry_text.value().unwrap(), "Alpha=0x11; Beta = 021;Gamma=9");
    let keys: Vec<(&str, i64)> =
        nvidia.registry.value().unwrap().iter().map(|k| (k.key.as_str(), k.value)).collect();
    assert_eq!(keys, [("Alpha", 17), ("Beta", 17), ("Gamma", 9)]);
    assert_eq!(nvidia.registry.evidence()[0].line, Some(5));
    assert_eq!(nvidia.parameters.value().unwrap().len(), 6);
    assert_eq!(nvidia.parameters.value().unwrap()[0].value, "4294967295");
}

#[test]
fn an_empty_registry_is_absent() {
    let tree = with_version(OPEN).file("proc/driver/nvidia/params", "EnableMSI: 1\nRegistryDwords: \"\"\n");
    assert!(read(&tree).registry.is_absent());
}

#[test]
fn damaged_driver_files_are_malformed_and_named() {
    for text in [&b""[..], b"\xff\xfe", b"garbage\n", &vec![b'x'; 900_000]] {
        let tree =
            Tree::new().file("proc/driver/nvidia/version", text).file("proc/driver/nvidia/params", text);
        let nvidia = read(&tree);
        assert_eq!(nvidia.version.reason().unwrap().why, Why::Malformed);
        assert_eq!(nvidia.parameters.reason().unwrap().path, "proc/driver/nvidia/params");
    }
    let long = Tree::new().file("proc/driver/nvidia/version", vec![b'9'; 10 << 20]);
    assert_eq!(read(&long).version.reason().unwrap().why, Why::TooLarge);
    let looped = Tree::new().link("proc/driver/nvidia/version", "version");
    assert_eq!(read(&looped).version.reason().unwrap().why, Why::Unreadable);
    let text = with_version(OPEN).file("proc/driver/nvidia/params", "DynamicPowerManagement: much\n");
    assert_eq!(read(&text).dynamic_power.reason().unwrap().why, Why::Malformed);
}

#[test]
fn registry_tokens_with_a_second_equals_sign_are_dropped() {
    let keys = parse_registry("A=1;B=2=3;;C=;A=0x2;D=word");
    let short: Vec<(&str, i64)> = keys.iter().map(|k| (k.key.as_str(), k.value)).collect();
    assert_eq!(short, [("A", 2), ("D", -1)]);
}

#[test]
fn uvm_disable_hmm_is_a_boolean_of_the_loaded_module() {
    let path = "sys/module/nvidia_uvm/parameters/uvm_disable_hmm";
    for (text, expected) in [("Y\n", true), ("N\n", false), ("1\n", true), ("0\n", false)] {
        assert_eq!(read(&Tree::new().file(path, text)).uvm_disable_hmm.value(), Some(&expected));
    }
    assert_eq!(read(&Tree::new().file(path, "maybe")).uvm_disable_hmm.reason().unwrap().why, Why::Malformed);
    assert!(read(&Tree::new().dir("sys/module/nvidia_uvm/parameters")).uvm_disable_hmm.is_absent());
    assert!(read(&Tree::new().dir("sys/module/nvidia_uvm")).uvm_disable_hmm.is_unknown());
}

#[test]
fn the_userspace_version_comes_from_nvidia_smi_or_from_the_library() {
    let smi =
        "Driver Version                            : 575.10.01\nGPU 00000000:02:00.0\n    Product Name : X\n";
    let library = || {
        Tree::new().file("usr/lib64/libnvidia-ml.so.570.20.03", "").file("usr/lib64/libnvidia-ml.so.1", "")
    };
    assert_eq!(read(&library()).userspace_version.value().unwrap(), "570.20.03");
    let both = library().file("captured/nvidia-smi-q.txt", smi);
    assert_eq!(read(&both).userspace_version.value().unwrap(), "575.10.01");

    let two = library().file("usr/lib64/libnvidia-ml.so.575.10.01", "");
    assert_eq!(read(&two).userspace_version.reason().unwrap().why, Why::Malformed);
    let chosen = two
        .without("usr/lib64/libnvidia-ml.so.1")
        .link("usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.575.10.01");
    assert_eq!(read(&chosen).userspace_version.value().unwrap(), "575.10.01");

    assert!(read(&Tree::new().dir("usr/lib/x86_64-linux-gnu")).userspace_version.is_absent());
    assert!(read(&Tree::new().dir("etc")).userspace_version.is_unknown());
}

#[test]
fn a_failing_nvidia_smi_still_names_its_library() {
    let text = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 575.10\n";
    let nvidia = read(&with_version(CLOSED).file("captured/nvidia-smi-q.txt", text));
    assert_eq!(nvidia.userspace_version.value().unwrap(), "575.10");
    assert!(nvidia.addressing_mode.reason().unwrap().detail.contains("version mismatch"));
}

#[test]
fn fabric_manager_is_found_by_its_package_or_log() {
    let installed = || Tree::new().file("usr/bin/nv-fabricmanager", "");
    let status = "Package: nvidia-fabricmanager-dev-570\nStatus: install ok installed\nVersion: 1.1-1\n\n\
                  Package: nvidia-fabricmanager-550\nStatus: deinstall ok config-files\nVersion: 550.1.1-1\n\n\
                  Package: nvidia-fabricmanager-570\nStatus: install ok installed\nVersion: 1:570.30.02-0ubuntu1\n";
    let dpkg = read(&installed().file("var/lib/dpkg/status", status));
    assert_eq!(dpkg.fabric_manager_version.value().unwrap(), "570.30.02");
    let log = "[x] Fabric Manager version 550.1 is running\n[y] Fabric Manager version 560.2.1 is running\n";
    let logged = read(&installed().file("var/log/fabricmanager.log", log));
    assert_eq!(logged.fabric_manager_version.value().unwrap(), "560.2.1");
    assert!(read(&installed()).fabric_manager_version.is_unknown());
    assert!(read(&Tree::new().dir("usr/bin")).fabric_manager_version.is_absent());
    assert!(read(&Tree::new().dir("etc")).fabric_manager_version.is_unknown());
}

#[test]
fn one_addressing_mode_is_reported_for_all_gpus() {
    let smi = |modes: [&str; 2]| {
        let text = format!(
            "Driver Version : 580.65.06\nGPU 00000000:02:00.0\n    Addressing Mode : {}\n\
             GPU 00000000:03:00.0\n    Addressing Mode : {}\n",
            modes[0], modes[1]
        );
        read(&Tree::new().file("captured/nvidia-smi-q.txt", text)).addressing_mode
    };
    assert_eq!(smi(["HMM", "HMM"]).value().unwrap(), "HMM");
    assert_eq!(smi(["None", "N/A"]).value().unwrap(), "None");
    assert!(smi(["N/A", "N/A"]).is_absent());
    assert!(smi(["HMM", "None"]).reason().unwrap().detail.contains("GPUs differ"));
    let older = "Driver Version : 470.1.1\nGPU 00000000:02:00.0\n    Product Name : X\n";
    assert!(read(&Tree::new().file("captured/nvidia-smi-q.txt", older)).addressing_mode.is_unknown());
}
