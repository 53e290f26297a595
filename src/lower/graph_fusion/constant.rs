//! What is the same in every run is computed when the network is compiled: GE's constant folding, before any other pass.

use crate::graph::op::{self, Kind};
use crate::graph::{Constant, Graph, Node, NodeId};

/// Beginnings of the types of operators whose results differ from run to run, or which do something beside their result.
const NOT_FOLDED: [&str; 10] = [
    "Random",
    "TruncatedNormal",
    "Multinomial",
    "Bernoulli",
    "Dropout",
    "DropOut",
    "Variable",
    "Assign",
    "Data",
    "NetOutput",
];

/// Makes a constant of every node that reads constants alone, in topological order. Its value is not computed. What is
/// constant reads nothing any more, so that a `Shape` beside a pattern is no reader of what is within.
pub(super) fn fold_constants(graph: &mut Graph, order: &[NodeId]) {
    for &id in order {
        if is_constant(graph, graph.node(id)) {
            graph.node_mut(id).value = Some(Constant::Opaque);
        }
    }
    for &id in order {
        if graph.node(id).value.is_some() && !graph.node(id).inputs.is_empty() {
            graph.node_mut(id).inputs.clear();
        }
    }
}

fn is_constant(graph: &Graph, node: &Node) -> bool {
    let is_pure = node.mapped
        && op::family(&node.op_type).is_some()
        && op::kind(&node.op_type) != Kind::Collective
        && !NOT_FOLDED.iter().any(|start| node.op_type.starts_with(start));
    let mut inputs = node.inputs.iter().flatten().peekable();
    let reads = inputs.peek().is_some();
    node.value.is_none() && is_pure && reads && inputs.all(|port| graph.node(port.node).value.is_some())
}
