//! Processor identity, and whether the host is a virtual machine.

mod common;

use common::Tree;
use peerfix::host::{cpu::Cpu, kernel::Kernel, virt::Virt};
use peerfix::root::{Root, Why};

fn root(tree: &Tree) -> Root {
    Root::open(tree.path()).unwrap()
}

fn cpu(text: impl AsRef<[u8]>) -> Cpu {
    Cpu::read(&root(&Tree::new().file("proc/cpuinfo", text)))
}

fn virt(tree: &Tree) -> Virt {
    let root = root(tree);
    Virt::read(&root, &Cpu::read(&root), &Kernel::read(&root))
}

/// One x86 processor as the kernel prints it.
fn x86(number: usize, vendor: &str, package: usize, apic: usize, flags: &str) -> String {
    format!(
        "processor\t: {number}\nvendor_id\t: {vendor}\ncpu family\t: 26\nmodel\t\t: 17\nmodel name\t: Test CPU 9000\n\
         physical id\t: {package}\napicid\t\t: {apic}\ninitial apicid\t: {apic}\nflags\t\t: fpu vme {flags}\n\n"
    )
}

fn arm() -> String {
    "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\n".repeat(4)
}

fn host(flags: &str) -> Tree {
    Tree::new()
        .file("proc/cpuinfo", x86(0, "AuthenticAMD", 0, 0, flags))
        .file("proc/sys/kernel/osrelease", "6.12.1-generic\n")
}

#[test]
fn identity_is_that_of_the_first_processor() {
    let cpu = cpu(x86(0, "AuthenticAMD", 0, 0, "svm") + &x86(1, "AuthenticAMD", 1, 300, "svm"));
    assert_eq!(cpu.vendor.value().unwrap(), "AuthenticAMD");
    assert_eq!((cpu.family.value(), cpu.model.value()), (Some(&26), Some(&17)));
    assert_eq!(cpu.name.value().unwrap(), "Test CPU 9000");
    assert_eq!((cpu.sockets.value(), cpu.threads.value()), (Some(&2), Some(&2)));
    assert_eq!(cpu.highest_apic_id.value(), Some(&300));
    assert_eq!(cpu.hypervisor_flag.value(), Some(&false));
    assert_eq!(cpu.family.evidence()[0].line, Some(3));
}

#[test]
fn the_vendor_keeps_the_blanks_that_belong_to_it() {
    assert_eq!(cpu(x86(0, "  Shanghai  ", 0, 0, "")).vendor.value().unwrap(), "  Shanghai  ");
}

#[test]
fn another_architecture_has_no_vendor_family_or_flag() {
    let cpu = cpu(arm());
    assert!(cpu.vendor.is_absent() && cpu.family.is_absent() && cpu.highest_apic_id.is_absent());
    assert!(cpu.hypervisor_flag.is_absent());
    assert_eq!(cpu.threads.value(), Some(&4));
}

#[test]
fn a_host_of_448_processors_is_read_whole() {
    let long = "f".repeat(2000);
    let text: String = (0..448).map(|n| x86(n, "GenuineIntel", n / 224, n * 2, &long)).collect();
    let cpu = cpu(text);
    assert_eq!(cpu.threads.value(), Some(&448));
    assert_eq!(cpu.highest_apic_id.value(), Some(&894));
    assert_eq!(cpu.sockets.value(), Some(&2));
}

#[test]
fn a_cut_file_has_identity_but_no_counts() {
    let mut text = x86(0, "GenuineIntel", 0, 0, "") + &x86(1, "GenuineIntel", 0, 2, "");
    text.truncate(text.len() - 30);
    let cpu = cpu(text);
    assert_eq!(cpu.vendor.value().unwrap(), "GenuineIntel");
    for reason in [&cpu.threads, &cpu.sockets, &cpu.highest_apic_id] {
        assert_eq!(reason.reason().unwrap().why, Why::Malformed);
    }
}

#[test]
fn a_file_cut_after_its_first_line_is_not_another_architecture() {
    let cpu = cpu("processor\t: 0\n");
    assert_eq!(cpu.vendor.reason().unwrap().why, Why::Malformed);
    assert_eq!(cpu.hypervisor_flag.reason().unwrap().why, Why::Malformed);
}

#[test]
fn odd_contents_are_malformed_and_named_by_line() {
    let reason = cpu("processor\t: 0\nvendor_id\t: A\ncpu family\t: six\nmodel\t: 1\n")
        .family
        .reason()
        .unwrap()
        .clone();
    assert_eq!((reason.why, reason.line), (Why::Malformed, Some(3)));
    for text in [&b""[..], b"\xff\xfe\n", b"hello\n", &vec![b'x'; 10 << 20]] {
        assert_eq!(cpu(text).threads.reason().unwrap().why, Why::Malformed);
    }
}

#[test]
fn bare_metal_is_the_absence_of_the_flag() {
    assert!(virt(&host("svm")).hypervisor.is_absent());
    let nothing = virt(&Tree::new().dir("sys"));
    assert_eq!(nothing.hypervisor.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn guests_are_named_by_their_firmware() {
    for (vendor, product, name) in [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "kvm"),
        ("VMware, Inc.", "VMware20,1", "vmware"),
        ("Microsoft Corporation", "Virtual Machine", "hyper-v"),
        ("Xen", "HVM domU", "xen"),
        ("innotek GmbH", "VirtualBox", "unknown"),
    ] {
        let tree = host("hypervisor")
            .file("sys/class/dmi/id/sys_vendor", format!("{vendor}\n"))
            .file("sys/class/dmi/id/product_name", format!("{product}\n"));
        assert_eq!(virt(&tree).hypervisor.value().unwrap(), name);
    }
}

#[test]
fn a_guest_whose_flag_is_hidden_is_still_named_by_its_firmware() {
    let tree = host("").file("sys/class/dmi/id/sys_vendor", "QEMU\n");
    assert_eq!(virt(&tree).hypervisor.value().unwrap(), "kvm");
}

#[test]
fn a_metal_instance_of_a_cloud_is_no_guest() {
    let tree = host("")
        .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
        .file("sys/class/dmi/id/product_name", "x9.metal\n");
    assert!(virt(&tree).hypervisor.is_absent());
}

#[test]
fn a_surface_laptop_is_no_guest() {
    let tree = host("")
        .file("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n")
        .file("sys/class/dmi/id/product_name", "Surface Laptop\n");
    assert!(virt(&tree).hypervisor.is_absent());
}

#[test]
fn clocks_name_a_hypervisor_that_the_firmware_hides() {
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let tree = host("hypervisor").file(clocks, "kvm-clock tsc acpi_pm \n");
    assert_eq!(virt(&tree).hypervisor.value().unwrap(), "kvm");
    assert_eq!(virt(&host("hypervisor")).hypervisor.value().unwrap(), "unknown");
}

#[test]
fn xen_says_so_itself() {
    assert_eq!(virt(&host("").file("sys/hypervisor/type", "xen\n")).hypervisor.value().unwrap(), "xen");
}

#[test]
fn windows_subsystem_for_linux_is_known_by_its_kernel() {
    let wsl = virt(&host("hypervisor").file("proc/sys/kernel/osrelease", "6.6.1-microsoft-standard-WSL2\n"));
    assert_eq!(wsl.wsl.value(), Some(&true));
    assert_eq!(wsl.hypervisor.value().unwrap(), "wsl");
    let own =
        host("hypervisor").file("proc/version", "Linux version 4.4.0-1 (Microsoft@Microsoft.com) (gcc) #1\n");
    assert_eq!(virt(&own).wsl.value(), Some(&true));
    assert_eq!(virt(&host("hypervisor")).wsl.value(), Some(&false));
    let azure = host("hypervisor").file("proc/sys/kernel/osrelease", "6.8.0-1010-azure\n");
    assert_eq!(virt(&azure).wsl.value(), Some(&false));
}

#[test]
fn other_architectures_need_firmware_to_be_called_bare_metal() {
    let tree = Tree::new().file("proc/cpuinfo", arm());
    assert!(virt(&tree).hypervisor.is_unknown());
    let tree = tree.file("sys/class/dmi/id/sys_vendor", "Example Servers\n");
    assert!(virt(&tree).hypervisor.is_absent());
    let tree =
        Tree::new().file("proc/cpuinfo", arm()).file("proc/device-tree/hypervisor/compatible", "linux,kvm\0");
    assert_eq!(virt(&tree).hypervisor.value().unwrap(), "kvm");
}

#[test]
fn the_board_is_vendor_and_name() {
    let tree = host("")
        .file("sys/class/dmi/id/board_vendor", "Example Inc.\n")
        .file("sys/class/dmi/id/board_name", "X-1000\n");
    assert_eq!(virt(&tree).board.value().unwrap(), "Example Inc. X-1000");
    assert_eq!(virt(&host("")).board.reason().unwrap().why, Why::NotCaptured);
}
