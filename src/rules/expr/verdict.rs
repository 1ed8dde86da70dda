//! What evaluations give.

use super::value::{Place, Value};

/// Causes kept for one undetermined result.
const CAUSE_LIMIT: usize = 64;

/// What an evaluation gave.
#[derive(Clone, Debug)]
pub enum Verdict<'a> {
    /// A value.
    Value(Value<'a>),
    /// Nothing: a fact that decides is unknown or absent.
    Undetermined(Vec<Cause>),
}

/// One reason for an undetermined result.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The fact, where one is to blame.
    pub place: Option<Place>,
    /// What about it.
    pub why: WhyOpen,
}

/// What kept an expression from a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyOpen {
    /// The fact is unknown.
    Unknown,
    /// The fact is known to be absent, and the expression needed its value.
    Absent,
    /// The operation has no result for these values (division by zero, index past the end).
    Problem(String),
}

/// A verdict and the facts behind it.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// The verdict.
    pub verdict: Verdict<'a>,
    /// Facts that decided it, in reading order: for `a || b` the side that is true, for `exists` the element
    /// that is, for `filter` the elements kept.
    pub reads: Vec<Place>,
}

/// One element of a list to iterate.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// The element.
    pub value: Value<'a>,
    /// Facts that chose it.
    pub reads: Vec<Place>,
    /// Why it is open whether the element belongs to the list; empty when it does.
    pub open: Vec<Cause>,
}

/// A list to iterate.
#[derive(Clone, Debug, Default)]
pub struct Items<'a> {
    /// The elements.
    pub items: Vec<Item<'a>>,
    /// Facts that concern no single element.
    pub reads: Vec<Place>,
}

/// No result, for a reason that is no fact's fault.
pub(super) fn problem<T>(text: impl Into<String>) -> Result<T, Vec<Cause>> {
    Err(vec![Cause { place: None, why: WhyOpen::Problem(text.into()) }])
}

/// No result, because a value is absent.
pub(super) fn absent(value: &Value) -> Vec<Cause> {
    vec![Cause { place: value.place.clone(), why: WhyOpen::Absent }]
}

/// Adds causes up to a bound.
pub(super) fn merge(causes: &mut Vec<Cause>, more: Vec<Cause>) {
    let room = CAUSE_LIMIT.saturating_sub(causes.len());
    causes.extend(more.into_iter().take(room));
}
