//! The health of a host: what a snapshot holds, and what got lost between two of them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::Tree;
use peerfix::host::health::{Announced, Health, Loss, LossKind, Part, PartName};
use peerfix::root::Root;
use std::fmt::Write;

const NVME: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0/nvme0n1";
const NIC: &str = "sys/devices/pci0000:00/0000:00:1f.6/net/eno1";
const ROUTE4: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
    eno1\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
    eno1\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n";
const MOUNTS: &str = "sysfs /sys sysfs rw,nosuid 0 0\n\
    /dev/nvme0n1p2 / ext4 rw,relatime 0 0\n\
    tmpfs /run tmpfs rw 0 0\n\
    /dev/mapper/vg-data /srv/two\\040words xfs rw 0 0\n";

/// A disk, an interface, two GPUs and what else a host has.
fn host() -> Tree {
    let tree = Tree::new()
        .file("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
        .file("proc/sys/kernel/random/boot_id", "5d0c8f0e-6f0a-4b4e-9d57-0f1b7f2f8c11\n")
        .file("sys/devices/system/cpu/online", "0-15\n")
        .memory(64)
        .file("proc/1/mounts", MOUNTS)
        .file("proc/net/route", ROUTE4)
        .file("proc/net/ipv6_route", "")
        .file("captured/systemctl-failed.txt", "")
        .link("dev/disk/by-uuid/aaaa-bbbb", "../../nvme0n1p2")
        .link("dev/disk/by-uuid/cccc-dddd", "../../dm-0")
        .link("dev/mapper/vg-data", "../dm-0");
    let tree = disk(tree, NVME, "nvme0n1", Some("eui.0025385"), 2_000_000);
    let tree = interface(tree, NIC, "eno1", "52:54:00:00:00:01", Some("1"));
    let tree = function(tree, "0000:01:00.0", "0x10de", Some("nvidia"));
    function(tree, "0000:02:00.0", "0x10de", Some("nvidia"))
}

fn disk(tree: Tree, path: &str, name: &str, wwid: Option<&str>, sectors: u64) -> Tree {
    let tree = tree
        .file(&format!("{path}/size"), format!("{sectors}\n"))
        .file(&format!("{path}/removable"), "0\n")
        .link(&format!("sys/block/{name}"), &format!("../../{path}"));
    match wwid {
        Some(wwid) => tree.file(&format!("{path}/wwid"), format!("{wwid}\n")),
        None => tree,
    }
}

fn interface(tree: Tree, path: &str, name: &str, address: &str, carrier: Option<&str>) -> Tree {
    let tree = tree
        .file(&format!("{path}/address"), format!("{address}\n"))
        .file(&format!("{path}/addr_assign_type"), "0\n")
        .file(&format!("{path}/dev_port"), "0\n")
        .link(&format!("{path}/device"), "../..")
        .link(&format!("sys/class/net/{name}"), &format!("../../../{path}"));
    match carrier {
        Some(text) => tree.file(&format!("{path}/carrier"), format!("{text}\n")),
        None => tree,
    }
}

fn function(tree: Tree, bdf: &str, vendor: &str, driver: Option<&str>) -> Tree {
    let path = format!("sys/devices/pci0000:00/{bdf}");
    let tree = tree
        .file(&format!("{path}/vendor"), format!("{vendor}\n"))
        .file(&format!("{path}/device"), "0x2684\n")
        .file(&format!("{path}/class"), "0x030000\n")
        .link(&format!("{path}/subsystem"), "../../../bus/pci")
        .link(&format!("sys/bus/pci/devices/{bdf}"), &format!("../../../devices/pci0000:00/{bdf}"));
    match driver {
        Some(driver) => tree.link(&format!("{path}/driver"), &format!("../../../bus/pci/drivers/{driver}")),
        None => tree,
    }
}

fn read(tree: &Tree) -> Health {
    Health::read(&Root::open(tree.path()).unwrap())
}

fn lost(before: &Tree, after: &Tree) -> Vec<Loss> {
    Health::lost(&read(before), &read(after), &[])
}

/// The words of the one loss between the host and `after`.
#[track_caller]
fn one(after: &Tree, part: PartName) -> String {
    let found = lost(&host(), after);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].part, found[0].kind, found[0].counts()), (part, LossKind::Lost, true));
    found[0].words.clone()
}

#[track_caller]
fn nothing(before: &Tree, after: &Tree) {
    assert_eq!(lost(before, after), Vec::new());
}

// --- the snapshot --------------------------------------------------------------------------------------

#[test]
fn a_snapshot_holds_every_part_and_survives_a_document() {
    let health = read(&host());
    assert_eq!(health.unknown(), Vec::new());
    assert_eq!(health.cpus.value().unwrap().len(), 16);
    assert_eq!(health.memory.value(), Some(&(64 << 30)));
    let functions = health.pci.value().unwrap();
    assert_eq!((functions.len(), functions[0].driver.as_deref()), (2, Some("nvidia")));
    let disk = &health.disks.value().unwrap()[0];
    assert_eq!((disk.place.as_str(), disk.bytes), ("0000:3d:00.0", 1_024_000_000));
    let mounts: Vec<&str> = health.mounts.value().unwrap().iter().map(|m| m.at.as_str()).collect();
    assert_eq!(mounts, ["/", "/srv/two words"]);
    assert!(health.mounts.value().unwrap().iter().all(|m| m.identity.is_some() && m.writable));
    let route = health.route_v4.value().unwrap();
    assert_eq!((route.name.as_str(), route.place.as_str()), ("eno1", "0000:00:1f.6"));
    assert_eq!(health.route_v6, Part::Absent);
    let text = serde_json::to_string(&health).unwrap();
    assert_eq!(serde_json::from_str::<Health>(&text).unwrap(), health);
    assert!(text.contains(r#""schema":"peerfix/health","version":{"major":1,"minor":0}"#), "{text}");
    for private in ["eui.0025385", "52:54:00", "aaaa-bbbb", "0101A8C0", "0123456789abcdef"] {
        assert!(!text.contains(private), "{private}");
    }
}

#[test]
fn the_same_host_lost_nothing() {
    nothing(&host(), &host());
}

#[test]
fn the_live_machine_can_be_read_twice() {
    let health = Health::read(&Root::live());
    assert!(health.cpus.value().is_some() && health.memory.value().is_some());
    let again = Health::lost(&health, &Health::read(&Root::live()), &[]);
    assert!(again.iter().all(|loss| !loss.counts() || loss.part == PartName::Units), "{again:?}");
}

#[test]
fn what_is_not_known_is_not_compared_and_never_a_pass() {
    let blind = host().without("proc/1/mounts").without("proc/mounts");
    for (before, after, when) in [(host(), blind, "now"), (host().without("captured"), host(), "before")] {
        let found = lost(&before, &after);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, LossKind::Unknown);
        assert!(!found[0].counts() && found[0].words.contains(when), "{found:?}");
    }
    assert_eq!(lost(&Tree::new().dir("proc"), &host()).len(), 9, "every part is named");
}

// --- processors, memory --------------------------------------------------------------------------------

#[test]
fn a_processor_that_does_not_start_is_lost() {
    let words = one(&host().file("sys/devices/system/cpu/online", "0-13\n"), PartName::Processors);
    assert_eq!(words, "14 processors are online, 16 before (missing: 14 15)");
    nothing(&host(), &host().file("sys/devices/system/cpu/online", "0-31\n"));
}

#[test]
fn bounce_buffers_are_no_lost_memory_and_a_module_is() {
    let kib = |kib: u64| host().file("proc/meminfo", format!("MemTotal: {kib} kB\n"));
    let all: u64 = 64 << 20;
    nothing(&host(), &kib(all - all / 100));
    one(&kib(all - all / 16), PartName::Memory);
    // 64 MiB of bounce buffers and their slots are more than 2 % of a small guest.
    let small: u64 = 1 << 20;
    nothing(&kib(small), &kib(small - (66 << 10)));
    assert_eq!(lost(&kib(small), &kib(small - (128 << 10))).len(), 1);
}

// --- PCI -----------------------------------------------------------------------------------------------

#[test]
fn a_device_that_is_gone_is_lost() {
    let gone = host().without("sys/bus/pci/devices/0000:02:00.0");
    let words = one(&gone, PartName::Pci);
    assert!(words.starts_with("PCI device 0000:02:00.0 (10de:2684") && words.ends_with("nvidia) is gone"));
}

#[test]
fn a_driver_that_no_longer_binds_is_lost_unless_announced() {
    let bound = |driver| function(host(), "0000:03:00.0", "0x8086", driver);
    let vfio = bound(Some("vfio-pci"));
    assert_eq!(lost(&vfio, &bound(None))[0].words, "no driver is bound to 0000:03:00.0, vfio-pci before");
    assert!(lost(&vfio, &bound(Some("i915")))[0].words.contains("bound to i915, vfio-pci before"));
    let announced = [Announced::Driver("vfio-pci".to_owned())];
    let found = Health::lost(&read(&vfio), &read(&bound(None)), &announced);
    assert!(found.len() == 1 && found[0].announced && !found[0].counts(), "listed, and no harm: {found:?}");
    let found = Health::lost(&read(&vfio), &read(&host()), &announced);
    assert!(found[0].counts(), "the device itself was not announced");
    nothing(&bound(None), &bound(Some("i915")));
}

#[test]
fn words_that_switch_the_iommu_off_announce_vfio_and_passthrough_does_not() {
    assert!(
        Announced::of_words(["quiet", "intel_iommu=off"]).contains(&Announced::Driver("vfio-pci".to_owned()))
    );
    assert_eq!(Announced::of_words(["iommu=pt"]), Vec::new());
}

#[test]
fn a_device_under_another_number_is_moved_and_one_of_many_equals_is_not() {
    let moved = function(host().without("sys/bus/pci/devices/0000:02:00.0"), "0000:05:00.0", "0x10de", None);
    let found = lost(&host(), &moved);
    assert_eq!((found.len(), found[0].kind), (1, LossKind::Moved), "{found:?}");
    assert!(found[0].words.ends_with("stands at 0000:05:00.0 now"), "{found:?}");
    // The equal GPU at 01:00.0 was there before: it is not the one that moved.
    one(&host().without("sys/bus/pci/devices/0000:02:00.0"), PartName::Pci);
}

#[test]
fn a_capture_without_links_knows_no_drivers() {
    let tree = host();
    let flat = ["0000:01:00.0", "0000:02:00.0"].iter().fold(tree, |tree, bdf| {
        tree.without(&format!("sys/bus/pci/devices/{bdf}"))
            .file(&format!("sys/bus/pci/devices/{bdf}/vendor"), "0x10de\n")
    });
    assert!(read(&flat).pci.why().is_some_and(|why| why.contains("no links were kept")));
}

// --- disks ---------------------------------------------------------------------------------------------

#[test]
fn a_disk_is_known_by_what_it_is_not_by_its_name() {
    let second = "sys/devices/pci0000:00/0000:00:1b.0/0000:04:00.0/nvme/nvme1/nvme1n1";
    let two = disk(host(), second, "nvme1n1", Some("eui.777"), 4_000_000);
    let swapped = host().without("sys/block/nvme0n1").without(NVME);
    let swapped = disk(swapped, NVME, "nvme1n1", Some("eui.0025385"), 2_000_000);
    let swapped = disk(swapped, second, "nvme0n1", Some("eui.777"), 4_000_000);
    nothing(&two, &swapped);
    let found = lost(&two, &host());
    assert_eq!(found[0].words, "disk nvme1n1 (2 GB at 0000:04:00.0) is gone");
    one(&host().without("sys/block/nvme0n1"), PartName::Disks);
}

#[test]
fn two_equal_disks_without_serial_numbers_are_counted() {
    let sata = |tree, n: u32| {
        let path =
            format!("sys/devices/pci0000:00/0000:00:17.0/ata{n}/host{n}/target{n}:0:0/{n}:0:0:0/block/sd{n}");
        disk(tree, &path, &format!("sd{n}"), None, 1000)
    };
    let two = sata(sata(host(), 1), 2);
    nothing(&two, &sata(sata(host(), 3), 4));
    assert_eq!(lost(&two, &sata(host(), 2)).len(), 1);
}

#[test]
fn loops_sticks_and_mapped_devices_are_no_disks_and_multipath_nvme_is_one() {
    let extra = |tree, path: &str, name: &str| disk(tree, path, name, None, 4096);
    let tree = extra(host(), "sys/devices/virtual/block/loop3", "loop3");
    let tree = extra(tree, "sys/devices/virtual/block/zram0", "zram0");
    let tree = extra(tree, "sys/devices/virtual/block/dm-0", "dm-0");
    let tree = extra(tree, "sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/host9/block/sdz", "sdz");
    let tree = extra(tree, "sys/devices/pci0000:00/0000:00:17.0/ata9/host8/block/sr0", "sr0");
    assert_eq!(read(&tree).disks.value().unwrap().len(), 1);
    nothing(&tree, &host());
    let head = "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme7n1";
    let shared = disk(host(), head, "nvme7n1", Some("eui.42"), 4096);
    assert_eq!(read(&shared).disks.value().unwrap().len(), 2);
    let path = "sys/devices/pci0000:00/0000:00:1c.0/0000:05:00.0/nvme/nvme7/nvme7c0n1";
    let hidden = disk(shared, path, "nvme7c0n1", None, 4096).file(&format!("{path}/hidden"), "1\n");
    assert_eq!(read(&hidden).disks.value().unwrap().len(), 2);
}

// --- mounts --------------------------------------------------------------------------------------------

fn mounted(text: &str) -> Tree {
    host().file("proc/1/mounts", text)
}

#[test]
fn a_root_that_was_remounted_read_only_is_lost() {
    let words = one(&mounted(&MOUNTS.replace("ext4 rw", "ext4 ro")), PartName::Mounts);
    assert_eq!(words, "/ is read-only, writable before");
    nothing(&mounted(&MOUNTS.replace("ext4 rw", "ext4 ro")), &host());
}

#[test]
fn a_mount_that_is_missing_or_holds_another_file_system_is_lost() {
    let gone = MOUNTS.lines().filter(|l| !l.contains("/srv")).fold(String::new(), |t, l| t + l + "\n");
    assert_eq!(one(&mounted(&gone), PartName::Mounts), "nothing is mounted on /srv/two words, xfs before");
    let other = host()
        .file("proc/1/mounts", MOUNTS.replace("/dev/mapper/vg-data", "/dev/sdb1"))
        .link("dev/disk/by-uuid/eeee-ffff", "../../sdb1");
    assert!(one(&other, PartName::Mounts).contains("holds another file system"));
}

#[test]
fn a_device_under_another_name_is_the_same_mount() {
    let renamed = host()
        .without("dev/disk/by-uuid/aaaa-bbbb")
        .link("dev/disk/by-uuid/aaaa-bbbb", "../../nvme1n1p2")
        .file("proc/1/mounts", MOUNTS.replace("/dev/nvme0n1p2", "/dev/nvme1n1p2"));
    nothing(&host(), &renamed);
}

#[test]
fn what_containers_desktops_and_automounts_mount_is_no_matter() {
    let mut busy = MOUNTS.to_owned();
    for line in [
        "overlay /var/lib/docker/overlay2/abc/merged overlay rw 0 0",
        "/dev/nvme0n1p2 /var/lib/kubelet/pods/1/volumes/x ext4 rw 0 0",
        "/dev/sdz1 /media/someone/stick vfat rw 0 0",
        "/dev/sdz1 /run/media/someone/stick vfat rw 0 0",
        "/dev/loop3 /snap/core/1 squashfs ro 0 0",
        "systemd-1 /boot/efi autofs rw,fd=1 0 0",
        "/dev/nvme0n1p1 /boot/efi vfat rw 0 0",
    ] {
        writeln!(busy, "{line}").unwrap();
    }
    nothing(&mounted(&busy), &host());
    let network = format!("{MOUNTS}server:/export /home nfs4 rw 0 0\n");
    assert_eq!(lost(&mounted(&network), &host())[0].words, "nothing is mounted on /home, nfs4 before");
}

#[test]
fn the_first_process_tells_what_is_mounted_not_this_one() {
    let sandboxed = host().file("proc/self/mounts", MOUNTS.replace("ext4 rw", "ext4 ro"));
    nothing(&host(), &sandboxed);
}

// --- network -------------------------------------------------------------------------------------------

#[test]
fn an_interface_that_is_gone_or_has_no_link_is_lost() {
    let gone = host().without("sys/class/net/eno1");
    let found = lost(&host(), &gone);
    assert_eq!(found[0].words, "network interface eno1 (0000:00:1f.6) is gone");
    let unplugged = host().file(&format!("{NIC}/carrier"), "0\n");
    assert_eq!(
        one(&unplugged, PartName::Interfaces),
        "network interface eno1 has no link, it had a link before"
    );
    let down = host().without(&format!("{NIC}/carrier"));
    assert!(one(&down, PartName::Interfaces).contains("is down"));
    nothing(&unplugged, &unplugged);
    nothing(&down, &unplugged);
}

#[test]
fn a_renamed_interface_is_the_same_and_so_is_its_route() {
    let renamed = host().without("sys/class/net/eno1").without(NIC);
    let renamed = interface(renamed, &NIC.replace("eno1", "eth0"), "eth0", "52:54:00:00:00:01", Some("1"))
        .file("proc/net/route", ROUTE4.replace("eno1", "eth0"));
    nothing(&host(), &renamed);
}

#[test]
fn virtual_and_usb_interfaces_and_virtual_functions_are_no_matter() {
    let tree = interface(host(), "sys/devices/virtual/net/veth12", "veth12", "02:42:ac:00:00:01", Some("1"));
    let usb = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/net/enx1";
    let tree = interface(tree, usb, "enx1", "52:54:00:00:00:09", Some("1"));
    let vf = "sys/devices/pci0000:00/0000:00:1f.7/net/vf0";
    let tree = interface(tree, vf, "vf0", "52:54:00:00:00:0a", Some("1"))
        .link("sys/devices/pci0000:00/0000:00:1f.7/physfn", "../0000:00:1f.6");
    assert_eq!(read(&tree).interfaces.value().unwrap().len(), 1);
    nothing(&tree, &host());
    let radio = host().dir(&format!("{NIC}/wireless"));
    let silent = host().dir(&format!("{NIC}/wireless")).file(&format!("{NIC}/carrier"), "0\n");
    nothing(&radio, &silent);
}

#[test]
fn a_default_route_that_is_gone_or_leads_elsewhere_is_lost() {
    let local = ROUTE4.lines().filter(|l| !l.contains("0101A8C0")).fold(String::new(), |t, l| t + l + "\n");
    let words = one(&host().file("proc/net/route", local), PartName::RouteV4);
    assert_eq!(words, "default route of IPv4: there before, none now");
    let bridge = host().file("proc/net/route", ROUTE4.replace("eno1", "br0"));
    assert_eq!(one(&bridge, PartName::RouteV4), "default route of IPv4: through br0, eno1 before");
    let backup = format!("{ROUTE4}wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n");
    nothing(&host(), &host().file("proc/net/route", backup));
    let zeros = "0".repeat(32);
    let v6 =
        format!("{zeros} 00 {zeros} 00 fe80{} 00000400 00000001 00000000 00000003 eno1\n", "0".repeat(28));
    let refused = format!("{zeros} 00 {zeros} 00 {zeros} ffffffff 00000001 00000000 00200200 lo\n");
    let with = host().file("proc/net/ipv6_route", format!("{v6}{refused}"));
    let without = host().file("proc/net/ipv6_route", refused);
    assert_eq!(lost(&with, &without)[0].part, PartName::RouteV6);
    nothing(&without, &with);
}

#[test]
fn a_routing_table_of_another_shape_is_unknown_with_its_line() {
    let odd = read(&host().file("proc/net/route", format!("{ROUTE4}eno1 00000000\n")));
    assert!(odd.route_v4.why().is_some_and(|why| why.starts_with("proc/net/route:4: malformed")));
}

// --- units ---------------------------------------------------------------------------------------------

#[test]
fn a_unit_that_fails_in_every_boot_is_no_loss_and_a_new_one_is() {
    let failed = |text: &str| host().file("captured/systemctl-failed.txt", text);
    let old = "apcupsd.service loaded failed failed UPS\n";
    let new = format!(
        "{old}mnt-data.mount loaded failed failed /mnt/data\nrun-u7.service loaded failed failed x\n"
    );
    nothing(&failed(old), &failed(old));
    let found = lost(&failed(old), &failed(&new));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].words, "unit mnt-data.mount failed, which it did not before");
    let announced = [Announced::Unit("mnt-data.mount".to_owned())];
    assert!(!Health::lost(&read(&failed(old)), &read(&failed(&new)), &announced)[0].counts());
    nothing(&failed(&new), &failed(old));
}
