//! What CANN's graph fusion does to a network at inference before any kernel is chosen: normalisations with constant
//! statistics go into the convolution before them, biases into convolutions and products, zero padding into
//! convolutions; and what several operator types say alike gets one of them. So one network has one set of kernels,
//! whichever framework it was written in.
//!
//! | file | CANN's pass |
//! |---|---|
//! | `absorb` | `ConvBatchnormFusionPass`, `ConvScaleFusionPass`, `AABiasaddConvFusion`, `MatMulBiasAddFusionPass` |
//! | `pad` | `PadConv2dFusionPass`, `PadDepthwiseConv2dFusionPass` |
//! | `alike` | `Globalavgpoolpass`, and Caffe's operators by the names that the other frameworks give them |
//!
//! The result is for tuning only: weights of what was fused have the old values and the new shapes, so a model is
//! written from the graph as it was.

mod absorb;
mod alike;
mod pad;
#[cfg(test)]
mod tests;

use crate::graph::infer::{Call, Values};
use crate::graph::{Attr, Graph, Node, NodeId, Port};
use crate::status::Result;
use rustc_hash::FxHashMap;

/// Attribute of a node that does the work of others too: their names.
pub const FUSED_NODES: &str = "_aoe_fused_nodes";
/// Attribute of a node that goes by another operator type than the graph had it: that one.
pub const STATED_TYPE: &str = "_aoe_stated_type";

/// Fuses a graph whose shapes are known. Nodes that stay keep their names, and what was fused into one is listed in its
/// attribute [`FUSED_NODES`].
///
/// Fails with [`crate::status::Error::Graph`] for a graph that is none.
pub fn graph_fusion(mut graph: Graph) -> Result<Graph> {
    let order = graph.validated_order()?;
    let mut fusion = Fusion::of(&mut graph);
    for id in order {
        fusion.follow(id);
        if fusion.graph.node(id).mapped && fusion.graph.node(id).value.is_none() {
            fusion.pad_into_convolution(id);
            if !fusion.absorbed(id) {
                fusion.call_alike(id);
            }
        }
    }
    fusion.finish();
    Ok(graph)
}

/// A graph while it is fused, node by node in topological order.
struct Fusion<'g> {
    graph: &'g mut Graph,
    /// How often each tensor is read; an output of the graph is a reading.
    readings: FxHashMap<Port, u32>,
    /// The tensor that now stands for one whose node is gone.
    stands_for: FxHashMap<Port, Port>,
    keep: Vec<bool>,
}

impl<'g> Fusion<'g> {
    fn of(graph: &'g mut Graph) -> Self {
        let mut readings: FxHashMap<Port, u32> = FxHashMap::default();
        let read = graph.iter().flat_map(|(_, node)| node.inputs.iter().flatten()).chain(graph.outputs());
        read.for_each(|&port| *readings.entry(port).or_default() += 1);
        let keep = vec![true; graph.len()];
        Fusion { graph, readings, stands_for: FxHashMap::default(), keep }
    }

    /// Lets a node read what stands for its inputs.
    fn follow(&mut self, id: NodeId) {
        if self.stands_for.is_empty() {
            return;
        }
        for port in self.graph.node_mut(id).inputs.iter_mut().flatten() {
            *port = self.stands_for.get(port).copied().unwrap_or(*port);
        }
    }

    /// Takes out a node whose work `host` does.
    fn take_out(&mut self, id: NodeId, host: NodeId) {
        self.keep[id.index()] = false;
        let name = self.graph.node(id).name.clone();
        let attrs = &mut self.graph.node_mut(host).attrs;
        let mut names = match attrs.remove(FUSED_NODES) {
            Some(Attr::Strs(names)) => names,
            _ => Vec::new(),
        };
        names.push(name);
        attrs.set(FUSED_NODES, Attr::Strs(names));
    }

    fn finish(self) {
        let outputs = self.graph.outputs().iter();
        let outputs = outputs.map(|port| self.stands_for.get(port).copied().unwrap_or(*port)).collect();
        self.graph.set_outputs(outputs);
        if self.keep.contains(&false) {
            self.graph.retain(&self.keep);
        }
    }

    /// Whether nothing but one reader sees this tensor.
    fn has_one_reader(&self, port: Port) -> bool {
        self.readings.get(&port) == Some(&1)
    }

    /// Whether an input is there and constant.
    fn is_constant(&self, port: Option<Port>) -> bool {
        port.is_some_and(|port| self.graph.node(port.node).value.is_some())
    }

    /// Asks a question that shape inference knows the answer to.
    fn ask<T>(&self, node: &Node, question: impl FnOnce(&Call<'_>) -> T) -> T {
        question(&Call::new(self.graph, node, &Values::default()))
    }

    /// Gives a node the operator type that means the same.
    fn rename(&mut self, id: NodeId, op_type: &str) {
        let node = self.graph.node_mut(id);
        if node.op_type != op_type {
            let stated = std::mem::replace(&mut node.op_type, op_type.to_owned());
            node.attrs.set(STATED_TYPE, Attr::Str(stated));
        }
    }
}
