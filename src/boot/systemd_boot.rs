//! systemd-boot and kernels that the firmware starts: `options` of loader entries, handed to the kernel as they
//! stand, or a line inside a unified image; new entries get `/etc/kernel/cmdline`.

use super::entries;
use super::family::{Family, family};
use super::initramfs::has_program;
use super::{Place, Reading, Refusal, manual};
use crate::format::kernel_cmdline;
use crate::root::{Evidence, Fact, Root, Why};

/// The line for new entries.
pub(super) const KERNEL_CMDLINE: &str = "etc/kernel/cmdline";

/// Reads the default entry's words.
pub(super) fn read(root: &Root) -> Reading {
    let all = entries::load(root);
    let list = all.value().cloned().unwrap_or_default();
    let wanted = entries::configured_default(root);
    let default = entries::default(&list, wanted.as_deref());
    let places = entries::places(&list, default, kernel_cmdline::words);
    let mut reading = Reading { configured: entries::no_default(&all), places, shadowed: vec![] };
    if let Some(entry) = default {
        let words = kernel_cmdline::words(&entry.content.options_text());
        let words = words.into_iter().filter(|w| !w.starts_with("initrd=")).collect();
        reading.configured = Fact::from_lines(words, entries::evidence(entry));
    } else if all.is_absent() {
        let detail = "the command line stands inside a unified kernel image, which is not read";
        reading.configured = Fact::unknown("boot/efi/EFI/Linux", Why::NotCaptured, detail);
    }
    reading.places.extend(kernel_cmdline_place(root, true, false));
    reading
}

/// `/etc/kernel/cmdline` as a place.
pub(super) fn kernel_cmdline_place(root: &Root, all_lines: bool, effective: bool) -> Option<Place> {
    let text = root.text(KERNEL_CMDLINE);
    let words = kernel_cmdline::file_words(text.value()?, all_lines);
    Some(Place {
        file: KERNEL_CMDLINE.to_owned(),
        line: 1,
        variable: "cmdline".to_owned(),
        words,
        effective,
        dynamic: false,
    })
}

/// The words of `/etc/kernel/cmdline` as a fact.
pub(super) fn kernel_cmdline_words(root: &Root, all_lines: bool) -> Fact<Vec<String>> {
    match root.text(KERNEL_CMDLINE) {
        Fact::Known { value, .. } => {
            let first = value.lines().next().unwrap_or_default().to_owned();
            let words = kernel_cmdline::file_words(&value, all_lines);
            Fact::known(words, Evidence::at(KERNEL_CMDLINE, 1, first))
        }
        Fact::Absent { .. } => Fact::unknown(KERNEL_CMDLINE, Why::NotCaptured, "not there"),
        Fact::Unknown(unknown) => Fact::Unknown(unknown),
    }
}

/// The line that `/etc/kernel/cmdline` must hold afterwards, as a manual step.
pub(super) fn kernel_cmdline_step(root: &Root, add: &[String], remove: &[String], all_lines: bool) -> String {
    if let Some(text) = root.text(KERNEL_CMDLINE).value() {
        let now = kernel_cmdline::file_words(text, all_lines);
        return format!(
            "make this the one line of /{KERNEL_CMDLINE}: {}",
            manual::changed(&now, add, remove).join(" ")
        );
    }
    // mkinitcpio puts the files of /etc/cmdline.d together where there is no such line.
    let dropins = root.exists("etc/cmdline.d");
    let place =
        if dropins { "in the files of /etc/cmdline.d" } else { "in the one line of /etc/kernel/cmdline" };
    let mut parts = vec![place.to_owned()];
    if !add.is_empty() {
        parts.push(format!("add: {}", add.join(" ")));
    }
    if !remove.is_empty() {
        parts.push(format!("take out: {}", remove.join(" ")));
    }
    parts.join(", ")
}

/// The steps that a person takes.
pub(super) fn refuse(root: &Root, add: &[String], remove: &[String]) -> Refusal {
    let mut steps = Vec::new();
    let generated = root.exists(KERNEL_CMDLINE) || has_program(root, "sdbootutil");
    let all = entries::load(root);
    let list = all.value().cloned().unwrap_or_default();
    let wanted = entries::configured_default(root);
    let default = entries::default(&list, wanted.as_deref());
    if let Some(entry) = default.filter(|_| !generated) {
        let now = kernel_cmdline::words(&entry.content.options_text());
        let words = manual::changed(&now, add, remove);
        steps.push(format!("make this the options line of /{}: options {}", entry.path, words.join(" ")));
    } else {
        steps.push(kernel_cmdline_step(root, add, remove, true));
        steps.push(
            if has_program(root, "sdbootutil") {
                "sdbootutil update-all-entries"
            } else if default.is_none() && (has_program(root, "mkinitcpio") || family(root) == Family::Arch) {
                "mkinitcpio -P"
            } else {
                "kernel-install add \"$(uname -r)\" \"/lib/modules/$(uname -r)/vmlinuz\""
            }
            .to_owned(),
        );
    }
    Refusal {
        place: "systemd-boot".to_owned(),
        reason: "editing loader entries and unified images is not automated".to_owned(),
        manual: steps,
    }
}
