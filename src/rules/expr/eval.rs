//! Three-valued evaluation that keeps the facts which decided the result.

use super::env::Env;
use super::functions;
use super::node::{Kind as NodeKind, Loop, Node, Op};
use super::operators::{arithmetic, compare};
use super::value::{Kind, Place, Value};
use super::verdict::{Cause, Item, Items, Outcome, Verdict, WhyOpen, absent, merge, problem};
use std::collections::HashMap;

/// Nodes that one evaluation may visit; a rule over 300 devices needs some thousands.
const STEP_LIMIT: u32 = 2_000_000;

pub(super) fn run<'a>(root: &'a Node, env: &Env<'a>) -> Outcome<'a> {
    let mut eval = Eval::new(env);
    let verdict = match eval.node(root) {
        Ok(value) => Verdict::Value(value),
        Err(causes) => Verdict::Undetermined(causes),
    };
    Outcome { verdict, reads: eval.reads }
}

pub(super) fn items<'a>(root: &'a Node, env: &Env<'a>) -> Result<Items<'a>, Vec<Cause>> {
    Eval::new(env).items(root)
}

type Eval1<'a> = Result<Value<'a>, Vec<Cause>>;

struct Eval<'a> {
    env: Env<'a>,
    reads: Vec<Place>,
    steps: u32,
}

impl<'a> Eval<'a> {
    fn new(env: &Env<'a>) -> Self {
        Self { env: env.clone(), reads: Vec::new(), steps: 0 }
    }

    fn node(&mut self, node: &'a Node) -> Eval1<'a> {
        self.steps += 1;
        if self.steps > STEP_LIMIT {
            return problem("too costly for these facts");
        }
        match &node.kind {
            NodeKind::Null => Ok(Value::of(Kind::Null)),
            NodeKind::Bool(value) => Ok(Value::bool(*value)),
            NodeKind::Int(value) => Ok(Value::int(*value)),
            NodeKind::Double(value) => Ok(Value::of(Kind::Double(*value))),
            NodeKind::Text(text) => Ok(Value::text(&**text)),
            NodeKind::List(elements) => self.list(elements),
            NodeKind::Name(name) => match self.env.get(name) {
                Ok(value) => Ok(self.read(value)),
                Err(place) => Err(vec![Cause { place: Some(place), why: WhyOpen::Unknown }]),
            },
            NodeKind::Field { operand, field, test } => {
                let operand = self.node(operand)?;
                let value = self.field(&operand, field)?;
                Ok(if *test { Value::bool(!value.is_null()) } else { value })
            }
            NodeKind::Op { op, args } => self.operator(*op, args),
            NodeKind::Call { function, args, .. } if &**function == "known" => {
                let reads = self.reads.len();
                let outcome = args.first().map_or_else(|| problem("known: needs a fact"), |a| self.node(a));
                // Whether a fact is known is no evidence of what it says.
                self.reads.truncate(reads);
                match outcome {
                    Err(causes) if causes.iter().all(|c| matches!(c.why, WhyOpen::Unknown)) => {
                        Ok(Value::bool(false))
                    }
                    other => other.map(|_| Value::bool(true)),
                }
            }
            NodeKind::Call { function, args, pattern, .. } => {
                let values = args.iter().map(|a| self.node(a)).collect::<Result<Vec<_>, _>>()?;
                if let Some(null) = values.iter().find(|v| v.is_null()) {
                    return Err(absent(null));
                }
                self.spend(&values)?;
                functions::apply(function, &values, pattern).map_err(|why| vec![Cause { place: None, why }])
            }
            NodeKind::Loop { kind, range, var, body, keep } => {
                let list = self.node(range)?;
                self.macro_over(*kind, &list, var, body, keep.as_deref())
            }
        }
    }

    /// Work on a list counts by its length.
    fn spend<'v>(&mut self, values: impl IntoIterator<Item = &'v Value<'a>>) -> Result<(), Vec<Cause>>
    where
        'a: 'v,
    {
        for len in values.into_iter().filter_map(Value::len) {
            self.steps = self.steps.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
        }
        if self.steps > STEP_LIMIT { problem("too costly for these facts") } else { Ok(()) }
    }

    /// Notes a fact that is used as a value; an object is only a step on the way to one.
    fn read(&mut self, value: Value<'a>) -> Value<'a> {
        if value.kind.is_whole() {
            self.reads.extend(value.place.clone());
        }
        value
    }

    fn field(&mut self, operand: &Value<'a>, field: &std::sync::Arc<str>) -> Eval1<'a> {
        match operand.kind {
            Kind::Object(object) => match Env::field(object, operand.place.as_ref(), field) {
                Ok(value) => Ok(self.read(value)),
                Err(place) => Err(vec![Cause { place, why: WhyOpen::Unknown }]),
            },
            Kind::Null => Err(absent(operand)),
            _ => problem(format!("`.{field}` on a value that has no fields")),
        }
    }

    fn list(&mut self, elements: &'a [Node]) -> Eval1<'a> {
        let values = elements.iter().map(|e| self.node(e)).collect::<Result<Vec<_>, _>>()?;
        Ok(Value::list(values))
    }

    fn boolean(&mut self, node: &'a Node) -> Result<bool, Vec<Cause>> {
        let value = self.node(node)?;
        match value.kind {
            Kind::Bool(value) => Ok(value),
            Kind::Null => Err(absent(&value)),
            _ => problem("not true or false"),
        }
    }

    fn operator(&mut self, op: Op, args: &'a [Node]) -> Eval1<'a> {
        match (op, args) {
            (Op::And, [left, right]) => self.junction(left, right, false),
            (Op::Or, [left, right]) => self.junction(left, right, true),
            (Op::Not, [arg]) => Ok(Value::bool(!self.boolean(arg)?)),
            (Op::If, [condition, yes, no]) => {
                let branch = if self.boolean(condition)? { yes } else { no };
                self.node(branch)
            }
            (Op::Negate, [arg]) => {
                let value = self.node(arg)?;
                match value.kind {
                    Kind::Int(n) => {
                        n.checked_neg().map_or_else(|| problem("out of range"), |n| Ok(Value::int(n)))
                    }
                    Kind::Double(n) => Ok(Value::of(Kind::Double(-n))),
                    Kind::Null => Err(absent(&value)),
                    _ => problem("not a number"),
                }
            }
            (_, [left, right]) => {
                let (left, right) = (self.node(left)?, self.node(right)?);
                self.binary(op, &left, &right)
            }
            _ => problem("an operator without operands"),
        }
    }

    /// `&&` (decided by false) and `||` (decided by true): the deciding side alone is what was read.
    fn junction(&mut self, left: &'a Node, right: &'a Node, deciding: bool) -> Eval1<'a> {
        let start = self.reads.len();
        let a = self.boolean(left);
        if matches!(a, Ok(a) if a == deciding) {
            return Ok(Value::bool(deciding));
        }
        let middle = self.reads.len();
        match (a, self.boolean(right)) {
            (_, Ok(b)) if b == deciding => {
                self.reads.drain(start..middle);
                Ok(Value::bool(deciding))
            }
            (Ok(_), Ok(_)) => Ok(Value::bool(!deciding)),
            (Err(mut causes), Err(more)) => {
                merge(&mut causes, more);
                Err(causes)
            }
            (Err(causes), Ok(_)) | (Ok(_), Err(causes)) => Err(causes),
        }
    }

    fn binary(&mut self, op: Op, left: &Value<'a>, right: &Value<'a>) -> Eval1<'a> {
        self.spend([left, right])?;
        match op {
            Op::Equal | Op::NotEqual => {
                for side in [left, right] {
                    if !side.kind.is_whole() {
                        self.reads.extend(side.place.clone());
                    }
                }
                Ok(Value::bool(left.equals(right) == (op == Op::Equal)))
            }
            Op::In => match right.elements() {
                Some(all) => Ok(Value::bool(all.iter().any(|v| v.equals(left)))),
                None if right.is_null() => Err(absent(right)),
                None => problem("`in` needs a list"),
            },
            Op::Index => {
                if let Some(null) = [left, right].into_iter().find(|v| v.is_null()) {
                    return Err(absent(null));
                }
                let (Some(len), Some(at)) = (left.len(), right.as_int()) else {
                    return problem("an index needs a list and an integer");
                };
                match usize::try_from(at).ok().and_then(|at| left.at(at)) {
                    Some(value) => Ok(self.read(value)),
                    None => Err(vec![Cause {
                        place: left.place.clone(),
                        why: WhyOpen::Problem(format!("no element {at} in a list of {len}")),
                    }]),
                }
            }
            _ => {
                if let Some(null) = [left, right].into_iter().find(|v| v.is_null()) {
                    return Err(absent(null));
                }
                match op {
                    Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => compare(op, left, right),
                    _ => arithmetic(op, left, right),
                }
            }
        }
    }

    fn macro_over(
        &mut self,
        kind: Loop,
        list: &Value<'a>,
        var: &'a str,
        body: &'a Node,
        keep: Option<&'a Node>,
    ) -> Eval1<'a> {
        let Some(len) = list.len() else {
            return if list.is_null() { Err(absent(list)) } else { problem("not a list") };
        };
        let start = self.reads.len();
        let mut open: Vec<Cause> = Vec::new();
        let mut kept: Vec<Value<'a>> = Vec::new();
        let mut matches = 0;
        for index in 0..len {
            let Some(element) = list.at(index) else { break };
            let mark = self.reads.len();
            self.env.push(var, element.clone());
            let verdict = match (kind, keep) {
                (Loop::Map, None) => Ok(true),
                (Loop::Map, Some(keep)) => self.boolean(keep),
                _ => self.boolean(body),
            };
            let mapped = (kind == Loop::Map && matches!(verdict, Ok(true))).then(|| self.node(body));
            self.env.pop();
            match (kind, verdict, mapped) {
                (_, Err(causes), _) | (_, _, Some(Err(causes))) => merge(&mut open, causes),
                (Loop::Exists, Ok(true), _) | (Loop::All, Ok(false), _) => {
                    self.reads.drain(start..mark);
                    return Ok(Value::bool(kind == Loop::Exists));
                }
                (Loop::Filter | Loop::Map, Ok(false), _) => self.reads.truncate(mark),
                (Loop::Filter, Ok(true), _) => kept.push(element),
                (Loop::Map, Ok(true), Some(Ok(value))) => kept.push(value),
                (_, Ok(verdict), _) => matches += i32::from(verdict),
            }
            if self.steps > STEP_LIMIT {
                return problem("too costly for these facts");
            }
        }
        if !open.is_empty() {
            return Err(open);
        }
        Ok(match kind {
            Loop::Exists => Value::bool(false),
            Loop::All => Value::bool(true),
            Loop::ExistsOne => Value::bool(matches == 1),
            Loop::Filter | Loop::Map => Value::list(kept),
        })
    }

    /// Elements for iteration; a filter on the outside leaves single elements open.
    fn items(&mut self, root: &'a Node) -> Result<Items<'a>, Vec<Cause>> {
        if let NodeKind::Loop { kind: Loop::Filter, range, var, body, .. } = &root.kind {
            let Items { items, reads } = self.items(range)?;
            let mut kept = Vec::new();
            for mut item in items {
                if item.open.is_empty() {
                    self.reads.clear();
                    self.env.push(var, item.value.clone());
                    let verdict = self.boolean(body);
                    self.env.pop();
                    match verdict {
                        Ok(false) => continue,
                        Ok(true) => item.reads.append(&mut self.reads),
                        Err(causes) => item.open = causes,
                    }
                }
                kept.push(item);
            }
            return Ok(Items { items: kept, reads });
        }
        let list = self.node(root)?;
        let Some(elements) = list.elements() else {
            return if list.is_null() { Err(absent(&list)) } else { problem("not a list") };
        };
        let mut items: Vec<Item<'a>> =
            elements.into_iter().map(|value| Item { value, reads: Vec::new(), open: Vec::new() }).collect();
        let reads = share_out(std::mem::take(&mut self.reads), &mut items);
        Ok(Items { items, reads })
    }
}

/// Gives each element the facts inside it; the rest concerns the list.
fn share_out(reads: Vec<Place>, items: &mut [Item]) -> Vec<Place> {
    let places = items.iter().enumerate().filter_map(|(i, item)| Some((item.value.place()?.pointer(), i)));
    let places: HashMap<String, usize> = places.collect();
    let mut rest = Vec::new();
    'reads: for read in reads {
        let pointer = read.pointer();
        let mut at = pointer.as_str();
        loop {
            if let Some(item) = places.get(at).and_then(|i| items.get_mut(*i)) {
                item.reads.push(read);
                continue 'reads;
            }
            match at.rfind('/') {
                Some(cut) => at = &at[..cut],
                None => break,
            }
        }
        rest.push(read);
    }
    rest
}
