//! NixOS: the command line is part of the system's configuration; files in `/boot` and `/etc` are generated.

use super::{Reading, Refusal, entries};
use crate::format::kernel_cmdline;
use crate::root::{Fact, Root, Why};

/// Reads the words of the default generation's entry; with GRUB there is no entry to read.
pub(super) fn read(root: &Root) -> Reading {
    let all = entries::load(root);
    let list = all.value().cloned().unwrap_or_default();
    let wanted = entries::configured_default(root);
    let default = entries::default(&list, wanted.as_deref().or(Some("nixos-generation-*")));
    let configured = match (default, &all) {
        (Some(entry), _) => {
            let words = kernel_cmdline::words(&entry.content.options_text());
            Fact::from_lines(words, entries::evidence(entry))
        }
        (None, Fact::Absent { .. }) => {
            let detail = "words of a NixOS generation under GRUB are not read; see `boot.kernelParams`";
            Fact::unknown("boot/grub/grub.cfg", Why::NotCaptured, detail)
        }
        (None, _) => entries::no_default(&all),
    };
    Reading { configured, places: entries::places(&list, default, kernel_cmdline::words), shadowed: vec![] }
}

/// The lines that a person writes.
pub(super) fn refuse(add: &[String], remove: &[String]) -> Refusal {
    let strings = |words: &[String]| {
        let nix = |w: &String| {
            format!("\"{}\"", w.replace('\\', "\\\\").replace('"', "\\\"").replace("${", "\\${"))
        };
        words.iter().map(nix).collect::<Vec<_>>().join(" ")
    };
    let mut steps = Vec::new();
    if !add.is_empty() {
        steps.push(format!("add to the NixOS configuration: boot.kernelParams = [ {} ];", strings(add)));
    }
    if !remove.is_empty() {
        steps.push(format!("take out of boot.kernelParams: {}", strings(remove)));
    }
    steps.push("nixos-rebuild boot".to_owned());
    Refusal {
        place: "nixos".to_owned(),
        reason: "the command line of NixOS comes from its configuration; generated files are never edited"
            .to_owned(),
        manual: steps,
    }
}
