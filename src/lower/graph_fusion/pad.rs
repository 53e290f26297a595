//! Zeros around an image, put there by the convolution that reads it.

use super::rewrite::Fusion;
use crate::graph::infer::conv::Convolution;
use crate::graph::infer::movement;
use crate::graph::op::ConvPass;
use crate::graph::{Attr, NodeId, Port};

/// Widest padding that they have.
const WIDEST: i64 = 255;

impl Fusion<'_> {
    /// Where a convolution reads an image that was only padded for it, lets it pad by itself.
    pub(super) fn pad_into_convolution(&mut self, id: NodeId) -> Option<bool> {
        let padded = self.graph.node(id).input(0)?;
        let pad = self.made(padded, &["Pad", "PadV2", "PadV3"])?;
        let (Some(image), Some(pads)) = (self.graph.node(pad).input(0), self.joint_pads(id, pad)) else {
            return Some(false);
        };
        let attrs = &mut self.graph.node_mut(id).attrs;
        for chosen in ["auto_pad", "padding", "padding_mode", "pad_mode"] {
            attrs.remove(chosen);
        }
        attrs.set("pads", Attr::Ints(pads));
        let others = self.graph.node(id).inputs[1..].to_vec();
        self.set_inputs(id, [vec![Some(image)], others].concat());
        self.take_out(pad, id);
        Some(true)
    }

    /// Padding of a convolution together with that of the node before it, `[top, bottom, left, right]`; `None` where
    /// that node does something else, or the convolution cannot pad so much.
    fn joint_pads(&self, convolution: NodeId, pad: NodeId) -> Option<Vec<i64>> {
        let by = self.zero_padding(pad)?;
        let node = self.graph.node(convolution);
        let read = self.ask(node, |call| Convolution::of(call, ConvPass::Forward)).ok().flatten()?;
        let axes = by.iter().enumerate();
        let first = read.layout.first();
        let space = first..first + read.layout.spatial;
        let elsewhere = axes.clone().any(|(axis, pads)| !space.contains(&axis) && *pads != [0, 0]);
        if by.len() != read.layout.spatial + 2 || elsewhere {
            return None;
        }
        let joint: Vec<[i64; 2]> =
            read.axes.iter().zip(&by[space]).map(|(axis, by)| [axis.pads[0] + by[0], axis.pads[1] + by[1]]).collect();
        let fits = |(axis, pads): (usize, &[i64; 2])| {
            pads.iter().all(|pad| (0..=WIDEST).contains(pad) && (axis > 0 || *pad < read.axes[0].kernel))
        };
        joint.iter().enumerate().all(fits).then(|| joint.into_iter().flatten().collect())
    }

    /// What a node pads with zeros before and after each axis; `None` where it does something else.
    fn zero_padding(&self, id: NodeId) -> Option<Vec<[i64; 2]>> {
        let node = self.graph.node(id);
        let is_zero = |port: Port| {
            use crate::graph::Constant::{Floats, Ints};
            match &self.graph.node(port.node).value {
                Some(Floats(values)) => values.iter().all(|value| *value == 0.0),
                Some(Ints(values)) => values.iter().all(|value| *value == 0),
                _ => false,
            }
        };
        let constant = node.attrs.str("mode").is_none_or(|mode| mode == "constant");
        if !constant || node.input(2).is_some_and(|value| !is_zero(value)) {
            return None;
        }
        let rank = self.graph.desc(node.input(0)?).shape.rank()?;
        self.ask(node, |call| movement::paddings(call, rank)).ok().flatten()
    }
}
