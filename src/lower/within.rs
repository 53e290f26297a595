//! Kernels that compute a product and more: what they exchange, add, norm or bend besides.
//!
//! An exchange is counted behind the product, as if none of it hid behind the other: CANN's kernels overlap them by rules
//! that nobody published.

use super::Scene;
use crate::graph::infer::groups::feed_forward_products;
use crate::graph::infer::product_within;
use crate::graph::op::{Beside, Kind, Reading, Within, prototype};
use crate::status::{Error, Result};
use crate::workload::{Collective, CollectiveKind, MatMul, Operand, Reduce, Vector, Workload};

impl Scene<'_> {
    /// A product and what its kernel does besides.
    pub(super) fn within(&self, within: Within) -> Result<Option<Workload>> {
        let product = product_within(&self.call, within.reading).map_err(|r| self.error(r))?;
        let product = product.ok_or_else(|| self.untold())?;
        // The inputs of groups are lists, behind which no place is told.
        let bias = !self.is_grouped() && self.call.get(prototype::bias_place(&self.node().op_type)).is_some();
        let matmul = MatMul { bias, ..self.stacked(&product)? };
        let mut parts = Vec::from_iter(self.finish(matmul.clone())?);
        for &beside in within.besides {
            parts.extend(self.beside(beside, &matmul)?);
        }
        Ok(if parts.len() > 1 { Some(Workload::Fused(parts)) } else { parts.pop() })
    }

    /// The input whose type the cube multiplies.
    pub(super) fn multiplied(&self) -> usize {
        if let Kind::Within(within) = self.kind { within.typed_by } else { 0 }
    }

    /// Whether the tensors tell the sizes of a product in a kernel that does more; what contradicts is told later.
    pub(super) fn tells_product(&self) -> bool {
        let Kind::Within(within) = self.kind else { return true };
        product_within(&self.call, within.reading).map_or(true, |product| product.is_some())
    }

    /// Whether the rows of a product are dealt out to groups.
    pub(super) fn is_grouped(&self) -> bool {
        let Kind::Within(within) = self.kind else { return false };
        matches!(within.reading, Reading::Groups { .. } | Reading::FeedForward)
    }

    fn untold(&self) -> Error {
        self.error("the sizes of its product are not told")
    }

    fn beside(&self, beside: Beside, product: &MatMul) -> Result<Vec<Workload>> {
        let result = self.result_of(product)?;
        let exchange = |kind, bytes| Some(Workload::Collective(Collective { kind, bytes }));
        let rows = || self.flat(self.call.need(0).map_err(|r| self.error(r))?).map(|rows| rows.bytes());
        let one = match beside {
            Beside::SecondProduct => return self.second_product(product),
            Beside::AllReduce => exchange(CollectiveKind::AllReduce, result.bytes()),
            Beside::ReduceScatter => exchange(CollectiveKind::ReduceScatter, result.bytes()),
            Beside::SendResult => exchange(CollectiveKind::AllToAll, result.bytes()),
            Beside::SendRows => exchange(CollectiveKind::AllToAll, rows()?),
            Beside::AllGather => exchange(CollectiveKind::AllGather, rows()?),
            Beside::Norm => {
                Some(self.row_by_row("AddRmsNorm", [result.elements() / product.n.max(1), product.n, 1], 2, result))
            }
            Beside::Gate => Some(bent("SwiGlu", result)),
            Beside::Epilogue => self.epilogue(result),
            Beside::Sum => {
                let kept = self.product_of(&self.output_dims()?)?.max(1);
                let terms = result.elements().div_ceil(kept);
                Some(self.row_by_row("ReduceSum", [1, terms, kept], 1, result))
            }
        };
        Ok(Vec::from_iter(one))
    }

    /// What a product gives.
    fn result_of(&self, product: &MatMul) -> Result<Operand> {
        Ok(Operand::new([self.product_of(&[product.batch, product.m, product.n])?], product.out_dtype))
    }

    fn row_by_row(&self, op_type: &str, [outer, axis, inner]: [u64; 3], inputs: usize, result: Operand) -> Workload {
        let outputs = self.node().outputs.iter().filter_map(|desc| self.flat(desc).ok()).collect();
        Workload::Reduce(Reduce { op_type: op_type.into(), outer, axis, inner, inputs: vec![result; inputs], outputs })
    }

    /// The activation behind the first product of a feed-forward block, and the second product.
    fn second_product(&self, first: &MatMul) -> Result<Vec<Workload>> {
        let products = feed_forward_products(&self.call).map_err(|r| self.error(r))?;
        let [_, second] = products.ok_or_else(|| self.untold())?;
        let second = MatMul { bias: first.bias, ..self.stacked(&second)? };
        let bent = self.activation(self.result_of(first)?);
        Ok(bent.into_iter().chain(self.finish(second)?).collect())
    }

    /// What stands between the two products; gates make half of it.
    fn activation(&self, between: Operand) -> Option<Workload> {
        let name = self.call.str("activation").unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "swiglu" => Some(bent("SwiGlu", between)),
            "geglu" => Some(bent("GeGlu", between)),
            "reglu" => Some(bent("GLU", between)),
            "relu" => Some(elementwise("Relu", between, 1)),
            "silu" => Some(elementwise("Silu", between, 1)),
            "" => None,
            _ => Some(elementwise("Gelu", between, 1)),
        }
    }

    /// What a product ends with by its attribute.
    fn epilogue(&self, result: Operand) -> Option<Workload> {
        let name = self.call.str("fused_op_type").unwrap_or_default();
        let (op_type, inputs) = match name {
            "" => return None,
            "add" => ("Add", 2),
            "mul" => ("Mul", 2),
            "relu" => ("Relu", 1),
            _ => ("Gelu", 1),
        };
        Some(elementwise(op_type, result, inputs))
    }
}

fn elementwise(op_type: &str, operand: Operand, inputs: usize) -> Workload {
    Workload::Vector(Vector { op_type: op_type.into(), inputs: vec![operand.clone(); inputs], outputs: vec![operand] })
}

/// Half of the columns through the other half.
fn bent(op_type: &str, wide: Operand) -> Workload {
    let half = Operand::new([wide.elements() / 2], wide.dtype);
    Workload::Vector(Vector { op_type: op_type.into(), inputs: vec![wide], outputs: vec![half] })
}
