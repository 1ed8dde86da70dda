//! Text to tree, through the parser of the `cel` crate. No other file names that crate.

use super::check::Problem;
use super::node::{Kind, Loop, Node, Op, Pattern};
use super::{ExprError, TEXT_LIMIT};
use cel::common::ast::{ComprehensionExpr, Expr as Cel, IdedExpr, LiteralValue, SourceInfo, operators};
use cel::parser::{ParseError, PrattParser};
use std::ops::Range;
use std::sync::Arc;

/// Deepest nesting of operators, selections and calls; keeps every recursion over the tree short.
const DEPTH_LIMIT: usize = 64;

/// Parses `text`; syntax errors and refused forms carry their place.
pub(super) fn parse(text: &str) -> Result<Node, Vec<ExprError>> {
    if text.len() > TEXT_LIMIT {
        return Err(vec![ExprError {
            message: format!("expression of {} bytes; the limit is {TEXT_LIMIT}", text.len()),
            span: 0..text.len(),
            help: "split it into several checks".into(),
        }]);
    }
    let tree = PrattParser::default()
        .parse(text)
        .map_err(|e| e.errors.iter().map(|e| syntax_error(text, e)).collect::<Vec<_>>())?;
    lower(&tree, 0).map_err(|refused| {
        let offsets = offsets(text);
        let span = own_span(text, offsets.as_deref(), refused.id, false).unwrap_or(0..text.len());
        vec![ExprError { message: refused.message, span, help: refused.help }]
    })
}

/// Gives problems found in a parsed expression their places.
pub(super) fn place(text: &str, root: &Node, problems: Vec<Problem>) -> Vec<ExprError> {
    let offsets = offsets(text);
    let place = |problem: Problem| {
        let node = find(root, problem.node);
        let span = node.and_then(|node| {
            if problem.whole {
                extent(text, offsets.as_deref(), node)
            } else {
                span(text, offsets.as_deref(), node)
            }
        });
        ExprError { message: problem.message, span: span.unwrap_or(0..text.len()), help: problem.help }
    };
    problems.into_iter().map(place).collect()
}

/// Where each node stands. The parser gives this out only with an error, so one is provoked: ids are handed
/// out in reading order, and the stray parenthesis comes last.
fn offsets(text: &str) -> Option<Arc<SourceInfo>> {
    let failed = PrattParser::default().parse(&format!("{text}\n)")).err()?;
    failed.errors.into_iter().find_map(|e| e.source_info)
}

fn syntax_error(text: &str, error: &ParseError) -> ExprError {
    let message = error.msg.trim_start_matches("Syntax error: ").to_owned();
    let (line, column) = error.pos;
    let (Ok(line), Ok(column)) = (usize::try_from(line - 1), usize::try_from(column - 1)) else {
        return ExprError { message, span: 0..text.len(), help: String::new() };
    };
    let before: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let start = text.floor_char_boundary((before + column).min(text.len()));
    let end = text.ceil_char_boundary((start + 1).min(text.len()));
    ExprError { message, span: start..end, help: String::new() }
}

struct Refused {
    id: u64,
    message: String,
    help: String,
}

fn lower(tree: &IdedExpr, depth: usize) -> Result<Node, Refused> {
    let refuse = |message: &str, help: &str| {
        Err(Refused { id: tree.id, message: message.to_owned(), help: help.to_owned() })
    };
    if depth > DEPTH_LIMIT {
        return refuse(
            "nested too deeply",
            &format!("the limit is {DEPTH_LIMIT} levels; split the expression"),
        );
    }
    let many = |nodes: &[IdedExpr]| nodes.iter().map(|n| lower(n, depth + 1)).collect::<Result<Vec<_>, _>>();
    let one = |node: &IdedExpr| lower(node, depth + 1).map(Box::new);
    let kind = match &tree.expr {
        Cel::Literal(literal) => match literal {
            LiteralValue::Null => Kind::Null,
            LiteralValue::Boolean(value) => Kind::Bool(*value.inner()),
            LiteralValue::Int(value) => Kind::Int(*value.inner()),
            LiteralValue::Double(value) => Kind::Double(*value.inner()),
            LiteralValue::String(value) => Kind::Text(value.inner().into()),
            LiteralValue::UInt(_) => {
                return refuse("unsigned integer", "all integers in facts are signed: leave the `u` out");
            }
            LiteralValue::Bytes(_) => return refuse("bytes", "facts hold strings: leave the `b` out"),
        },
        Cel::Ident(name) => Kind::Name(name.as_str().into()),
        Cel::Select(select) => Kind::Field {
            operand: one(&select.operand)?,
            field: select.field.as_str().into(),
            test: select.test,
        },
        Cel::List(list) => Kind::List(many(&list.elements)?),
        Cel::Call(call) => {
            let args = many(&call.args)?;
            match (operator(&call.func_name, args.len()), &call.target) {
                (Some(op), None) => Kind::Op { op, args },
                (_, target) => {
                    let mut all = Vec::with_capacity(args.len() + 1);
                    if let Some(target) = target {
                        all.push(lower(target, depth + 1)?);
                    }
                    all.extend(args);
                    let function = call.func_name.as_str().into();
                    Kind::Call { function, method: target.is_some(), args: all, pattern: Pattern::default() }
                }
            }
        }
        Cel::Comprehension(comprehension) => {
            let Some((kind, body, keep)) = macro_of(comprehension) else {
                return refuse(
                    "a macro that rules do not use",
                    "known: all, exists, exists_one, filter, map",
                );
            };
            Kind::Loop {
                kind,
                range: one(&comprehension.iter_range)?,
                var: comprehension.iter_var.as_str().into(),
                body: one(body)?,
                keep: keep.map(one).transpose()?,
            }
        }
        Cel::Map(_) | Cel::Struct(_) => return refuse("a map literal", "rules use lists and facts only"),
        Cel::Unspecified => return refuse("an expression is missing here", ""),
    };
    Ok(Node { id: tree.id, kind })
}

fn operator(name: &str, args: usize) -> Option<Op> {
    let (op, arity) = match name {
        operators::LOGICAL_AND => (Op::And, 2),
        operators::LOGICAL_OR => (Op::Or, 2),
        operators::LOGICAL_NOT => (Op::Not, 1),
        operators::CONDITIONAL => (Op::If, 3),
        operators::EQUALS => (Op::Equal, 2),
        operators::NOT_EQUALS => (Op::NotEqual, 2),
        operators::LESS => (Op::Less, 2),
        operators::LESS_EQUALS => (Op::LessEqual, 2),
        operators::GREATER => (Op::Greater, 2),
        operators::GREATER_EQUALS => (Op::GreaterEqual, 2),
        operators::ADD => (Op::Add, 2),
        operators::SUBSTRACT => (Op::Subtract, 2),
        operators::MULTIPLY => (Op::Multiply, 2),
        operators::DIVIDE => (Op::Divide, 2),
        operators::MODULO => (Op::Remainder, 2),
        operators::NEGATE => (Op::Negate, 1),
        operators::IN => (Op::In, 2),
        operators::INDEX => (Op::Index, 2),
        _ => return None,
    };
    (args == arity).then_some(op)
}

/// The macro that a comprehension was expanded from, with its body and the condition for an element.
fn macro_of(c: &ComprehensionExpr) -> Option<(Loop, &IdedExpr, Option<&IdedExpr>)> {
    let Cel::Call(step) = &c.loop_step.expr else { return None };
    match (&c.accu_init.expr, step.func_name.as_str(), step.args.as_slice()) {
        (Cel::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR, [_, body]) => {
            Some((Loop::Exists, body, None))
        }
        (Cel::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND, [_, body]) => {
            Some((Loop::All, body, None))
        }
        (Cel::Literal(LiteralValue::Int(_)), operators::CONDITIONAL, [body, _, _]) => {
            Some((Loop::ExistsOne, body, None))
        }
        (Cel::List(_), operators::ADD, [_, element]) => Some((Loop::Map, only(element)?, None)),
        (Cel::List(_), operators::CONDITIONAL, [keep, add, _]) => {
            let Cel::Call(add) = &add.expr else { return None };
            let element = only(add.args.get(1)?)?;
            match &element.expr {
                Cel::Ident(name) if *name == c.iter_var => Some((Loop::Filter, keep, None)),
                _ => Some((Loop::Map, element, Some(keep))),
            }
        }
        _ => None,
    }
}

fn only(list: &IdedExpr) -> Option<&IdedExpr> {
    match &list.expr {
        Cel::List(list) => list.elements.first(),
        _ => None,
    }
}

fn find(node: &Node, id: u64) -> Option<&Node> {
    if node.id == id { Some(node) } else { node.children().into_iter().find_map(|n| find(n, id)) }
}

/// The node's own word: a name, a field, a function, an operator.
fn span(text: &str, offsets: Option<&SourceInfo>, node: &Node) -> Option<Range<usize>> {
    match &node.kind {
        Kind::Field { field, test: false, .. } => {
            let dot = own_span(text, offsets, node.id, false)?;
            let rest = text.get(dot.end..)?;
            let start = dot.end + (rest.len() - rest.trim_start().len());
            Some(start..(start + field.len()).min(text.len()))
        }
        Kind::Call { method, .. } => own_span(text, offsets, node.id, *method),
        Kind::Loop { .. } => own_span(text, offsets, node.id, true),
        _ => own_span(text, offsets, node.id, false),
    }
}

/// The node and everything below it.
fn extent(text: &str, offsets: Option<&SourceInfo>, node: &Node) -> Option<Range<usize>> {
    let mut all = span(text, offsets, node);
    for child in node.children() {
        if let Some(part) = extent(text, offsets, child) {
            all = Some(all.map_or(part.clone(), |a| a.start.min(part.start)..a.end.max(part.end)));
        }
    }
    all
}

/// The token that the parser noted; for a method that is its parenthesis, and the name stands before it.
fn own_span(text: &str, offsets: Option<&SourceInfo>, id: u64, method: bool) -> Option<Range<usize>> {
    let (start, end) = offsets?.offset_for(id)?;
    let token = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    text.get(token.clone())?;
    if !method {
        return Some(token);
    }
    let before = text.get(..token.start)?.trim_end();
    let name = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    Some(name.len()..before.len())
}
