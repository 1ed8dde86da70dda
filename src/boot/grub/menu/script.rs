//! Running the commands of a configuration.

use super::conditions::merged;
use super::{Files, Lost, Menu, MenuEntry, Value};
use crate::format::grub_cfg::{self, Command, Statement};
use crate::format::grubenv::Grubenv;
use crate::format::line_of;
use crate::root::Fact;
use std::sync::Arc;

/// Statements that are followed before giving up.
const MOST_STEPS: u32 = 100_000;
/// Files, functions and conditions inside each other.
const DEEPEST: u32 = 60;

/// The file that is being run.
struct Source {
    path: String,
    bytes: Arc<Vec<u8>>,
}

impl Menu {
    /// Runs one file of the host.
    pub(super) fn file(
        &mut self,
        files: &Files<'_>,
        path: &str,
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        let lost = |reason: String| Lost { place: path.to_owned(), reason };
        let bytes = match files.read(path) {
            Fact::Known { value, .. } => value,
            Fact::Absent { .. } => return Err(lost("is not there".to_owned())),
            Fact::Unknown(unknown) => return Err(lost(unknown.to_string())),
        };
        let statements = grub_cfg::parse(&bytes).map_err(|t| Lost::at(path, &t))?;
        let source = Source { path: path.to_owned(), bytes: Arc::new(bytes) };
        self.run_all(files, &source, &statements, block)
    }

    fn run_all(
        &mut self,
        files: &Files<'_>,
        source: &Source,
        statements: &[Statement],
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        self.depth += 1;
        for statement in statements {
            self.steps += 1;
            if self.steps > MOST_STEPS || self.depth > DEEPEST {
                let reason = "does not come to an end that can be followed here".to_owned();
                return Err(Lost { place: source.path.clone(), reason });
            }
            if self.moved.is_some() {
                break;
            }
            match statement {
                Statement::Function { name, body } => {
                    self.functions.insert(name.clone(), Arc::new(body.clone()));
                }
                Statement::If { arms, otherwise } => self.branch(files, source, arms, otherwise, block)?,
                // How often it runs is not known.
                Statement::Loop { body } => {
                    self.branch(files, source, &[(Vec::new(), body.clone())], &[], block)?;
                }
                Statement::Command(command) => self.command(files, source, command, block)?,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn branch(
        &mut self,
        files: &Files<'_>,
        source: &Source,
        arms: &[(Vec<Statement>, Vec<Statement>)],
        otherwise: &[Statement],
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        let Some(((condition, body), rest)) = arms.split_first() else {
            return self.run_all(files, source, otherwise, block);
        };
        match self.holds(files, condition) {
            Some(true) => self.run_all(files, source, body, block),
            Some(false) => self.branch(files, source, rest, otherwise, block),
            None => {
                let mut other = self.clone();
                self.run_all(files, source, body, block)?;
                other.steps = self.steps;
                other.branch(files, source, rest, otherwise, block)?;
                self.join(&other);
                Ok(())
            }
        }
    }

    /// Keeps what both ways agree on.
    fn join(&mut self, other: &Self) {
        let names: Vec<String> = self.variables.keys().chain(other.variables.keys()).cloned().collect();
        for name in names {
            let value = merged(&self.get(&name), &other.get(&name));
            self.variables.insert(name, value);
        }
        let names: Vec<String> = self.saved.keys().chain(other.saved.keys()).cloned().collect();
        for name in names {
            let both = self.saved.get(&name).zip(other.saved.get(&name));
            let value = both.and_then(|(a, b)| merged(a, b));
            self.saved.insert(name, value);
        }
        let common = self.entries.iter().zip(&other.entries).take_while(|(a, b)| a.same(b)).count();
        for entry in self.entries.iter_mut().skip(common) {
            entry.certain = false;
        }
        for entry in other.entries.iter().skip(common) {
            self.entries.push(MenuEntry { certain: false, ..entry.clone() });
        }
        self.sourced.retain(|path| other.sourced.contains(path));
        self.loader_entries |= other.loader_entries;
        self.exported.extend(other.exported.iter().cloned());
        for (name, body) in &other.functions {
            self.functions.entry(name.clone()).or_insert_with(|| body.clone());
        }
        self.moved = self.moved.take().or_else(|| other.moved.clone());
        self.steps = self.steps.max(other.steps);
    }

    fn command(
        &mut self,
        files: &Files<'_>,
        source: &Source,
        command: &Command,
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        let words: Vec<Value> = command.words.iter().flat_map(|w| self.expand(w)).collect();
        let texts: Vec<Option<String>> =
            words.iter().map(|w| w.as_ref().map(|b| String::from_utf8_lossy(b).into_owned())).collect();
        let Some(name) = texts.first().cloned().flatten() else { return Ok(()) };
        let arguments = texts.get(1..).unwrap_or_default();
        match name.as_str() {
            "set" => self.assign(command, 1),
            "unset" => {
                for name in arguments.iter().flatten() {
                    self.variables.remove(name);
                }
            }
            "export" => self.exported.extend(arguments.iter().flatten().cloned()),
            "load_env" => self.load(block, arguments),
            "save_env" => {
                for name in arguments.iter().flatten().filter(|a| !a.starts_with('-')) {
                    let value = self.get(name);
                    self.saved.insert(name.clone(), value);
                }
            }
            "source" | "." => {
                if let Some(path) = arguments.first().cloned().flatten().and_then(|p| files.host_path(&p)) {
                    self.sourced.insert(path.clone());
                    self.file(files, &path, block)?;
                }
            }
            "configfile" => {
                if let Some(path) = arguments.first().cloned().flatten()
                    && let Some(host) = files.host_path(&path)
                {
                    self.moved = Some((path, host));
                }
            }
            "blscfg" => self.loader_entries = true,
            "menuentry" | "submenu" => {
                let line = line_of(&source.bytes, command.range.start);
                let inside = command.block.clone().unwrap_or(grub_cfg::Block {
                    range: command.range.end..command.range.end,
                    statements: Vec::new(),
                });
                let mut entry = MenuEntry::new(arguments, &source.path, line, &source.bytes, &inside);
                if name == "submenu" {
                    let mut below = Self { entries: Vec::new(), ..self.clone() };
                    below.run_all(files, source, &inside.statements, block)?;
                    self.steps = below.steps;
                    entry.submenu = Some(below.entries);
                }
                self.entries.push(entry);
            }
            _ if name.starts_with("search") => self.search(&name, arguments),
            _ => match self.functions.get(&name).cloned() {
                Some(body) => self.run_all(files, source, &body, block)?,
                // `name=value` sets a variable too.
                None => self.assign(command, 0),
            },
        }
        Ok(())
    }

    /// `set name=value` (the word behind `set`), or `name=value`.
    fn assign(&mut self, command: &Command, at: usize) {
        let Some(word) = command.words.get(at) else { return };
        // The value is not split, so it is expanded as if it stood in quotes.
        let mut value: Value = Some(Vec::new());
        for part in &word.parts {
            let piece = match part {
                grub_cfg::Part::Text(text) => Some(text.clone()),
                grub_cfg::Part::Variable { name, .. } => self.get(name),
            };
            value = value.zip(piece).map(|(own, piece)| [own, piece].concat());
        }
        let Some(grub_cfg::Part::Text(first)) = word.parts.first() else { return };
        let Some(equals) = first.iter().position(|b| *b == b'=') else { return };
        let name = String::from_utf8_lossy(first.get(..equals).unwrap_or_default()).into_owned();
        let identifier = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.is_empty() && name.chars().all(identifier) {
            let value = value.map(|v| v.get(equals + 1..).unwrap_or_default().to_vec());
            self.set(&name, value);
        }
    }

    /// `load_env`, all variables or the named ones. Another file than the block's is not followed.
    fn load(&mut self, block: Option<&Grubenv>, arguments: &[Option<String>]) {
        if arguments.iter().flatten().any(|a| a == "-f" || a.starts_with("--file")) {
            return;
        }
        let named: Vec<&String> = arguments.iter().flatten().filter(|a| !a.starts_with('-')).collect();
        for (name, value) in block.map(Grubenv::variables).unwrap_or_default() {
            if named.is_empty() || named.contains(&&name) {
                self.set(&name, Some(value));
            }
        }
    }

    /// `search --fs-uuid --set=root UUID` and `search.fs_uuid UUID root`: a device is known by its UUID alone.
    fn search(&mut self, command: &str, arguments: &[Option<String>]) {
        let words: Vec<&str> = arguments.iter().map(|a| a.as_deref().unwrap_or_default()).collect();
        let plain: Vec<&str> = words.iter().copied().filter(|w| !w.starts_with('-')).collect();
        let (uuid, variable, by_uuid) = if command == "search.fs_uuid" {
            (plain.first(), plain.get(1).copied().unwrap_or("root"), true)
        } else {
            let set = words.iter().find_map(|w| w.strip_prefix("--set"));
            let Some(set) = set else { return };
            let by_uuid = words.iter().any(|w| matches!(*w, "--fs-uuid" | "-u"));
            (plain.last(), set.strip_prefix('=').unwrap_or("root"), by_uuid)
        };
        let device = uuid.filter(|u| by_uuid && !u.is_empty()).map(|u| format!("fs-uuid:{u}").into_bytes());
        self.set(variable, device);
    }
}
