//! The program that turns GRUB's settings into grub.cfg.

use super::super::Command;
use super::super::family::{Family, family};
use super::super::initramfs::has_program;
use crate::root::Root;

/// The commands that make an edit of GRUB's settings effective.
pub(in crate::boot) fn commands(root: &Root) -> Vec<Command> {
    if root.exists("etc/kernel/proxmox-boot-uuids") {
        let why = "writes grub.cfg and copies it to every EFI system partition";
        return vec![command(&["proxmox-boot-tool", "refresh"], why)];
    }
    let why = "writes grub.cfg from GRUB's settings";
    let debian = match family(root) {
        Family::Debian => true,
        Family::Other => has_program(root, "update-grub"),
        _ => false,
    };
    // On Debian update-grub is grub-mkconfig with the right output file.
    if debian && (has_program(root, "update-grub") || !has_program(root, "grub-mkconfig")) {
        return vec![command(&["update-grub"], why)];
    }
    // Fedora and SUSE name everything grub2; a captured tree may hold neither program.
    let two = has_program(root, "grub2-mkconfig")
        || (!has_program(root, "grub-mkconfig")
            && (root.exists("boot/grub2") || matches!(family(root), Family::Fedora | Family::Suse)));
    if !two {
        return vec![command(&["grub-mkconfig", "-o", "/boot/grub/grub.cfg"], why)];
    }
    let output = if root.exists("boot/grub2/grub.cfg") {
        "/boot/grub2/grub.cfg".to_owned()
    } else {
        // RHEL 8 and older keep it on the EFI system partition, behind this link.
        let linked = root.canonical("etc/grub2-efi.cfg");
        linked.value().map_or_else(|| "/boot/grub2/grub.cfg".to_owned(), |path| format!("/{path}"))
    };
    vec![command(&["grub2-mkconfig", "-o", &output], why)]
}

fn command(argv: &[&str], why: &str) -> Command {
    Command { argv: argv.iter().map(|a| (*a).to_owned()).collect(), why: why.to_owned() }
}
