//! tuned's boot loader plugin: words of the profile, handed over in GRUB's variable `tuned_params`.

use crate::format::{grub_defaults, grub_value, kernel_cmdline};
use crate::root::Root;

/// Words that tuned configures (`TUNED_BOOT_CMDLINE`), written by the active profile.
pub(super) const FILE: &str = "etc/tuned/bootcmdline";
/// The script that hands them to GRUB.
pub(super) const SCRIPT: &str = "etc/grub.d/00_tuned";

/// What tuned configures.
#[derive(Clone, Debug, Default)]
pub(super) struct Tuned {
    /// Its words; empty without tuned.
    pub(super) words: Vec<String>,
    /// Line of the assignment, from 1.
    pub(super) line: usize,
}

/// Reads tuned's words; none when there is nothing or the file cannot be followed.
pub(super) fn read(root: &Root) -> Option<Tuned> {
    let text = root.bytes(FILE, crate::root::TEXT_LIMIT);
    let defaults = grub_defaults::parse(text.value()?).ok()?;
    let variable = grub_value::evaluate(&[&defaults], "TUNED_BOOT_CMDLINE", true);
    if variable.unsettled.is_some() {
        return None;
    }
    let (_, event) = *variable.from.last()?;
    let line = match defaults.events.get(event) {
        Some(grub_defaults::Event::Assign(a)) => a.line,
        _ => 1,
    };
    let bytes: Vec<u8> = variable.bytes.iter().map(|b| b.byte).collect();
    let words = kernel_cmdline::words(&String::from_utf8_lossy(&bytes));
    (!words.is_empty()).then_some(Tuned { words, line })
}
