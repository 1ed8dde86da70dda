//! Commands that decide what the menu is.

use super::script::Source;
use super::{Files, Lost, Menu, MenuEntry, Value, files};
use crate::format::grub_cfg::{Block, Command, Part, Word, is_name};
use crate::format::grubenv::Grubenv;
use crate::format::line_of;

/// Commands after which the rest of the file is not run, or something else than this file is.
const LEAVING: [&str; 14] = [
    "boot",
    "break",
    "continue",
    "eval",
    "exit",
    "extract_entries_configfile",
    "extract_entries_source",
    "halt",
    "legacy_configfile",
    "normal",
    "normal_exit",
    "reboot",
    "return",
    "syslinux_configfile",
];

impl Menu {
    pub(super) fn command(
        &mut self,
        files: &Files<'_>,
        source: &Source,
        command: &Command,
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        let lost = |reason: String| {
            let line = line_of(&source.bytes, command.range.start);
            Err(Lost { place: format!("{}:{line}", source.path), reason })
        };
        let words: Vec<Value> = command.words.iter().flat_map(|w| self.expand(w)).collect();
        let texts: Vec<Option<String>> =
            words.iter().map(|w| w.as_ref().map(|b| String::from_utf8_lossy(b).into_owned())).collect();
        let Some((first, arguments)) = texts.split_first() else { return Ok(()) };
        let first_word = command.words.first();
        let Some(name) = first else {
            return match first_word.and_then(assigned) {
                Some(name) => {
                    self.set(&name, None);
                    Ok(())
                }
                None => lost("runs a command whose name only GRUB knows".to_owned()),
            };
        };
        let argument = arguments.first().cloned();
        match name.as_str() {
            "set" => {
                let word = command.words.get(1);
                if matches!(argument, Some(None)) && word.and_then(assigned).is_none() {
                    return lost("sets a variable whose name only GRUB knows".to_owned());
                }
                self.assign(word, words.get(1));
            }
            "unset" => {
                for name in arguments.iter().flatten() {
                    self.variables.remove(name);
                }
            }
            "load_env" | "save_env" => {
                let Some(names) = self.names(files, arguments) else {
                    return lost(format!("{name} uses another environment block than {}", self.grubenv));
                };
                if name == "load_env" { self.load(block, &names) } else { self.save(&names) }
            }
            "source" | "." | "configfile" => {
                let Some(Some(path)) = argument else {
                    return lost("goes on to a file whose name only GRUB knows".to_owned());
                };
                match (files.host_path(&path), name.as_str()) {
                    (Some(host), "configfile") => self.moved = Some((path, host)),
                    (Some(host), _) => {
                        self.sourced.insert(host.clone());
                        self.file(files, &host, block)?;
                    }
                    // GRUB complains and goes on.
                    (None, _) if path.starts_with(files::HOST) => {}
                    (None, _) => return lost(format!("goes on to {path}, which is not on this host")),
                }
            }
            "blscfg" => self.loader_entries = true,
            "menuentry" | "submenu" => self.entry(files, source, command, arguments, block)?,
            "search" | "search.fs_uuid" | "search.fs_label" | "search.file" => self.search(name, arguments),
            _ if LEAVING.contains(&name.as_str()) => {
                return lost(format!("a `{name}`, behind which nothing can be followed here"));
            }
            _ => match self.functions.get(name).cloned() {
                Some(Some(body)) => self.run_all(files, source, &body, block)?,
                Some(None) => {
                    return lost(format!("which function `{name}` is depends on what only GRUB knows"));
                }
                // `name=value` sets a variable too.
                None if name.contains('=') => self.assign(first_word, words.first()),
                None => self.set_by(name, arguments),
            },
        }
        Ok(())
    }

    fn entry(
        &mut self,
        files: &Files<'_>,
        source: &Source,
        command: &Command,
        arguments: &[Option<String>],
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        let line = line_of(&source.bytes, command.range.start);
        let end = command.range.end;
        let inside = command.block.clone().unwrap_or(Block { range: end..end, statements: Vec::new() });
        let mut entry = MenuEntry::new(arguments, &source.path, line, &source.bytes, &inside);
        if command.words.first().is_some_and(|w| w.is("submenu")) {
            let mut below = Self { entries: Vec::new(), ..self.clone() };
            below.run_all(files, source, &inside.statements, block)?;
            self.steps = below.steps;
            // A menu that another configuration makes is not followed: nothing can be chosen in it.
            entry.submenu = Some(if below.moved.is_some() { Vec::new() } else { below.entries });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// `word`, whose expansion begins with `value`, as an assignment; GRUB takes the first piece of it alone.
    fn assign(&mut self, word: Option<&Word>, value: Option<&Value>) {
        let Some(value) = value else { return };
        match value {
            Some(bytes) => {
                let Some(equals) = bytes.iter().position(|b| *b == b'=') else { return };
                let name = String::from_utf8_lossy(bytes.get(..equals).unwrap_or_default()).into_owned();
                if is_name(&name) {
                    let value = bytes.get(equals + 1..).unwrap_or_default().to_vec();
                    self.set(&name, Some(value));
                }
            }
            None => {
                if let Some(name) = word.and_then(assigned) {
                    self.set(&name, None);
                }
            }
        }
    }

    /// The variables that `load_env` or `save_env` names; none when it uses another block than the host's.
    fn names(&self, files: &Files<'_>, arguments: &[Option<String>]) -> Option<Vec<String>> {
        let mut names = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let argument = argument.as_deref()?;
            let file = match argument {
                "-f" | "--file" => rest.next()?.as_deref(),
                _ => argument.strip_prefix("--file="),
            };
            match file {
                Some(file) => drop(files.host_path(file).filter(|host| *host == self.grubenv)?),
                None if argument.starts_with('-') => {}
                None => names.push(argument.to_owned()),
            }
        }
        Some(names)
    }

    /// All variables of the block, or the named ones.
    fn load(&mut self, block: Option<&Grubenv>, names: &[String]) {
        let Some(block) = block else { return };
        for (name, value) in block.variables() {
            if names.is_empty() || names.contains(&name) {
                self.set(&name, Some(value));
            }
        }
    }

    /// A variable that is not set is not written.
    fn save(&mut self, names: &[String]) {
        for name in names {
            if let Some(value) = self.variables.get(name) {
                self.saved.insert(name.clone(), value.clone());
            }
        }
    }

    /// `search --fs-uuid --set=root UUID` and `search.fs_uuid UUID root`: a device is known by its UUID alone.
    fn search(&mut self, command: &str, arguments: &[Option<String>]) {
        let words: Vec<&str> = arguments.iter().map(|a| a.as_deref().unwrap_or_default()).collect();
        let plain: Vec<&str> = words.iter().copied().filter(|w| !w.starts_with('-')).collect();
        let (uuid, variable, by_uuid) = if command == "search" {
            let set = words.iter().find_map(|w| w.strip_prefix("--set"));
            let Some(set) = set.or_else(|| words.contains(&"-s").then_some("")) else { return };
            let by_uuid = words.iter().any(|w| matches!(*w, "--fs-uuid" | "-u"));
            (plain.last(), set.strip_prefix('=').unwrap_or("root"), by_uuid)
        } else {
            (plain.first(), plain.get(1).copied().unwrap_or("root"), command == "search.fs_uuid")
        };
        let device = uuid.filter(|u| by_uuid && !u.is_empty()).map(|u| format!("fs-uuid:{u}").into_bytes());
        self.set(variable, device);
    }

    /// Variables that other commands give: their values are the machine's.
    fn set_by(&mut self, command: &str, arguments: &[Option<String>]) {
        let mut names: Vec<&str> = Vec::new();
        let mut rest = arguments.iter().flatten().map(String::as_str);
        while let Some(argument) = rest.next() {
            match argument {
                // `regexp --set 1:name`.
                "--set" | "-s" => names.extend(rest.next().and_then(|n| n.rsplit(':').next())),
                _ => names.extend(argument.strip_prefix("--set=").and_then(|n| n.rsplit(':').next())),
            }
        }
        match command {
            "read" | "getkey" | "increment" | "decrement" => {
                names.extend(arguments.iter().flatten().map(String::as_str));
            }
            "hwmatch" => names.push("match"),
            _ => {}
        }
        for name in names {
            self.set(name, None);
        }
    }
}

/// The name before the `=` that a word begins with.
fn assigned(word: &Word) -> Option<String> {
    let Some(Part::Text(text)) = word.parts.first() else { return None };
    let equals = text.iter().position(|b| *b == b'=')?;
    let name = String::from_utf8_lossy(text.get(..equals)?).into_owned();
    is_name(&name).then_some(name)
}
