//! Constants, and operators that only change or tell a shape.

use super::{Default::Int, Rule, attr, same, with};
use crate::frontend::limits::MAX_DIM;
use crate::frontend::onnx::op::Op;
use crate::frontend::onnx::tensor;
use crate::graph::infer::SHAPES_OF_INPUTS;
use crate::graph::{Attr, CONST, Constant, DataType, Shape, TensorDesc};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("Reshape", reshape),
    same("Flatten", "Flatten", &[attr("axis", "axis", Int(1))]),
    with("Squeeze", |op| squeeze(op, "Squeeze")),
    with("Unsqueeze", |op| squeeze(op, "Unsqueeze")),
    same("Identity", "Identity", &[]),
    with("Dropout", dropout),
    with("Constant", constant),
    with("ConstantOfShape", constant_of_shape),
    same("Range", "Range", &[]),
    with("Shape", shape),
    same("Size", "Size", &[]),
    with("EyeLike", eye_like),
];

/// CANN's `Eye` takes its sizes from attributes, which are not known yet.
fn eye_like(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let dtype = match op.int("dtype")? {
        None => op.desc(x).dtype,
        Some(number) => {
            let place = || format!("node `{}` (EyeLike), attribute `dtype`", op.name());
            tensor::data_type(i32::try_from(number).unwrap_or(-1), &place)?
        }
    };
    op.keep_like_input(dtype)
}

fn reshape(op: &mut Op) -> Result<()> {
    let mut node = op.node("Reshape").with_inputs([op.required(0)?, op.required(1)?]);
    node.attrs.set("allowzero", Attr::Int(op.int("allowzero")?.unwrap_or(0)));
    op.finish(node)
}

/// Axes are an attribute before opset 13, an input since; `Squeeze` may leave them out.
fn squeeze(op: &mut Op, op_type: &str) -> Result<()> {
    let x = op.required(0)?;
    let axes = op.axes(13)?;
    if axes.is_none() && op_type == "Unsqueeze" {
        return Err(op.error("the axes are missing"));
    }
    let mut node = op.node(op_type).with_inputs([x]);
    node.inputs.extend(axes.map(Some));
    op.finish(node)
}

/// Inference lets everything through; a mask that is read has no counterpart.
fn dropout(op: &mut Op) -> Result<()> {
    if op.is_used(1) {
        let mut node = op.unmapped()?;
        node.attrs.set(SHAPES_OF_INPUTS, Attr::Ints(vec![0, 0]));
        if let Some(mask) = node.outputs.get_mut(1) {
            mask.dtype = DataType::Bool;
        }
        return op.finish(node);
    }
    let mut node = op.node("Identity").with_inputs([op.required(0)?]);
    node.outputs.truncate(1);
    op.finish(node)
}

fn constant(op: &mut Op) -> Result<()> {
    let list = |len: usize| Shape::new([len as i64]);
    let ints = |v: Vec<i64>, shape| (TensorDesc::new(DataType::Int64, shape), Constant::Ints(v));
    let floats = |v: Vec<f64>, shape| (TensorDesc::new(DataType::Float, shape), Constant::Floats(v));
    let (desc, value) = if let Some(tensor) = op.tensor("value")? {
        tensor
    } else if let Some(v) = op.int("value_int")? {
        ints(vec![v], Shape::scalar())
    } else if let Some(v) = op.ints("value_ints")? {
        let shape = list(v.len());
        ints(v, shape)
    } else if let Some(v) = op.float("value_float")? {
        floats(vec![v], Shape::scalar())
    } else if let Some(v) = op.floats("value_floats")? {
        let shape = list(v.len());
        floats(v, shape)
    } else if let Some(desc) = op.sparse_tensor("sparse_value")? {
        (desc, Constant::Opaque)
    } else if op.attr("value_string").is_some() {
        (TensorDesc::new(DataType::String, Shape::scalar()), Constant::Opaque)
    } else if let Some(strings) = op.attr("value_strings") {
        (TensorDesc::new(DataType::String, list(strings.strings.len())), Constant::Opaque)
    } else {
        return Err(op.error("the constant has no value"));
    };
    let mut node = op.node(CONST);
    node.outputs = vec![desc];
    node.value = Some(value);
    op.finish(node)
}

/// The value is an attribute in ONNX (absent: one 32-bit zero), input 1 here.
fn constant_of_shape(op: &mut Op) -> Result<()> {
    let dims = op.required(0)?;
    let zero = || (TensorDesc::new(DataType::Float, Shape::scalar()), Constant::Floats(vec![0.0]));
    let (desc, value) = op.tensor("value")?.unwrap_or_else(zero);
    if desc.shape.elements() != Some(1) {
        return Err(op.error(format!("attribute `value` has shape {}, not one element", desc.shape)));
    }
    let value = op.constant_input("value", TensorDesc::new(desc.dtype, Shape::scalar()), value)?;
    let mut node = op.node("Fill").with_inputs([dims, value]);
    // Models whose weights are made this way need their ranks before shapes are inferred.
    if let Some(sizes) = op.const_ints(dims).filter(|sizes| sizes.iter().all(|d| (0..=MAX_DIM).contains(d))) {
        node.outputs = vec![TensorDesc::new(desc.dtype, Shape::new(sizes))];
    }
    op.finish(node)
}

/// The range of dimensions, since opset 15, as attributes.
fn shape(op: &mut Op) -> Result<()> {
    let mut node = op.node("Shape").with_inputs([op.required(0)?]);
    for name in ["start", "end"] {
        if let Some(at) = op.int(name)? {
            node.attrs.set(name, Attr::Int(at));
        }
    }
    node.attrs.set("dtype", Attr::Type(DataType::Int64));
    op.finish(node)
}
