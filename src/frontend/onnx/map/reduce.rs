//! Reductions and what else looks along an axis.

use super::{
    Default::{Bool, Int},
    Rule, attr, same, with,
};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, DataType, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("ReduceSum", |op| reduce(op, "ReduceSum", 13, &[])),
    with("ReduceMean", |op| reduce(op, "ReduceMean", 18, &[])),
    with("ReduceMax", |op| reduce(op, "ReduceMax", 18, &[])),
    with("ReduceMin", |op| reduce(op, "ReduceMin", 18, &[])),
    with("ReduceProd", |op| reduce(op, "ReduceProd", 18, &[])),
    with("ReduceL1", |op| reduce(op, "LpNormV2", 18, &[("p", 1.0)])),
    with("ReduceL2", |op| reduce(op, "LpNormV2", 18, &[("p", 2.0)])),
    with("ReduceSumSquare", |op| reduce(op, "SquareSumV1", 18, &[])),
    with("ReduceLogSum", |op| reduce(op, "ReduceLogSum", 18, &[])),
    with("ReduceLogSumExp", |op| reduce(op, "ReduceLogSumExp", 18, &[])),
    with("ArgMax", |op| arg(op, "ArgMaxV2")),
    with("ArgMin", |op| arg(op, "ArgMin")),
    with("TopK", top_k),
    same("CumSum", "Cumsum", &[attr("exclusive", "exclusive", Bool(false)), attr("reverse", "reverse", Bool(false))]),
    with("Det", |op| {
        let node = op.node("MatrixDeterminant").with_inputs([op.required(0)?]);
        op.finish(node)
    }),
    same("CumProd", "Cumprod", &[attr("exclusive", "exclusive", Bool(false)), attr("reverse", "reverse", Bool(false))]),
    same("NonMaxSuppression", "NonMaxSuppressionV6", &[attr("center_point_box", "center_point_box", Int(0))]),
];

/// Axes are an attribute before opset `axes_input`, an optional input since; absent means all,
/// unless the node says that it then does nothing.
fn reduce(op: &mut Op, op_type: &str, axes_input: i64, extra: &[(&str, f64)]) -> Result<()> {
    let x = op.required(0)?;
    let axes = op.axes(axes_input)?;
    let empty = axes.is_none_or(|port| op.const_ints(port).is_some_and(<[i64]>::is_empty));
    if empty && op.flag("noop_with_empty_axes", false)? {
        let node = op.node("Identity").with_inputs([x]);
        return op.finish(node);
    }
    let mut node = op.node(op_type).with_inputs([x]);
    node.inputs.extend(axes.filter(|_| !empty).map(Some));
    node.attrs.set("keep_dims", Attr::Bool(op.flag("keepdims", true)?));
    for &(name, value) in extra {
        node.attrs.set(name, Attr::Float(value));
    }
    op.finish(node)
}

/// Ascend's operator drops the axis; where ONNX keeps it, it is put back.
fn arg(op: &mut Op, op_type: &str) -> Result<()> {
    let x = op.required(0)?;
    let axis = op.int("axis")?.unwrap_or(0);
    let dimension = op.int_input("dimension", axis)?;
    let mut node = op.node(op_type).with_inputs([x, dimension]);
    node.attrs.set("dtype", Attr::Type(DataType::Int64));
    if !op.flag("keepdims", true)? {
        return op.finish(node);
    }
    let index = Port::first(op.core(node)?);
    let back = op.ints_input("axes", vec![axis])?;
    let result = op.helper("Unsqueeze", &[index, back], &[])?;
    op.finish_with(result);
    Ok(())
}

/// The number of values is an attribute before opset 10.
fn top_k(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let k = if op.opset < 10 {
        let Some(k) = op.int("k")? else { return Err(op.error("attribute `k` is missing")) };
        op.ints_input("k", vec![k])?
    } else {
        op.required(1)?
    };
    let mut node = op.node("TopK").with_inputs([x, k]);
    node.attrs.set("dim", Attr::Int(op.int("axis")?.unwrap_or(-1)));
    node.attrs.set("largest", Attr::Bool(op.flag("largest", true)?));
    node.attrs.set("sorted", Attr::Bool(op.flag("sorted", true)?));
    node.attrs.set("indices_dtype", Attr::Type(DataType::Int64));
    op.finish(node)
}
