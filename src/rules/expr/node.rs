//! The tree of an expression, independent of the parser.

use std::sync::{Arc, OnceLock};

/// One node; `id` finds its place in the text.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) kind: Kind,
}

/// What a node does.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A string.
    Text(Arc<str>),
    /// `[a, b]`.
    List(Vec<Node>),
    /// A variable.
    Name(Arc<str>),
    /// `operand.field`; `has(operand.field)` when `test`.
    Field { operand: Box<Node>, field: Arc<str>, test: bool },
    /// An operator.
    Op { op: Op, args: Vec<Node> },
    /// `function(args)`, or `args[0].function(args[1..])` when `method`.
    Call { function: Arc<str>, method: bool, args: Vec<Node>, pattern: Pattern },
    /// `range.exists(var, body)` and its relatives.
    Loop { kind: Loop, range: Box<Node>, var: Arc<str>, body: Box<Node>, keep: Option<Box<Node>> },
}

/// Operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    And,
    Or,
    Not,
    If,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    In,
    Index,
}

/// Macros over lists. `Map` and `Filter` share `keep`, the condition for an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// The compiled pattern of `matches`, which must be a literal; filled by the static check.
#[derive(Clone, Debug, Default)]
pub(super) struct Pattern(pub(super) OnceLock<regex::Regex>);

impl Node {
    /// The nodes below this one.
    pub(super) fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::List(nodes) | Kind::Op { args: nodes, .. } | Kind::Call { args: nodes, .. } => {
                nodes.iter().collect()
            }
            Kind::Field { operand, .. } => vec![operand],
            Kind::Loop { range, body, keep, .. } => {
                let mut all = vec![&**range, &**body];
                all.extend(keep.as_deref());
                all
            }
            _ => Vec::new(),
        }
    }
}
