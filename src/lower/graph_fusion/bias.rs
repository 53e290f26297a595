//! Biases that products add themselves.

use super::rewrite::Fusion;
use crate::graph::{NodeId, Port};

/// Products of two matrices.
pub(super) const PLAIN: &[&str] = &["MatMul", "MatMulV2", "MatMulV3"];
/// Products of any rank.
pub(super) const PRODUCTS: &[&str] =
    &["MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"];
/// The type that has no bias; its version 2 has.
const WITHOUT_BIAS: &str = "BatchMatMul";

impl Fusion<'_> {
    /// `MatMul -> Add` or `BiasAdd`: the product adds it. The bias has one axis, as long as the product's last, and need
    /// not be constant; a product of the `MatMul` types has rank 2, one of the `BatchMatMul` types any.
    pub(super) fn bias_of_product(&mut self, id: NodeId) -> Option<bool> {
        let (product, bias) = self.summed(id, PRODUCTS)?;
        let made = Port::first(product);
        let node = self.graph.node(product);
        let rank = self.dims(made).map_or(0, <[i64]>::len);
        let fits = if PLAIN.contains(&node.op_type.as_str()) { rank == 2 } else { rank >= 1 };
        if !fits
            || node.input(2).is_some()
            || !self.is_bias(bias, made)
            || self.dims(Port::first(id)) != self.dims(made)
        {
            return Some(false);
        }
        if node.op_type == WITHOUT_BIAS {
            self.rename(product, "BatchMatMulV2");
        }
        self.absorb(id, product, Some(bias));
        Some(true)
    }

    /// `MatMul -> Reshape -> Add`: where the view keeps the columns whole, the product adds the bias.
    pub(super) fn bias_behind_view(&mut self, id: NodeId) -> Option<bool> {
        let (view, bias) = self.summed(id, &["Reshape"])?;
        let made = self.graph.node(view).input(0)?;
        let product = self.made(made, PLAIN)?;
        let (Some(whole), Some(seen)) = (self.dims(made), self.dims(Port::first(view))) else { return Some(false) };
        let keeps_columns = whole.len() == 2 && whole.last() == seen.last();
        let has_bias = self.graph.node(product).input(2).is_some();
        let result = self.dims(Port::first(id)) == Some(seen);
        if !keeps_columns || has_bias || !result || !self.is_bias(bias, made) {
            return Some(false);
        }
        let mut inputs = self.graph.node(product).inputs.clone();
        inputs.resize(2, None);
        inputs.push(Some(bias));
        self.set_inputs(product, inputs);
        self.take_out(id, product);
        self.replace(id, Port::first(view));
        Some(true)
    }

    /// A sum's operand that an operator of these types made for it alone, and the other one. `BiasAdd` has the bias
    /// second, `Add` on either side.
    fn summed(&mut self, id: NodeId, types: &[&str]) -> Option<(NodeId, Port)> {
        if self.graph.node(id).op_type.starts_with("Add") {
            return self.either(id, |this, port| this.made(port, types));
        }
        let [x, bias] = self.pair(id)?;
        Some((self.made(x, types)?, bias))
    }

    /// Whether a tensor has one axis, and one element for each column of the other.
    fn is_bias(&self, bias: Port, of: Port) -> bool {
        let columns = self.dims(of).and_then(<[i64]>::last);
        matches!(self.dims(bias), Some([size]) if Some(size) == columns)
    }
}
