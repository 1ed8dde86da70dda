//! Facts of the running kernel: release, command line, configuration, lockdown, ASPM policy.

mod common;

use common::Tree;
use flate2::{Compression, write::GzEncoder};
use peerfix::host::kernel::Kernel;
use peerfix::root::{Root, Why};
use std::io::Write;

fn read(tree: &Tree) -> Kernel {
    Kernel::read(&Root::open(tree.path()).unwrap())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn release() -> Tree {
    Tree::new().file("proc/sys/kernel/osrelease", "6.14.3-2-lts\n")
}

const CONFIG: &str = "#\n# Linux/x86 Configuration\n#\nCONFIG_PCI=y\nCONFIG_PCI_P2PDMA=y\n# CONFIG_HSA_AMD_P2P is not set\n\
                      CONFIG_ZONE_DEVICE_EXTRA=y\nCONFIG_LOCALVERSION=\"-lts\"\n";

#[test]
fn the_release_and_its_number_come_from_osrelease() {
    let kernel = read(&release());
    assert_eq!(kernel.release.value().unwrap(), "6.14.3-2-lts");
    assert_eq!(kernel.version.value(), Some(&6014));
    assert_eq!(kernel.release.evidence()[0].source, "proc/sys/kernel/osrelease");
}

#[test]
fn proc_version_serves_where_osrelease_is_missing() {
    let kernel =
        read(&Tree::new().file("proc/version", "Linux version 5.15.0-91-lab (build@box) (gcc) #1 SMP\n"));
    assert_eq!(kernel.release.value().unwrap(), "5.15.0-91-lab");
    assert_eq!(kernel.version.value(), Some(&5015));
}

#[test]
fn a_tree_without_proc_leaves_everything_not_captured() {
    let kernel = read(&Tree::new().dir("sys"));
    for why in [
        kernel.release.reason().map(|r| r.why),
        kernel.cmdline.reason().map(|r| r.why),
        kernel.boot_id.reason().map(|r| r.why),
        kernel.lockdown.reason().map(|r| r.why),
        kernel.aspm_policy.reason().map(|r| r.why),
    ] {
        assert_eq!(why, Some(Why::NotCaptured));
    }
    assert_eq!(kernel.config.zone_device.reason().unwrap().why, Why::Derived);
}

#[test]
fn the_command_line_is_evidence_for_itself() {
    let kernel = read(&Tree::new().file("proc/cmdline", "ro quiet iommu=pt\n"));
    assert!(kernel.cmdline.value().unwrap().has("iommu=pt"));
    assert_eq!(kernel.cmdline.evidence()[0].text, "ro quiet iommu=pt");
    assert_eq!(kernel.cmdline.evidence()[0].line, Some(1));
}

#[test]
fn a_command_line_that_is_not_text_is_malformed() {
    let kernel = read(&Tree::new().file("proc/cmdline", b"ro \xff\xfe\n"));
    assert_eq!(kernel.cmdline.reason().unwrap().why, Why::Malformed);
}

#[test]
fn the_configuration_is_found_in_each_of_its_places() {
    for path in
        ["boot/config-6.14.3-2-lts", "lib/modules/6.14.3-2-lts/config", "usr/lib/modules/6.14.3-2-lts/config"]
    {
        let config = read(&release().file(path, CONFIG)).config;
        assert_eq!(config.pci_p2pdma.value().unwrap(), "y", "{path}");
        assert_eq!(config.pci_p2pdma.evidence()[0].source, path);
        assert_eq!(config.pci_p2pdma.evidence()[0].line, Some(5));
    }
    let config = read(&Tree::new().file("proc/config.gz", gzip(CONFIG))).config;
    assert_eq!(config.pci_p2pdma.value().unwrap(), "y", "needs no release");
}

#[test]
fn not_set_and_not_mentioned_are_both_absent() {
    let config = read(&release().file("boot/config-6.14.3-2-lts", CONFIG)).config;
    assert!(config.hsa_amd_p2p.is_absent());
    assert_eq!(config.hsa_amd_p2p.evidence()[0].text, "# CONFIG_HSA_AMD_P2P is not set");
    assert!(config.zone_device.is_absent(), "a longer name is another symbol");
}

#[test]
fn silence_of_a_cut_configuration_proves_nothing() {
    let config = read(&release().file("boot/config-6.14.3-2-lts", "CONFIG_PCI_P2PDMA=y\nCONFIG_PC")).config;
    assert_eq!(config.pci_p2pdma.value().unwrap(), "y");
    let reason = config.zone_device.reason().unwrap();
    assert_eq!((reason.why, reason.line), (Why::Malformed, Some(2)));
}

#[test]
fn an_empty_configuration_is_malformed() {
    let config = read(&release().file("boot/config-6.14.3-2-lts", "")).config;
    assert_eq!(config.pci_p2pdma.reason().unwrap().why, Why::Malformed);
}

#[test]
fn a_broken_gzip_is_named_unless_another_place_serves() {
    let mut broken = gzip(CONFIG);
    broken.truncate(broken.len() / 2);
    for bytes in [broken.clone(), b"plain text".to_vec(), Vec::new()] {
        let config = read(&release().file("proc/config.gz", &bytes)).config;
        let reason = config.pci_p2pdma.reason().unwrap();
        assert_eq!((reason.why, reason.path.as_str()), (Why::Malformed, "proc/config.gz"));
    }
    let config =
        read(&release().file("proc/config.gz", broken).file("boot/config-6.14.3-2-lts", CONFIG)).config;
    assert_eq!(config.pci_p2pdma.value().unwrap(), "y");
}

#[test]
fn a_configuration_that_unpacks_without_end_is_refused() {
    let bomb = gzip(&"CONFIG_X=y\n".repeat(1 << 19));
    let config = read(&Tree::new().file("proc/config.gz", bomb)).config;
    assert_eq!(config.pci_p2pdma.reason().unwrap().why, Why::TooLarge);
}

#[test]
fn a_release_with_a_slash_names_no_file() {
    let tree = Tree::new()
        .file("proc/sys/kernel/osrelease", "../../etc\n")
        .file("boot/config-../../etc", CONFIG)
        .file("etc/x", "");
    assert!(read(&tree).config.pci_p2pdma.is_unknown());
}

#[test]
fn lockdown_and_aspm_policy_are_the_words_in_brackets() {
    let tree = Tree::new()
        .file("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
        .file("sys/module/pcie_aspm/parameters/policy", "default performance [powersave] powersupersave \n");
    let kernel = read(&tree);
    assert_eq!(kernel.lockdown.value().unwrap(), "integrity");
    assert_eq!(kernel.aspm_policy.value().unwrap(), "powersave");
    assert_eq!(kernel.aspm_policy.evidence()[0].line, Some(1));
}

#[test]
fn a_list_without_brackets_is_malformed() {
    let tree = Tree::new().file("sys/module/pcie_aspm/parameters/policy", "default performance\n");
    assert_eq!(read(&tree).aspm_policy.reason().unwrap().why, Why::Malformed);
}

#[test]
fn no_lockdown_file_is_absent_only_where_securityfs_is_mounted() {
    let kernel = read(&Tree::new().file("sys/kernel/security/lsm", "capability,yama\n"));
    assert!(kernel.lockdown.is_absent());
    let kernel = read(&Tree::new().dir("sys/kernel/security"));
    assert_eq!(kernel.lockdown.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn no_version_can_be_made_of_an_odd_release() {
    let kernel = read(&Tree::new().file("proc/sys/kernel/osrelease", "custom\n"));
    assert_eq!(kernel.release.value().unwrap(), "custom");
    assert_eq!(kernel.version.reason().unwrap().why, Why::Malformed);
    let kernel = read(&Tree::new().file("proc/sys/kernel/osrelease", "\n"));
    assert_eq!(kernel.release.reason().unwrap().why, Why::Malformed);
}

#[test]
fn hostile_files_are_reasons_not_failures() {
    let tree = Tree::new()
        .link("proc/cmdline", "cmdline")
        .dir("proc/version")
        .file("proc/sys/kernel/osrelease", "x".repeat(10 << 20));
    let kernel = read(&tree);
    assert_eq!(kernel.cmdline.reason().unwrap().why, Why::Unreadable, "a link loop");
    assert_eq!(kernel.release.reason().unwrap().why, Why::TooLarge);
}
