//! Numbers of few bits with a scale and a zero point.
//!
//! What CANN has an operator for becomes that, what elementwise work says exactly becomes that work. The rest stays as
//! ONNX has it, with the shape of what it reads where that is the shape of its result. `integer` has products,
//! `qlinear` operators between quantised tensors.

use super::{Rule, with};
use crate::frontend::onnx::op::Op;
use crate::frontend::onnx::tensor;
use crate::graph::{Attr, DataType, Node, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("QuantizeLinear", quantize),
    with("DequantizeLinear", dequantize),
    with("DynamicQuantizeLinear", dynamic_quantize),
];

const BLOCKS: &str = "CANN's quantisation has no blocks along an axis";

/// round(x / scale) + zero point, within the range of the type: CANN's `Quantize`.
pub fn quantize(op: &mut Op) -> Result<()> {
    let (x, scale, zero) = (op.required(0)?, op.required(1)?, op.input(2));
    let dtype = match (zero, op.int("output_dtype")?.filter(|&number| number != 0)) {
        (Some(zero), _) => op.element_type(zero),
        (None, Some(number)) => tensor::data_type(i32::try_from(number).unwrap_or(-1), &|| {
            format!("node `{}` (QuantizeLinear), attribute `output_dtype`", op.name())
        })?,
        (None, None) => DataType::Uint8,
    };
    if quantized_name(dtype).is_none() {
        let why = match dtype {
            DataType::Undefined => "the type that it quantises to is not known".to_owned(),
            other => format!("CANN quantises to 8 or 32 bits, and this is {}", other.name()),
        };
        return op.keep_like_input_because(dtype, why);
    }
    if op.int("block_size")?.unwrap_or(0) != 0 {
        return op.keep_like_input_because(dtype, BLOCKS);
    }
    let axis = axis_of_scales(op, scale)?;
    let node = op.node("Quantize");
    finish_quantized(op, node, x, &Scaled { scale, zero, dtype, axis })
}

/// The axis along which scales lie; one scale lies along none, whatever is stated.
fn axis_of_scales(op: &Op, scale: Port) -> Result<i64> {
    let axis = op.int("axis")?.unwrap_or(1);
    let is_list = op.told(scale).shape.elements().is_some_and(|scales| scales > 1);
    match op.found_rank(0).map(|rank| rank as i64) {
        Some(rank) if is_list && !(-rank..rank).contains(&axis) => {
            Err(op.error(format!("its scales lie along axis {axis}, which is outside a tensor of rank {rank}")))
        }
        _ => Ok(axis),
    }
}

/// How CANN's `Quantize` calls a type that it quantises to.
fn quantized_name(dtype: DataType) -> Option<&'static str> {
    match dtype {
        DataType::Int8 => Some("torch.qint8"),
        DataType::Uint8 => Some("torch.quint8"),
        DataType::Int32 => Some("torch.qint32"),
        _ => None,
    }
}

/// How a tensor is quantised.
pub struct Scaled {
    pub scale: Port,
    pub zero: Option<Port>,
    /// int8, uint8 or int32.
    pub dtype: DataType,
    /// Axis along which scales lie, where there are several.
    pub axis: i64,
}

impl Scaled {
    fn attrs(&self, op: &Op) -> Result<[(&'static str, Attr); 2]> {
        let name = quantized_name(self.dtype);
        let name =
            name.ok_or_else(|| op.error(format!("it gives {}, and quantises to 8 or 32 bits", self.dtype.name())))?;
        Ok([("axis", Attr::Int(self.axis)), ("dtype", Attr::Str(name.to_owned()))])
    }
}

/// A tensor quantised on the way to the operator's result.
pub fn quantized(op: &mut Op, x: Port, how: &Scaled) -> Result<Port> {
    let inputs: Vec<Port> = [x, how.scale].into_iter().chain(how.zero).collect();
    let attrs = how.attrs(op)?;
    op.helper("Quantize", &inputs, &attrs)
}

/// Finishes the operator with the node that quantises its result.
pub fn finish_quantized(op: &mut Op, mut node: Node, x: Port, how: &Scaled) -> Result<()> {
    node.inputs = [x, how.scale].into_iter().chain(how.zero).map(Some).collect();
    for (name, value) in how.attrs(op)? {
        node.attrs.set(name, value);
    }
    op.finish(node)
}

/// (x - zero point) * scale.
pub fn dequantize(op: &mut Op) -> Result<()> {
    let (x, scale) = (op.required(0)?, op.required(1)?);
    let dtype = float_type(op, scale);
    let axis = axis_of_scales(op, scale)?;
    if op.int("block_size")?.unwrap_or(0) != 0 {
        return op.keep_like_input_because(dtype, BLOCKS);
    }
    let Some((whole, scale)) = without_zero(op, x, scale, op.input(2), axis)? else {
        let why = format!(
            "its scales lie along axis {axis}, and the number of axes of what it reads, or of its scales, is not known where \
             the model is read: state the shape of the model's inputs, or of this tensor (onnx.shape_inference adds it)"
        );
        return op.keep_like_input_because(dtype, why);
    };
    let node = op.node("Mul").with_inputs([whole, scale]);
    op.finish(node)
}

/// Type of what a scale makes of integers.
fn float_type(op: &Op, scale: Port) -> DataType {
    match op.desc(scale).dtype {
        DataType::Undefined => DataType::Float,
        known => known,
    }
}

/// The factors of (x - zero point) * scale; `None` where it is not known how a list of them lies.
fn without_zero(op: &mut Op, x: Port, scale: Port, zero: Option<Port>, axis: i64) -> Result<Option<(Port, Port)>> {
    let zero = zero.filter(|&zero| !op.is_zero(zero));
    let dtype = float_type(op, scale);
    let rank = op.told(x).shape.rank();
    let lie = |port: Port| along(op, port, rank, axis);
    let (Some(lies), Some(zeros)) = (lie(scale), zero.map_or(Some(Along::AsItIs), lie)) else { return Ok(None) };
    let mut whole = op.helper("Cast", &[x], &[("dst_type", Attr::Type(dtype))])?;
    if let Some(zero) = zero {
        let zero = laid(op, zero, zeros, "zero_shape")?;
        let zero = op.helper("Cast", &[zero], &[("dst_type", Attr::Type(dtype))])?;
        whole = op.helper("Sub", &[whole, zero], &[])?;
    }
    Ok(Some((whole, laid(op, scale, lies, "scale_shape")?)))
}

/// What a quantised tensor stands for; its scale and zero point are one number each.
pub fn dequantized(op: &mut Op, x: Port, scale: Port, zero: Option<Port>) -> Result<Option<Port>> {
    let Some((whole, scale)) = without_zero(op, x, scale, zero, -1)? else { return Ok(None) };
    op.helper("Mul", &[whole, scale], &[]).map(Some)
}

/// How a scale or zero point comes to lie along the axis that it is for.
#[derive(Clone, Copy)]
enum Along {
    /// One number, or a list along the last axis.
    AsItIs,
    /// A list along an axis with so many behind it.
    Before(usize),
}

/// How a parameter lies along this axis of a tensor of this rank; `None` where that is not known.
fn along(op: &Op, parameter: Port, rank: Option<usize>, axis: i64) -> Option<Along> {
    let shape = op.told(parameter).shape;
    if shape.rank()? == 0 || shape.elements() == Some(1) || axis == -1 {
        return Some(Along::AsItIs);
    }
    let rank = rank?;
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

/// Scale and zero point of uint8 from the least and the greatest value, which count 0 in.
pub fn by_range(op: &mut Op, x: Port) -> Result<Scaled> {
    let nothing = op.number_input("zero", 0.0, x)?;
    // No axes: over all of them.
    let all = [("keep_dims", Attr::Bool(false))];
    let high = op.helper("ReduceMax", &[x], &all)?;
    let high = op.helper("Maximum", &[high, nothing], &[])?;
    let low = op.helper("ReduceMin", &[x], &all)?;
    let low = op.helper("Minimum", &[low, nothing], &[])?;
    let range = op.helper("Sub", &[high, low], &[])?;
    let scale = op.helper("Muls", &[range], &[("value", Attr::Float(1.0 / 255.0))])?;
    let below = op.helper("RealDiv", &[low, scale], &[])?;
    let below = op.helper("Neg", &[below], &[])?;
    let whole = op.helper("Rint", &[below], &[])?;
    let zero = op.helper("Cast", &[whole], &[("dst_type", Attr::Type(DataType::Uint8))])?;
    Ok(Scaled { scale, zero: Some(zero), dtype: DataType::Uint8, axis: 1 })
}

/// Scale and zero point by the range; then as `QuantizeLinear` to uint8.
fn dynamic_quantize(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let how = by_range(op, x)?;
    let (scale, zero) = (how.scale, how.zero);
    let mut node = op.node("Quantize");
    node.outputs.truncate(1);
    finish_quantized(op, node, x, &how)?;
    op.finish_output(1, scale);
    if let Some(zero) = zero {
        op.finish_output(2, zero);
    }
    Ok(())
}
