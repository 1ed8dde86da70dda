//! The trial's entry: the bytes of the running one with other words, and a way back behind them.

use super::super::menu::{Menu, MenuEntry, linux};
use super::{NoTrial, Wanted, place};
use crate::format::grub_cfg::{Command, Statement, Word};
use crate::format::grub_script::{argument_for, kernel_word, quoted};
use crate::format::kernel_cmdline::comparable;
use std::ops::Range;

/// Commands that are left out of the copy: `savedefault` would make a failed trial the default, `recordfail`
/// would keep the menu open after it.
const DROPPED: [&str; 2] = ["savedefault", "recordfail"];
/// Commands that may not stand inside a condition, where it is not known whether they run.
const PLAIN: [&str; 8] =
    ["linux", "linux16", "linuxefi", "initrd", "initrd16", "initrdefi", "savedefault", "recordfail"];
/// Commands that would leave the copy before its way back, or start something else than a kernel.
const LEAVING: [&str; 16] = [
    ".",
    "boot",
    "break",
    "chainloader",
    "configfile",
    "continue",
    "exit",
    "halt",
    "kexec",
    "module",
    "multiboot",
    "multiboot2",
    "normal",
    "reboot",
    "return",
    "source",
];

/// The entry.
pub(super) struct Entry {
    /// `menuentry` with its block, in whole lines.
    pub(super) text: Vec<u8>,
    /// Words of its command line, without the kernel.
    pub(super) words: Vec<String>,
    /// Those of them that the trial added for itself.
    pub(super) own_words: Vec<String>,
}

/// Copies `source`, adding `own_words` behind the words of the change.
pub(super) fn entry(
    source: &MenuEntry,
    menu: &Menu,
    wanted: &Wanted,
    own_words: &[String],
) -> Result<Entry, NoTrial> {
    let refuse = |reason: String| NoTrial::new(place(source), reason, &[]);
    followable(source, menu).map_err(refuse)?;
    let command = linux(source).ok_or_else(|| refuse("starts no single kernel".to_owned()))?;
    let mut edits: Edits = Vec::new();
    for statement in &source.block.statements {
        let Statement::Command(other) = statement else { continue };
        let Some(name) = other.words.first() else { continue };
        if DROPPED.iter().any(|dropped| name.is(dropped)) {
            edits.push((other.range.clone(), Vec::new()));
        } else if name.text().is_some_and(|n| n.starts_with(b"initrd")) {
            // A kernel without its initrd must not be started: `boot` below asks for this.
            let check = b"\n\tif [ $? != 0 ]; then set peerfix_missing=1; fi".to_vec();
            edits.push((other.range.end..other.range.end, check));
        }
    }
    let found = words(command, menu, wanted, own_words).map_err(refuse)?;
    edits.extend(found.edits);
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = head(source, &wanted.id)
        .ok_or_else(|| refuse("an option of the entry depends on what only GRUB knows".to_owned()))?;
    let mut at = source.block.range.start;
    for (range, new) in edits {
        text.extend_from_slice(source.bytes.get(at..range.start).unwrap_or_default());
        text.extend(new);
        at = range.end;
    }
    text.extend_from_slice(source.bytes.get(at..source.block.range.end).unwrap_or_default());
    while text.last().is_some_and(u8::is_ascii_whitespace) {
        text.pop();
    }
    text.extend_from_slice(b"\n\tif [ -z \"$peerfix_missing\" ]; then boot; fi\n\tsleep 5\n\treboot\n}\n");
    Ok(Entry { text, words: found.all, own_words: found.own })
}

/// What the entry does is known well enough to be copied; the reason when it is not.
fn followable(source: &MenuEntry, menu: &Menu) -> Result<(), String> {
    if source.has("--source") {
        return Err("takes what it does from --source".to_owned());
    }
    for statement in &source.block.statements {
        let inside = !matches!(statement, Statement::Command(_));
        for command in statement.commands() {
            let name = command.words.first().and_then(Word::text);
            let Some(name) = name.map(|n| String::from_utf8_lossy(&n).into_owned()) else {
                return Err("runs a command whose name only GRUB knows".to_owned());
            };
            if LEAVING.contains(&name.as_str()) {
                return Err(format!("has a `{name}`, which a trial cannot be made of"));
            }
            if inside && PLAIN.contains(&name.as_str()) {
                return Err(format!("has a `{name}` inside a condition"));
            }
            if !DROPPED.contains(&name.as_str()) && menu.saves(&name) {
                return Err(format!("writes the environment block (`{name}`), and a trial would change it"));
            }
        }
    }
    Ok(())
}

/// `menuentry` up to its block; none when an option is not known.
fn head(source: &MenuEntry, id: &str) -> Option<Vec<u8>> {
    let mut head = format!("menuentry 'peerfix trial {id}' --id peerfix-trial-{id}");
    for option in source.options.as_ref()? {
        let option = if option.is_empty() { "''".to_owned() } else { quoted(option, option.contains('\'')) };
        head.push(' ');
        head.push_str(&option);
    }
    head.push_str(" {");
    let first = source.bytes.get(source.block.range.start);
    if first.is_none_or(|b| *b != b'\n') {
        head.push_str("\n\t");
    }
    Some(head.into_bytes())
}

type Edits = Vec<(Range<usize>, Vec<u8>)>;

/// The command line of a trial.
struct Words {
    /// Every word afterwards.
    all: Vec<String>,
    /// Those of `own_words` that were not there before.
    own: Vec<String>,
    /// The edits of the `linux` command that make them so.
    edits: Edits,
}

fn words(command: &Command, menu: &Menu, wanted: &Wanted, own_words: &[String]) -> Result<Words, String> {
    let mut edits = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    let mut end = command.words.get(1).map_or(command.range.end, |w| w.range.end);
    for word in command.words.get(2..).unwrap_or_default() {
        // Words behind it are init's.
        if word.is("--") {
            break;
        }
        let values: Option<Vec<String>> =
            menu.expand(word).into_iter().map(|v| v.map(|bytes| kernel_word(&bytes))).collect();
        end = word.range.end;
        // GRUB's own hand-over of the console stays as it stands.
        let Some(values) = values else { continue };
        let goes = |v: &String| wanted.remove.iter().any(|r| comparable(r) == comparable(v));
        if !values.iter().any(goes) {
            kept.extend(values);
        } else if word.text().is_some() {
            edits.push((word.range.clone(), Vec::new()));
        } else {
            let found = values.join(" ");
            return Err(format!("{found} comes from a variable of GRUB and cannot be left out"));
        }
    }
    let before = kept.len();
    let (mut new, mut own) = (Vec::new(), Vec::new());
    for (word, of_the_trial) in
        wanted.add.iter().map(|w| (w, false)).chain(own_words.iter().map(|w| (w, true)))
    {
        if kept.iter().any(|k| comparable(k) == comparable(word)) {
            continue;
        }
        if of_the_trial {
            own.push(word.clone());
        }
        let argument = argument_for(word)?;
        new.push(b' ');
        new.extend(quoted(&argument, false).bytes());
        kept.push(kernel_word(argument.as_bytes()));
    }
    let asked = !wanted.add.is_empty() || !wanted.remove.is_empty();
    if asked && edits.is_empty() && kept.len() == before + own.len() {
        return Err("has these words already: there is nothing to try".to_owned());
    }
    edits.push((end..end, new));
    Ok(Words { all: kept, own, edits })
}
