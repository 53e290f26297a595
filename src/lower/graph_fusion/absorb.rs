//! Work on each channel with constant parameters, done by the convolution or product before it.

use super::Fusion;
use crate::graph::infer::norm;
use crate::graph::{Node, NodeId, Port};

/// Convolutions whose filter and bias take a factor and a summand for each channel.
const CONVOLUTIONS: &[&str] = &["Conv2D", "Conv2DV2", "Conv3D", "Conv3DV2", "DepthwiseConv2D"];
/// Products that add a bias to each column.
const PRODUCTS: &[&str] = &["MatMul", "MatMulV2", "MatMulV3"];
/// Input of both that is the bias.
const BIAS: usize = 2;

/// What an operator does to each channel.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    /// Adds to it.
    Shift,
    /// Adds to each column, as `Add` of a vector does.
    Sum,
    /// Multiplies it, and may add to it.
    Scale,
}

/// What a node does to each channel at inference; `None` where it does something else.
fn change(node: &Node) -> Option<Change> {
    let attrs = &node.attrs;
    match node.op_type.as_str() {
        "BiasAdd" | "Bias" => Some(Change::Shift),
        "BatchNorm" | "BatchNormV3" => (attrs.bool("is_training") == Some(false)).then_some(Change::Scale),
        "BNInference" | "BNInferenceD" => (attrs.bool("use_global_stats") != Some(false)).then_some(Change::Scale),
        "BNInfer" | "Scale" => Some(Change::Scale),
        _ => None,
    }
}

impl Fusion<'_> {
    /// Lets the node before this one do its work, where that can; whether it does.
    pub(super) fn absorbed(&mut self, id: NodeId) -> bool {
        let Some((change, made, parameter)) = self.work(self.graph.node(id)) else { return false };
        if !self.only_first_output_read(id) {
            return false;
        }
        let host = self.graph.node(made.node);
        let of = |types: &[&str]| types.contains(&host.op_type.as_str());
        let has_bias = host.input(BIAS).is_some();
        let takes = match change {
            Change::Shift => (of(CONVOLUTIONS) || of(PRODUCTS)) && !has_bias,
            Change::Sum => of(PRODUCTS) && !has_bias,
            Change::Scale => {
                of(CONVOLUTIONS) && self.is_constant(host.input(1)) && (!has_bias || self.is_constant(host.input(BIAS)))
            }
        };
        if !takes || !self.has_one_reader(made) {
            return false;
        }
        let host = self.graph.node_mut(made.node);
        if !has_bias {
            host.inputs.resize(host.inputs.len().max(BIAS + 1), None);
            host.inputs[BIAS] = Some(parameter);
        }
        let result = Port::first(id);
        let readings = self.readings.remove(&result).unwrap_or(0);
        self.readings.insert(made, readings);
        self.stands_for.insert(result, made);
        self.take_out(id, made.node);
        true
    }

    /// What a node does to each channel at inference, the tensor it works on, and its parameter.
    fn work(&self, node: &Node) -> Option<(Change, Port, Port)> {
        if node.op_type != "Add" {
            return Some((change(node)?, node.input(0)?, self.parameter(node)?));
        }
        let (a, b) = (node.input(0)?, node.input(1)?);
        let (made, parameter) = if self.is_constant(Some(a)) { (b, a) } else { (a, b) };
        let columns = self.graph.desc(made).shape.known()?.last().copied();
        let vector = self.graph.desc(parameter).shape.known()?;
        let fits = self.is_constant(Some(parameter)) && vector.len() == 1 && vector.first().copied() == columns;
        fits.then_some((Change::Sum, made, parameter))
    }

    /// A parameter of the node with one value for each channel, all of them being constant and no larger; `None` where
    /// they are not.
    fn parameter(&self, node: &Node) -> Option<Port> {
        let channels = self.ask(node, norm::channels).ok().flatten()?;
        let parameters: Vec<Port> = node.inputs.iter().skip(1).flatten().copied().collect();
        let is = |port: &Port, dims: &[i64]| self.graph.desc(*port).shape.known() == Some(dims);
        let small = |port: &Port| self.is_constant(Some(*port)) && (is(port, &[channels]) || is(port, &[1]));
        let whole = parameters.iter().rev().find(|port| is(port, &[channels])).copied();
        whole.filter(|_| parameters.iter().all(small))
    }

    fn only_first_output_read(&self, id: NodeId) -> bool {
        let others = 1..self.graph.node(id).outputs.len();
        others.into_iter().all(|output| !self.readings.contains_key(&Port { node: id, output: output as u32 }))
    }
}
