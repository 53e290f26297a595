//! Loops and conditionals of TensorFlow 1, whose operators stand in the graph itself among all others.
//!
//! A loop begins with `Enter`, goes back from a `NextIteration` to a `Merge` and ends with `Exit`; a conditional begins
//! with `Switch` and ends with `Merge`. Only a run tells how often the one and which part of the other is computed.

use crate::{Graph, Node, NodeId};

/// What a node is part of, of which only a run tells whether and how often it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The body or the condition of a loop.
    Loop,
    /// A branch of a conditional.
    Conditional,
}

impl Flow {
    /// Why what is part of it, or follows from that, is not tuned.
    pub const fn why(self) -> &'static str {
        match self {
            Flow::Loop => "in or behind a TensorFlow 1 loop (Enter to Exit), and only a run tells how often that runs",
            Flow::Conditional => {
                "in or behind a TensorFlow 1 conditional (Switch to Merge), and only a run tells which branch runs"
            }
        }
    }
}

/// Whether this is the edge that closes a loop: the `Merge` there is computed before what it reads from the last round.
pub(crate) fn goes_back(from: &Node, to: &Node) -> bool {
    is(from, "NextIteration") && is(to, "Merge")
}

/// Whether a node is of this type, or of its form for variables.
fn is(node: &Node, op_type: &str) -> bool {
    node.op_type.strip_prefix("Ref").unwrap_or(&node.op_type) == op_type
}

/// Loops and conditionals around a node, counted.
#[derive(Clone, Copy, Default)]
struct Depth {
    loops: u32,
    conditionals: u32,
}

impl Depth {
    fn flow(self) -> Option<Flow> {
        match (self.loops, self.conditionals) {
            (0, 0) => None,
            (0, _) => Some(Flow::Conditional),
            _ => Some(Flow::Loop),
        }
    }
}

/// What each node is part of; `order` has every node behind those that it reads ([`Graph::topological_order`]).
pub(crate) fn flows(graph: &Graph, order: &[NodeId]) -> Vec<Option<Flow>> {
    let mut depths = vec![Depth::default(); graph.len()];
    for &id in order {
        depths[id.index()] = depth(graph, id, &depths);
    }
    depths.into_iter().map(Depth::flow).collect()
}

/// Where a node lies, by where that lies what it reads.
fn depth(graph: &Graph, id: NodeId, depths: &[Depth]) -> Depth {
    let node = graph.node(id);
    let mut depth = Depth::default();
    for source in graph.sources(id) {
        let Depth { loops, conditionals } = depths[source.index()];
        depth.loops = depth.loops.max(loops);
        depth.conditionals = depth.conditionals.max(conditionals);
    }
    let sources = |node: &'_ Node| node.inputs.iter().flatten().map(|port| graph.node(port.node)).collect::<Vec<_>>();
    let reads = |node: &'_ Node, op_type: &str| sources(node).into_iter().any(|source| is(source, op_type));
    let is_head = |node: &Node| is(node, "Merge") && reads(node, "NextIteration");
    // Of a loop, which leaves off there.
    let ends = |switch: &Node| reads(switch, "LoopCond") || sources(switch).into_iter().any(is_head);
    if is(node, "Enter") {
        depth.loops = depth.loops.saturating_add(1);
    } else if is(node, "Exit") {
        depth.loops = depth.loops.saturating_sub(1);
    } else if is(node, "Switch") && !ends(node) {
        depth.conditionals = depth.conditionals.saturating_add(1);
    } else if is(node, "Merge") && !is_head(node) {
        depth.conditionals = depth.conditionals.saturating_sub(1);
    }
    depth
}
