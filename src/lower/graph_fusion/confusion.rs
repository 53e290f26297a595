//! Transposes with a view beside them, which become one operator that keeps matrices in fractals: how the heads of an
//! attention come apart and together.

use super::rewrite::Fusion;
use crate::graph::infer::movement;
use crate::graph::{Attr, Attrs, NodeId, Port, TensorDesc};

/// Types of transposes.
pub(super) const TRANSPOSES: &[&str] = &["Transpose", "TransposeD", "Permute"];
const MADE: &str = "ConfusionTransposeD";
/// Most axes of what is transposed.
const MOST_AXES: usize = 8;
/// Edge of a fractal in elements.
const EDGE: i64 = 16;

impl Fusion<'_> {
    /// `Reshape -> Transpose`: `ConfusionTransposeD`, the view first.
    pub(super) fn view_before_transpose(&mut self, id: NodeId) -> Option<bool> {
        let seen = self.graph.node(id).input(0)?;
        let view = self.made(seen, &["Reshape"])?;
        let x = self.graph.node(view).input(0)?;
        let shape = self.dims(seen)?.to_vec();
        let Some(order) = self.order(id, seen).filter(|_| self.is_in_fractals(x, Port::first(id))) else {
            return Some(false);
        };
        self.become_one(id, MADE, attrs(&order, shape, false), vec![Some(x)], &[view]);
        Some(true)
    }

    /// `Transpose -> Reshape`: `ConfusionTransposeD`, the transpose first.
    pub(super) fn view_behind_transpose(&mut self, id: NodeId) -> Option<bool> {
        let moved = self.graph.node(id).input(0)?;
        let transpose = self.made(moved, TRANSPOSES)?;
        let x = self.graph.node(transpose).input(0)?;
        let made: TensorDesc = self.graph.node(id).outputs.first()?.clone();
        let shape = made.shape.known()?.to_vec();
        let Some(order) = self.order(transpose, x).filter(|_| self.is_in_fractals(x, Port::first(id))) else {
            return Some(false);
        };
        self.become_one(transpose, MADE, attrs(&order, shape, true), vec![Some(x)], &[]);
        self.graph.node_mut(transpose).outputs[0] = made;
        self.take_out(id, transpose);
        self.replace(id, Port::first(transpose));
        Some(true)
    }

    /// The order of the axes of `x` in a transpose, where it moves more than axes of size 1: else GE makes a view of it.
    fn order(&self, transpose: NodeId, x: Port) -> Option<Vec<usize>> {
        let dims = self.dims(x)?;
        let order = self.ask(self.graph.node(transpose), |call| movement::permutation(call, dims.len())).ok()??;
        let moved: Vec<usize> = order.iter().copied().filter(|&axis| dims[axis] != 1).collect();
        (dims.len() <= MOST_AXES && !moved.is_sorted()).then_some(order)
    }

    /// Whether what goes in and what comes out ends in whole fractals, or is a row of whole blocks.
    fn is_in_fractals(&self, x: Port, y: Port) -> bool {
        let whole = |port: Port| {
            let dims = self.dims(port).unwrap_or_default();
            !dims.is_empty() && dims.iter().rev().take(2).all(|size| size % EDGE == 0)
        };
        whole(x) && whole(y)
    }
}

fn attrs(order: &[usize], shape: Vec<i64>, transpose_first: bool) -> Attrs {
    let mut attrs = Attrs::default();
    attrs.set("perm", Attr::Ints(order.iter().map(|&axis| axis as i64).collect()));
    attrs.set("shape", Attr::Ints(shape));
    attrs.set("transpose_first", Attr::Bool(transpose_first));
    attrs
}
