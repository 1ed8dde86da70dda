//! The flow of a configuration: files, conditions and loops.

use super::conditions::merged;
use super::{Files, Lost, Menu, MenuEntry};
use crate::format::grub_cfg::{self, Statement};
use crate::format::grubenv::Grubenv;
use crate::root::Fact;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Steps that are taken before giving up: statements followed, and values copied where two ways part.
const MOST_STEPS: usize = 300_000;
/// Files, functions and conditions inside each other.
const DEEPEST: u32 = 60;
/// Turns after which the variables of a loop must be settled.
const MOST_TURNS: usize = 20;

/// The file that is being run.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) bytes: Arc<Vec<u8>>,
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

    pub(super) fn run_all(
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
                    self.functions.insert(name.clone(), Some(Arc::new(body.clone())));
                }
                Statement::If { arms, otherwise } => self.branch(files, source, arms, otherwise, block)?,
                Statement::Loop { variable, body } => {
                    self.repeat(files, source, variable.as_deref(), body, block)?;
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
        for (at, (condition, body)) in arms.iter().enumerate() {
            // A condition is made of commands, which may set variables too.
            self.run_all(files, source, condition, block)?;
            match self.holds(files, condition) {
                Some(true) => return self.run_all(files, source, body, block),
                Some(false) => {}
                None => {
                    let mut other = self.parted();
                    self.run_all(files, source, body, block)?;
                    other.steps = self.steps;
                    let rest = arms.get(at + 1..).unwrap_or_default();
                    other.branch(files, source, rest, otherwise, block)?;
                    return self.join(other, source);
                }
            }
        }
        self.run_all(files, source, otherwise, block)
    }

    /// A loop, any number of times: what its turns change is not known afterwards.
    fn repeat(
        &mut self,
        files: &Files<'_>,
        source: &Source,
        variable: Option<&str>,
        body: &[Statement],
        block: Option<&Grubenv>,
    ) -> Result<(), Lost> {
        for _ in 0..MOST_TURNS {
            if let Some(name) = variable {
                self.set(name, None);
            }
            let before = self.variables.clone();
            let mut other = self.parted();
            self.run_all(files, source, body, block)?;
            other.steps = self.steps;
            self.join(other, source)?;
            if self.variables == before {
                return Ok(());
            }
        }
        Err(Lost { place: source.path.clone(), reason: "a loop that cannot be followed here".to_owned() })
    }

    /// The same state for another way.
    fn parted(&mut self) -> Self {
        self.steps += self.entries.len() + self.variables.len();
        self.clone()
    }

    /// Keeps what both ways agree on.
    fn join(&mut self, other: Self, source: &Source) -> Result<(), Lost> {
        let names: BTreeSet<String> = self.variables.keys().chain(other.variables.keys()).cloned().collect();
        for name in names {
            let value = merged(self.variables.get(&name), other.variables.get(&name));
            self.variables.insert(name, value);
        }
        let names: BTreeSet<String> = self.saved.keys().chain(other.saved.keys()).cloned().collect();
        for name in names {
            let value = merged(self.saved.get(&name), other.saved.get(&name));
            self.saved.insert(name, value);
        }
        let names: BTreeSet<String> = self.functions.keys().chain(other.functions.keys()).cloned().collect();
        for name in names {
            let same = self.functions.get(&name) == other.functions.get(&name);
            let body = self.functions.get(&name).cloned().flatten().filter(|_| same);
            self.functions.insert(name, body);
        }
        let common = self.entries.iter().zip(&other.entries).take_while(|(a, b)| a.same(b)).count();
        for entry in self.entries.iter_mut().skip(common) {
            entry.certain = false;
        }
        let theirs = other.entries.into_iter().skip(common);
        self.entries.extend(theirs.map(|entry| MenuEntry { certain: false, ..entry }));
        self.sourced.retain(|path| other.sourced.contains(path));
        self.loader_entries |= other.loader_entries;
        self.steps = self.steps.max(other.steps);
        match (&self.moved, &other.moved) {
            (Some(a), Some(b)) if a != b => {
                let reason = format!("goes on to {} or to {}: which one only GRUB knows", a.0, b.0);
                return Err(Lost { place: source.path.clone(), reason });
            }
            (None, Some(_)) => self.moved = other.moved,
            _ => {}
        }
        Ok(())
    }
}
