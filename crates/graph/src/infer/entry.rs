//! Where tensors enter a graph.

use crate::{Node, op};

/// Whether a node is where a tensor enters the graph: an input, a constant, a variable.
pub(super) fn comes_from_outside(node: &Node) -> bool {
    op::kind(&node.op_type) == op::Kind::None && node.inputs.iter().flatten().next().is_none()
}

/// What gives a shape to a node of this type where a tensor enters the graph without one.
pub fn shape_wanted(source_type: &str) -> &'static str {
    match source_type {
        "Variable" | "VariableV2" | "VarHandleOp" | "FileConstant" | "ConstPlaceHolder" => {
            "state it in the node's attribute `shape`"
        }
        _ => "give it with input_shape",
    }
}
