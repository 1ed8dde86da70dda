//! GRUB that boots loader entries (Fedora, RHEL and rebuilds): the `options` of an entry decide, `grub2-mkconfig`
//! does not change them, and `grubby` is the tool that does.

use super::entries::{self, Entry};
use super::grub::{self, DEFAULT, LINUX, Settings};
use super::matters::missing_from;
use super::tuned::Tuned;
use super::{Reading, Refusal, manual};
use crate::format::grub_script;
use crate::root::{Fact, Root, Why};
use std::collections::BTreeMap;

/// Reads the default entry's words.
pub(super) fn read(root: &Root, tuned: Option<&Tuned>) -> Reading {
    let all = entries::load(root);
    let block = entries::environment_block(root);
    let list = all.value().cloned().unwrap_or_default();
    let default = entries::default(&list, block.get("saved_entry").map(String::as_str));
    let configured = match default {
        Some(entry) => words(entry, &block, tuned),
        None => entries::no_default(&all),
    };
    let raw = |text: &str| {
        let split = grub_script::split(text.as_bytes()).unwrap_or_default();
        split.iter().filter(|a| a.variable.is_none()).map(|a| grub_script::kernel_word(&a.text)).collect()
    };
    let mut reading = Reading { configured, places: entries::places(&list, default, raw), shadowed: vec![] };
    settings(root, default, &mut reading);
    reading
}

/// The words of an entry: GRUB reads its options as script text, so `$kernelopts` and `$tuned_params` expand.
fn words(entry: &Entry, block: &BTreeMap<String, String>, tuned: Option<&Tuned>) -> Fact<Vec<String>> {
    let text = entry.content.options_text();
    let line = entry.content.options.first().map_or(1, |(line, _)| *line);
    let arguments = match grub_script::split(text.as_bytes()) {
        Ok(arguments) => arguments,
        Err(broken) => return Fact::malformed(entry.path.clone(), line, broken.reason),
    };
    let mut words = Vec::new();
    for argument in arguments {
        match argument.variable.as_deref() {
            None => words.push(grub_script::kernel_word(&argument.text)),
            Some(name) => match (block.get(name), name, tuned) {
                (Some(value), ..) => words.extend(crate::format::kernel_cmdline::words(value)),
                (None, "tuned_params", Some(tuned)) => words.extend(tuned.words.iter().cloned()),
                (None, "tuned_params", None) => {}
                _ => {
                    let detail = format!("`${name}` is not set in grubenv");
                    return Fact::unknown(entry.path.clone(), Why::Derived, detail);
                }
            },
        }
    }
    Fact::from_lines(words, entries::evidence(entry))
}

/// GRUB's settings: both variables reach new entries at most, never the ones that are there.
fn settings(root: &Root, default: Option<&Entry>, reading: &mut Reading) {
    let Ok(settings) = Settings::load(root) else { return };
    reading.places.extend(grub::ineffective_places(&settings));
    let Some(configured) = reading.configured.value() else { return };
    for name in [LINUX, DEFAULT] {
        for (at, words) in grub::ignored(&settings, name) {
            let lost = missing_from(&words, configured);
            // GRUB_CMDLINE_LINUX is copied into entries at installation: only a difference is a shadow.
            if lost.is_empty() && name == LINUX {
                continue;
            }
            let by = default.map_or("loader entries", |d| d.path.as_str());
            reading.shadowed.extend(grub::ignored_shadow(&settings, at, by, lost));
        }
    }
}

/// The commands that a person types.
pub(super) fn refuse(root: &Root, add: &[String], remove: &[String]) -> Refusal {
    let mut argv = vec!["grubby".to_owned(), "--update-kernel=ALL".to_owned()];
    // grubby's text goes through GRUB script, which ends a command at `;`.
    let words = |list: &[String]| {
        let quoted = |w: &String| grub_script::argument_for(w).map(|a| grub_script::quoted(&a, false));
        list.iter().map(|w| quoted(w).unwrap_or_else(|_| w.clone())).collect::<Vec<_>>().join(" ")
    };
    if !remove.is_empty() {
        argv.push(format!("--remove-args={}", words(remove)));
    }
    if !add.is_empty() {
        argv.push(format!("--args={}", words(add)));
    }
    let mut steps = vec![manual::line(&argv)];
    let line = root.text("etc/kernel/cmdline");
    if let Some(text) = line.value() {
        let now = crate::format::kernel_cmdline::file_words(text, false);
        let wanted = manual::changed(&now, add, remove);
        if wanted != now {
            steps.push(format!(
                "check that /etc/kernel/cmdline, which new kernels inherit, now reads: {}",
                wanted.join(" ")
            ));
        }
    }
    Refusal {
        place: "grub-bls".to_owned(),
        reason: "loader entries are changed with grubby; /etc/default/grub does not reach them".to_owned(),
        manual: steps,
    }
}
