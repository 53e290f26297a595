//! Movers that stand side by side become one: an image that leaves its blocks and is then transposed, or is transposed
//! and then laid in blocks, is moved once. GE merges runs of `TransData` and `Transpose` so.

use super::graph_fusion::FUSED_NODES;
use super::layout::DeviceLayout::{Channels, Plain};
use super::tensors::{self, Layouts};
use crate::graph::infer::{Call, Values, movement};
use crate::graph::op::{self, Kind};
use crate::graph::{Attr, Graph, NodeId, Port};
use rustc_hash::FxHashMap;

/// The order of axes from channels first to channels last, and back.
const TO_LAST: &[usize] = &[0, 2, 3, 1];
const TO_FIRST: &[usize] = &[0, 3, 1, 2];

/// Lets each `TransData` of a graph do the work of the transpose beside it, where nothing else reads what is between.
/// Answers which nodes stay, where some go.
pub(super) fn merge_movers(graph: &mut Graph) -> Option<Vec<bool>> {
    let moves_image =
        |layouts: Layouts| matches!([layouts.works, layouts.result], [Channels(_), Plain] | [Plain, Channels(_)]);
    if !graph.iter().any(|(_, node)| tensors::layouts(node).is_some_and(moves_image)) {
        return None;
    }
    let mut readers = Readers::of(graph);
    let mut keep = vec![true; graph.len()];
    for id in (0..graph.len() as u32).map(NodeId) {
        let Some(layouts) = tensors::layouts(graph.node(id)) else { continue };
        let transpose = match layouts {
            Layouts { works: Channels(axis), result: Plain } => readers
                .only_reader(graph, Port::first(id))
                .filter(|&reader| turns(graph, reader, if axis == 1 { TO_LAST } else { TO_FIRST })),
            Layouts { works: Plain, result: Channels(axis) } => graph.node(id).input(0).and_then(|read| {
                let turns = turns(graph, read.node, if axis == 1 { TO_FIRST } else { TO_LAST });
                (turns && readers.only_reader(graph, read) == Some(id)).then_some(read.node)
            }),
            _ => None,
        };
        let Some(transpose) = transpose.filter(|other| keep[other.index()]) else { continue };
        keep[transpose.index()] = false;
        let names = names(graph, transpose);
        graph.node_mut(id).attrs.set(FUSED_NODES, Attr::Strs(names));
        if layouts.works == Plain {
            let read = graph.node(transpose).inputs.first().copied();
            graph.node_mut(id).inputs[0] = read.flatten();
        } else {
            let outputs = graph.node(transpose).outputs.clone();
            graph.node_mut(id).outputs = outputs;
            readers.move_to(graph, Port::first(transpose), Port::first(id));
        }
    }
    if !keep.contains(&false) {
        return None;
    }
    graph.retain(&keep);
    Some(keep)
}

/// The names by which a node is known: its own, and those of what was fused into it.
fn names(graph: &Graph, id: NodeId) -> Vec<String> {
    let node = graph.node(id);
    let fused = if let Some(Attr::Strs(names)) = node.attrs.get(FUSED_NODES) { names.as_slice() } else { &[] };
    std::iter::once(&node.name).chain(fused).cloned().collect()
}

/// Whether a node does nothing but turn the axes of an image in this order.
fn turns(graph: &Graph, id: NodeId, wanted: &[usize]) -> bool {
    let node = graph.node(id);
    if op::kind(&node.op_type) != Kind::Transpose || node.op_type.starts_with("Confusion") || !node.mapped {
        return false;
    }
    let order = movement::permutation(&Call::new(graph, node, &Values::default()), wanted.len());
    order.is_ok_and(|order| order.as_deref() == Some(wanted))
}

/// Who reads each tensor; the graph's caller counts.
struct Readers {
    nodes: FxHashMap<Port, Vec<NodeId>>,
}

impl Readers {
    fn of(graph: &Graph) -> Readers {
        let mut nodes: FxHashMap<Port, Vec<NodeId>> = FxHashMap::default();
        for (id, node) in graph.iter() {
            node.inputs.iter().flatten().for_each(|&port| nodes.entry(port).or_default().push(id));
        }
        Readers { nodes }
    }

    /// The one node that reads a tensor, once.
    fn only_reader(&self, graph: &Graph, port: Port) -> Option<NodeId> {
        let &[reader] = self.nodes.get(&port)?.as_slice() else { return None };
        (!graph.outputs().contains(&port)).then_some(reader)
    }

    /// Lets all who read a tensor, the caller too, read another one.
    fn move_to(&mut self, graph: &mut Graph, from: Port, to: Port) {
        let readers = self.nodes.remove(&from).unwrap_or_default();
        for &reader in &readers {
            for input in graph.node_mut(reader).inputs.iter_mut().flatten().filter(|input| **input == from) {
                *input = to;
            }
        }
        self.nodes.insert(to, readers);
        if graph.outputs().contains(&from) {
            let outputs = graph.outputs().iter().map(|&port| if port == from { to } else { port }).collect();
            graph.set_outputs(outputs);
        }
    }
}
