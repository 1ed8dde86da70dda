//! Entries of the menu, the default among them, and the kernel that an entry starts.

use super::{Menu, Value};
use crate::format::grub_cfg::{Block, Command, Statement};
use std::sync::Arc;

/// An entry.
#[derive(Clone, Debug)]
pub(in crate::boot::grub) struct MenuEntry {
    /// Title; none when it is computed from something unknown.
    pub(in crate::boot::grub) title: Option<String>,
    /// `--id`, else the title.
    pub(in crate::boot::grub) id: Option<String>,
    /// Options in the order they stand, with their arguments (`--class debian`), without `--id`.
    pub(in crate::boot::grub) options: Vec<String>,
    /// File on the host and line from 1.
    pub(in crate::boot::grub) place: (String, usize),
    /// All bytes of that file.
    pub(in crate::boot::grub) bytes: Arc<Vec<u8>>,
    /// What it does.
    pub(in crate::boot::grub) block: Block,
    /// Entries below, for a submenu.
    pub(in crate::boot::grub) submenu: Option<Vec<MenuEntry>>,
    /// It is in the menu whatever the unknown conditions are.
    pub(in crate::boot::grub) certain: bool,
}

impl MenuEntry {
    pub(super) fn new(
        arguments: &[Option<String>],
        file: &str,
        line: usize,
        bytes: &Arc<Vec<u8>>,
        block: &Block,
    ) -> Self {
        let (mut title, mut id, mut options) = (None, None, Vec::new());
        let mut titled = false;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.clone().unwrap_or_default();
            match text.as_str() {
                "--id" => id = rest.next().cloned().flatten(),
                "--class" | "--users" | "--hotkey" | "--source" => {
                    options.push(text);
                    options.push(rest.next().cloned().flatten().unwrap_or_default());
                }
                _ if text.starts_with("--id=") => id = text.strip_prefix("--id=").map(str::to_owned),
                _ if text.starts_with("--") => options.push(text),
                _ if !titled => {
                    title.clone_from(argument);
                    titled = true;
                }
                _ => {}
            }
        }
        let id = id.or_else(|| title.clone());
        let (place, block) = ((file.to_owned(), line), block.clone());
        Self { title, id, options, place, bytes: bytes.clone(), block, submenu: None, certain: true }
    }

    /// The same place in the same file.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.place == other.place
    }

    fn named(&self, name: &str) -> bool {
        self.id.as_deref() == Some(name) || self.title.as_deref() == Some(name)
    }
}

/// The one command of an entry that loads a kernel, and where it stands; none for an entry that starts none (a
/// chain loader), has several, or has it inside a condition.
pub(in crate::boot::grub) fn linux(entry: &MenuEntry) -> Option<&Command> {
    let mut found = entry.block.statements.iter().filter_map(|statement| match statement {
        Statement::Command(command) => Some(command).filter(|c| loads(c)),
        _ => None,
    });
    found.next().filter(|_| found.next().is_none())
}

fn loads(command: &Command) -> bool {
    command.words.first().is_some_and(|w| ["linux", "linux16", "linuxefi"].iter().any(|n| w.is(n)))
}

impl Menu {
    /// Every entry that is no submenu, with those in submenus.
    pub(in crate::boot::grub) fn all(&self) -> Vec<&MenuEntry> {
        let mut found = Vec::new();
        let mut todo: Vec<&MenuEntry> = self.entries.iter().rev().collect();
        while let Some(entry) = todo.pop() {
            match &entry.submenu {
                Some(below) => todo.extend(below.iter().rev()),
                None => found.push(entry),
            }
        }
        found
    }

    /// The entry that `default` names: index, id or title, `>` going into submenus (grub-core/normal/menu.c
    /// `get_entry_number`, `get_and_remove_first_entry_number`). GRUB takes the first where nothing has the name.
    pub(in crate::boot::grub) fn default_entry(&self) -> Result<&MenuEntry, String> {
        let Some(wanted) = self.text("default") else {
            return Err("its default entry depends on what only GRUB knows".to_owned());
        };
        let mut entries: &[MenuEntry] = &self.entries;
        let mut rest = wanted.as_str();
        loop {
            let (name, below) =
                rest.split_once('>').map_or((rest, None), |(name, below)| (name, Some(below)));
            let at = match name.parse::<usize>() {
                Ok(at) => at,
                Err(_) => entries.iter().position(|e| e.named(name)).unwrap_or(0),
            };
            if entries.iter().take(at.saturating_add(1)).any(|e| !e.certain || e.id.is_none()) {
                return Err(format!("which entry its default {wanted:?} is depends on what only GRUB knows"));
            }
            let entry = entries.get(at).or_else(|| entries.first());
            let entry = entry.ok_or_else(|| "it has no entry".to_owned())?;
            match &entry.submenu {
                None => return Ok(entry),
                Some(inner) => (entries, rest) = (inner, below.unwrap_or("0")),
            }
        }
    }

    /// The words that `command` gives, those that GRUB alone knows left out; the reason when one of them is more
    /// than the console's hand-over.
    pub(in crate::boot::grub) fn kernel_words(&self, command: &Command) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        for word in command.words.get(1..).unwrap_or_default() {
            let hand_over = matches!(
                word.parts.as_slice(),
                [crate::format::grub_cfg::Part::Variable { name, .. }] if name == "vt_handoff"
            );
            if hand_over {
                continue;
            }
            for value in self.expand(word) {
                let value: Value = value;
                let bytes = value.ok_or("a word of it depends on what only GRUB knows")?;
                words.push(crate::format::grub_script::kernel_word(&bytes));
            }
        }
        Ok(words)
    }
}
