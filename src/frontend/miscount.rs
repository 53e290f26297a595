//! The attribute that counts the tensors of a node.

use crate::graph::Node;
use crate::graph::op::prototype::{self, Count};

/// Attribute that counts the tensors of an input that stands for any number of them.
const COUNT: &str = "N";

/// An attribute that counts the tensors of a node, and is wrong.
pub struct Miscount {
    /// In words.
    pub reason: String,
    /// The tensors that are there.
    pub given: usize,
}

/// What is wrong with the attribute that counts the tensors of a node.
pub fn miscounted(node: &Node) -> Option<Miscount> {
    let prototype = node.mapped.then(|| prototype::prototype(&node.op_type)).flatten()?;
    let others = prototype.inputs.iter().filter(|slot| slot.count == Count::Required).count();
    let is_one_open =
        others + 1 == prototype.inputs.len() && prototype.inputs.iter().any(|slot| slot.count == Count::Dynamic);
    let stated = prototype.attr(COUNT).filter(|_| is_one_open).and_then(|_| node.attrs.int(COUNT))?;
    let given = node.inputs.len().saturating_sub(others);
    let is_wrong = usize::try_from(stated) != Ok(given);
    is_wrong.then(|| Miscount { reason: format!("has attribute `{COUNT}` {stated}, and joins {given} tensors"), given })
}
