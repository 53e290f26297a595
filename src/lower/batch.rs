//! Cutting a network along its batch: which tensors have the batch as their first axis, and what a kernel
//! does for one of several equal parts of it.

use super::order::stays_in_order;
use super::stored::Device;
use super::{Layouts, Settings};
use crate::graph::infer::{Call, Values, movement, norm, reduce};
use crate::graph::op::{self, ConvPass, Kind};
use crate::graph::{Graph, Node, NodeId, Port, Shape, TensorDesc};
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::Workload;
use rustc_hash::FxHashMap;

/// The batch of a graph and the nodes whose results have it as (the outer part of) their first axis.
#[derive(Debug, Clone)]
pub struct Batch {
    size: u64,
    carries: Vec<bool>,
}

impl Batch {
    /// Follows the batch through a graph whose shapes are known; `None` where there is none to cut: the
    /// inputs of two axes or more do not share a first axis longer than 1.
    pub fn of(graph: &Graph) -> Result<Option<Batch>> {
        let first_axis = |node: &Node| node.outputs.first().filter(|d| d.shape.rank() >= Some(2)).and_then(leading);
        let Some(size) = graph.inputs().find_map(|(_, node)| first_axis(node)).filter(|&size| size > 1) else {
            return Ok(None);
        };
        let values = Values::default();
        let mut batch = Batch { size, carries: vec![false; graph.len()] };
        for id in graph.validated_order()? {
            let node = graph.node(id);
            batch.carries[id.index()] = if node.op_type == crate::graph::DATA {
                first_axis(node) == Some(size)
            } else {
                batch.passes(node, &Call::new(graph, node, &values))
            };
        }
        Ok(Some(batch))
    }

    /// Images, sentences, whatever the network takes several of at once.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Whether a node's results have the batch as their first axis.
    pub fn carries(&self, node: NodeId) -> bool {
        self.carries.get(node.index()).is_some_and(|&carries| carries)
    }

    /// What a kernel does for one of `parts` equal parts of the batch: its node lowered on so much shorter
    /// inputs, in the layouts that the kernel has. `None` where it needs all of the batch.
    pub fn slice(
        &self,
        graph: &Graph,
        soc: &Soc,
        settings: &Settings,
        (kernel, layouts): (NodeId, Layouts),
        parts: u64,
    ) -> Option<Workload> {
        if !self.carries(kernel) || !self.size.is_multiple_of(parts) {
            return None;
        }
        let mut alone = Graph::new("slice");
        let mut moved: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let node = graph.node(kernel);
        let mut here = self.shortened(graph, kernel, parts);
        for (port, source) in here.inputs.iter_mut().zip(&node.inputs) {
            let Some(source) = source else { continue };
            let known = moved.get(&source.node).copied();
            let id = match known {
                Some(id) => id,
                None => alone.add(Node { inputs: Vec::new(), ..self.shortened(graph, source.node, parts) }).ok()?,
            };
            moved.insert(source.node, id);
            *port = Some(Port { node: id, output: source.output });
        }
        let id = alone.add(here).ok()?;
        let values = Values::default();
        let (mut workload, _) = super::lower_node(&alone, id, soc, *settings, &values).ok()??;
        Device { soc, precision: settings.precision }.store(&alone, id, layouts, &values, &mut workload);
        Some(workload)
    }

    /// One of `parts` parts of a tensor whose first axis is the batch, or begins with it.
    pub fn part_of(&self, whole: &TensorDesc, parts: u64) -> TensorDesc {
        let mut part = whole.clone();
        if let Some([first, rest @ ..]) = whole.shape.known()
            && first.unsigned_abs().is_multiple_of(self.size)
        {
            part.shape =
                Shape::new(std::iter::once(first / parts as i64).chain(rest.iter().copied()).collect::<Vec<_>>());
        }
        part
    }

    /// A node as one of `parts` parts of the batch sees it.
    fn shortened(&self, graph: &Graph, id: NodeId, parts: u64) -> Node {
        let mut node = graph.node(id).clone();
        if self.carries(id) {
            for desc in &mut node.outputs {
                *desc = self.part_of(desc, parts);
            }
        }
        node
    }

    /// Whether a node hands the batch on: a part of its result follows from the same part of its inputs.
    fn passes(&self, node: &Node, call: &Call<'_>) -> bool {
        let is_part = |desc: &TensorDesc| leading(desc).is_some_and(|first| first > 0 && first % self.size == 0);
        let known = node.value.is_none() && node.mapped && op::family(&node.op_type).is_some();
        let carried: Vec<usize> =
            (0..call.arity()).filter(|&i| node.input(i).is_some_and(|port| self.carries(port.node))).collect();
        let Some(result) = node.outputs.first().filter(|desc| is_part(desc)) else { return false };
        known && !carried.is_empty() && keeps_first_axis(op::kind(&node.op_type), call, &carried, result)
    }
}

/// Length of the first axis.
fn leading(desc: &TensorDesc) -> Option<u64> {
    desc.shape.known()?.first().map(|d| d.unsigned_abs())
}

/// Whether an operator works on each part of the first axis of its `carried` inputs, ascending, by itself.
fn keeps_first_axis(kind: Kind, call: &Call<'_>, carried: &[usize], result: &TensorDesc) -> bool {
    let rank = |input: usize| call.get(input).and_then(|d| d.shape.rank()).unwrap_or(0);
    let same_axis = |input: usize| {
        let same_length = call.get(input).and_then(leading) == leading(result);
        same_length && call.get(input).and_then(|d| d.shape.rank()) == result.shape.rank()
    };
    // Who makes the whole batch at once, and constants, are not cut: then parts would meet the whole.
    let meets_whole = (0..call.arity()).any(|input| carried.binary_search(&input).is_err() && same_axis(input));
    let stays = |gone: Option<Vec<bool>>| gone.is_some_and(|gone| gone.first() == Some(&false));
    match kind {
        Kind::MatMul => match carried {
            [0] if rank(0) > 2 => rank(1) <= 2 || !meets_whole,
            [0] => !call.flag(&["transpose_x1", "adj_x1"], false),
            [0, 1] => rank(0) > 2 && carried.iter().all(|&input| same_axis(input)),
            _ => false,
        },
        Kind::Conv(pass) => pass != ConvPass::BackpropFilter && carried.len() == 1,
        Kind::PerChannel if call.flag(&["is_training"], false) => false,
        Kind::Elementwise | Kind::PerChannel | Kind::Join | Kind::Split | Kind::Slice | Kind::Move | Kind::Gather => {
            let is_part = |&input: &usize| same_axis(input) || kind == Kind::Gather && is_index(call, input, result);
            carried.iter().all(is_part) && (kind == Kind::Gather || !meets_whole) && stays_in_order(kind, call, carried)
        }
        Kind::Transpose => movement::permutation(call, rank(0)).is_ok_and(|p| p.is_some_and(|p| p.first() == Some(&0))),
        Kind::ReduceAxes => reduce::reduced(call, rank(0)).is_ok_and(stays),
        Kind::AlongAxis => reduce::along(call, rank(0)).is_ok_and(stays),
        Kind::LayerNorm => norm::begin_axis(call, rank(0)).is_ok_and(|begin| begin > 0),
        // A view of rows that are parts of the batch begins with rows that are parts of the batch.
        Kind::None | Kind::InstanceNorm | Kind::GroupNorm | Kind::ChannelWindow | Kind::Pool | Kind::GlobalPool => {
            carried == [0]
        }
        Kind::Within(_) | Kind::Einsum | Kind::Attention | Kind::Recurrent => false,
        Kind::ReduceAll | Kind::ChannelStats | Kind::Collective => false,
    }
}

/// Whether an input picks rows of a table that all parts of the batch share.
fn is_index(call: &Call<'_>, input: usize, result: &TensorDesc) -> bool {
    input == 1 && call.get(1).and_then(leading) == leading(result)
}
