//! Who depends on DMA isolation, and how disks are unlocked.

mod common;

use common::Tree;
use peerfix::host::isolation::Isolation;
use peerfix::host::pci::PciDevice;
use peerfix::root::{Evidence, Fact, Root, Why};

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, Evidence::new("test", ""))
}

fn function(bdf: &str, class: i64, driver: &str, mask: i64) -> PciDevice {
    PciDevice {
        bdf: bdf.to_owned(),
        class: known(class),
        driver: if driver.is_empty() { Fact::absent("driver") } else { known(driver.to_owned()) },
        dma_mask_bits: known(mask),
        ..PciDevice::default()
    }
}

fn plain() -> Vec<PciDevice> {
    vec![function("0000:21:00.0", 0x03_0000, "nvidia", 47)]
}

fn read(tree: &Tree, pci: &[PciDevice]) -> Isolation {
    Isolation::read(&Root::open(tree.path()).unwrap(), pci)
}

fn list(fact: &Fact<Vec<String>>) -> &[String] {
    fact.value().map(Vec::as_slice).unwrap()
}

#[test]
fn a_host_without_guests_and_without_controllers_is_known_to_be_free() {
    let tree = Tree::new().dir("etc").dir("sys/bus/pci").dir("proc");
    let found = read(&tree, &plain());
    for fact in
        [&found.vfio, &found.guests, &found.thunderbolt, &found.thunderbolt_ports, &found.unlock.trouble]
    {
        assert!(list(fact).is_empty(), "{fact:?}");
    }
}

#[test]
fn what_was_not_captured_is_not_free() {
    let found = read(&Tree::new().dir("proc"), &[]);
    for fact in [&found.guests, &found.thunderbolt, &found.thunderbolt_ports, &found.unlock.trouble] {
        assert_eq!(fact.reason().unwrap().why, Why::NotCaptured);
    }
    assert_eq!(found.vfio.reason().unwrap().why, Why::Derived);
}

#[test]
fn functions_of_vfio_and_those_with_a_narrow_mask_are_named() {
    let mut pci = vec![
        function("0000:00:01.0", 0x06_0400, "pcieport", 32),
        function("0000:00:1f.3", 0x04_0300, "snd_hda_intel", 32),
        function("0000:05:00.0", 0x0c_0330, "", 32),
        function("0000:21:00.0", 0x03_0000, "vfio-pci", 64),
        function("0000:41:00.0", 0x03_0200, "nvgrace_gpu_vfio_pci", 64),
    ];
    let found = read(&Tree::new().dir("etc"), &pci);
    assert_eq!(list(&found.vfio), ["0000:21:00.0", "0000:41:00.0"]);
    assert_eq!(found.mask32, ["0000:00:1f.3"]);
    pci.truncate(3);
    pci[2].driver = Fact::default();
    assert!(read(&Tree::new().dir("etc"), &pci).vfio.is_unknown());
}

#[test]
fn running_and_defined_guests_are_named_with_their_devices() {
    let arguments = "/usr/bin/qemu-system-x86_64\0-name\0guest=render,debug-threads=on\0-device\0\
                     {\"driver\":\"vfio-pci\",\"host\":\"0000:21:00.0\"}\0";
    let xml = "<domain type='kvm'>\n<name>train</name>\n<!-- <hostdev type='pci'> -->\n\
               <hostdev mode='subsystem' type=\"pci\" managed='yes'>\n<source>\n\
               <address domain='0x0000' bus='0x41' slot='0x00' function='0x0'/>\n</source>\n</hostdev>\n</domain>\n";
    let tree = Tree::new()
        .file("proc/4242/comm", "qemu-system-x86\n")
        .file("proc/4242/cmdline", arguments)
        .file("proc/9/comm", "kvm\n")
        .file("proc/9/cmdline", "")
        .file("proc/10/comm", "qemu-ga\n")
        .file("proc/10/cmdline", "qemu-ga\0")
        .file("etc/libvirt/qemu/train.xml", xml)
        .file("etc/libvirt/qemu/plain.xml", "<domain><name>plain</name><hostdev type='usb'/></domain>")
        .file("run/libvirt/qemu/web.xml", "<domstatus><domain><name>web</name></domain></domstatus>")
        .file(
            "etc/pve/qemu-server/101.conf",
            "name: cad\nhostpci0: 0000:61:00,pcie=1\n[old]\nhostpci1: 0000:62:00\n",
        )
        .file("etc/pve/qemu-server/102.conf", "name: mail\nmemory: 2048\n[old]\nhostpci0: 0000:62:00\n");
    assert_eq!(
        list(&read(&tree, &plain()).guests),
        [
            "defined guest cad with 0000:61:00",
            "running guest render (process 4242) with 0000:21:00.0",
            "defined guest train with 0000:41:00.0",
            "running guest web"
        ]
    );
}

#[test]
fn processes_that_were_not_captured_matter_only_beside_vfio() {
    let tree = Tree::new().dir("etc").dir("proc");
    assert!(list(&read(&tree, &plain()).guests).is_empty());
    let pci = [function("0000:21:00.0", 0x03_0000, "vfio-pci", 64)];
    assert_eq!(read(&tree, &pci).guests.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn thunderbolt_devices_are_told_from_routers_retimers_and_services() {
    let at = "sys/bus/thunderbolt/devices";
    let tree = Tree::new()
        .dir(&format!("{at}/domain0"))
        .dir(&format!("{at}/0-0"))
        .dir(&format!("{at}/0-0:1.1"))
        .file(&format!("{at}/0-1/vendor_name"), "Acme\n")
        .file(&format!("{at}/0-1/device_name"), "Dock\n")
        .dir(&format!("{at}/0-301"))
        .dir(&format!("{at}/0-1.0"));
    let found = read(&tree, &plain());
    assert_eq!(list(&found.thunderbolt), ["0-1 (Acme Dock)", "0-301"]);
    assert_eq!(list(&found.thunderbolt_ports), ["domain0"]);
}

#[test]
fn hostile_files_are_survived() {
    let tree = Tree::new()
        .file("etc/crypttab", b"\xff\xfe tpm2-device= \xff\n".as_slice())
        .file(
            "etc/libvirt/qemu/a.xml",
            "<hostdev <hostdev type='pci'><source><address bus='0xfffffffff' <!--",
        )
        .file("etc/libvirt/qemu/b.xml", "<hostdev type='")
        .file("etc/pve/qemu-server/1.conf", "hostpci\nhostpci0:\n:\n")
        .file("proc/1/comm", b"qemu-system-\xff".as_slice())
        .file("proc/1/cmdline", b"qemu-system-x\0-name".as_slice())
        .link("etc/libvirt/qemu/loop.xml", "loop.xml")
        .link("etc/dracut.conf.d", "dracut.conf.d")
        .file("etc/kernel/cmdline", vec![b'x'; 10 << 20]);
    let found = read(&tree, &plain());
    assert!(list(&found.guests).iter().any(|g| g.starts_with("running guest")));
    assert!(found.guests.evidence().iter().any(|e| e.text.starts_with("not read")));
    assert_eq!(found.unlock.trouble.reason().unwrap().why, Why::TooLarge);
}

#[test]
fn the_live_machine_is_read_without_harm() {
    let found = Isolation::read(&Root::live(), &plain());
    assert!(!found.guests.is_absent() && !found.unlock.trouble.is_absent());
}
