//! Refuses kernels that no operator of CANN's is: types that it does not make of each other, operands that do not meet.

use super::kernel::is_absent;
use super::wrong;
use crate::graph::DataType;
use crate::graph::op::{self, Kind, prototype};
use crate::soc::{Arch, Soc};
use crate::status::Result;
use crate::workload::{MatMul, Operand};

/// Refuses a product whose result has a type that its kernels do not write: floats stay what they are or become float32.
pub(super) fn product(op: &str, w: &MatMul) -> Result<()> {
    let scaled = op.contains("Quant") || op.starts_with("FusionOp_");
    let plain = w.dtype.is_float() && w.dtype.bits() >= 16;
    if scaled || !plain || w.out_dtype == w.dtype || w.out_dtype == DataType::Float {
        return Ok(());
    }
    Err(wrong(format!("`out_dtype`: a product of {} does not give {}", w.dtype.name(), w.out_dtype.name())))
}

/// Refuses a bias that is no row of n for all products, or for each of them.
pub(super) fn bias(shape: &[u64], w: &MatMul) -> Result<()> {
    let Some((&columns, axes)) = shape.split_last() else {
        return Err(wrong("`bias_shape`: it has no axis"));
    };
    let rows = axes.iter().fold(1u64, |n, &d| n.saturating_mul(d));
    if columns != w.n {
        return Err(wrong(format!("`bias_shape`: {shape:?} ends in {columns}, the result has {} columns", w.n)));
    }
    if rows != 1 && rows != w.batch {
        return Err(wrong(format!("`bias_shape`: {shape:?} is for {rows} products, there are {}", w.batch)));
    }
    Ok(())
}

/// Refuses operands that an operator of this name does not have.
pub(super) fn operands(op: &str, inputs: &[Operand], outputs: &[Operand], soc: &Soc) -> Result<()> {
    present(op, inputs)?;
    let kind = op::kind(op);
    let (Some(x), y) = (inputs.first(), outputs.first()) else { return Ok(()) };
    if kind == Kind::Elementwise {
        for (name, operand) in [("inputs", inputs), ("outputs", outputs)]
            .iter()
            .flat_map(|(n, o)| o.iter().map(move |operand| (*n, operand)))
        {
            text(op, name, operand)?;
        }
    }
    if kind == Kind::LayerNorm && !x.dtype.is_float() {
        return Err(wrong(format!("`inputs[0].dtype`: {op} normalises floats, not {}", x.dtype.name())));
    }
    if op == "Conv3DV2" && !x.dtype.is_float() && soc.arch != Arch::C310 {
        let reason = format!("`inputs[0].dtype`: {op} of {} multiplies floats, not {}", soc.name, x.dtype.name());
        return Err(wrong(reason));
    }
    if matches!(op, "AddLayerNorm" | "AddRmsNorm" | "InplaceAddRmsNorm" | "InplaceAddLayerNorm")
        && let Some(second) = inputs.get(1)
        && x.shape != second.shape
    {
        return Err(wrong(format!("`inputs[1].shape`: {op} adds {:?} to {:?}", second.shape, x.shape)));
    }
    if op.starts_with("Reduce")
        && let Some(y) = y
        && y.dtype != x.dtype
        && !(x.dtype.is_float() && y.dtype.is_float())
    {
        let reason = format!("`outputs[0].dtype`: {op} of {} does not give {}", x.dtype.name(), y.dtype.name());
        return Err(wrong(reason));
    }
    Ok(())
}

/// Refuses operands that are not there where the operator's interface needs them.
fn present(op: &str, inputs: &[Operand]) -> Result<()> {
    let interface = prototype::prototype(op);
    // Behind an input that is there any number of times, places tell nothing.
    let needed = |at: usize| {
        let slots = interface.iter().flat_map(|interface| &interface.inputs);
        let mut first = slots.take_while(|slot| slot.count != prototype::Count::Dynamic);
        first.nth(at).filter(|slot| slot.count == prototype::Count::Required)
    };
    let missing = |(at, operand): (usize, &Operand)| Some((at, is_absent(operand).then(|| needed(at)).flatten()?));
    match inputs.iter().enumerate().find_map(missing) {
        Some((at, slot)) => Err(wrong(format!("`inputs[{at}]`: {op} needs its `{}`, which is absent here", slot.name))),
        None => Ok(()),
    }
}

/// Refuses texts where the operator's interface has none.
fn text(op: &str, name: &str, operand: &Operand) -> Result<()> {
    let takes = |interface: &prototype::Prototype| {
        interface.inputs.iter().chain(&interface.outputs).any(|slot| slot.types.has(DataType::String))
    };
    if operand.dtype != DataType::String || prototype::prototype(op).is_some_and(takes) {
        return Ok(());
    }
    Err(wrong(format!("`{name}`: {op} has no kernel for texts")))
}
