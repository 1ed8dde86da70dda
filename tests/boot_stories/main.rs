//! Trial boots on real machines: real GRUB, a real kernel and systemd under QEMU. Each story boots several times and
//! takes minutes, so all are ignored by default: `tests/vm/boot/run.sh` builds what they need and runs them.

#![allow(clippy::unwrap_used)]

mod rules;
mod verdicts;
mod vm;
mod ways_back;

use vm::Vm;

/// An Intel IOMMU with interrupt remapping.
pub const INTEL: &str = "-device intel-iommu,intremap=on";

impl Vm {
    /// Arms a trial of what the site's rule wants.
    #[track_caller]
    pub fn arm(&mut self, more: &str) {
        self.run(&format!("peerfix provision --yes --quick {more}")).exits(7).says("armed:");
        assert!(!self.line().contains("peerfix.trial="));
    }

    /// Where the trials stand, and every step.
    #[track_caller]
    pub fn story(&mut self) -> String {
        self.run("peerfix status; for t in $(ls /var/lib/peerfix/trials); do peerfix show $t; done; journalctl -b -u peerfix-gate --no-pager | tail -n 20").text
    }

    /// Nothing of a trial is left, and the old words run.
    #[track_caller]
    pub fn is_as_before(&mut self) {
        self.run("test ! -e /var/lib/peerfix/pending").exits(0);
        self.run("! grep -qs peerfix /boot/grub/custom.cfg && ! grep -q 'peerfix\\|iommu' /etc/default/grub")
            .exits(0);
        let next = self.run("grub-editenv list").exits(0);
        assert!(!next.text.contains("peerfix"), "{}", next.text);
        assert!(!self.line().contains("peerfix.trial=") && !self.line().contains("iommu"), "{}", self.line());
    }
}
