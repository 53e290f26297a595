//! Where a network stops being static: tensors whose sizes only a run tells.

use super::{dynamic, is_known};
use crate::graph::{DATA, Graph, NodeId, Port, op};
use crate::status::Result;
use rustc_hash::FxHashSet;

/// A graph up to where its sizes are known.
#[derive(Debug)]
pub struct Static {
    /// The nodes whose tensors have known sizes. What they take over from behind the border are inputs, what they leave
    /// to it are outputs.
    pub graph: Graph,
    /// Nodes behind the border that run a kernel: name, and what the framework calls the operator.
    pub dynamic: Vec<(String, String)>,
}

/// Takes out of a graph the nodes that read or write a tensor whose sizes are not known. A tensor of known sizes that
/// such a node gives to others becomes an input.
///
/// Fails with [`crate::status::Error::Dynamic`] that names an input of the graph that something reads though its sizes
/// are not known: these a caller can tell.
pub fn split_static(mut graph: Graph) -> Result<Static> {
    let order = graph.validated_order()?;
    let mut behind = vec![false; graph.len()];
    for &id in &order {
        behind[id.index()] = is_behind(&graph, id)?;
    }
    if !behind.contains(&true) {
        return Ok(Static { graph, dynamic: Vec::new() });
    }
    let dynamic = named(&graph, &order, &behind);
    let is_behind = |port: &Port| behind[port.node.index()];
    let mut taken_over = FxHashSet::default();
    let mut outputs: Vec<Port> = graph.outputs().iter().copied().filter(|port| !is_behind(port)).collect();
    for (id, node) in graph.iter() {
        for &port in node.inputs.iter().flatten() {
            if !behind[id.index()] && is_behind(&port) {
                taken_over.insert(port.node);
            } else if behind[id.index()] && !is_behind(&port) && graph.node(port.node).value.is_none() {
                outputs.push(port);
            }
        }
    }
    let mut seen = FxHashSet::default();
    outputs.retain(|&port| seen.insert(port));
    for &id in &taken_over {
        let node = graph.node_mut(id);
        DATA.clone_into(&mut node.op_type);
        node.mapped = true;
        node.inputs.clear();
    }
    let keep: Vec<bool> = graph.iter().map(|(id, _)| !behind[id.index()] || taken_over.contains(&id)).collect();
    graph.set_outputs(outputs);
    graph.retain(&keep);
    Ok(Static { graph, dynamic })
}

/// Whether a node reads a tensor of unknown sizes, or writes one though its operator is known.
fn is_behind(graph: &Graph, id: NodeId) -> Result<bool> {
    let node = graph.node(id);
    let unknown = |port: &&Port| graph.desc(**port).shape.known().is_none();
    if let Some(&port) = node.inputs.iter().flatten().find(unknown) {
        if graph.node(port.node).op_type == DATA {
            return Err(dynamic(graph, port));
        }
        return Ok(true);
    }
    let first = node.outputs.first().is_some_and(|output| output.shape.known().is_none());
    Ok(first && is_known(node) && node.value.is_none() && node.op_type != DATA)
}

/// The nodes behind the border that run a kernel, in the order in which they run.
fn named(graph: &Graph, order: &[NodeId], behind: &[bool]) -> Vec<(String, String)> {
    let runs = |id: &&NodeId| {
        let node = graph.node(**id);
        behind[id.index()] && !(node.mapped && op::kind(&node.op_type) == op::Kind::None)
    };
    let name = |id: &NodeId| (graph.node(*id).name.clone(), graph.node(*id).origin_type.clone());
    order.iter().filter(runs).map(name).collect()
}
