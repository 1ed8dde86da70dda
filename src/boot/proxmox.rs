//! Proxmox with systemd-boot: proxmox-boot-tool copies the first line of `/etc/kernel/cmdline` to every EFI
//! system partition.

use super::{Reading, Refusal, systemd_boot};
use crate::root::Root;

/// Reads the first line of `/etc/kernel/cmdline`.
pub(super) fn read(root: &Root) -> Reading {
    Reading {
        configured: systemd_boot::kernel_cmdline_words(root, false),
        places: systemd_boot::kernel_cmdline_place(root, false, true).into_iter().collect(),
        shadowed: vec![],
    }
}

/// The steps that a person takes.
pub(super) fn refuse(root: &Root, add: &[String], remove: &[String]) -> Refusal {
    Refusal {
        place: "proxmox".to_owned(),
        reason:
            "editing /etc/kernel/cmdline is not automated; partitions that proxmox-boot-tool set up for GRUB \
                 take /etc/default/grub instead (`proxmox-boot-tool status` tells)"
                .to_owned(),
        manual: vec![
            systemd_boot::kernel_cmdline_step(root, add, remove, false),
            "proxmox-boot-tool refresh".to_owned(),
        ],
    }
}
