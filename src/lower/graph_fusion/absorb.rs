//! Work on each channel with constant parameters, done by the convolution before it.

use super::rewrite::Fusion;
use crate::graph::infer::norm;
use crate::graph::infer::window::Layout;
use crate::graph::{Node, NodeId, Port};

/// Convolutions whose filter and bias take a factor and a summand for each channel.
const CONVOLUTIONS: &[&str] = &["Conv2D", "Conv2DV2", "Conv3D", "Conv3DV2", "DepthwiseConv2D"];
/// Input of them that is the bias.
const BIAS: usize = 2;

impl Fusion<'_> {
    /// `Conv -> BiasAdd`: the convolution adds it.
    pub(super) fn bias_of_convolution(&mut self, id: NodeId) -> Option<bool> {
        let convolution = self.convolution_before(id)?;
        if self.graph.node(convolution).input(BIAS).is_some() {
            return Some(false);
        }
        let Some(bias) = self.parameter(self.graph.node(id)) else { return Some(false) };
        self.absorb(id, convolution, Some(bias));
        Some(true)
    }

    /// `Conv -> BatchNorm` or `Scale` with constant parameters: filter and bias take them in.
    pub(super) fn scale_of_convolution(&mut self, id: NodeId) -> Option<bool> {
        if !is_at_inference(self.graph.node(id)) {
            return None;
        }
        let convolution = self.convolution_before(id)?;
        let parameter = self.parameter(self.graph.node(id)).filter(|_| self.has_constant_weights(convolution));
        let Some(parameter) = parameter.filter(|_| self.only_first_output_read(id)) else { return Some(false) };
        let bias = self.graph.node(convolution).input(BIAS).is_none().then_some(parameter);
        self.absorb(id, convolution, bias);
        Some(true)
    }

    /// `Conv -> Mul` with a constant for all channels or one for each.
    pub(super) fn factor_of_convolution(&mut self, id: NodeId) -> Option<bool> {
        let (convolution, factor) = self.either(id, |this, port| this.made(port, CONVOLUTIONS))?;
        if !self.is_constant(Some(factor)) {
            return None;
        }
        let fits = self.is_for_channels(factor, convolution) && self.has_constant_weights(convolution);
        if fits {
            self.absorb(id, convolution, None);
        }
        Some(fits)
    }

    /// `Conv -> Add` with a constant for each channel: the convolution adds it, to the bias that it may have from a
    /// normalisation before.
    pub(super) fn summand_of_convolution(&mut self, id: NodeId) -> Option<bool> {
        let (convolution, summand) = self.either(id, |this, port| this.made(port, CONVOLUTIONS))?;
        if !self.is_constant(Some(summand)) {
            return None;
        }
        let bias = self.graph.node(convolution).input(BIAS);
        let fits = self.is_for_channels(summand, convolution) && (bias.is_none() || self.is_constant(bias));
        if fits {
            self.absorb(id, convolution, bias.is_none().then_some(summand));
        }
        Some(fits)
    }

    /// Whether a tensor holds one value for all channels of a convolution's result or one for each.
    fn is_for_channels(&self, factor: Port, convolution: NodeId) -> bool {
        let made = Port::first(convolution);
        let layout = self.ask(self.graph.node(convolution), |call| {
            let image = self.graph.desc(made);
            Layout::of(call, image.format, image.shape.rank().unwrap_or(0))
        });
        let (Ok(layout), Some(whole), Some(dims)) = (layout, self.dims(made), self.dims(factor)) else {
            return false;
        };
        let axis = layout.channel();
        let missing = whole.len().checked_sub(dims.len());
        let is_factor = |(&size, at): (&i64, usize)| size == 1 || at == axis && size == whole[axis];
        missing.is_some_and(|missing| dims.iter().zip(missing..).all(is_factor))
    }

    /// The convolution whose result a node works on, where nothing else does.
    fn convolution_before(&mut self, id: NodeId) -> Option<NodeId> {
        let made = self.graph.node(id).input(0)?;
        self.made(made, CONVOLUTIONS)
    }

    fn has_constant_weights(&self, convolution: NodeId) -> bool {
        let node = self.graph.node(convolution);
        let bias = node.input(BIAS);
        self.is_constant(node.input(1)) && (bias.is_none() || self.is_constant(bias))
    }

    /// Lets a host do the work of a node behind it, with this bias where it had none.
    pub(super) fn absorb(&mut self, id: NodeId, host: NodeId, bias: Option<Port>) {
        if let Some(bias) = bias {
            let mut inputs = self.graph.node(host).inputs.clone();
            inputs.resize(inputs.len().max(BIAS + 1), None);
            inputs[BIAS] = Some(bias);
            self.set_inputs(host, inputs);
        }
        self.take_out(id, host);
        self.replace(id, Port::first(host));
    }

    /// A parameter of the node with one value for each channel, all of them being constant and no larger; `None` where
    /// they are not.
    fn parameter(&self, node: &Node) -> Option<Port> {
        let channels = self.ask(node, norm::channels).ok().flatten()?;
        let parameters: Vec<Port> = node.inputs.iter().skip(1).flatten().copied().collect();
        let is = |port: &Port, dims: &[i64]| self.dims(*port) == Some(dims);
        let small = |port: &Port| self.is_constant(Some(*port)) && (is(port, &[channels]) || is(port, &[1]));
        let whole = parameters.iter().rev().find(|port| is(port, &[channels])).copied();
        whole.filter(|_| parameters.iter().all(small))
    }
}

/// Whether a normalisation takes the statistics that it is given.
fn is_at_inference(node: &Node) -> bool {
    match node.op_type.as_str() {
        "BatchNorm" | "BatchNormV3" => node.attrs.bool("is_training") == Some(false),
        "BNInference" | "BNInferenceD" => node.attrs.bool("use_global_stats") != Some(false),
        _ => true,
    }
}
