//! Constraints as users write them: arithmetic, comparison and logic over parameters, in Python's or C's
//! spelling.
//!
//! ```text
//! or      = and { ("or" | "||") and }
//! and     = not { ("and" | "&&") not }
//! not     = "not" not | comparison
//! compare = sum { ("<" | "<=" | ">" | ">=" | "==" | "!=") sum | ["not"] "in" "[" or { "," or } "]" }
//! sum     = product { ("+" | "-") product }
//! product = unary { ("*" | "/" | "//" | "%") unary }
//! unary   = ("-" | "+" | "!") unary | power
//! power   = atom [ "**" unary ]
//! atom    = number | text | "True" | "False" | parameter | ("min" | "max" | "abs") "(" ... ")" | "(" or ")"
//! ```
//!
//! What the operators mean is said in docs/spaces.md. An expression that has no value (a division by zero, a result beyond 64
//! bits) makes its constraint fail; `and` and `or` look at their right side only where the left one leaves
//! the answer open, so `a == 0 or b % a == 0` holds for `a = 0`.

mod lexer;
mod parser;
mod range;
#[cfg(test)]
mod tests;

use super::value::Number;
pub use lexer::tokens;
pub use parser::{Names, parse};
pub use range::Range;
use rustc_hash::FxHashSet;
use std::cmp::Ordering;

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Character of the text, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

impl Fault {
    fn new(column: usize, reason: impl Into<String>) -> Fault {
        Fault { column, reason: reason.into() }
    }
}

/// Place of a node in its arena.
pub type NodeId = u32;

/// One operation; its operands come before it in the arena.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// A number that is written there.
    Constant(Number),
    /// The value of a parameter.
    Parameter(u32),
    /// Of one operand.
    Unary(Unary, NodeId),
    /// Of two operands.
    Binary(Binary, NodeId, NodeId),
}

impl Node {
    /// The operations whose results it takes.
    pub fn operands(self) -> impl Iterator<Item = NodeId> {
        let (first, second) = match self {
            Node::Constant(_) | Node::Parameter(_) => (None, None),
            Node::Unary(_, a) => (Some(a), None),
            Node::Binary(_, a, b) => (Some(a), Some(b)),
        };
        first.into_iter().chain(second)
    }
}

/// Operations of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    /// The other sign.
    Negate,
    /// Without the sign.
    Magnitude,
    /// The other truth value.
    Not,
}

/// Operations of two operands; docs/spaces.md says what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideDown,
    Remainder,
    Power,
    Minimum,
    Maximum,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    And,
    Or,
}

impl Unary {
    /// The result for a number.
    #[inline]
    pub fn apply(self, a: Number) -> Number {
        match self {
            Unary::Negate => a.negate(),
            Unary::Magnitude => a.magnitude(),
            Unary::Not => a.truth().map_or(Number::Undefined, |truth| Number::from(!truth)),
        }
    }
}

impl Binary {
    /// The result for two numbers.
    #[inline]
    pub fn apply(self, a: Number, b: Number) -> Number {
        let ordered = |holds: fn(Ordering) -> bool| {
            a.compare(b).map_or(Number::Undefined, |ordering| Number::from(holds(ordering)))
        };
        match self {
            Binary::Add => a.add(b),
            Binary::Subtract => a.subtract(b),
            Binary::Multiply => a.multiply(b),
            Binary::Divide => a.divide(b),
            Binary::DivideDown => a.divide_down(b),
            Binary::Remainder => a.remainder(b),
            Binary::Power => a.power(b),
            Binary::Minimum => a.compare(b).map_or(Number::Undefined, |o| if o.is_le() { a } else { b }),
            Binary::Maximum => a.compare(b).map_or(Number::Undefined, |o| if o.is_ge() { a } else { b }),
            Binary::Equal => ordered(Ordering::is_eq),
            Binary::NotEqual => ordered(Ordering::is_ne),
            Binary::Less => ordered(Ordering::is_lt),
            Binary::LessOrEqual => ordered(Ordering::is_le),
            Binary::And => decided_by(false, a, b),
            Binary::Or => decided_by(true, a, b),
        }
    }
}

/// `and` (decided by a false left side) and `or` (decided by a true one).
#[inline]
fn decided_by(decisive: bool, a: Number, b: Number) -> Number {
    match a.truth() {
        None => Number::Undefined,
        Some(truth) if truth == decisive => Number::from(truth),
        Some(_) => b.truth().map_or(Number::Undefined, Number::from),
    }
}

/// An expression: operations in an order in which each follows its operands.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The operations.
    pub nodes: Vec<Node>,
    /// The operation that is the expression's value.
    pub root: NodeId,
}

impl Expression {
    /// The parts that all must hold for the whole to hold: the sides of the outermost `and`s.
    pub fn conjuncts(&self) -> Vec<NodeId> {
        let (mut parts, mut open) = (Vec::new(), vec![self.root]);
        while let Some(node) = open.pop() {
            match self.nodes[node as usize] {
                Node::Binary(Binary::And, a, b) => open.extend([b, a]),
                _ => parts.push(node),
            }
        }
        parts
    }

    /// The operations below one of them, itself last. The time it takes depends on these alone, so that
    /// looking at each part of a long expression takes no longer than reading it.
    pub fn cone(&self, root: NodeId) -> Vec<NodeId> {
        let mut seen = FxHashSet::from_iter([root]);
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            open.extend(self.nodes[id as usize].operands().filter(|&operand| seen.insert(operand)));
        }
        let mut cone: Vec<NodeId> = seen.into_iter().collect();
        cone.sort_unstable();
        cone
    }

    /// The parameters that one of the operations depends on, ascending.
    pub fn parameters(&self, root: NodeId) -> Vec<u32> {
        let parameter = |id: NodeId| match self.nodes[id as usize] {
            Node::Parameter(parameter) => Some(parameter),
            _ => None,
        };
        let mut parameters: Vec<u32> = self.cone(root).into_iter().filter_map(parameter).collect();
        parameters.sort_unstable();
        parameters.dedup();
        parameters
    }
}
