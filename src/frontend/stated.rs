//! What a file states of the tensors inside a network, held against what follows from its inputs.

use crate::graph::{CONST, DATA, Graph, Node, NodeId, Port, Shape, op};
use crate::status::{Error, Result};

/// The shapes that a file states.
pub struct Stated {
    inputs: Vec<(NodeId, Shape)>,
    tensors: Vec<(Port, Shape)>,
}

impl Stated {
    /// What a graph says that was just read.
    pub fn of(graph: &Graph) -> Stated {
        let is_inferred = |node: &Node| {
            node.mapped && ![DATA, CONST].contains(&node.op_type.as_str()) && op::family(&node.op_type).is_some()
        };
        let mut stated = Stated { inputs: Vec::new(), tensors: Vec::new() };
        for (id, node) in graph.iter() {
            let outputs = node.outputs.iter().zip(0..).filter(|(output, _)| output.shape.dims().is_some());
            let outputs = outputs.map(|(output, index)| (Port { node: id, output: index }, output.shape.clone()));
            if node.op_type == DATA {
                stated.inputs.extend(outputs.map(|(port, shape)| (port.node, shape)));
            } else if is_inferred(node) {
                stated.tensors.extend(outputs);
            }
        }
        stated
    }

    /// Fails with [`Error::Graph`] that names a node whose output is inferred to be another than the file states, unless
    /// its inputs were given other sizes: then what it states is of no account.
    pub fn check(&self, graph: &Graph) -> Result<()> {
        let first = |id: NodeId| &graph.desc(Port::first(id)).shape;
        if self.inputs.iter().any(|(id, stated)| !stated.accepts(first(*id))) {
            return Ok(());
        }
        let wrong = self.tensors.iter().find(|(port, stated)| !agrees(stated, &graph.desc(*port).shape));
        let Some((port, stated)) = wrong else { return Ok(()) };
        let (node, found) = (graph.node(port.node), &graph.desc(*port).shape);
        let place = format!("node `{}` ({})", node.name, node.op_type);
        // Exporters do not agree on windows that would start in the padding behind an image; all after it follows.
        if node.attrs.bool("ceil_mode") == Some(true) {
            log::warn!("{place} is taken to give {found}, where the file states {stated}; what it states is not used");
            return Ok(());
        }
        let reason = format!(
            "the file states shape {stated} for its output {}, and its inputs make it {found}; mend one of them, or give \
             the inputs other sizes with input_shape",
            port.output
        );
        Err(Error::graph(place, reason))
    }
}

/// Whether a stated shape says nothing else than the one found. Exporters that do not know a size write 0, and no
/// sizes at all where they do not know the rank.
fn agrees(stated: &Shape, found: &Shape) -> bool {
    let (Some(stated), Some(found)) = (stated.dims(), found.dims()) else { return true };
    let same = |(&stated, &found): (&i64, &i64)| stated <= 0 || found < 0 || stated == found;
    stated.is_empty() || stated.len() == found.len() && stated.iter().zip(found).all(same)
}
