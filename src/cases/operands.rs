//! From an operator's name and operands, as a profile shows them, to a workload.
//!
//! A profile has no attributes: axes and strides are read off shapes and formats, and so is the order of a transpose
//! where the case does not give it.

use super::kernel::{Kernel, Stated, is_absent};
use super::{attention, conv, product, transpose};
use crate::graph::Format;
use crate::operands::vector;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Operand, Vector, Workload};

/// Bytes of the largest operand of vector work.
pub(crate) fn largest_bytes(workload: &Workload) -> u64 {
    if let Workload::Fused(parts) = workload {
        return parts.iter().filter(|p| !matches!(p, Workload::Fused(_))).map(largest_bytes).max().unwrap_or(0);
    }
    let (inputs, outputs) = workload.operands().unwrap_or_default();
    inputs.iter().chain(outputs).map(Operand::bytes).max().unwrap_or(0)
}

/// The workload of a kernel.
pub(super) fn workload(
    op: &str,
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    stated: &Stated,
    soc: &Soc,
) -> Result<Workload> {
    if inputs.iter().chain(&outputs).all(is_absent) {
        return Err(Error::Workload { workload: op.to_owned(), reason: "it has no operands".into() });
    }
    let kernel = Kernel { op: op.to_owned(), inputs, outputs };
    if let Some(transposed) = transpose::workload(op, &kernel, stated.perm, soc)? {
        return Ok(transposed);
    }
    if let Some(fused) = attention::workload(&kernel, stated.attrs)? {
        return Ok(fused);
    }
    let mut parts = parts(op);
    let first = parts.next().unwrap_or(op);
    let lead = if let Some(matmul) = product::workload(first, &kernel, stated.transposes)? {
        matmul
    } else if let Some(conv) = conv::workload(first, &kernel, stated.attrs)? {
        conv
    } else {
        let present = |operands: &[Operand]| operands.iter().filter(|o| !is_absent(o)).cloned().collect();
        vector(first, present(&kernel.inputs), present(&kernel.outputs), stated.work)
    };
    let mut pieces = vec![lead];
    if first == "FusedDbnDw" {
        pieces.push(epilogue("BNTrainingReduceGrad", &kernel));
    }
    pieces.extend(parts.map(|part| epilogue(part, &kernel)));
    Ok(if pieces.len() == 1 { pieces.swap_remove(0) } else { Workload::Fused(pieces) })
}

/// The parts of a kernel, which TBE names a fused one after: `FusionOp_Conv2D_ReLU`.
pub(super) fn parts(op: &str) -> impl Iterator<Item = &str> {
    let (fused, alone) = match op.strip_prefix("FusionOp_") {
        Some(names) => (Some(names.split('_')), None),
        None => (None, Some(op)),
    };
    fused.into_iter().flatten().chain(alone)
}

/// A later part of a fused kernel: works on the first part's result, and brings operands of its own.
fn epilogue(op: &str, kernel: &Kernel) -> Workload {
    let result = kernel.outputs.iter().max_by_key(|o| o.elements()).or_else(|| kernel.largest());
    let elements = result.map_or(0, Operand::elements);
    let same = |o: &&Operand| o.elements() >= elements && o.format != Format::FractalZ;
    let extra = |operands: &[Operand]| operands.iter().filter(same).skip(1).cloned().collect::<Vec<_>>();
    let result = result.cloned().into_iter().collect::<Vec<_>>();
    // The lead loads the product's two operands and stores one result.
    let inputs = result.iter().cloned().chain(kernel.inputs.iter().skip(2).filter(same).cloned()).collect();
    let outputs = result.into_iter().chain(extra(&kernel.outputs)).collect();
    Workload::Vector(Vector { op_type: op.to_owned(), inputs, outputs })
}
