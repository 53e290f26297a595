//! Numbers of few bits with a scale and a zero point.
//!
//! What CANN has an operator for becomes that, what elementwise work says exactly becomes that work. The rest stays as
//! ONNX has it, with the shape of what it reads where that is the shape of its result.

use super::{Rule, window, with};
use crate::frontend::onnx::op::Op;
use crate::frontend::onnx::tensor;
use crate::graph::infer::SHAPES_OF_INPUTS;
use crate::graph::{Attr, Constant, DataType, Port, Shape, TensorDesc};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("QuantizeLinear", quantize),
    with("DequantizeLinear", dequantize),
    with("DynamicQuantizeLinear", dynamic_quantize),
    with("MatMulInteger", matmul_integer),
    with("ConvInteger", conv_integer),
];

/// Whether a zero point is 0 everywhere.
fn is_zero(op: &Op, zero: Port) -> bool {
    match op.value(zero) {
        Some(Constant::Ints(values)) => values.iter().all(|&value| value == 0),
        Some(Constant::Floats(values)) => values.iter().all(|&value| value == 0.0),
        _ => false,
    }
}

/// round(x / scale) + zero point, within the range of the type: CANN's `Quantize`.
fn quantize(op: &mut Op) -> Result<()> {
    let (x, scale, zero) = (op.required(0)?, op.required(1)?, op.input(2));
    let dtype = match (zero, op.int("output_dtype")?.filter(|&number| number != 0)) {
        (Some(zero), _) => op.desc(zero).dtype,
        (None, Some(number)) => tensor::data_type(i32::try_from(number).unwrap_or(-1), &|| {
            format!("node `{}` (QuantizeLinear), attribute `output_dtype`", op.name())
        })?,
        (None, None) => DataType::Uint8,
    };
    let name = match dtype {
        DataType::Int8 => "torch.qint8",
        DataType::Uint8 => "torch.quint8",
        DataType::Int32 => "torch.qint32",
        // CANN has no such operator for types of less or more bits, nor for blocks along an axis.
        _ => return op.keep_like_input(dtype),
    };
    if op.int("block_size")?.unwrap_or(0) != 0 {
        return op.keep_like_input(dtype);
    }
    let mut node = op.node("Quantize").with_inputs([x, scale].into_iter().chain(zero));
    node.attrs.set("axis", Attr::Int(op.int("axis")?.unwrap_or(1)));
    node.attrs.set("dtype", Attr::Str(name.to_owned()));
    op.finish(node)
}

/// (x - zero point) * scale.
fn dequantize(op: &mut Op) -> Result<()> {
    let (x, scale) = (op.required(0)?, op.required(1)?);
    let zero = op.input(2).filter(|&zero| !is_zero(op, zero));
    let dtype = match op.desc(scale).dtype {
        DataType::Undefined => DataType::Float,
        known => known,
    };
    let axis = op.int("axis")?.unwrap_or(1);
    let in_blocks = op.int("block_size")?.unwrap_or(0) != 0;
    let lie = |port: Port| along(op, port, axis);
    let (Some(lies), Some(zeros)) = (lie(scale), zero.map_or(Some(Along::AsItIs), lie)) else {
        return op.keep_like_input(dtype);
    };
    if in_blocks {
        return op.keep_like_input(dtype);
    }
    let mut whole = op.helper("Cast", &[x], &[("dst_type", Attr::Type(dtype))])?;
    if let Some(zero) = zero {
        let zero = laid(op, zero, zeros, "zero_shape")?;
        let zero = op.helper("Cast", &[zero], &[("dst_type", Attr::Type(dtype))])?;
        whole = op.helper("Sub", &[whole, zero], &[])?;
    }
    let scale = laid(op, scale, lies, "scale_shape")?;
    let node = op.node("Mul").with_inputs([whole, scale]);
    op.finish(node)
}

/// How a scale or zero point comes to lie along the axis that it is for.
#[derive(Clone, Copy)]
enum Along {
    /// One number, or a list along the last axis.
    AsItIs,
    /// A list along an axis with so many behind it.
    Before(usize),
}

/// How a parameter lies along this axis of input 0; `None` where that is not known.
fn along(op: &Op, parameter: Port, axis: i64) -> Option<Along> {
    let shape = &op.desc(parameter).shape;
    if shape.rank()? == 0 || shape.elements() == Some(1) || axis == -1 {
        return Some(Along::AsItIs);
    }
    let rank = op.rank(0)?;
    let from_front = usize::try_from(if axis < 0 { axis.saturating_add(rank as i64) } else { axis }).ok()?;
    match rank.checked_sub(from_front)?.checked_sub(1)? {
        0 => Some(Along::AsItIs),
        behind => Some(Along::Before(behind)),
    }
}

fn laid(op: &mut Op, parameter: Port, along: Along, role: &str) -> Result<Port> {
    let Along::Before(behind) = along else { return Ok(parameter) };
    let shape = op.ints_input(role, [vec![-1], vec![1; behind]].concat())?;
    op.helper("Reshape", &[parameter, shape], &[])
}

/// Scale and zero point follow from the values of x, their shapes do not.
fn dynamic_quantize(op: &mut Op) -> Result<()> {
    let mut node = op.unmapped()?;
    node.attrs.set(SHAPES_OF_INPUTS, Attr::Ints(vec![0, -1, -1]));
    let scalars = [None, Some(DataType::Float), Some(DataType::Uint8)];
    for (output, scalar) in node.outputs.iter_mut().zip(scalars) {
        match scalar {
            Some(dtype) => *output = TensorDesc::new(dtype, Shape::scalar()),
            None => output.dtype = DataType::Uint8,
        }
    }
    op.finish(node)
}

/// Whether the operands of an integer product are what the cube multiplies, with no zero point to take off.
fn is_plain(op: &Op) -> bool {
    let is_int8 = |input: usize| op.input(input).is_some_and(|port| op.desc(port).dtype == DataType::Int8);
    let no_zero = |input: usize| op.input(input).is_none_or(|zero| is_zero(op, zero));
    is_int8(0) && is_int8(1) && no_zero(2) && no_zero(3)
}

/// A product of 8-bit integers in 32 bits.
fn matmul_integer(op: &mut Op) -> Result<()> {
    if !is_plain(op) {
        return op.keep_unmapped();
    }
    let mut node = op.node("BatchMatMulV2").with_inputs([op.required(0)?, op.required(1)?]);
    node.attrs.set("adj_x1", Attr::Bool(false));
    node.attrs.set("adj_x2", Attr::Bool(false));
    op.finish(node)
}

/// A convolution of 8-bit integers in 32 bits.
fn conv_integer(op: &mut Op) -> Result<()> {
    if !is_plain(op) {
        return op.keep_unmapped();
    }
    let spatial = window::spatial_rank(op, &[1, 0])?;
    let mut node = op.node(if spatial == 3 { "Conv3D" } else { "Conv2D" });
    node.inputs = vec![Some(op.required(0)?), Some(op.required(1)?)];
    window::set_window(op, &mut node, spatial)?;
    node.attrs.set("groups", Attr::Int(op.int("group")?.unwrap_or(1)));
    op.finish(node)
}
