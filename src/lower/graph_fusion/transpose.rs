//! Matrices that products read turned over.

use super::rewrite::Fusion;
use crate::graph::infer::movement;
use crate::graph::{Attr, NodeId};

/// What frameworks call the attribute that turns each operand over.
pub(super) const TURNED: [[&str; 4]; 2] =
    [["transpose_x1", "adj_x1", "transpose_a", "trans_a"], ["transpose_x2", "adj_x2", "transpose_b", "trans_b"]];

impl Fusion<'_> {
    /// `Transpose -> product`, where the transpose swaps the last two axes and no others: the product reads the operand
    /// turned over. One that moves a head's axis too, as [0, 2, 3, 1] does, stays a kernel.
    pub(super) fn transpose_into_product(&mut self, id: NodeId) -> Option<bool> {
        let found = [0, 1].map(|operand| self.turned_operand(id, operand));
        found.contains(&Some(true)).then_some(true).or(found[0].or(found[1]))
    }

    fn turned_operand(&mut self, id: NodeId, operand: usize) -> Option<bool> {
        let read = self.graph.node(id).input(operand)?;
        let transpose = self.made(read, &["Transpose", "TransposeD", "Permute"])?;
        let x = self.graph.node(transpose).input(0)?;
        let rank = self.dims(x)?.len();
        let order = self.ask(self.graph.node(transpose), |call| movement::permutation(call, rank)).ok().flatten();
        let float = self.graph.desc(x).dtype.is_float();
        if !order.is_some_and(|order| swaps_last_two(&order)) || !float {
            return Some(false);
        }
        let attrs = &self.graph.node(id).attrs;
        let name = TURNED[operand].into_iter().find(|name| attrs.get(name).is_some());
        let default =
            if self.graph.node(id).op_type.starts_with("Batch") { TURNED[operand][1] } else { TURNED[operand][0] };
        let name = name.unwrap_or(default);
        let turned = attrs.bool(name) == Some(true);
        self.graph.node_mut(id).attrs.set(name, Attr::Bool(!turned));
        let mut inputs = self.graph.node(id).inputs.clone();
        inputs[operand] = Some(x);
        self.set_inputs(id, inputs);
        self.take_out(transpose, id);
        Some(true)
    }
}

/// Whether an order of axes swaps the last two and leaves the others.
fn swaps_last_two(order: &[usize]) -> bool {
    let rank = order.len();
    let expected = |at: usize| match rank - at {
        1 => rank - 2,
        2 => rank - 1,
        _ => at,
    };
    rank >= 2 && order.iter().enumerate().all(|(at, &axis)| axis == expected(at))
}
