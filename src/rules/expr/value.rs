//! Values during evaluation: borrowed from the facts where they come from there, with their place.

use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A value, and where in the facts it stands.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) place: Option<Place>,
}

/// The value itself.
#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    List(Rc<Vec<Value<'a>>>),
    /// A list of the facts.
    Facts(&'a [Json]),
    /// An object of the facts.
    Object(&'a Map<String, Json>),
}

/// A place in the facts: a JSON pointer, built only where one is asked for.
#[derive(Clone, Debug)]
pub struct Place(Rc<Step>);

#[derive(Debug)]
struct Step {
    parent: Option<Place>,
    key: Key,
}

#[derive(Debug)]
enum Key {
    Field(Arc<str>),
    Index(usize),
}

impl Place {
    /// A variable.
    pub(super) fn root(name: &Arc<str>) -> Self {
        Self(Rc::new(Step { parent: None, key: Key::Field(Arc::clone(name)) }))
    }

    /// A field of the object at this place.
    pub(super) fn field(&self, name: &Arc<str>) -> Self {
        Self(Rc::new(Step { parent: Some(self.clone()), key: Key::Field(Arc::clone(name)) }))
    }

    /// An element of the list at this place.
    pub(super) fn index(&self, index: usize) -> Self {
        Self(Rc::new(Step { parent: Some(self.clone()), key: Key::Index(index) }))
    }

    fn steps(&self) -> Vec<&Key> {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(Place(step)) = at {
            steps.push(&step.key);
            at = step.parent.as_ref();
        }
        steps.reverse();
        steps
    }

    /// The JSON pointer: `/host/gpus/0/driver`.
    pub fn pointer(&self) -> String {
        let mut text = String::new();
        for step in self.steps() {
            text.push('/');
            match step {
                Key::Field(name) => text.push_str(name),
                Key::Index(index) => text.push_str(&index.to_string()),
            }
        }
        text
    }

    /// As an expression writes it: `host.gpus[0].driver`.
    pub fn path(&self) -> String {
        let mut text = String::new();
        for step in self.steps() {
            match step {
                Key::Field(name) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                Key::Index(index) => {
                    text.push('[');
                    text.push_str(&index.to_string());
                    text.push(']');
                }
            }
        }
        text
    }
}

impl<'a> Value<'a> {
    pub(super) fn of(kind: Kind<'a>) -> Self {
        Self { kind, place: None }
    }

    /// A boolean.
    pub fn bool(value: bool) -> Self {
        Self::of(Kind::Bool(value))
    }

    /// An integer.
    pub fn int(value: i64) -> Self {
        Self::of(Kind::Int(value))
    }

    /// A string.
    pub fn text(value: impl Into<Cow<'a, str>>) -> Self {
        Self::of(Kind::Text(value.into()))
    }

    /// A list.
    pub fn list(values: Vec<Value<'a>>) -> Self {
        Self::of(Kind::List(Rc::new(values)))
    }

    /// A value of the facts.
    pub(super) fn fact(json: &'a Json, place: Option<Place>) -> Self {
        let kind = match json {
            Json::Null => Kind::Null,
            Json::Bool(value) => Kind::Bool(*value),
            // All integers of the facts are i64; anything else is a number with a fraction.
            Json::Number(number) => {
                number.as_i64().map_or_else(|| Kind::Double(number.as_f64().unwrap_or(f64::NAN)), Kind::Int)
            }
            Json::String(text) => Kind::Text(Cow::Borrowed(text)),
            Json::Array(values) => Kind::Facts(values),
            Json::Object(fields) => Kind::Object(fields),
        };
        Self { kind, place }
    }

    /// Where the value stands in the facts.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// True for `null`, an absent fact.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The integer.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind {
            Kind::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Number of elements of a list.
    pub(super) fn len(&self) -> Option<usize> {
        match &self.kind {
            Kind::List(values) => Some(values.len()),
            Kind::Facts(values) => Some(values.len()),
            _ => None,
        }
    }

    /// One element of a list.
    pub(super) fn at(&self, index: usize) -> Option<Value<'a>> {
        match &self.kind {
            Kind::List(values) => values.get(index).cloned(),
            Kind::Facts(values) => {
                values.get(index).map(|json| Value::fact(json, self.place.as_ref().map(|p| p.index(index))))
            }
            _ => None,
        }
    }

    /// The elements of a list.
    pub fn elements(&self) -> Option<Vec<Value<'a>>> {
        let len = self.len()?;
        Some((0..len).filter_map(|i| self.at(i)).collect())
    }

    /// Equality as CEL defines it: numbers by value, different types are unequal.
    pub(super) fn equals(&self, other: &Value<'a>) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Null, Kind::Null) => true,
            (Kind::Bool(a), Kind::Bool(b)) => a == b,
            (Kind::Text(a), Kind::Text(b)) => a == b,
            (Kind::Int(a), Kind::Int(b)) => a == b,
            (Kind::Object(a), Kind::Object(b)) => a == b,
            (Kind::Int(_) | Kind::Double(_), Kind::Int(_) | Kind::Double(_)) => {
                self.order(other) == Some(std::cmp::Ordering::Equal)
            }
            _ => match (self.elements(), other.elements()) {
                (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.equals(b)),
                _ => false,
            },
        }
    }

    /// Order of numbers and strings; none for anything else and for NaN.
    #[allow(clippy::cast_precision_loss)] // Comparing with a fraction: 53 bits are what it has.
    pub(super) fn order(&self, other: &Value<'a>) -> Option<std::cmp::Ordering> {
        match (&self.kind, &other.kind) {
            (Kind::Int(a), Kind::Int(b)) => Some(a.cmp(b)),
            (Kind::Double(a), Kind::Double(b)) => a.partial_cmp(b),
            (Kind::Int(a), Kind::Double(b)) => (*a as f64).partial_cmp(b),
            (Kind::Double(a), Kind::Int(b)) => a.partial_cmp(&(*b as f64)),
            (Kind::Text(a), Kind::Text(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// As it stands in a sentence: lists joined by commas, absent facts in a word.
    pub fn words(&self) -> String {
        match &self.kind {
            Kind::Null => "absent".to_owned(),
            Kind::Bool(value) => value.to_string(),
            Kind::Int(value) => value.to_string(),
            Kind::Double(value) => value.to_string(),
            Kind::Text(text) => text.to_string(),
            Kind::Object(_) => self.place.as_ref().map_or_else(|| "object".to_owned(), Place::path),
            Kind::List(_) | Kind::Facts(_) => {
                let all = self.elements().unwrap_or_default();
                all.iter().map(Value::words).collect::<Vec<_>>().join(", ")
            }
        }
    }
}
