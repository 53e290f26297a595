//! Shapes that a file states as GE inferred them, beside what a rule makes of the same node.
//!
//! GE compiles with its own rule of an operator. Where that and the rule here differ, the one here is wrong: what reads
//! the tensor goes on from the stated shape. Views are not weighed: their elements are those that they read.

use super::{BELIEVED_SHAPES, STATED_SHAPES};
use crate::op::{self, Kind};
use crate::{Attr, Node, Shape};

/// Outputs of a node by what became of the shapes that its file states.
#[derive(Debug, Default)]
pub struct Outputs {
    /// Stated, and not told by any rule yet.
    open: Vec<i64>,
    /// Stated, and contradicted.
    believed: Vec<i64>,
}

/// Takes the notes on stated shapes from a node, where it has some.
pub fn take(node: &mut Node) -> Option<Outputs> {
    let mut list = |name: &str| match node.attrs.remove(name) {
        Some(Attr::Ints(list)) => list,
        _ => Vec::new(),
    };
    let outputs = Outputs { open: list(STATED_SHAPES), believed: list(BELIEVED_SHAPES) };
    Some(outputs).filter(|_| op::kind(&node.op_type) != Kind::None)
}

impl Outputs {
    /// Whether the shape of an output is stated.
    pub fn contains(&self, output: i64) -> bool {
        self.open.contains(&output) || self.believed.contains(&output)
    }

    /// Whether the stated shape of an output stays, and not the one that was found; notes what becomes of it.
    pub fn weigh(&mut self, output: i64, stated: &Shape, found: &Shape) -> bool {
        let contradicted = stated.known().is_some() && !stated.accepts(found);
        if contradicted {
            self.believed.push(output);
        } else if stated.known().is_none() || found.known().is_none() {
            self.open.push(output);
        }
        contradicted
    }

    /// Puts the notes back.
    pub fn note(self, node: &mut Node) {
        for (name, list) in [(STATED_SHAPES, self.open), (BELIEVED_SHAPES, self.believed)] {
            if !list.is_empty() {
                node.attrs.set(name, Attr::Ints(list));
            }
        }
    }
}
