//! The trial's entry: the bytes of the running one with other words, and a way back behind them.

use super::super::menu::{Menu, MenuEntry, linux};
use super::{NoTrial, Wanted, place};
use crate::format::grub_cfg::{Command, Statement, Word};
use crate::format::grub_script::{argument_for, kernel_word, quoted};
use crate::format::kernel_cmdline::comparable;
use std::ops::Range;

/// The entry.
pub(super) struct Entry {
    /// `menuentry` with its block, in whole lines.
    pub(super) text: Vec<u8>,
    /// Words of its command line, without the kernel.
    pub(super) words: Vec<String>,
}

/// Copies `source`. What remembers the choice is dropped: `savedefault` would make a failed trial the default,
/// `recordfail` would keep the menu open after it.
pub(super) fn entry(
    source: &MenuEntry,
    menu: &Menu,
    wanted: &Wanted,
    own_words: &[String],
) -> Result<Entry, NoTrial> {
    let refuse = |reason: String| NoTrial::new(place(source), reason, &[]);
    let command = linux(source).ok_or_else(|| refuse("starts no single kernel".to_owned()))?;
    let mut edits: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    for statement in &source.block.statements {
        let Statement::Command(other) = statement else { continue };
        let name = other.words.first();
        if name.is_some_and(|w| w.is("savedefault") || w.is("recordfail")) {
            edits.push((other.range.clone(), Vec::new()));
        } else if name.and_then(Word::text).is_some_and(|n| n.starts_with(b"initrd")) {
            // A kernel without its initrd must not be started: `boot` below asks for this.
            let check = b"\n\tif [ $? != 0 ]; then set peerfix_missing=1; fi".to_vec();
            edits.push((other.range.end..other.range.end, check));
        }
    }
    let (words, changes) = words(command, menu, wanted, own_words).map_err(refuse)?;
    edits.extend(changes);
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut text = head(source, &wanted.id);
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
    Ok(Entry { text, words })
}

fn head(source: &MenuEntry, id: &str) -> Vec<u8> {
    let mut head = format!("menuentry 'peerfix trial {id}' --id peerfix-trial-{id}");
    for option in &source.options {
        let option = if option.is_empty() { "''".to_owned() } else { quoted(option, false) };
        head.push(' ');
        head.push_str(&option);
    }
    head.push_str(" {");
    let first = source.bytes.get(source.block.range.start);
    if first.is_none_or(|b| *b != b'\n') {
        head.push_str("\n\t");
    }
    head.into_bytes()
}

type Edits = Vec<(Range<usize>, Vec<u8>)>;

/// The words afterwards, and the edits of the `linux` command that make them so.
fn words(
    command: &Command,
    menu: &Menu,
    wanted: &Wanted,
    own_words: &[String],
) -> Result<(Vec<String>, Edits), String> {
    let mut edits = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    let mut end = command.words.get(1).map_or(command.range.end, |w| w.range.end);
    let mut init = Vec::new();
    for word in command.words.get(2..).unwrap_or_default() {
        if !init.is_empty() || word.is("--") {
            init.push(word);
            continue;
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
    let mut new = Vec::new();
    for word in wanted.add.iter().chain(own_words) {
        if kept.iter().any(|k| comparable(k) == comparable(word)) && !own_words.contains(word) {
            continue;
        }
        let argument = argument_for(word)?;
        new.push(b' ');
        new.extend(quoted(&argument, false).bytes());
        kept.push(kernel_word(argument.as_bytes()));
    }
    edits.push((end..end, new));
    Ok((kept, edits))
}
