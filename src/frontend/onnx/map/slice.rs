//! Cutting and padding: split, slice, pad.

use super::{Rule, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("Split", split), with("Slice", slice), with("Pad", pad)];

/// `Split` into equal parts, `SplitV` with the sizes as input 1; the axis is an attribute of both.
/// Sizes are an attribute before opset 13, an optional input since.
fn split(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let axis = op.int("axis")?.unwrap_or(0);
    let sizes = if op.opset < 13 {
        match op.ints("split")? {
            Some(sizes) => Some(op.ints_input("size_splits", sizes)?),
            None => None,
        }
    } else {
        op.input(1)
    };
    let parts = op.output_count();
    if let Some(stated) = op.int("num_outputs")?.filter(|&stated| stated != parts as i64) {
        return Err(op.error(format!("attribute `num_outputs` is {stated}, and the node has {parts} outputs")));
    }
    let sizes = match sizes {
        None => last_smaller(op, x, axis, parts)?,
        stated => stated,
    };
    let mut node = match sizes {
        Some(sizes) => op.node("SplitV").with_inputs([x, sizes]),
        None => op.node("Split").with_inputs([x]),
    };
    node.attrs.set("split_dim", Attr::Int(axis));
    node.attrs.set("num_split", Attr::Int(parts as i64));
    op.finish(node)
}

/// The sizes of so many parts of an axis that does not come out even: since opset 18 the last one is smaller. CANN's `Split`
/// has equal parts only.
fn last_smaller(op: &mut Op, x: Port, axis: i64, parts: usize) -> Result<Option<Port>> {
    let desc = op.told(x);
    let size = desc.shape.dims().and_then(|dims| {
        let axis = if axis < 0 { axis.checked_add(dims.len() as i64)? } else { axis };
        dims.get(usize::try_from(axis).ok()?).copied()
    });
    let count = parts as i64;
    let Some(size) = size.filter(|size| op.opset >= 18 && count > 0 && *size >= 0 && size % count != 0) else {
        return Ok(None);
    };
    let part = size / count + 1;
    let sizes: Vec<i64> = (0..count).map(|at| (size - part.saturating_mul(at)).clamp(0, part)).collect();
    op.ints_input("size_splits", sizes).map(Some)
}

/// Inputs x, begin, end, axes, strides; attributes before opset 10.
fn slice(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let mut node = op.node("StridedSliceV2");
    if op.opset < 10 {
        let Some(starts) = op.ints("starts")? else { return Err(op.error("attribute `starts` is missing")) };
        let Some(ends) = op.ints("ends")? else { return Err(op.error("attribute `ends` is missing")) };
        let axes = op.ints("axes")?;
        node.inputs = vec![Some(x), Some(op.ints_input("begin", starts)?), Some(op.ints_input("end", ends)?)];
        if let Some(axes) = axes {
            node.inputs.push(Some(op.ints_input("axes", axes)?));
        }
    } else {
        node.inputs = vec![Some(x), Some(op.required(1)?), Some(op.required(2)?)];
        node.inputs.extend((3..op.input_count().min(5)).map(|i| op.input(i)));
    }
    op.finish(node)
}

/// Inputs x, paddings, constant value, and since opset 18 axes. The paddings keep ONNX's order, all
/// beginnings before all ends, which `paddings_contiguous` = false says.
fn pad(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let mut node = op.node("PadV3");
    if op.opset < 11 {
        let Some(pads) = op.ints("pads")? else { return Err(op.error("attribute `pads` is missing")) };
        let paddings = op.ints_input("paddings", pads)?;
        let value = op.float("value")?.unwrap_or(0.0);
        let value = op.number_input("constant_values", value, x)?;
        node.inputs = vec![Some(x), Some(paddings), Some(value)];
    } else {
        node.inputs = vec![Some(x), Some(op.required(1)?)];
        node.inputs.extend((2..op.input_count().min(4)).map(|i| op.input(i)));
    }
    node.attrs.set("mode", Attr::Str(op.str("mode")?.unwrap_or_else(|| "constant".to_owned())));
    node.attrs.set("paddings_contiguous", Attr::Bool(false));
    op.finish(node)
}
