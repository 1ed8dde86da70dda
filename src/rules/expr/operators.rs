//! Operators on two values that are not null.

use super::node::Op;
use super::value::{Kind, Value};
use super::verdict::{Cause, problem};
use std::cmp::Ordering;

/// Longest string an expression may build, in bytes.
pub(super) const TEXT_LIMIT: usize = 1 << 20;
/// Longest list an expression may build.
const LIST_LIMIT: usize = 1 << 17;

/// `<`, `<=`, `>`, `>=`.
pub(super) fn compare<'a>(op: Op, left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, Vec<Cause>> {
    let Some(order) = left.order(right) else { return problem("values that have no order") };
    Ok(Value::bool(match op {
        Op::Less => order == Ordering::Less,
        Op::LessEqual => order != Ordering::Greater,
        Op::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

/// `+`, `-`, `*`, `/`, `%`; `+` joins strings and lists too.
pub(super) fn arithmetic<'a>(op: Op, left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, Vec<Cause>> {
    let result = match (&left.kind, &right.kind) {
        (Kind::Int(a), Kind::Int(b)) => {
            if *b == 0 && matches!(op, Op::Divide | Op::Remainder) {
                return problem("division by zero");
            }
            let result = match op {
                Op::Add => a.checked_add(*b),
                Op::Subtract => a.checked_sub(*b),
                Op::Multiply => a.checked_mul(*b),
                Op::Divide => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            let Some(result) = result else { return problem("out of the range of integers") };
            Kind::Int(result)
        }
        (Kind::Double(a), Kind::Double(b)) => Kind::Double(match op {
            Op::Add => a + b,
            Op::Subtract => a - b,
            Op::Multiply => a * b,
            Op::Divide => a / b,
            _ => return problem("no remainder of fractions"),
        }),
        (Kind::Text(a), Kind::Text(b)) if op == Op::Add => {
            if a.len() + b.len() > TEXT_LIMIT {
                return problem("the text grows too long");
            }
            Kind::Text(format!("{a}{b}").into())
        }
        _ => match (op, left.elements(), right.elements()) {
            (Op::Add, Some(mut all), Some(more)) => {
                if all.len() + more.len() > LIST_LIMIT {
                    return problem("the list grows too long");
                }
                all.extend(more);
                return Ok(Value::list(all));
            }
            _ => return problem("arithmetic on values that are no numbers"),
        },
    };
    Ok(Value::of(result))
}
