//! Unreadable, truncated, foreign, huge and contradictory input: the file is named, every other rule still
//! speaks, nothing is written, nothing breaks.

mod common;

use common::contract::{Audit, RULES, audit};
use common::{Tree, hosts};
use std::os::unix::fs::PermissionsExt;

/// A file that one rule cannot do without.
struct Needed {
    host: fn() -> Tree,
    file: &'static str,
    /// Rule that becomes unknown and says why.
    rule: &'static str,
    /// Rule of the same host that does not need the file, and its status.
    steady: (&'static str, &'static str),
}

const NEEDED: &[Needed] = &[
    Needed {
        host: hosts::z890,
        file: "captured/dmesg.txt",
        rule: "iommu/faults",
        steady: ("pcie/link-degraded", "pass"),
    },
    Needed {
        host: hosts::z890,
        file: "proc/cmdline",
        rule: "iommu/ineffective-option",
        steady: ("bar/bar1-too-small", "pass"),
    },
    Needed {
        host: hosts::z890,
        file: "etc/default/grub",
        rule: "boot/cmdline-drift",
        steady: ("iommu/faults", "fail"),
    },
    Needed {
        host: hosts::turin_tuned,
        file: "proc/driver/nvidia/params",
        rule: "nvidia/params-not-loaded",
        steady: ("nvidia/uvm-hmm", "pass"),
    },
    Needed {
        host: hosts::turin_tuned,
        // The group of 0000:21:00.0.
        file: "sys/kernel/iommu_groups/9/type",
        rule: "iommu/translated-peer",
        steady: ("nvidia/uvm-hmm", "pass"),
    },
    // Hosts are chosen so that nothing else makes the rule fail.
    Needed {
        host: hosts::x99_low_aperture,
        file: "sys/bus/pci/devices/0000:04:00.0/dma_mask_bits",
        rule: "iommu/needs-translation",
        steady: ("p2pdma/bridge-not-allowed", "fail"),
    },
    Needed {
        host: hosts::x99_low_aperture,
        file: "sys/bus/pci/devices/0000:04:00.0/resource",
        rule: "iommu/needs-translation",
        steady: ("p2pdma/bridge-not-allowed", "fail"),
    },
    Needed {
        host: hosts::x99_haswell,
        file: "sys/bus/pci/devices/0000:00:00.0/device",
        rule: "p2pdma/bridge-not-allowed",
        steady: ("iommu/needs-translation", "fail"),
    },
    Needed {
        host: hosts::x99,
        file: "proc/cpuinfo",
        rule: "p2pdma/bridge-not-allowed",
        steady: ("iommu/needs-translation", "fail"),
    },
    Needed {
        host: hosts::x99,
        file: "boot/config-7.1.4-76070104-generic",
        rule: "p2pdma/kernel-config",
        steady: ("iommu/needs-translation", "fail"),
    },
    Needed {
        host: hosts::turin_tuned,
        file: "sys/bus/pci/devices/0000:40:01.1/aer_dev_correctable",
        rule: "pcie/aer-errors",
        steady: ("nvidia/uvm-hmm", "pass"),
    },
    Needed {
        host: hosts::turin_tuned,
        file: "sys/bus/pci/devices/0000:41:00.0/current_link_width",
        rule: "pcie/link-degraded",
        steady: ("nvidia/uvm-hmm", "pass"),
    },
    Needed {
        host: x570_without_matrix,
        file: "captured/nvidia-smi-nvlink-s.txt",
        rule: "nvlink/bridge-inactive",
        steady: ("pcie/link-degraded", "pass"),
    },
];

/// The bridge state stands in one file only.
fn x570_without_matrix() -> Tree {
    hosts::x570_active().without("captured/nvidia-smi-topo-m.txt")
}

impl Needed {
    /// Audits the host with the file changed by `change`; the findings must name the file.
    fn broken_by(&self, change: fn(Tree, &str) -> Tree) -> Audit {
        let (folder, name) = self.file.rsplit_once('/').unwrap();
        let tree = change((self.host)(), self.file);
        let before = tree.digest();
        let audit = audit(&tree);
        assert_eq!(before, tree.digest(), "{}: something was written", self.file);
        all_rules_speak(&audit, self.file);
        let last = folder.rsplit('/').next().unwrap();
        audit.finding(self.steady.0).is(self.steady.1);
        audit.finding(self.rule).is("unknown").says(&format!("{last}/{name}"));
        audit
    }
}

fn all_rules_speak(audit: &Audit, what: &str) {
    for rule in RULES {
        assert!(audit.findings().iter().any(|f| f.rule() == rule), "{what}: {rule} fell silent");
    }
}

#[test]
fn an_unreadable_file_is_named_and_its_rule_unknown() {
    for needed in NEEDED {
        needed.broken_by(Tree::unreadable);
    }
}

#[test]
fn unreadable_kfd_links_are_no_missing_links() {
    let mut tree = hosts::x99();
    for node in 2..6 {
        tree = tree.unreadable(&format!("sys/class/kfd/kfd/topology/nodes/{node}/p2p_links/0/properties"));
    }
    audit(&tree).finding("kfd/no-peer-link").is("unknown").says("p2p_links/0/properties");
}

#[test]
fn bytes_that_are_no_text_are_malformed() {
    // A kernel log may hold foreign bytes; everything else is text.
    for needed in NEEDED.iter().filter(|n| n.file != "captured/dmesg.txt") {
        needed.broken_by(|tree, file| tree.file(file, b"\xff\xfe\x00\x80\xc3\x28\n"));
    }
}

#[test]
fn a_line_of_ten_megabytes_is_too_large() {
    let small = |n: &&Needed| !n.file.starts_with("captured/");
    for needed in NEEDED.iter().filter(small) {
        needed.broken_by(|tree, file| tree.file(file, vec![b'7'; 10 << 20]));
    }
}

#[test]
fn a_link_loop_is_no_file() {
    for needed in NEEDED {
        needed.broken_by(|tree, file| {
            let name = file.rsplit('/').next().unwrap().to_owned();
            tree.without(file).link(file, &name)
        });
    }
}

#[test]
fn a_file_without_permission_is_told_apart_from_a_missing_one() {
    let tree = hosts::z890();
    let denied = unprivileged(&tree.mode("captured/dmesg.txt", 0o000));
    let denied = denied.finding("iommu/faults").is("unknown");
    denied.says("captured/dmesg.txt").says("permission");
    let missing = audit(&hosts::z890().without("captured/dmesg.txt"));
    missing.finding("iommu/faults").is("unknown").says("not captured");
}

#[test]
fn without_root_config_space_is_unknown_and_listed() {
    let mut tree = hosts::x99();
    for (bdf, _) in hosts::X99_GPUS {
        let config = format!("sys/bus/pci/devices/{bdf}/config");
        let header = std::fs::read(tree.path().join(&config)).unwrap()[..64].to_vec();
        tree = tree.file(&config, header);
    }
    for port in ["0000:02:00.0", "0000:03:00.0", "0000:00:02.0"] {
        let config = format!("sys/bus/pci/devices/{port}/config");
        let header = std::fs::read(tree.path().join(&config)).unwrap()[..64].to_vec();
        tree = tree.file(&config, header);
    }
    let audit = audit(&tree);
    audit.finding("iommu/needs-translation").is("fail");
    audit.finding("pcie/acs-redirect").does_not_fire();
    all_rules_speak(&audit, "config");
}

/// Audits as a user without privileges; the program is copied to where every user can reach it.
fn unprivileged(tree: &Tree) -> Audit {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let open =
        |path: &std::path::Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
    let program = folder.path().join("peerfix");
    std::fs::copy(env!("CARGO_BIN_EXE_peerfix"), &program).unwrap();
    open(folder.path()).unwrap();
    open(&program).unwrap();
    open(tree.path()).unwrap();
    let mut command = std::process::Command::new(&program);
    command.args(["audit", "--format", "json", "--host"]).arg(tree.path()).env_clear().current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.gid(65534).uid(65534);
    }
    let output = command.output().unwrap();
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    Audit { code: output.status.code().unwrap(), json }
}

/// A host and files of it.
type Read = (fn() -> Tree, &'static [&'static str]);

/// Every kind of file that some reader reads, on a host where it stands.
const READ: &[Read] = &[
    (
        hosts::z890,
        &[
            "captured/dmesg.txt",
            "captured/nvidia-smi-q.txt",
            "captured/nvidia-smi-topo-m.txt",
            "captured/nvidia-smi-topo-p2p-r.txt",
            "captured/nvidia-smi-topo-p2p-w.txt",
            "proc/cmdline",
            "proc/cpuinfo",
            "proc/meminfo",
            "proc/mounts",
            "proc/version",
            "proc/sys/kernel/osrelease",
            "proc/driver/nvidia/version",
            "proc/driver/nvidia/params",
            "proc/driver/nvidia/gpus/0000:02:00.0/information",
            "sys/module/nvidia_uvm/parameters/uvm_disable_hmm",
            "sys/module/pcie_aspm/parameters/policy",
            "sys/kernel/security/lockdown",
            "sys/class/dmi/id/board_name",
            "sys/class/iommu/dmar0/intel-iommu/ecap",
            "sys/bus/pci/devices/0000:02:00.0/class",
            "sys/bus/pci/devices/0000:02:00.0/vendor",
            "sys/bus/pci/devices/0000:02:00.0/resource",
            "sys/bus/pci/devices/0000:02:00.0/resource1_resize",
            "sys/bus/pci/devices/0000:02:00.0/config",
            "sys/bus/pci/devices/0000:02:00.0/numa_node",
            "sys/bus/pci/devices/0000:02:00.0/current_link_speed",
            "sys/bus/pci/devices/0000:02:00.0/aer_dev_fatal",
            "sys/bus/pci/devices/0000:02:00.0/power/control",
            "sys/bus/pci/devices/0000:00:01.0/resource",
            "sys/bus/pci/devices/0000:00:01.0/config",
            "etc/default/grub",
            "etc/modprobe.d/uvm.conf",
            "etc/os-release",
            "boot/grub/grub.cfg",
            "boot/config-7.0.0-28-generic",
        ],
    ),
    (
        hosts::x99,
        &[
            "etc/kernelstub/configuration",
            "boot/efi/loader/entries/Pop_OS-current.conf",
            "boot/efi/loader/loader.conf",
            "sys/module/amdgpu/parameters/pcie_p2p",
            "sys/class/kfd/kfd/topology/nodes/0/properties",
            "sys/class/kfd/kfd/topology/nodes/2/properties",
            "sys/class/kfd/kfd/topology/nodes/2/io_links/0/properties",
            "sys/bus/pci/devices/0000:04:00.0/pp_dpm_pcie",
            "sys/bus/pci/devices/0000:04:00.0/mem_info_vram_total",
            "sys/bus/pci/devices/0000:04:00.0/mem_info_vis_vram_total",
        ],
    ),
    (hosts::x570_active, &["captured/nvidia-smi-nvlink-s.txt"]),
    (hosts::z890_thunderbolt, &["sys/bus/thunderbolt/devices/0-1/device_name"]),
];

fn survives(change: impl Fn(Tree, &str) -> Tree) {
    for (host, files) in READ {
        for file in *files {
            let tree = change(host(), file);
            let before = tree.digest();
            all_rules_speak(&audit(&tree), file);
            assert_eq!(before, tree.digest(), "{file}: something was written");
        }
    }
}

#[test]
fn every_reader_survives_a_truncated_file() {
    survives(Tree::truncated);
}

#[test]
fn every_reader_survives_an_empty_file() {
    survives(|tree, file| tree.file(file, ""));
}

#[test]
fn every_reader_survives_a_missing_file() {
    survives(Tree::without);
}

#[test]
fn every_reader_survives_foreign_bytes() {
    survives(|tree, file| {
        let mut bytes = std::fs::read(tree.path().join(file)).unwrap();
        let middle = bytes.len() / 2;
        bytes.splice(middle..middle, *b"\xff\x00\xfe\xed\xa0\x80");
        tree.file(file, bytes)
    });
}

#[test]
fn every_reader_survives_a_line_of_ten_megabytes() {
    survives(|tree, file| {
        let mut bytes = std::fs::read(tree.path().join(file)).unwrap();
        bytes.extend(vec![b'x'; 10 << 20]);
        tree.file(file, bytes)
    });
}

#[test]
fn every_reader_survives_numbers_out_of_range() {
    survives(|tree, file| {
        tree.file(file, "0xffffffffffffffffffff 99999999999999999999999 -1 : = ; \" \\\n".repeat(20))
    });
}

#[test]
fn a_log_with_one_endless_line_still_counts_its_faults() {
    let tree = hosts::z890();
    let log = tree.read("captured/dmesg.txt");
    let endless = format!("[ 1500.000000] {}\n{log}", "x".repeat(10 << 20));
    audit(&tree.file("captured/dmesg.txt", endless)).finding("iommu/faults").is("fail").counts(37);
}

#[test]
fn contradictions_are_judged_by_what_is_effective() {
    // Words that contradict each other, groups without a unit, a link wider than it can be.
    let tree = hosts::z890()
        .file("proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz ro iommu=pt iommu=nopt intel_iommu=on,off\n")
        .without("sys/class/iommu/dmar0")
        .without("sys/class/iommu/dmar1")
        .file("sys/bus/pci/devices/0000:02:00.0/current_link_width", "32\n");
    let judged = audit(&tree);
    all_rules_speak(&judged, "contradictions");
    judged.finding("iommu/faults").is("fail");
    judged.finding("iommu/ineffective-option").fires().says("iommu=nopt");
}

#[test]
fn a_matrix_for_more_gpus_than_there_are_is_no_index_error() {
    use common::nvidia_smi::peers;
    let tree = hosts::z890().file("captured/nvidia-smi-topo-p2p-r.txt", peers(9, "OK"));
    all_rules_speak(&audit(&tree), "matrix");
}

#[test]
fn two_cards_that_claim_one_address_range_are_no_proof() {
    let resource = hosts::z890().read("sys/bus/pci/devices/0000:03:00.0/resource");
    let tree = hosts::z890().file("sys/bus/pci/devices/0000:02:00.0/resource", resource);
    let judged = audit(&tree);
    // Own BAR or the peer's? Passthrough is then no free remedy.
    let free = judged.finding("iommu/faults").ladder().into_iter().any(|c| c.is_free());
    assert!(!free, "{:#?}", judged.json["changes"]);
}

#[test]
fn kfd_links_to_nodes_that_do_not_exist_are_no_peers() {
    let link = "sys/class/kfd/kfd/topology/nodes/2/p2p_links/0/properties";
    let tree = hosts::x99();
    let text = tree.read(link).replace("node_to 1", "node_to 77");
    audit(&tree.file(link, text)).finding("kfd/no-peer-link").fires();
}

#[test]
fn a_pci_tree_that_is_gone_is_unknown_and_not_a_host_without_gpus() {
    let tree = hosts::z890().without("sys/bus").without("sys/devices/pci0000:00");
    let judged = audit(&tree);
    all_rules_speak(&judged, "sys/bus/pci");
    judged.no_changes();
    assert_ne!(judged.finding("pcie/link-degraded").status(), "pass");
    assert_ne!(judged.finding("bar/bar1-too-small").status(), "pass");
}

#[test]
fn links_that_leave_the_tree_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("grub"), "GRUB_CMDLINE_LINUX_DEFAULT=\"outside\"\n").unwrap();
    let target = outside.path().join("grub");
    let tree = hosts::z890().without("etc/default/grub").link("etc/default/grub", target.to_str().unwrap());
    let judged = audit(&tree);
    assert!(!judged.json.to_string().contains("outside"), "a file outside the capture was read");
}
