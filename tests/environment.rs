//! Environment of GPU processes and units, memory and `/dev/shm`.

mod common;

use common::Tree;
use peerfix::host::environment::{Environment, Setting, VARIABLES};
use peerfix::root::{Root, Why};

fn read(tree: &Tree) -> Environment {
    Environment::read(&Root::open(tree.path()).unwrap())
}

fn settings(tree: &Tree) -> Vec<String> {
    let found = read(tree);
    let show = |s: &Setting| format!("{}={} [{}] {}:{}", s.name, s.value, s.holder, s.file, s.line);
    found.settings.value().unwrap().iter().map(show).collect()
}

#[test]
fn a_process_that_holds_a_gpu_is_read_and_only_listed_variables_are_kept() {
    let environ =
        b"HOME=/root\0NCCL_P2P_DISABLE=1\0SECRET_TOKEN=abc\0\xff\xfe=x\0NCCL_PROTO=\xff\0".as_slice();
    let tree = Tree::new()
        .dir("etc")
        .file("proc/77/environ", environ)
        .file("proc/77/comm", "python3\n")
        .link("proc/77/fd/3", "/dev/nvidia0")
        .file("proc/78/environ", environ)
        .link("proc/78/fd/3", "/dev/null")
        .file("proc/79/environ", "")
        .file("proc/cmdline", "quiet");
    assert_eq!(
        settings(&tree),
        [
            "NCCL_P2P_DISABLE=1 [process 77 (python3)] proc/77/environ:0",
            "NCCL_PROTO=\u{fffd} [process 77 (python3)] proc/77/environ:0"
        ]
    );
}

#[test]
fn without_open_files_in_the_tree_a_listed_variable_is_enough() {
    let tree = Tree::new()
        .file("proc/77/environ", "ROCR_VISIBLE_DEVICES=0\0HIP_VISIBLE_DEVICES=1")
        .file("proc/78/environ", "HOME=/root");
    assert_eq!(settings(&tree).len(), 2);
    assert_eq!(read(&tree).rocr_and_hip.value().unwrap(), &["process 77 (?)"]);
}

#[test]
fn units_are_read_with_quoting_drop_ins_and_environment_files() {
    let tree = Tree::new()
        .file(
            "usr/lib/systemd/system/serve.service",
            "[Unit]\nEnvironment=NCCL_P2P_LEVEL=NODE\n[Service]\n# Environment=NCCL_P2P_LEVEL=A\n\
             Environment=\"NCCL_P2P_LEVEL=P X B\" 'NCCL_PROTO=LL' \\\n  CUDA_VISIBLE_DEVICES=0,1\nExecStart=/bin/true\n",
        )
        .file("etc/systemd/system/serve.service.d/10-over.conf", "[Service]\nEnvironment=NCCL_PROTO=Simple\n")
        .file("etc/systemd/system/serve.service.d/20-file.conf", "[Service]\nEnvironmentFile=-/etc/default/serve\n")
        .file("etc/default/serve", "# c\nNCCL_IB_DISABLE=\"1\"\nOTHER=1\n")
        .file("etc/systemd/user/mine.service", "[Service]\nEnvironment=NCCL_SHM_DISABLE=1\n");
    assert_eq!(
        settings(&tree),
        [
            "CUDA_VISIBLE_DEVICES=0,1 [unit serve.service] usr/lib/systemd/system/serve.service:5",
            "NCCL_IB_DISABLE=1 [unit serve.service] etc/default/serve:2",
            "NCCL_P2P_LEVEL=P X B [unit serve.service] usr/lib/systemd/system/serve.service:5",
            "NCCL_PROTO=Simple [unit serve.service] etc/systemd/system/serve.service.d/10-over.conf:2",
            "NCCL_SHM_DISABLE=1 [user unit mine.service] etc/systemd/user/mine.service:2"
        ]
    );
}

#[test]
fn what_systemd_overrides_or_resets_does_not_count() {
    let unit = "[Service]\nEnvironment=NCCL_P2P_DISABLE=1\n";
    let base = || Tree::new().dir("etc").file("usr/lib/systemd/system/a.service", unit);
    assert_eq!(settings(&base()).len(), 1);
    for tree in [
        base().file("etc/systemd/system/a.service", "[Service]\nExecStart=/bin/true\n"),
        base().link("etc/systemd/system/a.service", "/dev/null"),
        base().file("etc/systemd/system/a.service.d/x.conf", "[Service]\nEnvironment=\n"),
        base()
            .file("etc/systemd/system/a.service.d/x.conf", "[Service]\nUnsetEnvironment=NCCL_P2P_DISABLE\n"),
    ] {
        assert!(settings(&tree).is_empty());
    }
    let alias = base().link("etc/systemd/system/b.service", "/usr/lib/systemd/system/a.service");
    assert_eq!(settings(&alias).len(), 1);
}

#[test]
fn environment_files_by_pattern_stay_inside_the_tree() {
    let tree = Tree::new()
        .file(
            "etc/systemd/system/a.service",
            "[Service]\nEnvironmentFile=/etc/serve/*.env\nEnvironmentFile=/../../../../etc/other\nEnvironmentFile=%h/x\n",
        )
        .file("etc/serve/1.env", "NCCL_PROTO=LL\n")
        .file("etc/serve/2.txt", "NCCL_PROTO=no\n")
        .file("etc/other", "NCCL_IB_DISABLE=1\n");
    assert_eq!(
        settings(&tree),
        [
            "NCCL_IB_DISABLE=1 [unit a.service] ../../../../etc/other:1",
            "NCCL_PROTO=LL [unit a.service] etc/serve/1.env:1"
        ]
    );
}

#[test]
fn plain_assignments_of_the_whole_system_are_read() {
    let tree = Tree::new()
        .file("etc/environment", "PATH=/bin\nNCCL_P2P_DISABLE=\"1\"\n#NCCL_PROTO=LL\n")
        .file("etc/nccl.conf", "NCCL_P2P_LEVEL=LOC\n")
        .file(
            "etc/profile.d/gpu.sh",
            "export HSA_ENABLE_PEER_SDMA=0 # why\nexport NCCL_PROTO=$(choose)\nif x; then export NCCL_SHM_DISABLE='1'; fi\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n",
        )
        .file("etc/profile.d/readme", "export NCCL_IB_DISABLE=1\n");
    assert_eq!(
        settings(&tree),
        [
            "NCCL_P2P_DISABLE=1 [etc/environment] etc/environment:2",
            "NCCL_P2P_LEVEL=LOC [etc/nccl.conf] etc/nccl.conf:1",
            "HSA_ENABLE_PEER_SDMA=0 [etc/profile.d/gpu.sh] etc/profile.d/gpu.sh:1"
        ]
    );
}

#[test]
fn nothing_set_and_nothing_captured_are_two_things() {
    assert!(read(&Tree::new().dir("etc")).settings.value().unwrap().is_empty());
    let nothing = read(&Tree::new().dir("sys"));
    assert_eq!(nothing.settings.reason().unwrap().why, Why::NotCaptured);
    assert!(nothing.rocr_and_hip.is_unknown());
    let looped = read(&Tree::new().link("etc/environment", "environment"));
    assert_eq!(looped.settings.reason().unwrap().path, "etc/environment");
    let huge = read(&Tree::new().file("etc/nccl.conf", vec![b'x'; 10 << 20]));
    assert_eq!(huge.settings.reason().unwrap().why, Why::TooLarge);
    let found =
        read(&Tree::new().link("etc/environment", "environment").file("etc/nccl.conf", "NCCL_PROTO=LL\n"));
    assert!(found.settings.evidence().iter().any(|e| e.text.starts_with("not read: etc/environment")));
}

#[test]
fn shared_memory_follows_the_mount_option_or_half_of_the_memory() {
    let memory = "MemTotal:       65536000 kB\nMemFree: 1 kB\n";
    let with = |mounts: &str| read(&Tree::new().file("proc/meminfo", memory).file("proc/mounts", mounts));
    let sized = with("tmpfs /dev/shm tmpfs rw,nosuid,size=65536k,inode64 0 0\n");
    assert_eq!(sized.shm_bytes.value(), Some(&(64 << 20)));
    assert_eq!(sized.memory_bytes.value(), Some(&(65_536_000 * 1024)));
    assert_eq!(with("tmpfs /dev/shm tmpfs rw,nosuid 0 0\n").shm_bytes.value(), Some(&(32_768_000 * 1024)));
    assert_eq!(with("tmpfs /dev/shm tmpfs rw,size=25% 0 0\n").shm_bytes.value(), Some(&(16_384_000 * 1024)));
    assert!(with("proc /proc proc rw 0 0\n").shm_bytes.is_absent());
    let bad = with("tmpfs / tmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw,size=many 0 0\n");
    assert_eq!(
        (bad.shm_bytes.reason().unwrap().why, bad.shm_bytes.reason().unwrap().line),
        (Why::Malformed, Some(2))
    );
}

#[test]
fn memory_that_was_not_captured_or_is_malformed_is_unknown() {
    let missing = read(&Tree::new().file("proc/mounts", "tmpfs /dev/shm tmpfs rw 0 0\n"));
    assert_eq!(missing.memory_bytes.reason().unwrap().why, Why::NotCaptured);
    assert_eq!(missing.shm_bytes.reason().unwrap().why, Why::Derived);
    for text in ["", "MemTotal: many kB\n", "MemTotal: 99999999999999999999 kB\n", "MemTotal: -1 kB\n"] {
        let found = read(&Tree::new().file("proc/meminfo", text));
        assert_eq!(found.memory_bytes.reason().unwrap().why, Why::Malformed, "{text:?}");
    }
    let cut = read(&Tree::new().file("proc/meminfo", b"MemTotal: \xff kB".as_slice()));
    assert!(cut.memory_bytes.is_unknown());
}

#[test]
fn the_live_machine_has_memory_and_keeps_to_the_list() {
    let found = Environment::read(&Root::live());
    assert!(found.memory_bytes.value().is_some_and(|b| *b > 0));
    for setting in found.settings.value().into_iter().flatten() {
        assert!(VARIABLES.contains(&setting.name.as_str()));
    }
}
