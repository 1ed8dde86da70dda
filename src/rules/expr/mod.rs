//! Rule expressions: CEL, checked against the schema of the facts when a rule is loaded and evaluated
//! three-valued.
//!
//! `parse` alone names the `cel` crate. The tree it hands on is evaluated here, not by that crate, because a
//! finding has to say which facts decided it and an undetermined one which facts were missing; CEL's own
//! errors carry no path. `tests` compares results with CEL's interpreter.
//!
//! Departures from CEL, all for the sake of unknown facts:
//! - a missing key (unknown fact) and an operation on `null` (absent fact) make the result undetermined;
//!   `&&`, `||`, `? :`, `exists` and `all` absorb it as CEL absorbs errors;
//! - `has(x.f)` is undetermined for an unknown fact, false for an absent one; `known(x.f)` is false for an
//!   unknown fact and never undetermined by it;
//! - unsigned integers, bytes, maps, time stamps and optionals are refused: facts hold none.

mod check;
mod env;
mod eval;
mod functions;
mod node;
mod operators;
mod parse;
mod suggest;
mod types;
mod value;
mod verdict;

#[cfg(test)]
mod tests;

pub use env::Env;
pub use types::{Schema, Scope, Type};
pub use value::{Place, Value};
pub use verdict::{Cause, Item, Items, Outcome, Verdict, WhyOpen};

use node::Node;
use std::ops::Range;

/// Longest expression in bytes.
pub const TEXT_LIMIT: usize = 4 << 10;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expr {
    root: Node,
    ty: Type,
}

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes of the expression.
    pub span: Range<usize>,
    /// What to do; empty when the message says it.
    pub help: String,
}

impl std::fmt::Display for ExprError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExprError {}

impl Expr {
    /// Parses and checks `text` against the names and types of `scope`. All errors are reported, each with
    /// its place.
    pub fn compile(text: &str, scope: &Scope) -> Result<Self, Vec<ExprError>> {
        let root = parse::parse(text)?;
        match check::check(&root, scope) {
            (ty, problems) if problems.is_empty() => Ok(Self { root, ty }),
            (_, problems) => Err(parse::place(text, &root, problems)),
        }
    }

    /// Like [`Expr::compile`] for an expression that must be a boolean.
    pub fn condition(text: &str, scope: &Scope) -> Result<Self, Vec<ExprError>> {
        Self::compile(text, scope)?.must(text, Type::is_bool, "true or false")
    }

    /// Like [`Expr::compile`] for an expression that must be a list.
    pub fn list(text: &str, scope: &Scope) -> Result<Self, Vec<ExprError>> {
        Self::compile(text, scope)?.must(text, |t| t.element().is_some(), "a list")
    }

    /// Fails unless the type of the whole expression is accepted.
    pub fn must(
        self,
        text: &str,
        accept: impl Fn(&Type) -> bool,
        expected: &str,
    ) -> Result<Self, Vec<ExprError>> {
        if accept(&self.ty) {
            return Ok(self);
        }
        Err(vec![ExprError {
            message: format!("expected {expected}, found {}", self.ty),
            span: 0..text.len(),
            help: String::new(),
        }])
    }

    /// Type of the result.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Evaluates the expression.
    pub fn eval<'a>(&'a self, env: &Env<'a>) -> Outcome<'a> {
        eval::run(&self.root, env)
    }

    /// Evaluates a list for iteration. A `filter` on the outside is judged element by element, so that one
    /// unknown fact leaves one element open instead of hiding the others.
    pub fn items<'a>(&'a self, env: &Env<'a>) -> Result<Items<'a>, Vec<Cause>> {
        eval::items(&self.root, env)
    }
}
