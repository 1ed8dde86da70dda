//! Static check: names, fields and types of an expression against a scope.

use super::functions;
use super::node::{Kind, Loop, Node, Op};
use super::suggest::suggest;
use super::types::{Scope, Type};

/// Something wrong at a node.
pub(super) struct Problem {
    pub(super) node: u64,
    /// The place is the node and all below it, not its own word.
    pub(super) whole: bool,
    pub(super) message: String,
    pub(super) help: String,
}

/// Type of the expression and all that is wrong with it.
pub(super) fn check(root: &Node, scope: &Scope) -> (Type, Vec<Problem>) {
    let mut checker = Checker { scope, local: Vec::new(), problems: Vec::new() };
    let ty = checker.node(root);
    (ty, checker.problems)
}

struct Checker<'a> {
    scope: &'a Scope,
    /// Loop variables, innermost last.
    local: Vec<(&'a str, Type)>,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    /// Notes a problem; the type is then unknown, so that nothing follows from it.
    fn wrong(&mut self, node: &Node, whole: bool, message: String, help: impl Into<String>) -> Type {
        self.problems.push(Problem { node: node.id, whole, message, help: help.into() });
        Type::Any
    }

    fn node(&mut self, node: &'a Node) -> Type {
        match &node.kind {
            Kind::Null => Type::Any,
            Kind::Bool(_) => Type::Bool,
            Kind::Int(_) => Type::Int,
            Kind::Double(_) => Type::Double,
            Kind::Text(_) => Type::Text,
            Kind::Name(name) => self.name(node, name),
            Kind::Field { operand, field, test } => {
                let operand = self.node(operand);
                let ty = self.field(node, &operand, field);
                if *test { Type::Bool } else { ty }
            }
            Kind::List(elements) => self.list(elements),
            Kind::Op { op, args } => self.operator(node, *op, args),
            Kind::Call { function, method, args, pattern } => {
                let types: Vec<Type> = args.iter().map(|a| self.node(a)).collect();
                match functions::result(function, *method, &types, args, pattern) {
                    Ok(ty) => ty,
                    Err((message, help)) => self.wrong(node, false, message, help),
                }
            }
            Kind::Loop { kind, range, var, body, keep } => {
                self.macro_over(*kind, range, var, body, keep.as_deref())
            }
        }
    }

    fn name(&mut self, node: &Node, name: &str) -> Type {
        if let Some((_, ty)) = self.local.iter().rev().find(|(n, _)| *n == name) {
            return ty.clone();
        }
        if let Some(ty) = self.scope.get(name) {
            return ty.clone();
        }
        let local = self.local.iter().map(|(n, _)| *n);
        let known: Vec<&str> = self.scope.names.keys().map(String::as_str).chain(local).collect();
        let help = suggest(name, &known, "known");
        self.wrong(node, false, format!("unknown name `{name}`"), help)
    }

    fn field(&mut self, node: &Node, operand: &Type, field: &str) -> Type {
        let scope = self.scope;
        match operand {
            Type::Any => Type::Any,
            Type::Object(object) => {
                let Some(fields) = scope.schema.fields_of(object) else { return Type::Any };
                if let Some(ty) = fields.get(field) {
                    return ty.clone();
                }
                let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                let help = suggest(field, &known, "fields here");
                self.wrong(node, false, format!("no field `{field}` in {object}"), help)
            }
            Type::List(_) => self.wrong(
                node,
                false,
                format!("`.{field}` on a {operand}"),
                "name an element: `list[0]`, `list.exists(x, ...)`, `list.map(x, ...)`",
            ),
            other => self.wrong(node, false, format!("`.{field}` on a value of type {other}"), ""),
        }
    }

    fn list(&mut self, elements: &'a [Node]) -> Type {
        let mut ty = Type::Any;
        for element in elements {
            let next = self.node(element);
            match ty.common(&next) {
                Some(common) => ty = common,
                None => {
                    self.wrong(element, true, format!("a list of {ty} with an element of type {next}"), "");
                }
            }
        }
        Type::list(ty)
    }

    fn macro_over(
        &mut self,
        kind: Loop,
        range: &'a Node,
        var: &'a str,
        body: &'a Node,
        keep: Option<&'a Node>,
    ) -> Type {
        let list = self.node(range);
        let element = match list.element() {
            Some(element) => element.clone(),
            None => self.wrong(range, true, format!("expected a list, found {list}"), ""),
        };
        if self.scope.get(var).is_some() || self.local.iter().any(|(n, _)| *n == var) {
            self.wrong(
                body,
                true,
                format!("`{var}` hides another name"),
                "take another name for the element",
            );
        }
        self.local.push((var, element.clone()));
        if let Some(keep) = keep {
            self.expect_bool(keep);
        }
        let ty = match kind {
            Loop::Map => Type::list(self.node(body)),
            Loop::All | Loop::Exists | Loop::ExistsOne | Loop::Filter => {
                self.expect_bool(body);
                if kind == Loop::Filter { Type::list(element) } else { Type::Bool }
            }
        };
        self.local.pop();
        ty
    }

    fn expect_bool(&mut self, node: &'a Node) {
        let ty = self.node(node);
        if !ty.is_bool() {
            self.wrong(node, true, format!("expected true or false, found {ty}"), "");
        }
    }

    fn expect(&mut self, node: &Node, ty: &Type, fits: bool, expected: &str) {
        if !fits {
            self.wrong(node, true, format!("expected {expected}, found {ty}"), "");
        }
    }

    fn operator(&mut self, node: &'a Node, op: Op, args: &'a [Node]) -> Type {
        match (op, args) {
            (Op::And | Op::Or | Op::Not, _) => {
                for arg in args {
                    self.expect_bool(arg);
                }
                Type::Bool
            }
            (Op::If, [condition, yes, no]) => {
                self.expect_bool(condition);
                let (yes, no) = (self.node(yes), self.node(no));
                match yes.common(&no) {
                    Some(ty) => ty,
                    None => self.wrong(node, true, format!("one branch is {yes}, the other {no}"), ""),
                }
            }
            (Op::Negate, [arg]) => {
                let ty = self.node(arg);
                self.expect(arg, &ty, ty.is_number(), "a number");
                ty
            }
            (_, [left, right]) => {
                let (a, b) = (self.node(left), self.node(right));
                self.binary(node, op, (left, &a), (right, &b))
            }
            _ => Type::Any,
        }
    }

    fn binary(&mut self, node: &Node, op: Op, left: (&Node, &Type), right: (&Node, &Type)) -> Type {
        let (a, b) = (left.1, right.1);
        let numbers = a.is_number() && b.is_number();
        match op {
            Op::Equal | Op::NotEqual => {
                if !numbers && a.common(b).is_none() {
                    self.wrong(node, true, format!("compares {a} with {b}"), "");
                }
                self.one_of(left.0, b);
                self.one_of(right.0, a);
                let null = [left, right].iter().any(|(n, _)| matches!(n.kind, Kind::Null));
                if let (Some(object), false) = ([a, b].iter().find(|t| matches!(t, Type::Object(_))), null) {
                    self.wrong(node, true, format!("compares whole objects ({object})"), "compare a field");
                }
                Type::Bool
            }
            Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                for (side, ty) in [left, right] {
                    self.expect(side, ty, ty.is_number() || ty.is_text(), "a number or string");
                }
                if !numbers && a.common(b).is_none() {
                    self.wrong(node, true, format!("compares {a} with {b}"), "");
                }
                Type::Bool
            }
            Op::In => {
                match b.element() {
                    Some(element) if a.common(element).is_some() || (numbers_of(a, element)) => {
                        self.one_of(left.0, element);
                        if let Kind::List(words) = &right.0.kind {
                            for word in words {
                                self.one_of(word, a);
                            }
                        }
                    }
                    Some(element) => {
                        self.wrong(node, true, format!("looks for {a} in a list of {element}"), "");
                    }
                    None => {
                        let help = "for a part of a string write text.contains(part)";
                        self.wrong(right.0, true, format!("`in` needs a list, found {b}"), help);
                    }
                }
                Type::Bool
            }
            Op::Index => {
                self.expect(right.0, b, b.is_int(), "an index (int)");
                match a.element() {
                    Some(element) => element.clone(),
                    None => self.wrong(left.0, true, format!("expected a list, found {a}"), ""),
                }
            }
            Op::Add if a.is_text() && b.is_text() => a.common(b).map_or(Type::Text, |t| match t {
                Type::Any => Type::Any,
                _ => Type::Text,
            }),
            Op::Add if a.element().is_some() && b.element().is_some() => match a.common(b) {
                Some(ty) => ty,
                None => self.wrong(node, true, format!("adds {b} to {a}"), ""),
            },
            _ => match a.common(b) {
                Some(ty) if ty.is_number() => ty,
                Some(_) => self.wrong(node, true, format!("arithmetic on {a} and {b}"), ""),
                None => {
                    let help = if numbers {
                        "convert with int() or double()"
                    } else if a.is_text() || b.is_text() {
                        "convert with string()"
                    } else {
                        ""
                    };
                    self.wrong(node, true, format!("arithmetic on {a} and {b}"), help)
                }
            },
        }
    }

    /// A literal compared with a closed set must be in it: a misspelt word would never be equal.
    fn one_of(&mut self, word: &Node, set: &Type) {
        if let (Kind::Text(text), Type::Word(words)) = (&word.kind, set)
            && !words.iter().any(|w| **w == **text)
        {
            let known: Vec<&str> = words.iter().map(String::as_str).collect();
            let help = suggest(text, &known, "values here");
            self.wrong(word, false, format!("`{text}` is none of the values of this fact"), help);
        }
    }
}

fn numbers_of(a: &Type, b: &Type) -> bool {
    a.is_number() && b.is_number()
}
