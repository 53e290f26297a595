//! Matrix products from operand shapes.

use super::kernel::{Kernel, is_absent};
use crate::graph::Format;
use crate::graph::op::prototype;
use crate::status::Result;
use crate::workload::{MatMul, MatMulKernel, Operand, Workload};

/// A stored matrix: batch, rows, columns.
struct Stored {
    batch: u64,
    rows: u64,
    columns: u64,
}

impl Stored {
    fn of(o: &Operand) -> Option<Stored> {
        match (o.format, o.shape.as_slice()) {
            (Format::FractalNz, [batch @ .., blocks, rows, inner, width]) => {
                Some(Stored { batch: batch.iter().product(), rows: rows * inner, columns: blocks * width })
            }
            (_, [batch @ .., rows, columns]) if o.format != Format::Nc1hwc0 => {
                Some(Stored { batch: batch.iter().product(), rows: *rows, columns: *columns })
            }
            _ => None,
        }
    }
}

/// The product that `op` names, `None` when it names none.
pub(super) fn workload(op: &str, kernel: &Kernel, stated: [Option<bool>; 2]) -> Result<Option<Workload>> {
    if op.starts_with("FullyConnection") {
        return Ok(fully_connection(kernel).map(Workload::MatMul));
    }
    if !op.contains("MatMul") && !op.contains("Matmul") {
        return Ok(None);
    }
    let matrices: Vec<&Operand> = kernel.inputs.iter().filter(|o| o.shape.len() >= 2).take(2).collect();
    let [a, b] = matrices.as_slice() else { return Err(kernel.error("it needs two matrices")) };
    let c =
        kernel.outputs.iter().find(|o| o.shape.len() >= 2).ok_or_else(|| kernel.error("it has no matrix as result"))?;
    // Kernels that scale a quantised weight name it so, but for those of groups.
    if a.dtype != b.dtype && !op.contains("Quant") && !op.contains("GroupedMat") {
        return Err(kernel.error(format!("it multiplies {} by {}", a.dtype.name(), b.dtype.name())));
    }
    let stored = |o: &Operand| Stored::of(o).ok_or_else(|| kernel.error(format!("{:?} is no matrix", o.shape)));
    let (left, right, result) = (stored(a)?, stored(b)?, stored(c)?);
    // Transposes the case tells or show in the shapes; where several fit, as for square matrices, the plain product counts.
    for (trans_a, trans_b) in [(false, false), (false, true), (true, false), (true, true)] {
        if stated[0].is_some_and(|t| t != trans_a) || stated[1].is_some_and(|t| t != trans_b) {
            continue;
        }
        let (m, k) = if trans_a { (left.columns, left.rows) } else { (left.rows, left.columns) };
        let (inner, n) = if trans_b { (right.columns, right.rows) } else { (right.rows, right.columns) };
        if (m, n, k) != (result.rows, result.columns, inner) {
            continue;
        }
        let batch = left.batch.max(right.batch).max(1);
        // The rows are dealt out to the groups, each with a matrix of its own: evenly, as far as is known.
        let grouped = op.contains("GroupedMat") && left.batch == 1 && right.batch > 1 && result.batch == 1;
        let m = if grouped { m.div_ceil(batch) } else { m };
        return Ok(Some(Workload::MatMul(MatMul {
            batch,
            a_shared: batch > 1 && left.batch == 1 && !grouped,
            b_shared: batch > 1 && right.batch == 1,
            dtype: a.dtype,
            b_dtype: Some(b.dtype).filter(|stored| (1..a.dtype.bits()).contains(&stored.bits())),
            out_dtype: c.dtype,
            trans_a,
            trans_b,
            bias: kernel.inputs.get(prototype::bias_place(op)).is_some_and(|o| o.shape.len() == 1 && o.elements() > 1),
            a_format: a.format,
            b_format: b.format,
            kernel: ascend_c(op),
            ..MatMul::new(m, k, n)
        })));
    }
    Err(kernel.error(format!("{:?} x {:?} does not give {:?}", a.shape, b.shape, c.shape)))
}

/// A product with a filter in fractals, of an image or of a stack of matrices; `None` for other layouts. The kernel
/// brings the filter anew for each matrix of the stack.
fn fully_connection(kernel: &Kernel) -> Option<MatMul> {
    let (x, filter, y) = (kernel.inputs.first()?, kernel.inputs.get(1)?, kernel.outputs.first()?);
    let (Format::FractalZ, &[k_blocks, n_blocks, rows, lanes]) = (filter.format, filter.shape.as_slice()) else {
        return None;
    };
    let (k, n) = (k_blocks.saturating_mul(lanes), n_blocks.saturating_mul(rows));
    let (batch, m) = match (x.format, x.shape.as_slice()) {
        (Format::Nc1hwc0, &[images, ..]) => (1, images),
        (Format::FractalNz, [batch @ .., _, m_blocks, rows, _]) => {
            (batch.iter().fold(1u64, |all, &n| all.saturating_mul(n)), m_blocks.saturating_mul(*rows))
        }
        _ => return None,
    };
    let whole = batch.saturating_mul(m).saturating_mul(k);
    let bias = kernel.inputs.get(2).is_some_and(|bias| !is_absent(bias));
    (whole == x.elements()).then(|| MatMul {
        batch,
        dtype: x.dtype,
        out_dtype: y.dtype,
        bias,
        a_format: Format::FractalNz,
        b_format: Format::FractalNz,
        ..MatMul::new(m, k, n)
    })
}

/// The axes of the batches of both operands; `None` where there are more than four.
pub(super) fn batches(inputs: &[Operand]) -> Option<[[u64; 4]; 2]> {
    let mut matrices = inputs.iter().filter(|o| o.shape.len() >= 2).map(|o| {
        let inner = if o.format == Format::FractalNz { 4 } else { 2 };
        let axes = &o.shape[..o.shape.len().saturating_sub(inner)];
        let mut batch = [1; 4];
        (axes.len() <= 4).then(|| {
            batch[4 - axes.len()..].copy_from_slice(axes);
            batch
        })
    });
    Some([matrices.next()??, matrices.next()??])
}

/// Whose kernel computes a product of this type where TBE's does not.
pub(super) fn ascend_c(op: &str) -> MatMulKernel {
    match op {
        "QuantBatchMatmulV4" | "QuantBatchMatMulV4" => MatMulKernel::QuantV4,
        "TransposeBatchMatMul" => MatMulKernel::Transposed,
        _ => MatMulKernel::AscendC,
    }
}
