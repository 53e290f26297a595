//! Attention kernels: two products and a softmax, or five products for the gradient.

mod form;
mod pages;
mod stated;
#[cfg(test)]
mod tests;

pub(super) use stated::ATTRIBUTES;

use super::kernel::Kernel;
use crate::graph::DataType;
use crate::status::Result;
use crate::workload::{MatMul, Operand, Reduce, Vector, Workload};
use form::Form;
use serde_json::{Map, Value};
use stated::Stated;

/// Scores are kept in fp32.
const SCORE: DataType = DataType::Float;

/// Half of the keys of a block on the diagonal of a causal mask, which is worked on whole.
const HALF_BLOCK: u64 = 64;

/// Whether an operator is attention.
pub(super) fn is_attention(op: &str) -> bool {
    ["FlashAttention", "FusedInferAttention", "PromptFlashAttention", "IncreFlashAttention"]
        .iter()
        .any(|n| op.contains(n))
}

/// What an answer has to say of an attention kernel whose operands and attributes do not tell how they lie.
pub(super) fn notes(op: &str, inputs: &[Operand], attrs: Option<&Map<String, Value>>) -> Vec<String> {
    let [q, keys, ..] = inputs else { return Vec::new() };
    if !is_attention(op) {
        return Vec::new();
    }
    let statistic = inputs.iter().find(|o| is_statistic(o));
    // What fails is told as an error.
    Stated::of(op, attrs).and_then(|stated| Form::of(q, keys, statistic, &stated)).map_or_else(|_| Vec::new(), |f| f.1)
}

/// The maximum and the sum of each row are kept: [batch, heads, rows, 8].
fn is_statistic(o: &Operand) -> bool {
    o.dtype == SCORE && o.shape.len() == 4 && o.shape[3] == 8
}

/// The fused workload of an attention kernel, `None` for any other.
pub(super) fn workload(kernel: &Kernel, attrs: Option<&Map<String, Value>>) -> Result<Option<Workload>> {
    let op = kernel.op.as_str();
    if !is_attention(op) {
        return Ok(None);
    }
    let backward = op.contains("Grad");
    let [q, keys, ..] = kernel.inputs.as_slice() else { return Err(kernel.error("it needs query and key")) };
    if q.shape.is_empty() || keys.shape.is_empty() {
        return Err(kernel.error("query and key need axes"));
    }
    let statistic = kernel.inputs.iter().chain(&kernel.outputs).find(|o| is_statistic(o));
    let stated = Stated::of(op, attrs).map_err(|reason| kernel.error(reason))?;
    let (form, _) = Form::of(q, keys, statistic, &stated).map_err(|reason| kernel.error(reason))?;
    let Form { batch, heads, kv_heads, rows, columns, depth } = form;
    // A mask smaller than the scores is the compressed form of the causal one: a row sees the keys before it.
    let masks = || kernel.inputs.iter().skip(3).filter(|o| o.shape.len() >= 2 && o.dtype.bits() == 8);
    let causal =
        stated.causal.unwrap_or_else(|| rows > 1 && masks().any(|o| o.elements() < rows.saturating_mul(columns)));
    let columns = if causal { (columns - rows.min(columns) / 2 + HALF_BLOCK).min(columns) } else { columns };
    // Heads of queries that share one of keys are more rows; the gradient has them apart.
    let shared = if backward { 1 } else { (heads / kv_heads).max(1) };
    let (heads, rows, head_width) = (batch * heads / shared, rows.saturating_mul(shared), depth);
    let product = |m: u64, k: u64, n: u64| {
        Workload::MatMul(MatMul { batch: heads, dtype: q.dtype, out_dtype: SCORE, ..MatMul::new(m, k, n) })
    };
    let scores = Operand::new([heads, rows, columns], SCORE);
    let softmax = |op_type: &str| {
        let (inputs, outputs) = (vec![scores.clone()], vec![Operand { dtype: q.dtype, ..scores.clone() }]);
        Workload::Reduce(Reduce {
            op_type: op_type.to_owned(),
            outer: heads * rows,
            axis: columns,
            inner: 1,
            inputs,
            outputs,
        })
    };
    let mut parts = vec![product(rows, head_width, columns), product(rows, columns, head_width)];
    if backward {
        parts.push(product(rows, head_width, columns));
        parts.extend([product(columns, rows, head_width), product(columns, rows, head_width)]);
        parts.push(Workload::Vector(Vector {
            op_type: "SoftmaxGrad".to_owned(),
            inputs: vec![scores.clone(), scores.clone()],
            outputs: vec![scores.clone()],
        }));
    }
    parts.push(softmax("SoftmaxV2"));
    Ok(Some(Workload::Fused(parts)))
}
