//! Elementwise functions of several tensors: arithmetic, comparison, logic, choice.

use super::{Rule, same, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, DataType};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    same("Add", "Add", &[]),
    same("Sub", "Sub", &[]),
    same("Mul", "Mul", &[]),
    same("Div", "Div", &[]),
    same("Pow", "Pow", &[]),
    with("Mod", modulo),
    with("Max", |op| chain(op, "Maximum")),
    with("Min", |op| chain(op, "Minimum")),
    with("Sum", sum),
    with("Mean", mean),
    same("Equal", "Equal", &[]),
    same("Less", "Less", &[]),
    same("LessOrEqual", "LessEqual", &[]),
    same("Greater", "Greater", &[]),
    same("GreaterOrEqual", "GreaterEqual", &[]),
    same("And", "LogicalAnd", &[]),
    same("Or", "LogicalOr", &[]),
    same("Not", "LogicalNot", &[]),
    with("Xor", xor),
    same("BitwiseAnd", "BitwiseAnd", &[]),
    same("BitwiseOr", "BitwiseOr", &[]),
    same("BitwiseXor", "BitwiseXor", &[]),
    same("BitwiseNot", "Invert", &[]),
    with("BitShift", bit_shift),
    same("Where", "SelectV2", &[]),
];

/// The sign of the result follows the dividend with `fmod`, else the divisor.
fn modulo(op: &mut Op) -> Result<()> {
    let op_type = if op.flag("fmod", false)? { "Mod" } else { "FloorMod" };
    let node = op.node(op_type).with_inputs([op.required(0)?, op.required(1)?]);
    op.finish(node)
}

/// A binary operator over any number of inputs, left to right.
fn chain(op: &mut Op, op_type: &str) -> Result<()> {
    let inputs = op.all_inputs()?;
    let (first, rest) = (inputs[0], &inputs[1..]);
    let Some((&last, middle)) = rest.split_last() else {
        let node = op.node("Identity").with_inputs([first]);
        return op.finish(node);
    };
    let mut so_far = first;
    for &next in middle {
        so_far = op.helper(op_type, &[so_far, next], &[])?;
    }
    let node = op.node(op_type).with_inputs([so_far, last]);
    op.finish(node)
}

/// Sum of any number of tensors.
fn sum(op: &mut Op) -> Result<()> {
    let inputs = op.all_inputs()?;
    if inputs.len() == 1 {
        let node = op.node("Identity").with_inputs(inputs);
        return op.finish(node);
    }
    let mut node = op.node("AccumulateNV2");
    node.attrs.set("N", Attr::Int(inputs.len() as i64));
    op.finish(node.with_inputs(inputs))
}

/// Sum of any number of tensors, divided by their number.
fn mean(op: &mut Op) -> Result<()> {
    let inputs = op.all_inputs()?;
    if inputs.len() == 1 {
        let node = op.node("Identity").with_inputs(inputs);
        return op.finish(node);
    }
    let count = inputs.len();
    let sum = op.helper("AccumulateNV2", &inputs, &[("N", Attr::Int(count as i64))])?;
    let mut node = op.node("Muls").with_inputs([sum]);
    node.attrs.set("value", Attr::Float(1.0 / count as f64));
    op.finish(node)
}

/// There is no kernel for booleans: both sides become integers, the result a boolean again.
fn xor(op: &mut Op) -> Result<()> {
    let mut sides = [op.required(0)?, op.required(1)?];
    for side in &mut sides {
        *side = op.helper("Cast", &[*side], &[("dst_type", Attr::Type(DataType::Int32))])?;
    }
    let bits = op.helper("BitwiseXor", &sides, &[])?;
    let mut node = op.node("Cast").with_inputs([bits]);
    node.attrs.set("dst_type", Attr::Type(DataType::Bool));
    op.finish(node)
}

/// The direction is an attribute in ONNX, the operator's type here.
fn bit_shift(op: &mut Op) -> Result<()> {
    let op_type = match op.str("direction")?.as_deref() {
        Some("LEFT") => "LeftShift",
        Some("RIGHT") => "RightShift",
        _ => return Err(op.error("attribute `direction` is neither LEFT nor RIGHT")),
    };
    let node = op.node(op_type).with_inputs([op.required(0)?, op.required(1)?]);
    op.finish(node)
}
