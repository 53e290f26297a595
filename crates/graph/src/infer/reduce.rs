//! Rules of reductions.

use super::dim::{self, Reason};
use super::{Call, Inference, Inferred, Params};
use crate::{DataType, Shape, TensorDesc};

const AXES: &[&str] = &["axes", "axis", "dims", "dim", "reduce_dims"];
const KEEP: &[&str] = &["keep_dims", "keepdims", "keepdim"];

/// The axes that a reduction removes, one flag per axis; `None` when they are not known.
pub fn reduced(call: &Call<'_>, rank: usize) -> Result<Option<Vec<bool>>, Reason> {
    let named = match call.params(1, AXES) {
        Params::Unknown => return Ok(None),
        Params::Absent => Vec::new(),
        Params::Known(axes) => axes,
    };
    if named.is_empty() {
        // GE takes an input that names no axes for none of them, as TensorFlow does; without that input it is all of them.
        let is_input = call.get(1).is_some();
        return Ok(Some(vec![!call.flag(&["noop_with_empty_axes"], is_input); rank]));
    }
    // Caffe's reduction covers the named axis and all after it.
    if call.node.op_type == "Reduction" {
        let first = dim::axis(named[0], rank)?;
        return Ok(Some((0..rank).map(|i| i >= first).collect()));
    }
    if rank == 0 && named.iter().all(|a| (-1..=0).contains(a)) {
        return Ok(Some(Vec::new()));
    }
    dim::axes(&named, rank).map(Some)
}

fn reduced_shape(call: &Call<'_>) -> Result<Shape, Reason> {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Ok(Shape::unknown_rank()) };
    let keep = call.flag(KEEP, false);
    let Some(gone) = reduced(call, dims.len())? else {
        let count = call.get(1).and_then(|d| d.shape.elements()).and_then(|n| usize::try_from(n).ok());
        let rank = if keep { Some(dims.len()) } else { count.and_then(|n| dims.len().checked_sub(n)) };
        return Ok(rank.map_or(Shape::unknown_rank(), dim::of_rank));
    };
    let sizes = dims.iter().zip(&gone).filter(|(_, gone)| keep || !**gone);
    Ok(Shape::new(sizes.map(|(&d, &gone)| if gone { 1 } else { d }).collect::<Vec<_>>()))
}

/// Reductions in the input's type. `SquareSumV2` and `ReduceMeanVariance` have a second output.
pub(crate) fn reduce(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let reduced = TensorDesc::new(x.dtype, reduced_shape(call)?);
    let second = if call.node.op_type == "SquareSumV2" { x.clone() } else { reduced.clone() };
    Inferred::all(vec![reduced, second])
}

/// Reductions of truth values.
pub(crate) fn reduce_bool(call: &Call<'_>) -> Inference {
    Inferred::shape(DataType::Bool, reduced_shape(call)?)
}

/// Everything becomes one number per output.
pub(crate) fn to_scalar(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    Inferred::all(vec![TensorDesc::new(x.dtype, Shape::scalar()); call.results()])
}

/// Softmax and relatives: like x; `half_to_float` turns float16 into float32.
pub(crate) fn softmax(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    if let Some(dims) = x.shape.dims().filter(|d| !d.is_empty()) {
        along(call, dims.len())?;
    }
    let widened = call.flag(&["half_to_float"], false) && x.dtype == DataType::Float16;
    let dtype = if widened { DataType::Float } else { x.dtype };
    Inferred::all(vec![TensorDesc { dtype, ..x.clone() }])
}

/// The axes along which a softmax, arg-max or the like works; the last where none is named.
pub fn along(call: &Call<'_>, rank: usize) -> Result<Option<Vec<bool>>, Reason> {
    let takes_input = call.node.op_type.starts_with("Arg") || call.node.op_type.starts_with("Cum");
    let named = match call.params(takes_input.then_some(1), &["axes", "axis", "dim", "dimension"]) {
        Params::Unknown => return Ok(None),
        Params::Known(axes) if !axes.is_empty() => axes,
        _ => vec![-1],
    };
    dim::axes(&named, rank).map(Some)
}

/// Position of the extreme along an axis.
fn positions(call: &Call<'_>) -> Result<Shape, Reason> {
    let Some(dims) = call.dims(0)? else { return Ok(Shape::unknown_rank()) };
    let keep = call.flag(KEEP, false);
    let Some(axis) = call.axis(takes_axis_input(call), &["dimension", "axis", "dim"], 0, dims.len())? else {
        return Ok(dim::of_rank(if keep { dims.len() } else { dims.len().saturating_sub(1) }));
    };
    Ok(Shape::new(if keep { dim::with(dims, axis, 1) } else { dim::splice(dims, axis, &[]) }))
}

fn takes_axis_input(call: &Call<'_>) -> Option<usize> {
    (!call.node.op_type.ends_with('D')).then_some(1)
}

/// `ArgMaxV2(x, dimension)` and relatives: int64, or attribute `dtype`.
pub(crate) fn arg_extreme(call: &Call<'_>) -> Inference {
    call.need(0)?;
    Inferred::shape(call.type_attr("dtype").unwrap_or(DataType::Int64), positions(call)?)
}

/// Position and value.
pub(crate) fn arg_with_value(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let shape = positions(call)?;
    Inferred::all(vec![TensorDesc::new(DataType::Int32, shape.clone()), TensorDesc::new(x.dtype, shape)])
}
