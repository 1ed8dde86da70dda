//! What helps is kept, what does not is taken back, and the permanent configuration is seen running.

use super::rules::{missing, rule, translated, when_missing, when_translated};
use super::vm::Vm;
use super::{DRIVES, INTEL};

#[test]
#[ignore = "boots virtual machines"]
fn a_change_that_helps_is_kept_and_verified_and_taken_back() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.arm("");
    vm.reboot();
    assert!(vm.line().contains("iommu=pt peerfix.trial=t1"));
    assert!(vm.story().contains("kept"));
    vm.run("grep -q 'iommu=pt' /etc/default/grub && grep -q 'iommu=pt' /boot/grub/grub.cfg").exits(0);
    vm.reboot();
    assert!(vm.line().contains("iommu=pt") && !vm.line().contains("peerfix"));
    assert!(vm.story().contains("kept and running"));
    vm.run("peerfix revert last").exits(7);
    vm.reboot();
    assert!(!vm.line().contains("iommu=pt"));
    assert!(vm.story().contains("no longer running"));
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn silent_corruption_is_found_cured_kept_and_comes_back_with_a_revert() {
    let mut vm = Vm::start(DRIVES, &translated());
    vm.run("peerfix bench --quick -o /root/bad.json").exits(1);
    vm.arm("");
    vm.reboot();
    assert!(vm.line().contains("iommu=pt peerfix.trial=t1"));
    let story = vm.story();
    assert!(story.contains("kept") && story.contains("moves right data"), "{story}");
    vm.reboot();
    assert!(vm.line().contains("iommu=pt") && !vm.line().contains("peerfix"));
    assert!(vm.story().contains("kept and running"));
    vm.run("peerfix bench --quick -o /root/good.json").exits(0);
    vm.run("peerfix revert last").exits(7);
    vm.reboot();
    assert!(vm.story().contains("no longer running"));
    vm.run("peerfix bench --quick -o /root/back.json").exits(1);
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn two_members_of_a_set_are_kept_together() {
    let mut vm = Vm::start(DRIVES, &set("iommu=pt"));
    vm.arm("");
    vm.reboot();
    let first = vm.line();
    assert!(vm.story().contains("passed as a step"));
    vm.run("! grep -q 'iommu=pt\\|first.word' /etc/default/grub").exits(0);
    vm.reboot();
    let both = vm.line();
    assert!(both.contains("first.word=1") && both.contains("iommu=pt") && first != both, "{first} / {both}");
    assert!(vm.story().contains("kept"));
    vm.reboot();
    let line = vm.line();
    assert!(
        line.contains("first.word=1") && line.contains("iommu=pt") && !line.contains("peerfix"),
        "{line}"
    );
}

#[test]
#[ignore = "boots virtual machines"]
fn a_set_whose_data_stays_wrong_is_dropped_together() {
    let mut vm = Vm::start(DRIVES, &set("second.word=1"));
    vm.arm("");
    vm.reboot();
    assert!(vm.story().contains("passed as a step"));
    vm.reboot();
    assert!(vm.line().contains("second.word=1"));
    assert!(vm.story().contains("taken back"));
    vm.reboot();
    vm.is_as_before();
    assert!(!vm.line().contains("first.word") && !vm.line().contains("second.word"));
}

/// Two rules whose remedies are one set: a first word, and `last`.
fn set(last: &str) -> String {
    let member = |name: &str, word: &str| {
        rule(
            &format!("site/{name}"),
            "correctness",
            &when_missing(word),
            Some("site"),
            &[(&format!("site-{name}"), word, None)],
        )
    };
    format!("{}{}", member("first", "first.word=1"), member("last", last))
}

#[test]
#[ignore = "boots virtual machines"]
fn a_rung_that_does_not_help_is_rejected_and_the_next_one_kept_with_consent() {
    // This IOMMU has no pass-through: translation stays whatever `iommu=pt` asks for.
    let mut vm = Vm::start(&DRIVES.replace("intremap=on", "intremap=on,pt=off"), &translated());
    vm.arm("--accept-risk dma-isolation");
    vm.reboot();
    assert!(vm.line().contains("iommu=pt"));
    assert!(vm.story().contains("taken back"));
    vm.reboot();
    assert!(vm.story().contains("armed, next boot"));
    vm.reboot();
    assert!(vm.line().contains("intel_iommu=off"));
    assert!(vm.story().contains("kept"));
    vm.reboot();
    assert!(vm.line().contains("intel_iommu=off") && !vm.line().contains("iommu=pt"));
    assert!(vm.story().contains("kept and running"));
}

#[test]
#[ignore = "boots virtual machines"]
fn a_network_card_that_disappears_speaks_against_a_change() {
    let devices = format!("{INTEL} -netdev user,id=net -device virtio-net-pci,netdev=net,addr=0x10");
    let mut vm = Vm::start(&devices, &missing("pci_port=1"));
    vm.run(
        "printf '[Unit]\\nConditionKernelCommandLine=pci_port=1\\nBefore=peerfix-gate.service\\n[Service]\\nType=oneshot\\n\
         ExecStart=/bin/sh -c \"echo 1 >/sys/bus/pci/devices/0000:00:10.0/remove\"\\n[Install]\\nWantedBy=multi-user.target\\n' \
         >/etc/systemd/system/lose.service && systemctl enable lose",
    )
    .exits(0);
    vm.arm("");
    vm.reboot();
    assert!(vm.line().contains("pci_port=1"));
    let story = vm.story();
    assert!(story.contains("taken back") && story.contains("0000:00:10.0"), "{story}");
    vm.reboot();
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_change_that_makes_nothing_better_is_not_kept() {
    let useless = rule(
        "site/translated",
        "correctness",
        &when_translated(),
        None,
        &[("site-none", "quiet.not=1", None)],
    );
    let mut vm = Vm::start(INTEL, &useless);
    vm.arm("");
    vm.reboot();
    assert!(vm.line().contains("quiet.not=1"));
    assert!(vm.story().contains("taken back"));
    vm.reboot();
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_kernel_update_between_arming_and_reboot_ends_without_a_verdict() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.arm("");
    vm.run("cp /boot/vmlinuz-$(uname -r) /boot/vmlinuz-9.9.9-new && update-grub").exits(0);
    vm.reboot();
    assert!(vm.line().contains("peerfix.trial=t1"));
    let story = vm.story();
    assert!(story.contains("inconclusive") && story.contains("kernel update"), "{story}");
    vm.run("rm /boot/vmlinuz-9.9.9-new && update-grub").exits(0);
    vm.reboot();
    vm.is_as_before();
}
