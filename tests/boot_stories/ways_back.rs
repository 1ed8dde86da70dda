//! What does not boot, hangs, or loses its power ends on the old configuration, and `history` tells what happened.

use super::INTEL;
use super::rules::{missing, translated};
use super::vm::Vm;

#[test]
#[ignore = "boots virtual machines"]
fn nothing_pending_costs_nothing() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.reboot();
    vm.run("systemctl show -p ConditionResult,ActiveState,Result peerfix-gate").says("ConditionResult=no");
    vm.run("systemd-analyze critical-chain --no-pager; systemd-analyze blame --no-pager | grep peerfix; bash -c 'time peerfix gate'");
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_trial_that_panics_leads_back() {
    let mut vm = Vm::start(INTEL, &missing("init=/nonexistent"));
    vm.arm("");
    vm.reboot();
    assert!(vm.console().contains("Requested init /nonexistent failed"), "the trial was started");
    assert!(vm.story().contains("did not boot"));
    vm.is_as_before();
    vm.reboot();
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_kernel_that_is_gone_leads_back() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.arm("");
    // The trial's own entry names a kernel that a package took away; the default starts another.
    vm.run("k=$(uname -r); mv /boot/vmlinuz-$k /root/ && update-grub").exits(0);
    vm.reboot();
    assert!(vm.story().contains("did not boot"));
    vm.run("mv /root/vmlinuz-* /boot/ && update-grub").exits(0);
    vm.reboot();
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_bad_line_in_fstab_leads_out_of_the_emergency_shell() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.arm("");
    // Mounted only in the trial, so that the old configuration boots as ever.
    vm.run(
        "printf '#!/bin/sh\\ngrep -q peerfix.trial= /proc/cmdline || exit 0\\nmkdir -p $1/local-fs.target.requires\\n\
         printf \"[Mount]\\\\nWhat=/dev/nothing\\\\nWhere=/data\\\\n[Unit]\\\\nBefore=local-fs.target\\\\n\" >$1/data.mount\\n\
         ln -s ../data.mount $1/local-fs.target.requires/\\n' >/etc/systemd/system-generators/bad-line && \
         chmod +x /etc/systemd/system-generators/bad-line",
    )
    .exits(0);
    vm.reboot();
    assert!(vm.console().contains("ended in a rescue shell"), "the emergency shell was reached");
    assert!(vm.story().contains("did not boot"));
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_hang_is_ended_by_the_watchdog() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.arm("");
    // The first process crashes early in the trial and stands still: nobody feeds the watchdog that it opened.
    vm.run(
        "printf '[Unit]\\nDefaultDependencies=no\\nBefore=sysinit.target\\nConditionKernelCommandLine=peerfix.trial=t1\\n\
         [Service]\\nType=oneshot\\nExecStart=/bin/kill -SEGV 1\\n' >/etc/systemd/system/hang.service && \
         mkdir -p /etc/systemd/system/sysinit.target.wants && ln -s ../hang.service /etc/systemd/system/sysinit.target.wants/",
    )
    .exits(0);
    vm.reboot();
    assert!(vm.story().contains("did not boot"));
    vm.is_as_before();
}

#[test]
#[ignore = "boots virtual machines"]
fn a_power_cut_while_arming_leaves_the_old_configuration() {
    let mut vm = Vm::start(INTEL, &translated());
    for moment in [
        "test -e /var/lib/peerfix/pending",
        "grep -qs arming /var/lib/peerfix/trials/*/journal",
        "grep -qs peerfix /boot/grub/custom.cfg",
        "grep -qs peerfix /boot/grub/grubenv",
        "grep -qs armed /var/lib/peerfix/trials/*/journal",
    ] {
        vm.run("rm -rf /var/lib/peerfix/trials");
        vm.run(&format!("peerfix provision --yes --quick & until {moment}; do :; done"));
        vm.power_cycle();
        let line = vm.line();
        let story = vm.story();
        if line.contains("peerfix.trial=") {
            // Armed in time: the trial runs, and is judged as any other.
            assert!(
                story.contains("kept") || story.contains("taken back") || story.contains("inconclusive"),
                "{story}"
            );
            vm.run("peerfix revert all");
            vm.run("update-grub");
            vm.reboot();
        }
        vm.run("! grep -qs 'begin: t' /boot/grub/custom.cfg").exits(0);
        assert!(!vm.line().contains("peerfix.trial="));
        vm.run("grub-script-check /boot/grub/grub.cfg").exits(0);
    }
}

#[test]
#[ignore = "boots virtual machines"]
fn an_armed_trial_is_given_up_with_revert() {
    let mut vm = Vm::start(INTEL, &translated());
    vm.arm("");
    vm.run("peerfix revert t1").exits(7);
    vm.reboot();
    vm.is_as_before();
}
