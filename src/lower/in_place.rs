//! Joined tensors that no kernel copies: where each part is made by a kernel of its own, and the parts lie one behind
//! the other in the result, the kernels write them there. GE calls such a `ConcatD` or `Pack` a node without a task.

use super::flow::Flows;
use super::layout::DeviceLayout;
use super::tensors::{self, Read, Source};
use super::{Lowered, Settings};
use crate::graph::infer::{Call, Values, movement};
use crate::graph::op::{self, Kind};
use crate::graph::{Graph, NodeId, Port, TensorDesc};
use crate::workload::Workload;
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes that a part must be a multiple of (facts: the conditions of GE's pass).
const UNIT: u64 = 32;

/// Whether there are joins.
pub(super) fn any(graph: &Graph, lowered: &Lowered) -> bool {
    lowered.kernels.iter().any(|kernel| is_join(graph, kernel.node))
}

fn is_join(graph: &Graph, node: NodeId) -> bool {
    op::kind(&graph.node(node).op_type) == Kind::Join
}

/// Lets joins launch nothing where their parts can be written in place. The first of two that want the same part gets
/// it, and so does the first of two that stand one behind the other.
pub(super) fn write_in_place(graph: &Graph, lowered: &mut Lowered, flows: &Flows, settings: &Settings) {
    let leaving: FxHashSet<Port> = flows.outputs.iter().map(|&(_, origin)| origin).collect();
    let mut joins = Joins { graph, flows, settings, values: Values::default(), leaving, taken: FxHashSet::default() };
    for at in 0..lowered.kernels.len() {
        if is_join(graph, lowered.kernels[at].node)
            && let Some(parts) = joins.parts(lowered, at)
        {
            joins.taken.extend(parts);
            lowered.kernels[at].launches = 0;
        }
    }
}

struct Joins<'a> {
    graph: &'a Graph,
    flows: &'a Flows,
    settings: &'a Settings,
    values: Values,
    /// Tensors that leave the graph.
    leaving: FxHashSet<Port>,
    /// Tensors that have their place in a joined one.
    taken: FxHashSet<Port>,
}

impl Joins<'_> {
    /// The parts of a join, if all of them can be written in place.
    fn parts(&self, lowered: &Lowered, at: usize) -> Option<Vec<Port>> {
        let node = self.graph.node(lowered.kernels[at].node);
        let call = Call::new(self.graph, node, &self.values);
        let (tensors, axis) = if node.op_type == "Pack" {
            ((0..call.arity()).collect(), call.int(&["axis"]).unwrap_or(0))
        } else {
            let (tensors, axis) = movement::joined(&call).ok()?;
            (tensors, axis.scalar(0)?)
        };
        let whole = node.outputs.first()?;
        let dims = whole.shape.known()?;
        let axis = crate::graph::infer::dim::axis(axis, dims.len()).ok()?;
        let layouts = self.flows.layouts[at];
        let leaves = self.leaving.contains(&Port::first(lowered.kernels[at].node));
        if leaves || layouts.works != layouts.result || !layouts.works.comes_first(dims, axis) {
            return None;
        }
        // Joins have thousands of parts.
        let reads: FxHashMap<Port, &Read> = self.flows.reads[at].iter().map(|read| (read.port, read)).collect();
        let mut seen = FxHashSet::default();
        let mut parts: Vec<Port> = Vec::with_capacity(tensors.len());
        for input in tensors {
            let read = *reads.get(&node.input(input)?)?;
            if !seen.insert(read.origin) || !self.can_be_placed(lowered, read, layouts.works, axis) {
                return None;
            }
            parts.push(read.origin);
        }
        Some(parts)
    }

    /// Whether the kernel that makes a part can write it to its place among others along an axis.
    fn can_be_placed(&self, lowered: &Lowered, read: &Read, works: DeviceLayout, axis: usize) -> bool {
        let Source::Kernel(maker) = read.source else { return false };
        let maker = &lowered.kernels[maker as usize];
        let (part, made) = (self.graph.desc(read.port), self.graph.desc(read.origin));
        let computes = maker.launches > 0 && !matches!(maker.workload, Workload::Collective(_));
        let is_free = !self.taken.contains(&read.origin) && !self.leaving.contains(&read.origin);
        let is_whole = part.shape.elements() == made.shape.elements() && part.shape.rank() > Some(0);
        computes && is_free && is_whole && !read.converted && self.is_aligned(maker.node, part, works, axis)
    }

    fn is_aligned(&self, maker: NodeId, part: &TensorDesc, works: DeviceLayout, axis: usize) -> bool {
        let stored = tensors::stored(self.graph.node(maker), part, false, self.settings.precision);
        let bits = works.padded(part, stored).and_then(|n| n.checked_mul(u64::from(stored.bits())));
        works.cuts_whole_blocks(part, axis) && bits.is_some_and(|bits| bits.is_multiple_of(8 * UNIT))
    }
}
