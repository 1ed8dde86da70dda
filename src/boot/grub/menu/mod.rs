//! What GRUB would do with its configuration: the script is followed as GRUB runs it, with three-valued
//! variables and conditions. Where a condition is not known, both ways are taken and what differs is unknown.

mod commands;
mod conditions;
mod entries;
mod files;
mod script;

pub(super) use entries::{MenuEntry, linux};
pub(super) use files::Files;

use crate::format::Trouble;
use crate::format::grub_cfg::{self, Part, Statement, Word};
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

/// A function of the script; none when it is not known which of two bodies it has.
type Function = Option<Arc<Vec<Statement>>>;

/// The state of GRUB when the menu is ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Menu {
    variables: BTreeMap<String, Value>,
    functions: BTreeMap<String, Function>,
    /// Top-level entries in order.
    pub(super) entries: Vec<MenuEntry>,
    /// What the last `save_env` of a variable wrote; unknown where it depends on something unknown.
    pub(super) saved: BTreeMap<String, Value>,
    /// Files that were sourced for certain, as host paths.
    pub(super) sourced: BTreeSet<String>,
    /// The configuration that GRUB went on to (`configfile`), as GRUB names it and on the host.
    pub(super) moved: Option<(String, String)>,
    /// Loader entries are read too (`blscfg`).
    pub(super) loader_entries: bool,
    /// The environment block of the host, as a path of it.
    grubenv: String,
    steps: usize,
    depth: u32,
}

impl Menu {
    /// Follows the configuration at `config` (path on the host) with the given environment block.
    pub(super) fn run(files: &Files<'_>, config: &str, block: Option<&Grubenv>) -> Result<Self, Lost> {
        let directory = config.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut menu = Self { grubenv: format!("{directory}/grubenv"), ..Self::default() };
        let here = format!("{}/{directory}", files::HOST).into_bytes();
        for (name, value) in [("prefix", &here), ("config_directory", &here)] {
            menu.set(name, Some(value.clone()));
        }
        for name in FEATURES {
            menu.set(name, Some(b"y".to_vec()));
        }
        for name in MACHINE {
            menu.set(name, None);
        }
        menu.file(files, config, block)?;
        Ok(menu)
    }

    /// The value of a variable; empty when it is not set. What a function is given (`$1`) and the status of the
    /// last command (`$?`) are not known.
    pub(super) fn get(&self, name: &str) -> Value {
        match self.variables.get(name) {
            Some(value) => value.clone(),
            None => grub_cfg::is_name(name).then(Vec::new),
        }
    }

    /// The same as text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// True when calling `name` may write the environment block.
    pub(super) fn saves(&self, name: &str) -> bool {
        match self.functions.get(name) {
            None => name == "save_env",
            Some(None) => true,
            Some(Some(body)) => body.iter().flat_map(Statement::commands).any(|command| {
                // One function deep: a function that calls another is taken as writing.
                command.words.first().is_none_or(|w| match w.text() {
                    Some(text) => {
                        let text = String::from_utf8_lossy(&text).into_owned();
                        text == "save_env" || (text != name && self.functions.contains_key(&text))
                    }
                    None => true,
                })
            }),
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.to_owned(), value);
    }

    /// The words that GRUB makes of one word of the script.
    pub(super) fn expand(&self, word: &Word) -> Vec<Value> {
        let mut words: Vec<Value> = Vec::new();
        let mut current: Option<Value> = None;
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
