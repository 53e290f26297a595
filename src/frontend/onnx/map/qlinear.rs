//! Operators between quantised tensors: those of ONNX, and those that ONNX Runtime adds in a domain of its own.
//!
//! Products are those of integers, whose sums are scaled once at the end; the others work on what the numbers stand for.

use super::integer::{self, Factor, Places};
use super::quantized::{self, Scaled, dequantized};
use super::{Rule, pool, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, DataType, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("QLinearMatMul", matmul), with("QLinearConv", conv)];

/// Operators of domain `com.microsoft`.
pub const MICROSOFT: &[Rule] = &[
    with("QLinearAdd", |op| binary(op, "Add")),
    with("QLinearMul", |op| binary(op, "Mul")),
    with("QLinearSigmoid", |op| unary(op, "Sigmoid", &[])),
    with("QLinearLeakyRelu", leaky_relu),
    with("QLinearSoftmax", softmax),
    with("QLinearConcat", concat),
    with("QLinearGlobalAveragePool", global_average),
    with("QLinearAveragePool", average),
    with("QLinearReduceMean", mean),
    with("QGemm", gemm),
    with("DynamicQuantizeMatMul", dynamic_matmul),
    with("QLinearWhere", choose),
    with("QLinearMatMul", matmul),
    with("QLinearConv", conv),
    with("QuantizeLinear", quantized::quantize),
    with("DequantizeLinear", quantized::dequantize),
    with("MatMulIntegerToFloat", matmul_to_float),
];

/// Whether a tensor is one number.
fn is_number(op: &Op, port: Port) -> bool {
    op.desc(port).shape.elements() == Some(1)
}

/// The operator as it is; what it gives has the shape of its first tensor.
fn keep(op: &mut Op, zero: Option<usize>) -> Result<()> {
    let dtype = zero.and_then(|zero| op.input(zero)).map_or(DataType::Uint8, |zero| op.element_type(zero));
    op.keep_like_input(dtype)
}

/// Quantises the result as the scale and the zero point at these inputs say.
fn finish(op: &mut Op, x: Port, scale: usize, zero: usize) -> Result<()> {
    let how = result(op, scale, zero)?;
    let node = op.node("Quantize");
    quantized::finish_quantized(op, node, x, &how)
}

fn result(op: &Op, scale: usize, zero: usize) -> Result<Scaled> {
    let zero = op.input(zero);
    let dtype = match zero.map(|zero| op.element_type(zero)) {
        None | Some(DataType::Undefined) => DataType::Uint8,
        Some(known) => known,
    };
    Ok(Scaled { scale: op.required(scale)?, zero, dtype, axis: 1 })
}

/// Quantises sums of products under a node of its own name: the product has the operator's.
fn requantize(op: &mut Op, sums: Port, scales: [usize; 3], zero: usize, axis: i64) -> Result<()> {
    let (left, right) = (op.required(scales[0])?, op.required(scales[1])?);
    let product = op.helper("Mul", &[left, right], &[])?;
    requantize_by(op, sums, product, scales[2], zero, axis)
}

/// The same of sums with this scale.
fn requantize_by(op: &mut Op, sums: Port, scale: Port, out: usize, zero: usize, axis: i64) -> Result<()> {
    let how = result(op, out, zero)?;
    let scale = op.helper("RealDiv", &[how.scale, scale], &[])?;
    let wide = op.helper("Cast", &[sums], &[("dst_type", Attr::Type(DataType::Float))])?;
    let quantized = quantized::quantized(op, wide, &Scaled { scale, axis, ..how })?;
    op.finish_with(quantized);
    Ok(())
}

/// What sums of products stand for, with this scale and a bias that is not quantised.
fn real_sums(op: &mut Op, sums: Port, scale: Port, bias: Option<Port>) -> Result<Port> {
    let wide = op.helper("Cast", &[sums], &[("dst_type", Attr::Type(DataType::Float))])?;
    let result = op.helper("Mul", &[wide, scale], &[])?;
    bias.map_or(Ok(result), |bias| op.helper("Add", &[result, bias], &[]))
}

/// A, its scale and zero point; B and its; C in the scale of the product; scale and zero point of the result, which is not
/// quantised where there are none.
fn gemm(op: &mut Op) -> Result<()> {
    let (a, rows, b, columns) = (op.required(0)?, op.required(1)?, op.required(3)?, op.required(4)?);
    let factors = [
        Factor { values: a, zero: op.input(2), turned: op.flag("transA", false)? },
        Factor { values: b, zero: op.input(5), turned: op.flag("transB", false)? },
    ];
    let Some(mut sums) = (if is_number(op, rows) { integer::product_of(op, factors)? } else { None }) else {
        return op.keep_unmapped();
    };
    if let Some(c) = op.input(6) {
        sums = op.helper("Add", &[sums, c], &[])?;
    }
    let mut scale = op.helper("Mul", &[rows, columns], &[])?;
    let alpha = op.float("alpha")?.unwrap_or(1.0);
    if (alpha - 1.0).abs() > f64::EPSILON {
        scale = op.helper("Muls", &[scale], &[("value", Attr::Float(alpha))])?;
    }
    if op.input(7).is_some() {
        return requantize_by(op, sums, scale, 7, 8, -1);
    }
    let result = real_sums(op, sums, scale, None)?;
    op.finish_with(result);
    Ok(())
}

/// A tensor that is quantised by its range, a matrix with scale and zero point, a bias.
fn dynamic_matmul(op: &mut Op) -> Result<()> {
    let (x, weights, columns) = (op.required(0)?, op.required(1)?, op.required(2)?);
    let how = quantized::by_range(op, x)?;
    let quantized = quantized::quantized(op, x, &how)?;
    let factors = [
        Factor { values: quantized, zero: how.zero, turned: false },
        Factor { values: weights, zero: op.input(3), turned: false },
    ];
    let Some(sums) = integer::product_of(op, factors)? else {
        return op.keep_shaped_as("BatchMatMulV2", DataType::Float);
    };
    let scale = op.helper("Mul", &[how.scale, columns], &[])?;
    let bias = op.input(4);
    let result = real_sums(op, sums, scale, bias)?;
    op.finish_with(result);
    Ok(())
}

/// a, its scale and zero point; b and its; scale and zero point of the result.
fn matmul(op: &mut Op) -> Result<()> {
    let at = Places { left: 0, right: 3, left_zero: Some(2), right_zero: Some(5) };
    let (rows, result) = (op.required(1)?, op.required(6)?);
    // Scales for each row need an axis of their own in CANN's operator; those for each column lie along the last.
    let by_number = is_number(op, rows) && is_number(op, result);
    match if by_number { integer::product(op, &at)? } else { None } {
        Some(sums) => requantize(op, sums, [1, 4, 6], 7, -1),
        None => op.keep_unmapped(),
    }
}

/// x, its scale and zero point; the filter and its; scale and zero point of the result; a bias of 32 bits.
fn conv(op: &mut Op) -> Result<()> {
    let at = Places { left: 0, right: 3, left_zero: Some(2), right_zero: Some(5) };
    let bias = op.input(8);
    match integer::convolution(op, &at, bias)? {
        Some(sums) => requantize(op, sums, [1, 4, 6], 7, 1),
        None => op.keep_unmapped(),
    }
}

/// a, b, their scales, their zero points, a bias of the result, which is not quantised.
fn matmul_to_float(op: &mut Op) -> Result<()> {
    let at = Places { left: 0, right: 1, left_zero: Some(4), right_zero: Some(5) };
    let (rows, columns) = (op.required(2)?, op.required(3)?);
    let dtype = op.element_type(rows);
    let Some(sums) = (if is_number(op, rows) { integer::product(op, &at)? } else { None }) else {
        return op.keep_shaped_as("BatchMatMulV2", dtype);
    };
    let scale = op.helper("Mul", &[rows, columns], &[])?;
    let bias = op.input(6);
    let result = real_sums(op, sums, scale, bias)?;
    op.finish_with(result);
    Ok(())
}

/// What the tensor at an input stands for, whose scale and zero point are the two behind it.
fn real(op: &mut Op, input: usize) -> Result<Option<Port>> {
    let (x, scale, zero) = (op.required(input)?, op.required(input + 1)?, op.input(input + 2));
    if !is_number(op, scale) {
        return Ok(None);
    }
    dequantized(op, x, scale, zero)
}

fn binary(op: &mut Op, op_type: &str) -> Result<()> {
    let (Some(left), Some(right)) = (real(op, 0)?, real(op, 3)?) else {
        return op.keep_shaped_as(op_type, DataType::Uint8);
    };
    let sum = op.helper(op_type, &[left, right], &[])?;
    finish(op, sum, 6, 7)
}

fn unary(op: &mut Op, op_type: &str, attrs: &[(&str, Attr)]) -> Result<()> {
    let Some(x) = real(op, 0)? else { return keep(op, Some(4)) };
    let y = op.helper(op_type, &[x], attrs)?;
    finish(op, y, 3, 4)
}

fn leaky_relu(op: &mut Op) -> Result<()> {
    let slope = op.float("alpha")?.unwrap_or(0.01);
    unary(op, "LeakyRelu", &[("negative_slope", Attr::Float(slope))])
}

/// Along one axis; in the sense of operator sets before 13, along that and all behind it, which is known to be one axis
/// for the last only.
fn softmax(op: &mut Op) -> Result<()> {
    let axis = op.int("axis")?.unwrap_or(-1);
    let flattens = op.int("opset")?.unwrap_or(13) < 13;
    let is_last = axis == -1 || op.rank(0).is_some_and(|rank| axis == rank as i64 - 1);
    if flattens && !is_last {
        return keep(op, Some(4));
    }
    unary(op, "SoftmaxV2", &[("axes", Attr::Ints(vec![axis]))])
}

/// Scale and zero point of the result, then each tensor with its own.
fn concat(op: &mut Op) -> Result<()> {
    let Some(axis) = op.int("axis")? else { return Err(op.error("attribute `axis` is missing")) };
    let mut parts = Vec::new();
    for first in (2..op.input_count()).step_by(3) {
        match real(op, first)? {
            Some(part) => parts.push(part),
            None => return op.keep_unmapped(),
        }
    }
    if parts.is_empty() {
        return Err(op.error("there is nothing to join"));
    }
    let attrs = [("concat_dim", Attr::Int(axis)), ("N", Attr::Int(parts.len() as i64))];
    let joined = op.helper("ConcatD", &parts, &attrs)?;
    finish(op, joined, 0, 1)
}

/// An image with its channels before its space, and what puts its result back; `None` where it is not known how many axes
/// it has.
fn channels_first(op: &mut Op, x: Port) -> Result<Option<(Port, Vec<i64>)>> {
    if !op.flag("channels_last", false)? {
        return Ok(Some((x, Vec::new())));
    }
    let Some(rank) = op.rank(0).filter(|rank| (3..=5).contains(rank)) else { return Ok(None) };
    let last = rank as i64 - 1;
    let first = op.transposed(x, &[&[0, last][..], &(1..last).collect::<Vec<_>>()].concat())?;
    Ok(Some((first, [&[0][..], &(2..=last).collect::<Vec<_>>(), &[1]].concat())))
}

/// A pool between quantised images.
fn pooled(op: &mut Op, pool: impl FnOnce(&mut Op, Port) -> Result<Port>) -> Result<()> {
    let Some(x) = real(op, 0)? else { return op.keep_unmapped() };
    let Some((x, back)) = channels_first(op, x)? else { return op.keep_unmapped() };
    let mut y = pool(op, x)?;
    if !back.is_empty() {
        y = op.transposed(y, &back)?;
    }
    finish(op, y, 3, 4)
}

fn global_average(op: &mut Op) -> Result<()> {
    pooled(op, |op, x| op.helper("GlobalAveragePool", &[x], &[]))
}

fn average(op: &mut Op) -> Result<()> {
    pooled(op, |op, x| {
        let form = pool::average_form(op)?;
        let attrs: Vec<(&str, Attr)> = form.attrs.iter().map(|(name, value)| (name, value.clone())).collect();
        op.helper(&form.op_type, &[x], &attrs)
    })
}

fn mean(op: &mut Op) -> Result<()> {
    let Some(x) = real(op, 0)? else { return op.keep_unmapped() };
    let mut inputs = vec![x];
    if let Some(axes) = op.ints("axes")?.filter(|axes| !axes.is_empty()) {
        inputs.push(op.ints_input("axes", axes)?);
    }
    let keeps = op.flag("keepdims", true)?;
    let y = op.helper("ReduceMean", &inputs, &[("keep_dims", Attr::Bool(keeps))])?;
    finish(op, y, 3, 4)
}

/// A condition, the two tensors with scales and zero points, and those of the result.
fn choose(op: &mut Op) -> Result<()> {
    let condition = op.required(0)?;
    let (Some(this), Some(that)) = (real(op, 1)?, real(op, 4)?) else { return op.keep_unmapped() };
    let chosen = op.helper("SelectV2", &[condition, this, that], &[])?;
    finish(op, chosen, 7, 8)
}
