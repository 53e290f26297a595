//! Rules of operators whose outputs match their inputs element by element.

use super::dim::{self, Reason};
use super::{Call, Inference, Inferred};
use crate::{DataType, Format, Shape, TensorDesc};

/// Every output is like input 0.
pub(crate) fn same(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    Inferred::all(vec![x.clone(); call.results()])
}

/// Output `i` is like input `i`: updates in place, `NetOutput`.
pub(crate) fn mirror(call: &Call<'_>) -> Inference {
    let like = |i| call.get(i).cloned().unwrap_or_else(TensorDesc::unknown);
    Inferred::all((0..call.results()).map(like).collect())
}

/// Shape of all connected inputs broadcast together, unknown when one of them has no known rank.
fn common_shape(call: &Call<'_>) -> Result<Shape, Reason> {
    call.need(0)?;
    let mut common = Vec::new();
    for (_, desc) in call.connected() {
        let Some(dims) = desc.shape.dims() else { return Ok(Shape::unknown_rank()) };
        common = dim::broadcast(&common, dims)?;
    }
    Ok(Shape::new(common))
}

/// Layout of the first input that has one and the output's rank.
fn common_format(call: &Call<'_>, shape: &Shape) -> Format {
    let fits = |desc: &&TensorDesc| desc.format != Format::Nd && desc.shape.rank() == shape.rank();
    call.connected().map(|(_, desc)| desc).find(fits).map_or(Format::Nd, |d| d.format)
}

fn broadcast_to(call: &Call<'_>, dtype: DataType) -> Inference {
    let shape = common_shape(call)?;
    let format = common_format(call, &shape);
    Inferred::all(vec![TensorDesc { dtype, shape, format }; call.results()])
}

/// Inputs broadcast; the type is that of the first input that has one.
pub(crate) fn broadcast(call: &Call<'_>) -> Inference {
    let typed = call.connected().map(|(_, d)| d.dtype).find(|&t| t != DataType::Undefined);
    broadcast_to(call, typed.unwrap_or(DataType::Undefined))
}

/// Inputs broadcast to a truth value.
pub(crate) fn compare(call: &Call<'_>) -> Inference {
    broadcast_to(call, DataType::Bool)
}

/// Like input 0, but truth values.
pub(crate) fn to_bool(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    Inferred::all(vec![TensorDesc { dtype: DataType::Bool, ..x.clone() }])
}

/// (condition, then, else): the type of the branches. `Select` takes a condition of rank 1 as one
/// that picks rows.
pub(crate) fn select(call: &Call<'_>) -> Inference {
    let (condition, then) = (call.need(0)?, call.need(1)?);
    call.need(2)?;
    if call.node.op_type == "Select" && condition.shape.rank() == Some(1) && then.shape.rank() != Some(1) {
        return Inferred::all(vec![then.clone()]);
    }
    broadcast_to(call, then.dtype)
}

/// The type is attribute `dst_type`, or that of input 1 (`CastLike`).
pub(crate) fn cast(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let target = call.type_attr("dst_type").or_else(|| call.type_attr("type")).or(call.get(1).map(|d| d.dtype));
    let declared = call.node.outputs.first().map_or(DataType::Undefined, |d| d.dtype);
    Inferred::all(vec![TensorDesc { dtype: target.unwrap_or(declared), ..x.clone() }])
}

/// `ReluV2`: the result, and a mask of one bit per element.
pub(crate) fn relu_v2(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    Inferred::all(vec![x.clone(), TensorDesc { dtype: DataType::Uint1, ..x.clone() }])
}

/// Gated activations: the halves of one axis multiply, so that it shrinks to half.
pub(crate) fn glu(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let Some(axis) = call.axis(None, &["dim", "axis"], -1, dims.len())? else { return Inferred::unknown(x.dtype) };
    if dims[axis] % 2 != 0 && dims[axis] > 0 {
        return Err(format!("axis {axis} of size {} cannot be halved", dims[axis]));
    }
    let half = if dims[axis] < 0 { dims[axis] } else { dims[axis] / 2 };
    Inferred::all(vec![TensorDesc::new(x.dtype, Shape::new(dim::with(dims, axis, half))); call.results()])
}

/// Like input 0 in the quantised type: attribute `dst_type` or `dtype`, where types may have torch's names, else int8.
pub(crate) fn quantize(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let torch = || match call.str("dtype")? {
        "torch.quint8" => Some(DataType::Uint8),
        "torch.qint32" => Some(DataType::Int32),
        _ => None,
    };
    let named = call.type_attr("dst_type").or_else(|| call.type_attr("dtype"));
    let dtype = named.or_else(torch).unwrap_or(DataType::Int8);
    let mut outputs = vec![TensorDesc { dtype, ..x.clone() }];
    if let ("DynamicQuant", Some([rows @ .., _])) = (call.node.op_type.as_str(), x.shape.dims()) {
        outputs.push(TensorDesc::new(DataType::Float, Shape::new(rows)));
    }
    Inferred::all(outputs)
}

/// Like input 0 in floating point: attribute `dtype`, else float16 as the cube's output is.
pub(crate) fn dequantize(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let dtype = call.type_attr("dtype").or_else(|| call.type_attr("dst_type")).unwrap_or(DataType::Float16);
    Inferred::all(vec![TensorDesc { dtype, ..x.clone() }])
}

/// Rotary embeddings turn each input in place; cosine and sine are the last two inputs.
pub(crate) fn rotary(call: &Call<'_>) -> Inference {
    mirror(call)
}
