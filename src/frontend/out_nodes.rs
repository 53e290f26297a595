//! Cutting a network at the outputs that a caller wants.

use super::air::{CONTROL_INPUTS, CONTROL_OUTPUTS};
use crate::graph::{Attr, Graph, NodeId, Port};
use crate::spelling;
use crate::status::{Error, Result};
use std::fmt;

/// Option that names the outputs of a network.
const OPTION: &str = "out_nodes";

/// An output asked for: a node of the network by name, and which of its outputs; or a tensor by its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutNode {
    /// Name of the node or tensor.
    pub name: String,
    /// Index of the node's output; `None` for a tensor, and for a node that has one output.
    pub output: Option<u32>,
}

impl fmt::Display for OutNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.output {
            Some(output) => write!(f, "{}:{output}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Makes these the outputs of a network, in this order, and takes out what none of them needs, inputs among it. An
/// empty list changes nothing.
///
/// Fails with [`Error::Option`] that names the output that the network does not have; it is then as it was.
pub fn cut(graph: &mut Graph, out_nodes: &[OutNode]) -> Result<()> {
    if out_nodes.is_empty() {
        return Ok(());
    }
    let mut outputs: Vec<Port> = Vec::with_capacity(out_nodes.len());
    for wanted in out_nodes {
        let port = find(graph, wanted)?;
        if outputs.contains(&port) {
            return Err(Error::option(OPTION, format!("`{wanted}` is given twice")));
        }
        outputs.push(port);
    }
    let mut keep = vec![false; graph.len()];
    let mut waiting: Vec<NodeId> = outputs.iter().map(|port| port.node).collect();
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut keep[id.index()], true) {
            waiting.extend(graph.node(id).inputs.iter().flatten().map(|port| port.node));
        }
    }
    graph.set_outputs(outputs);
    graph.retain(&keep);
    graph.attrs.remove(CONTROL_OUTPUTS);
    forget_absent(graph);
    Ok(())
}

/// The tensor that is asked for: an output of the node of this name, else the tensor that the file calls so.
fn find(graph: &Graph, wanted: &OutNode) -> Result<Port> {
    let name = &wanted.name;
    let refused = |reason: String| Error::option(OPTION, reason);
    let node = graph.find(name).map(|id| (id, graph.node(id)));
    // A tensor may be called as a node's output is: `conv:0`.
    let tensor = graph.tensor(&wanted.to_string());
    match (node, wanted.output, tensor) {
        (Some((id, node)), Some(output), _) if (output as usize) < node.outputs.len() => Ok(Port { node: id, output }),
        (Some((id, node)), None, None) if node.outputs.len() == 1 => Ok(Port::first(id)),
        (Some((id, _)), None, Some(port)) if port.node != id => {
            let (other, output) = (&graph.node(port.node).name, port.output);
            let reason =
                format!("`{name}` is a node, and a tensor of another; say which: `{name}:0` or `{other}:{output}`");
            Err(refused(reason))
        }
        (_, _, Some(port)) => Ok(port),
        (Some((_, node)), None, None) => {
            let count = node.outputs.len();
            Err(refused(format!("node `{name}` ({}) has {count} outputs; say which, as in `{name}:0`", node.op_type)))
        }
        (Some((_, node)), Some(output), None) => {
            let count = node.outputs.len();
            Err(refused(format!("node `{name}` ({}) has {count} outputs, none of index {output}", node.op_type)))
        }
        (None, ..) => {
            let names = graph.iter().map(|(_, node)| node.name.as_str()).chain(graph.tensors());
            let hint = spelling::meant(name, names);
            Err(refused(format!("the model has no node or tensor `{name}`{hint}")))
        }
    }
}

/// Nobody waits for nodes that are gone.
fn forget_absent(graph: &mut Graph) {
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        if let Some(Attr::Strs(names)) = graph.node_mut(id).attrs.remove(CONTROL_INPUTS) {
            let names: Vec<_> = names.into_iter().filter(|name| graph.find(name).is_some()).collect();
            if !names.is_empty() {
                graph.node_mut(id).attrs.set(CONTROL_INPUTS, Attr::Strs(names));
            }
        }
    }
}
