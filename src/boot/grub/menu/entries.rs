//! Entries of the menu, the default among them, and the kernel that an entry starts.

use super::Menu;
use crate::format::grub_cfg::{Block, Command, Statement};
use std::sync::Arc;

/// An entry.
#[derive(Clone, Debug)]
pub(in crate::boot::grub) struct MenuEntry {
    /// Title; none when it is computed from something unknown.
    pub(in crate::boot::grub) title: Option<String>,
    /// `--id`, else the title.
    pub(in crate::boot::grub) id: Option<String>,
    /// Options in the order they stand, with their arguments (`--class debian`), without `--id`; none when one
    /// of them is not known.
    pub(in crate::boot::grub) options: Option<Vec<String>>,
    /// File on the host and line from 1.
    pub(in crate::boot::grub) place: (String, usize),
    /// All bytes of that file.
    pub(in crate::boot::grub) bytes: Arc<Vec<u8>>,
    /// What it does.
    pub(in crate::boot::grub) block: Arc<Block>,
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
        // An argument that is not known may be an option as well as a title.
        let known = arguments.iter().all(Option::is_some);
        let mut rest = arguments.iter().flatten();
        while let Some(text) = rest.next() {
            match text.as_str() {
                "--id" => id = rest.next().cloned(),
                "--class" | "--users" | "--hotkey" | "--source" => {
                    options.push(text.clone());
                    options.extend(rest.next().cloned());
                }
                _ if text.starts_with("--id=") => id = text.strip_prefix("--id=").map(str::to_owned),
                _ if text.starts_with("--") => options.push(text.clone()),
                _ if !titled => {
                    title = Some(text.clone());
                    titled = true;
                }
                _ => {}
            }
        }
        let id = id.or_else(|| title.clone());
        let place = (file.to_owned(), line);
        let (bytes, block, submenu, certain) = (bytes.clone(), Arc::new(block.clone()), None, true);
        let options = known.then_some(options);
        let (title, id) = if known { (title, id) } else { (None, None) };
        Self { title, id, options, place, bytes, block, submenu, certain }
    }

    /// The same place in the same file.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// True when an option stands there, as it is or with a value behind `=`.
    pub(in crate::boot::grub) fn has(&self, option: &str) -> bool {
        let own =
            |o: &String| o.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
        self.options.as_ref().is_some_and(|options| options.iter().any(own))
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
    /// The entry that `default` names: index, id or title, `>` going into submenus and `>>` standing for `>`
    /// (grub-core/normal/menu.c `get_entry_number`, `menuentry_eq`). GRUB takes the first where nothing has the
    /// name.
    pub(in crate::boot::grub) fn default_entry(&self) -> Result<&MenuEntry, String> {
        let Some(wanted) = self.text("default") else {
            return Err("its default entry depends on what only GRUB knows".to_owned());
        };
        let mut entries: &[MenuEntry] = &self.entries;
        let mut rest = Some(wanted.as_str());
        loop {
            let (name, below) = rest.map_or((String::new(), None), first_of);
            let entry = chosen(entries, &name)
                .map_err(|reason| format!("which entry its default {wanted:?} is {reason}"))?
                .ok_or_else(|| "it has no entry".to_owned())?;
            match &entry.submenu {
                None => return Ok(entry),
                Some(inner) => (entries, rest) = (inner, below),
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
                let bytes = value.ok_or("a word of it depends on what only GRUB knows")?;
                words.push(crate::format::grub_script::kernel_word(&bytes));
            }
        }
        Ok(words)
    }
}

/// The first name of a path through submenus, and what stands behind its `>`.
fn first_of(path: &str) -> (String, Option<&str>) {
    let mut name = String::new();
    let mut chars = path.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '>' && chars.next_if(|(_, next)| *next == '>').is_none() {
            return (name, path.get(at + 1..));
        }
        name.push(c);
    }
    (name, None)
}

/// The entry of a menu that `name` chooses; none in an empty menu.
fn chosen<'a>(entries: &'a [MenuEntry], name: &str) -> Result<Option<&'a MenuEntry>, &'static str> {
    const UNKNOWN: &str = "depends on what only GRUB knows";
    let number = name.trim();
    let mut at = 0;
    if number.starts_with(|c: char| c.is_ascii_digit()) {
        // Where a name begins with a digit, and for octal and hexadecimal numbers.
        let plain = number.len() == 1 || !number.starts_with('0');
        let whole = number.parse::<usize>().ok().filter(|_| plain);
        at = whole.ok_or("differs between versions of GRUB, for it begins with a digit")?;
        if at >= entries.len() {
            at = 0;
            if entries.iter().any(|e| !e.certain) {
                return Err(UNKNOWN);
            }
        }
    } else {
        for entry in entries {
            match (entry.certain, entry.id.is_none(), entry.named(name)) {
                (true, false, true) => return Ok(Some(entry)),
                (_, true, _) | (false, _, true) => return Err(UNKNOWN),
                _ => {}
            }
        }
    }
    if entries.iter().take(at + 1).any(|e| !e.certain) {
        return Err(UNKNOWN);
    }
    Ok(entries.get(at))
}
