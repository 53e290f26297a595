//! Attention kernels: two products and a softmax, or five products for the gradient.

use super::operands::Kernel;
use crate::graph::DataType;
use crate::status::Result;
use crate::workload::{MatMul, Operand, Reduce, Vector, Workload};

/// Scores are kept in fp32.
const SCORE: DataType = DataType::Float;

/// Elements of a head where no operand tells.
const USUAL_HEAD: u64 = 128;

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
    let sequence = sequence_axis(q, keys, statistic);
    let (heads, rows) = match (statistic, sequence) {
        (Some(s), _) => (s.shape[0] * s.shape[1], s.shape[2]),
        // Batch and heads are the other axes, unless heads lie side by side in the last one.
        (None, Some(axis)) if q.shape.len() == 4 => (q.shape[0] * q.shape[3 - axis], q.shape[axis]),
        (None, Some(axis)) => (width.div_ceil(USUAL_HEAD) * q.shape[1 - axis], q.shape[axis]),
        (None, None) => (width.div_ceil(USUAL_HEAD) * q.shape.get(1).copied().unwrap_or(1), q.shape[0]),
    };
    let head_width = (q.elements() / (heads * rows).max(1)).max(1);
    let columns = sequence.map_or_else(
        || keys.elements() / key_width.max(1) / statistic.map_or(1, |s| s.shape[0]).max(1),
        |axis| keys.shape[axis],
    );
    let columns = columns.max(1);
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

/// The axis along which tokens lie: of [batch, heads, tokens, width] or [batch, tokens, heads, width], and of
/// [tokens, batch, width] or [batch, tokens, width]. `None` for other forms.
fn sequence_axis(q: &Operand, keys: &Operand, statistic: Option<&Operand>) -> Option<usize> {
    let candidates = match (q.shape.len(), keys.shape.len()) {
        (4, 4) => [2, 1],
        (3, 3) => [0, 1],
        _ => return None,
    };
    if let Some(s) = statistic {
        // Where batch and tokens are equal both fit, and give the same sizes.
        return candidates.into_iter().find(|&axis| q.shape[axis] == s.shape[2]);
    }
    // Tokens are more than heads or batches.
    candidates.into_iter().rev().max_by_key(|&axis| keys.shape[axis])
}
