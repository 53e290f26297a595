//! Rules of operators that pick elements by position: gathers, scatters, top-k.

use super::dim::{self, Reason, UNKNOWN};
use super::value::{Elements, Value, small, strides};
use super::{Call, Inference, Inferred, Params};
use crate::{DataType, Shape, TensorDesc};

/// `GatherV2(x, indices, axis)`: the axis gives way to the axes of the indices; the first `batch_dims`
/// axes are shared.
pub(crate) fn gather(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let indices = call.need(1)?;
    let (Some(dims), Some(index)) = (x.shape.dims(), indices.shape.dims()) else {
        return Inferred::unknown(x.dtype);
    };
    let Some(axis) = call.axis(2, &["axis"], 0, dims.len())? else { return Inferred::unknown(x.dtype) };
    let batch = call.int(&["batch_dims"]).unwrap_or(0);
    // Counted from behind, batch_dims refers to the indices.
    let batch = if batch < 0 { batch.saturating_add(index.len() as i64) } else { batch };
    let batch = usize::try_from(batch).ok().filter(|&b| b <= axis && b <= index.len());
    let batch = batch.ok_or("`batch_dims` lies beyond the axis or the indices")?;
    Inferred::dims(x.dtype, dim::splice(dims, axis, &index[batch..]))
}

/// Sizes of what one index of `GatherNd` picks, after the `batch_dims` shared axes.
pub(crate) fn gather_nd(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some(dims), Some(index)) = (x.shape.dims(), call.dims(1)?) else { return Inferred::unknown(x.dtype) };
    let batch = usize::try_from(call.int(&["batch_dims"]).unwrap_or(0)).map_err(|_| "`batch_dims` is negative")?;
    let Some((&depth, outer)) = index.split_last() else { return Err("the indices are a scalar".into()) };
    if depth < 0 {
        return Inferred::unknown(x.dtype);
    }
    let skipped = usize::try_from(depth).ok().and_then(|d| d.checked_add(batch)).filter(|&n| n <= dims.len());
    let Some(skipped) = skipped else { return Err(format!("{depth} positions in a tensor of rank {}", dims.len())) };
    Inferred::dims(x.dtype, [outer, &dims[skipped..]].concat())
}

/// `GatherElements(x, indices)`: an element for each index; the indices reach beyond x on the axis at most.
pub(crate) fn gather_elements(call: &Call<'_>) -> Inference {
    let (x, indices) = (call.need(0)?, call.need(1)?);
    if let (Some(dims), Some(index)) = (x.shape.dims(), indices.shape.dims()) {
        let axis = dim::axis(call.int(&["dim", "axis"]).unwrap_or(0), dims.len())?;
        let beyond = |(i, (&d, &n)): (usize, (&i64, &i64))| i != axis && d >= 0 && n > d;
        if dims.len() != index.len() || dims.iter().zip(index).enumerate().any(beyond) {
            return Err(format!("indices of shape {} do not go with {} on axis {axis}", indices.shape, x.shape));
        }
    }
    Inferred::all(vec![TensorDesc::new(x.dtype, indices.shape.clone())])
}

/// Updates by position, `TensorScatterUpdate(x, indices, updates)` and the like: x.
pub(crate) fn scatter_update(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    check_updates(x.shape.dims(), call.get(1), call.get(2))?;
    Inferred::all(vec![x.clone(); call.results()])
}

/// Checks that what is written at positions of a tensor of these sizes is one part of it for each position, or a scalar.
fn check_updates(
    dims: Option<&[i64]>,
    indices: Option<&TensorDesc>,
    updates: Option<&TensorDesc>,
) -> Result<(), Reason> {
    let known = |desc: Option<&TensorDesc>| desc.and_then(|desc| desc.shape.dims().map(<[i64]>::to_vec));
    let (Some(dims), Some(index), Some(updates)) = (dims, known(indices), known(updates)) else { return Ok(()) };
    let Some((&depth, outer)) = index.split_last() else { return Err("the indices are a scalar".into()) };
    let Ok(depth) = usize::try_from(depth) else { return Ok(()) };
    let Some(part) = dims.get(depth..) else {
        return Err(format!("{depth} positions in a tensor of rank {}", dims.len()));
    };
    let wanted = [outer, part].concat();
    let fits = updates.len() == wanted.len() && updates.iter().zip(&wanted).all(|(&a, &b)| dim::unify(a, b).is_ok());
    if fits || updates.is_empty() {
        return Ok(());
    }
    Err(format!("updates of shape {} where {} is expected", Shape::new(updates), Shape::new(wanted)))
}

/// `ScatterNd(indices, x, shape)`.
pub(crate) fn scatter_nd(call: &Call<'_>) -> Inference {
    let dtype = call.need(1)?.dtype;
    match call.params(2, &["shape"]) {
        Params::Known(sizes) => {
            check_updates(Some(&sizes), call.get(0), call.get(1))?;
            Inferred::dims(dtype, sizes)
        }
        _ => Inferred::unknown(dtype),
    }
}

/// `TopK(x, k)`: values and int32 positions; the axis (attribute `dim` or `axis`, else the last) has
/// size k.
pub(crate) fn top_k(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let index_type = call.type_attr("indices_dtype").unwrap_or(DataType::Int32);
    let shape = match x.shape.dims() {
        None => Shape::unknown_rank(),
        Some(dims) => {
            let axis = dim::axis(call.int(&["dim", "axis"]).unwrap_or(-1), dims.len())?;
            let by_attribute = call.node.attrs.get("k").is_some() || call.node.attrs.get("topk").is_some();
            let k = call.params((!by_attribute).then_some(1), &["k", "topk"]).scalar(1);
            if let Some(k) = k.filter(|&k| k < 0 || dims[axis] >= 0 && k > dims[axis]) {
                return Err(format!("the best {k} of {}", dims[axis]));
            }
            Shape::new(dim::with(dims, axis, k.unwrap_or(UNKNOWN)))
        }
    };
    Inferred::all(vec![TensorDesc::new(x.dtype, shape.clone()), TensorDesc::new(index_type, shape)])
}

/// `Sort`: values and positions.
pub(crate) fn sort(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    Inferred::all(vec![x.clone(), TensorDesc { dtype: DataType::Int32, ..x.clone() }])
}

/// `NonZero` [rank, count], `Where` [count, rank]: the count depends on values, which exporters often leave constant.
pub(crate) fn non_zero(call: &Call<'_>) -> Inference {
    let rank = call.need(0)?.shape.rank().map_or(UNKNOWN, |r| r as i64);
    let count = call.value(0).and_then(|x| found(&x)).map_or(UNKNOWN, |found| found.len() as i64);
    let sizes = if lists_by_element(call) { [count, rank] } else { [rank, count] };
    Inferred::dims(call.type_attr("dtype").unwrap_or(DataType::Int64), sizes)
}

/// The places that `NonZero` and `Where` find in a value that is known.
pub(super) fn places(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    let pace = strides(&x.dims)?;
    let along = |at: i64, axis: usize| Some(at / pace[axis] % x.dims[axis].max(1));
    let (found, axes) = (found(&x)?, 0..x.dims.len());
    let elements = if lists_by_element(call) {
        found.iter().flat_map(|&at| axes.clone().map(move |axis| along(at, axis))).collect()
    } else {
        axes.flat_map(|axis| found.iter().map(move |&at| along(at, axis))).collect()
    };
    Value::new(small(out)?.to_vec(), Elements::Ints(elements))
}

/// Positions of the elements that are not zero; `None` where one is not known.
fn found(x: &Value) -> Option<Vec<i64>> {
    let floats: Vec<f64> = x.partial_floats().into_iter().collect::<Option<_>>()?;
    Some((0i64..).zip(floats).filter(|(_, element)| *element != 0.0).map(|(at, _)| at).collect())
}

/// ONNX's `NonZero` lists one row per axis, TensorFlow's `Where` one row per element.
fn lists_by_element(call: &Call<'_>) -> bool {
    call.node.op_type == "Where" || call.flag(&["transpose"], false)
}
