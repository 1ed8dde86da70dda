//! The value of one variable after `grub-mkconfig` has sourced all its files in order, with the file and the
//! bytes that each byte of the value comes from.

use super::grub_defaults::{Assignment, Defaults, Element, Event};
use super::{Trouble, grub_script};
use std::ops::Range;

/// An event: number of the file, number of the event in it.
pub type At = (usize, usize);

/// A byte of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueByte {
    /// The byte.
    pub byte: u8,
    /// The assignment that sets it.
    pub from: At,
    /// The bytes of that file that make it; none for the blank of `${NAME:+$NAME }`.
    pub at: Option<Range<usize>>,
}

/// A variable at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Its value, right only when `unsettled` is none.
    pub bytes: Vec<ValueByte>,
    /// Why the value cannot be told: the file and the place.
    pub unsettled: Option<(usize, Trouble)>,
    /// Assignments that the value comes from, in order.
    pub from: Vec<At>,
    /// Assignments without effect, each with the one that overrides it.
    pub overridden: Vec<(At, At)>,
}

/// Evaluates variable `name` over `files` in the order that they are sourced. `plus` when the shell knows
/// `NAME+=value`.
pub fn evaluate(files: &[&Defaults], name: &str, plus: bool) -> Variable {
    let mut variable = Variable::default();
    let mut ended = None;
    for (file, defaults) in files.iter().enumerate() {
        for (index, event) in defaults.events.iter().enumerate() {
            let at = (file, index);
            match event {
                Event::Assign(a) if a.plus && !plus => {
                    // A shell without `+=` looks for a command of this name; grub-mkconfig ends there.
                    let reason = format!(
                        "`{}+=` is not known to this system's /bin/sh; write `{0}=\"${0} …\"`",
                        a.name
                    );
                    ended.get_or_insert_with(|| (file, Trouble::new(a.line, reason)));
                }
                Event::Assign(a) if a.name == name => assign(&mut variable, at, a),
                Event::Unset { name: unset, line, obstacle } if unset == name => {
                    variable.bytes.clear();
                    override_all(&mut variable, at);
                    variable.unsettled = obstacle
                        .as_ref()
                        .map(|o| (file, Trouble::new(*line, format!("{name} cannot be followed: {o}"))));
                }
                Event::Opaque { line, what, lasting } => {
                    let reason = format!("{what} may change {name} or end the reading of the file");
                    let trouble = (file, Trouble::new(*line, reason));
                    if *lasting {
                        ended.get_or_insert_with(|| trouble.clone());
                    }
                    variable.unsettled = Some(trouble);
                }
                _ => {}
            }
        }
    }
    variable.unsettled = ended.or(variable.unsettled);
    variable
}

fn override_all(variable: &mut Variable, by: At) {
    let lost = std::mem::take(&mut variable.from);
    variable.overridden.extend(lost.into_iter().map(|at| (at, by)));
}

fn assign(variable: &mut Variable, at: At, assignment: &Assignment) {
    if let Some(obstacle) = &assignment.obstacle {
        let reason = format!("{} cannot be followed: {obstacle}", assignment.name);
        variable.unsettled = Some((at.0, Trouble::new(assignment.line, reason)));
        variable.from.push(at);
        return;
    }
    let mut former = std::mem::take(&mut variable.bytes);
    if !assignment.appends() {
        override_all(variable, at);
        variable.unsettled = None;
    }
    variable.from.push(at);
    for element in &assignment.elements {
        match element {
            Element::Byte { byte, at: place } => {
                variable.bytes.push(ValueByte { byte: *byte, from: at, at: Some(place.clone()) });
            }
            Element::Former { blank } => {
                let empty = former.is_empty();
                if variable.bytes.is_empty() {
                    variable.bytes = std::mem::take(&mut former);
                } else {
                    variable.bytes.append(&mut former);
                }
                if *blank && !empty {
                    variable.bytes.push(ValueByte { byte: b' ', from: at, at: None });
                }
            }
        }
    }
}

impl Variable {
    /// The value as GRUB splits it, or where that fails: the assignment and the reason.
    pub fn arguments(&self) -> Result<Vec<grub_script::Argument>, (Option<At>, String)> {
        let bytes: Vec<u8> = self.bytes.iter().map(|b| b.byte).collect();
        grub_script::split(&bytes).map_err(|e| (self.bytes.get(e.at).map(|b| b.from), e.reason))
    }
}
