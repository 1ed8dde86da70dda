//! ostree deployments (Fedora Atomic, CoreOS): kernel arguments belong to a deployment and change with
//! `rpm-ostree kargs`, which makes a new one.

use super::{Reading, Refusal, entries, manual};
use crate::format::kernel_cmdline;
use crate::root::{Fact, Root};

/// Reads the words of the newest deployment's entry.
pub(super) fn read(root: &Root) -> Reading {
    let all = entries::load(root);
    let list = all.value().cloned().unwrap_or_default();
    let default = entries::default(&list, Some("ostree-*"));
    let configured = match default {
        Some(entry) => {
            let words = kernel_cmdline::words(&entry.content.options_text());
            Fact::from_lines(words, entries::evidence(entry))
        }
        None => entries::no_default(&all),
    };
    Reading { configured, places: entries::places(&list, default, kernel_cmdline::words), shadowed: vec![] }
}

/// The command that a person types.
pub(super) fn refuse(add: &[String], remove: &[String]) -> Refusal {
    let mut argv = vec!["rpm-ostree".to_owned(), "kargs".to_owned()];
    argv.extend(remove.iter().map(|w| format!("--delete-if-present={w}")));
    argv.extend(add.iter().map(|w| format!("--append-if-missing={w}")));
    Refusal {
        place: "ostree".to_owned(),
        reason: "kernel arguments of an ostree system belong to its deployments".to_owned(),
        manual: vec![manual::line(&argv)],
    }
}
