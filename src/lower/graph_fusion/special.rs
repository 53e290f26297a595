//! Operators that stand for the special case of another.

use super::rewrite::Fusion;
use crate::graph::{Attr, Attrs, NodeId};

/// Types that cut a tensor into parts.
const SPLITS: &[&str] = &["Split", "SplitD", "SplitV", "SplitVD"];
/// Length from which on a cut axis has a gate of its own kernel.
const LEAST_GATED: i64 = 512;

impl Fusion<'_> {
    /// `Conv2D` whose groups are its channels -> `DepthwiseConv2D`.
    pub(super) fn depthwise(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let groups = node.attrs.int("groups").filter(|&groups| groups > 1)?;
        let image = self.graph.desc(node.input(0)?);
        let &[_, first, _, last] = image.shape.known()? else { return None };
        let channels_last = self.ask(node, |call| call.channels_last(image.format, 4));
        if groups != if channels_last { last } else { first } {
            return Some(false);
        }
        self.rename(id, "DepthwiseConv2D");
        Some(true)
    }

    /// Products whose inner axis has one element -> `Mul`, which repeats a column and a row.
    pub(super) fn product_of_one_term(&mut self, id: NodeId) -> Option<bool> {
        let [a, b] = self.pair(id)?;
        let turned = ["adj_x1", "adj_x2", "transpose_x1", "transpose_x2"];
        let is_turned = turned.iter().any(|name| self.graph.node(id).attrs.bool(name) == Some(true));
        let ([.., _, 1], [.., 1, _]) = (self.dims(a)?, self.dims(b)?) else { return Some(false) };
        let [left, right] = [a, b].map(|port| self.graph.desc(port).dtype);
        if is_turned || left != right || !left.is_float() {
            return Some(false);
        }
        self.become_one(id, "Mul", Attrs::default(), vec![Some(a), Some(b)], &[]);
        Some(true)
    }

    /// A tensor cut into halves, of which one goes through `Gelu` and is multiplied by the other -> `GeGluV2`.
    pub(super) fn gated_gelu(&mut self, id: NodeId) -> Option<bool> {
        let (gelu, other) = self.either(id, |this, port| this.made(port, &["Gelu", "GeluV2"]))?;
        let activated = self.graph.node(gelu).input(0)?;
        let cut = activated.node;
        let node = self.graph.node(cut);
        let halves = cut == other.node && activated.output != other.output && node.outputs.len() == 2;
        if !halves || !SPLITS.contains(&node.op_type.as_str()) || !self.is_live(cut) {
            return Some(false);
        }
        self.follow(cut);
        let sizes = [activated, other].map(|port| self.dims(port).map(<[i64]>::to_vec));
        let [Some(left), Some(right)] = sizes else { return Some(false) };
        let inputs = self.graph.node(cut).inputs.clone();
        let whole =
            inputs.into_iter().flatten().find(|&port| self.dims(port).is_some_and(|d| d.len() == left.len()))?;
        let x = self.dims(whole)?.to_vec();
        let axis = (0..x.len()).find(|&axis| x[axis] != left[axis])?;
        let is_cut = left == right && (0..x.len()).all(|at| x[at] == if at == axis { 2 * left[at] } else { left[at] });
        let alone = [activated, other].iter().all(|&port| self.has_one_reader(port));
        if !is_cut || !alone || x[axis] <= LEAST_GATED {
            return Some(false);
        }
        let mut attrs = Attrs::default();
        attrs.set("dim", Attr::Int(axis as i64));
        attrs.set("approximate", Attr::Int(1));
        attrs.set("activate_left", Attr::Bool(activated.output == 0));
        self.become_one(id, "GeGluV2", attrs, vec![Some(whole)], &[gelu, cut]);
        Some(true)
    }
}
