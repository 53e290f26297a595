//! Attention kernels: two products and a softmax, or five products for the gradient.

use super::operands::Kernel;
use crate::graph::DataType;
use crate::status::Result;
use crate::workload::{MatMul, Operand, Reduce, Vector, Workload};

/// Scores are kept in fp32.
const SCORE: DataType = DataType::Float;

/// The fused workload of an attention kernel, `None` for any other.
pub(super) fn workload(kernel: &Kernel) -> Result<Option<Workload>> {
    let op = kernel.op.as_str();
    if !(op.contains("FlashAttention") || op.contains("FusedInferAttention") || op.contains("PromptFlashAttention")) {
        return Ok(None);
    }
    let backward = op.contains("Grad");
    let [q, keys, ..] = kernel.inputs.as_slice() else { return Err(kernel.error("it needs query and key")) };
    let (Some(&width), Some(&key_width)) = (q.shape.last(), keys.shape.last()) else {
        return Err(kernel.error("query and key need axes"));
    };
    // The maximum and the sum of each row are kept: [batch, heads, rows, 8].
    let is_statistic = |o: &&Operand| o.dtype == SCORE && o.shape.len() == 4 && o.shape[3] == 8;
    let statistic = kernel.inputs.iter().chain(&kernel.outputs).find(is_statistic);
    let (heads, rows) = statistic
        .map_or((width.div_ceil(128) * q.shape.get(1).copied().unwrap_or(1), q.shape[0]), |s| {
            (s.shape[0] * s.shape[1], s.shape[2])
        });
    let head_width = (q.elements() / (heads * rows).max(1)).max(1);
    let columns = (keys.elements() / key_width.max(1) / statistic.map_or(1, |s| s.shape[0])).max(1);
    // A mask smaller than the scores is the compressed form of the causal one: half the scores count.
    let causal =
        kernel.inputs.iter().any(|o| o.shape.len() >= 2 && o.dtype.bits() == 8 && o.elements() < rows * columns);
    let columns = if causal { (columns / 2 + head_width).min(columns) } else { columns };
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
