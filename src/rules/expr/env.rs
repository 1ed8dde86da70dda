//! What an evaluation sees: the facts, and names bound beside them.

use super::value::{Kind, Place, Value};
use crate::host::Projected;
use crate::root::{Evidence, Unknown};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Facts and bound names. Cheap to extend; the facts are borrowed.
#[derive(Clone, Debug)]
pub struct Env<'a> {
    facts: &'a Projected,
    bound: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Env<'a> {
    /// The facts alone: the fields of the projected object are the variables.
    pub fn new(facts: &'a Projected) -> Self {
        Self { facts, bound: Vec::new() }
    }

    /// One name more.
    #[must_use]
    pub fn bind(&self, name: &'a str, value: Value<'a>) -> Self {
        let mut more = self.clone();
        more.bound.push((name, value));
        more
    }

    pub(super) fn push(&mut self, name: &'a str, value: Value<'a>) {
        self.bound.push((name, value));
    }

    pub(super) fn pop(&mut self) {
        self.bound.pop();
    }

    /// The value of a name; none for a variable whose facts are not there at all.
    pub(super) fn get(&self, name: &Arc<str>) -> Result<Value<'a>, Place> {
        if let Some((_, value)) = self.bound.iter().rev().find(|(n, _)| **n == **name) {
            return Ok(value.clone());
        }
        let place = Place::root(name);
        match self.facts.value.get(&**name) {
            Some(json) => Ok(Value::fact(json, Some(place))),
            None => Err(place),
        }
    }

    /// The field of an object.
    pub(super) fn field(
        object: &'a serde_json::Map<String, Json>,
        place: Option<&Place>,
        name: &Arc<str>,
    ) -> Result<Value<'a>, Option<Place>> {
        let place = place.map(|p| p.field(name));
        match object.get(&**name) {
            Some(json) => Ok(Value::fact(json, place)),
            None => Err(place),
        }
    }

    /// Why the fact at `pointer` is unknown: its own reason, or that of the nearest fact around it.
    pub fn reason(&self, pointer: &str) -> Option<&'a Unknown> {
        nearest(&self.facts.unknown, pointer)
    }

    /// The lines behind the fact at `pointer`, or behind the nearest fact around it.
    pub fn evidence(&self, pointer: &str) -> &'a [Evidence] {
        nearest(&self.facts.evidence, pointer).map_or(&[], Vec::as_slice)
    }

    /// The lines behind the fact at `pointer`; for an object or list without lines of its own, those of the
    /// facts inside.
    pub fn evidence_within(&self, pointer: &str) -> Vec<&'a Evidence> {
        let own = self.evidence(pointer);
        if !own.is_empty() {
            return own.iter().collect();
        }
        let inside = format!("{pointer}/");
        let below = self.facts.evidence.range(inside.clone()..);
        below.take_while(|(key, _)| key.starts_with(&inside)).flat_map(|(_, lines)| lines).collect()
    }
}

fn nearest<'a, T>(map: &'a BTreeMap<String, T>, pointer: &str) -> Option<&'a T> {
    let mut at = pointer;
    loop {
        if let Some(found) = map.get(at) {
            return Some(found);
        }
        at = &at[..at.rfind('/')?];
    }
}

impl Kind<'_> {
    /// Objects are looked through, everything else is read as a whole.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self, Kind::Object(_))
    }
}
