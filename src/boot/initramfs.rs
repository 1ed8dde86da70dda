//! The program that rebuilds the initramfs.

use super::Command;
use crate::root::Root;

/// Directories that programs stand in.
pub(super) const PROGRAM_DIRECTORIES: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];

/// True when the root holds the program.
pub(super) fn has_program(root: &Root, name: &str) -> bool {
    PROGRAM_DIRECTORIES.iter().any(|dir| root.exists(&format!("{dir}/{name}")))
}

/// The first of the known programs that the root holds.
pub(super) fn rebuild(root: &Root) -> Option<Command> {
    let known: [(&str, &[&str]); 3] = [
        ("update-initramfs", &["-u", "-k", "all"]),
        ("mkinitcpio", &["-P"]),
        ("dracut", &["-f", "--regenerate-all"]),
    ];
    let (program, arguments) = known.into_iter().find(|(program, _)| has_program(root, program))?;
    let argv = std::iter::once(program).chain(arguments.iter().copied()).map(str::to_owned).collect();
    Some(Command {
        argv,
        why: "takes modprobe.d into the initramfs, from which the driver may be loaded".to_owned(),
    })
}
