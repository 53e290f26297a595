//! Cutting a network at the outputs that a caller wants.

use super::air::{CONTROL_INPUTS, CONTROL_OUTPUTS};
use crate::graph::{Attr, Graph, NodeId, Port};
use crate::spelling;
use crate::status::{Error, Result};

/// Option that names the outputs of a network.
const OPTION: &str = "out_nodes";

/// An output asked for: a node of the network by name, and which of its outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutNode {
    /// Name of the node.
    pub name: String,
    /// Index of its output.
    pub output: u32,
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
            return Err(Error::option(OPTION, format!("`{}:{}` is given twice", wanted.name, wanted.output)));
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

fn find(graph: &Graph, wanted: &OutNode) -> Result<Port> {
    let OutNode { name, output } = wanted;
    let Some(id) = graph.find(name) else {
        let hint = spelling::nearest(name, graph.iter().map(|(_, node)| node.name.as_str()));
        let hint = hint.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(Error::option(OPTION, format!("the model has no node `{name}`{hint}")));
    };
    let node = graph.node(id);
    if *output as usize >= node.outputs.len() {
        let reason =
            format!("node `{name}` ({}) has {} outputs, none of index {output}", node.op_type, node.outputs.len());
        return Err(Error::option(OPTION, reason));
    }
    Ok(Port { node: id, output: *output })
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
