//! What GRUB would do with its configuration: the script is followed as GRUB runs it, with three-valued
//! variables and conditions. Where a condition is not known, both ways are taken and what differs is unknown.

mod conditions;
mod entries;
mod files;
mod script;

pub(super) use entries::{MenuEntry, linux};
pub(super) use files::Files;

use crate::format::Trouble;
use crate::format::grub_cfg::{Part, Statement, Word};
use crate::format::grubenv::Grubenv;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Variables that GRUB 2.00 and later set themselves (grub-core/normal/main.c `features`).
const FEATURES: [&str; 10] = [
    "feature_chainloader_bpb",
    "feature_ntldr",
    "feature_platform_search_hint",
    "feature_default_font_path",
    "feature_all_video_module",
    "feature_menuentry_id",
    "feature_menuentry_options",
    "feature_200_final",
    "feature_nativedisk_cmd",
    "feature_timeout_style",
];
/// Variables that GRUB sets from the machine and the disk: not known here.
const MACHINE: [&str; 8] = [
    "root",
    "grub_platform",
    "grub_cpu",
    "cmdpath",
    "lang",
    "pxe_default_server",
    "net_default_ip",
    "shim_lock",
];

/// Text of a variable or word; none when it is not known.
pub(super) type Value = Option<Vec<u8>>;

/// Why the configuration cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// `boot/grub/grub.cfg:7`.
    pub(super) place: String,
    /// Why.
    pub(super) reason: String,
}

impl Lost {
    fn at(file: &str, trouble: &Trouble) -> Self {
        Self { place: format!("{file}:{}", trouble.line), reason: trouble.reason.clone() }
    }
}

/// The state of GRUB when the menu is ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Menu {
    variables: BTreeMap<String, Value>,
    exported: BTreeSet<String>,
    functions: BTreeMap<String, Arc<Vec<Statement>>>,
    /// Top-level entries in order.
    pub(super) entries: Vec<MenuEntry>,
    /// What the last `save_env` of a variable wrote; unknown where it depends on something unknown.
    saved: BTreeMap<String, Value>,
    /// Files that were sourced for certain, as host paths.
    pub(super) sourced: BTreeSet<String>,
    /// The configuration that GRUB went on to (`configfile`), as GRUB names it and on the host.
    pub(super) moved: Option<(String, String)>,
    /// Loader entries are read too (`blscfg`).
    pub(super) loader_entries: bool,
    steps: u32,
    depth: u32,
}

impl Menu {
    /// Follows the configuration at `config` (path on the host) with the given environment block.
    pub(super) fn run(files: &Files<'_>, config: &str, block: Option<&Grubenv>) -> Result<Self, Lost> {
        let mut menu = Self::default();
        let directory = config.rsplit_once('/').map_or("", |(directory, _)| directory);
        menu.set("prefix", Some(format!("(host)/{directory}").into_bytes()));
        menu.set("config_directory", Some(format!("(host)/{directory}").into_bytes()));
        for name in FEATURES {
            menu.set(name, Some(b"y".to_vec()));
        }
        for name in MACHINE {
            menu.set(name, None);
        }
        menu.exported.extend(["prefix", "root"].map(str::to_owned));
        menu.file(files, config, block)?;
        Ok(menu)
    }

    /// The value of a variable; empty when it is not set.
    pub(super) fn get(&self, name: &str) -> Value {
        self.variables.get(name).cloned().unwrap_or_else(|| Some(Vec::new()))
    }

    /// The same as text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What was written to the environment block for `name`; the outer none when nothing was.
    pub(super) fn saved(&self, name: &str) -> Option<&Value> {
        self.saved.get(name)
    }

    fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    /// The words that GRUB makes of one word of the script.
    pub(super) fn expand(&self, word: &Word) -> Vec<Value> {
        let mut words: Vec<Value> = Vec::new();
        let mut current: Option<Value> = if word.parts.is_empty() { Some(Some(Vec::new())) } else { None };
        let append = |current: &mut Option<Value>, text: Value| match (current.as_mut(), text) {
            (None, text) => *current = Some(text),
            (Some(Some(own)), Some(text)) => own.extend(text),
            (Some(own), _) => *own = None,
        };
        for part in &word.parts {
            match part {
                Part::Text(text) => append(&mut current, Some(text.clone())),
                Part::Variable { name, quoted: true } => append(&mut current, self.get(name)),
                Part::Variable { name, quoted: false } => match self.get(name) {
                    None => append(&mut current, None),
                    Some(value) => {
                        for (at, piece) in value.split(|b| matches!(b, b' ' | b'\t' | b'\n')).enumerate() {
                            if at > 0 {
                                words.extend(current.take());
                            }
                            if !piece.is_empty() {
                                append(&mut current, Some(piece.to_vec()));
                            }
                        }
                    }
                },
            }
        }
        words.extend(current);
        words
    }
}
