//! Trial boots on real machines: real GRUB, a real kernel and systemd under QEMU. Each story boots several times and
//! takes minutes, so all are ignored by default: `tests/vm/boot/run.sh` builds what they need and runs them.

#![allow(clippy::unwrap_used)]

mod bed;
mod guest;
mod monitor;
mod rules;
mod verdicts;
mod vm;
mod ways_back;

use vm::Vm;

/// An Intel IOMMU with interrupt remapping.
const INTEL: &str = "-device intel-iommu,intremap=on";

/// The same, and two drives with memory for peers behind one switch: their transfers go astray under translation.
const DRIVES: &str = "-device intel-iommu,intremap=on \
    -device pcie-root-port,id=rp,bus=pcie.0,chassis=9,slot=9,addr=0x9 -device x3130-upstream,id=up,bus=rp \
    -device xio3130-downstream,id=d1,bus=up,chassis=12,slot=2 -device xio3130-downstream,id=d2,bus=up,chassis=13,slot=3 \
    -drive if=none,id=n0,file={folder}/drive-a,format=raw -device nvme,serial=a,drive=n0,bus=d1,cmb_size_mb=16 \
    -drive if=none,id=n1,file={folder}/drive-b,format=raw -device nvme,serial=b,drive=n1,bus=d2,cmb_size_mb=16";

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
