//! What every other story stands on, without a trial in it: that the machine boots as a real one, that GRUB forgets,
//! that what leads back leads back, that a cut loses what was not on the medium, and that data really goes astray.

use super::vm::Vm;
use super::{DRIVES, INTEL};
use peerfix::boot::grub_trial::{Wanted, describe};
use peerfix::root::Root;

/// Has the emulated machine call itself one.
const GUEST: &str = "-cpu qemu64,vendor=GenuineIntel,family=6,model=79 -smbios type=1,manufacturer=QEMU";

/// Id of the entry of Debian's own kernel, below the submenu.
const STOCK: &str =
    "gnulinux-advanced-$u>gnulinux-$(ls /boot | sed -n 's/^vmlinuz-\\(.*-amd64\\)$/\\1/p')-advanced-$u";

/// Reads what the witness says of a read from the first drive into the second one's memory.
#[track_caller]
fn witness(vm: &mut Vm, status: i32) -> String {
    let said = vm.run("peer_read nvme0 nvme1").exits(status).text;
    // The fault is logged a moment later.
    vm.run("sleep 1");
    said
}

#[test]
#[ignore = "boots virtual machines"]
fn the_default_boot_is_a_healthy_machine() {
    let mut vm = Vm::start(INTEL, "");
    assert!(vm.line().starts_with("BOOT_IMAGE=/boot/vmlinuz-6.12"), "{}", vm.line());
    vm.run("uname -r; test $(ls /boot/vmlinuz-* | wc -l) = 2").exits(0).says("-lean");
    vm.run("test -z \"$(systemctl --failed --quiet --no-legend)\"").exits(0);
    vm.run("zcat /proc/config.gz").exits(0).says("CONFIG_PCI_P2PDMA=y").says("CONFIG_VIRTIO_NET=y");
    assert!(!vm.kernel_log(0, "DMAR: IOMMU enabled").is_empty());
    let audit = vm.json("peerfix audit --format json");
    assert_eq!(audit["schema"], "peerfix/audit");
    assert!(audit["host"]["virtual"].is_null(), "{}", audit["host"]["virtual"]);
    vm.run("peerfix audit --fail-on never").exits(0);
    vm.reboot();
    assert_eq!(vm.boots(), 2);
    vm.power_off();
    vm.power_on();
    vm.ready();
    assert_eq!(vm.boots(), 3);
}

#[test]
#[ignore = "boots virtual machines"]
fn a_guest_that_says_so_is_seen_as_one() {
    let mut vm = Vm::start(&format!("{INTEL} {GUEST}"), "");
    let audit = vm.json("peerfix audit --format json");
    assert!(!audit["host"]["virtual"].is_null(), "{}", audit["host"]);
}

#[test]
#[ignore = "boots virtual machines"]
fn an_entry_chosen_once_is_forgotten() {
    let mut vm = Vm::start(INTEL, "");
    let before = vm.line();
    vm.entry("story", "intel_iommu=off story.word=1");
    vm.once("story");
    assert_eq!(vm.grubenv()["next_entry"], "story");
    vm.reboot();
    assert_eq!(vm.line(), format!("{before} intel_iommu=off story.word=1"));
    // By GRUB, before the kernel ran.
    assert_eq!(vm.grubenv()["next_entry"], "");
    assert!(!vm.kernel_log(0, "DMAR: IOMMU disabled").is_empty());
    vm.reset();
    assert_eq!(vm.line(), before);
}

#[test]
#[ignore = "boots virtual machines"]
fn a_panic_and_a_hang_lead_back_to_the_default() {
    let mut vm = Vm::start(INTEL, "");
    let before = vm.line();
    vm.entry("panics", "init=/nonexistent panic=5");
    vm.once("panics");
    vm.reboot();
    assert!(vm.console().contains("Requested init /nonexistent failed"));
    assert_eq!((vm.line(), vm.grubenv()["next_entry"].as_str()), (before.clone(), ""));
    // Opened and never fed: the emulated watchdog on PCI resets the machine after 30 s.
    assert!(!vm.kernel_log(0, "i6300ESB|i6300esb").is_empty());
    vm.run("sync; journalctl --sync").exits(0);
    vm.until_restart("exec 9>/dev/watchdog0; kill -STOP $$");
    assert_eq!((vm.line(), vm.boots()), (before, 3));
}

#[test]
#[ignore = "boots virtual machines"]
fn a_power_cut_loses_what_was_not_on_the_medium() {
    let mut vm = Vm::start(INTEL, "");
    vm.run("echo kept >/kept && sync /kept && echo lost >/lost && cat /lost").exits(0);
    vm.power_cycle();
    vm.run("grep -q kept /kept && ! grep -q lost /lost").exits(0);
    assert!(!vm.kernel_log(0, "EXT4-fs .*(recovery complete|mounted filesystem)").is_empty());
    vm.run("grub-script-check /boot/grub/grub.cfg").exits(0);
}

#[test]
#[ignore = "boots virtual machines"]
fn peer_data_is_lost_under_translation_and_right_with_passthrough() {
    data_is_lost_and_cured(DRIVES, "0x05");
}

#[test]
#[ignore = "boots virtual machines"]
fn peer_data_is_lost_under_first_stage_translation_too() {
    let devices = DRIVES.replace("intremap=on", "intremap=on,x-scalable-mode=on,x-flts=on");
    data_is_lost_and_cured(&devices, "0x71");
}

#[track_caller]
fn data_is_lost_and_cured(devices: &str, reason: &str) {
    let mut vm = Vm::start(devices, "");
    vm.compile("peer_read");
    assert!(witness(&mut vm, 1).contains("wrong 512 untouched 512"));
    let faults = vm.kernel_log(0, "DMAR: .DMA Write");
    assert!(faults.iter().any(|line| line.contains(&format!("fault reason {reason}"))), "{faults:?}");
    vm.entry("story", "iommu=pt");
    vm.once("story");
    vm.reboot();
    assert!(witness(&mut vm, 0).contains("wrong 0 "));
    assert!(vm.kernel_log(0, "DMAR: .DMA Write").is_empty());
    // What the boot before saw is still to be read.
    assert!(!vm.kernel_log(-1, "DMAR: .DMA Write").is_empty());
}

#[test]
#[ignore = "boots virtual machines"]
fn hardware_fails_and_leaves_from_outside() {
    let ports = "-device pcie-root-port,id=rp,chassis=1,slot=1,addr=0x6.0,multifunction=on \
        -device pcie-root-port,id=hp,chassis=2,slot=2,addr=0x6.1 \
        -netdev user,id=net -device virtio-net-pci,netdev=net,id=nic,bus=hp";
    let mut vm = Vm::start(&format!("{INTEL} {ports}"), "");
    vm.run("ls /sys/bus/pci/devices/0000:02:00.0/virtio*/net").exits(0);
    vm.monitor("pcie_aer_inject_error rp BAD_TLP");
    vm.run("sleep 1; cat /sys/bus/pci/devices/0000:00:06.0/aer_dev_correctable").says("BadTLP 1");
    assert!(!vm.kernel_log(0, "AER: Correctable error").is_empty());
    vm.monitor("device_del nic");
    // A hot-plug slot leaves the guest five seconds to object.
    vm.run("for i in $(seq 30); do [ -e /sys/bus/pci/devices/0000:02:00.0 ] || break; sleep 1; done; ! [ -e /sys/bus/pci/devices/0000:02:00.0 ]")
        .exits(0);
}

#[test]
#[ignore = "boots virtual machines"]
fn a_described_trial_boots_debians_kernel_with_its_initrd() {
    let mut vm = Vm::start(INTEL, "");
    vm.run(&format!(
        "u=$(findmnt -no UUID /); echo \"GRUB_DEFAULT='{STOCK}'\" >>/etc/default/grub && update-grub"
    ))
    .exits(0);
    vm.reboot();
    let before = vm.line();
    assert!(before.contains("-amd64 root=UUID="), "{before}");
    let tree = vm.fetch(
        "proc/cmdline proc/mounts proc/1/mountinfo etc/default/grub etc/grub.d/* boot/grub/grub.cfg boot/grub/grubenv",
    );
    // What GRUB is to load must be there; what is in it does not matter.
    for file in vm.run("ls -1 /boot/vmlinuz-$(uname -r) /boot/initrd.img-$(uname -r)").exits(0).text.lines() {
        std::fs::write(tree.path().join(&file[1..]), "").unwrap();
    }
    let wanted = Wanted { id: "t1".to_owned(), add: vec!["intel_iommu=on".to_owned()], ..Wanted::default() };
    let trial = describe(&Root::open(tree.path()).unwrap(), &wanted).unwrap();
    let custom = String::from_utf8(trial.custom.after.clone()).unwrap();
    assert!(custom.contains("initrd"), "{custom}");
    vm.put("/boot/grub/custom.cfg", &custom);
    vm.once(&trial.entry);
    vm.reboot();
    let line = vm.line();
    assert_eq!(line.split(' ').skip(1).collect::<Vec<_>>(), trial.words, "{before}");
    assert!(!vm.kernel_log(0, "DMAR: IOMMU enabled").is_empty());
    vm.reboot();
    assert_eq!(vm.line(), before);
}
