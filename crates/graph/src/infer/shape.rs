//! Rules of operators that only rename axes, and of those that make tensors from sizes.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred, Params};
use crate::{DataType, Format, Shape, TensorDesc};

/// Sources: what they are was said when they were added.
#[expect(clippy::unnecessary_wraps, reason = "it is a rule")]
pub(crate) fn kept(_: &Call<'_>) -> Inference {
    Ok(Inferred::default())
}

/// A variable, or the handle of one, which stands for it: attributes say what it is, where they are there.
pub(crate) fn variable(call: &Call<'_>) -> Inference {
    let mut stated = call.node.outputs.first().cloned().unwrap_or_else(TensorDesc::unknown);
    stated.dtype = call.type_attr("dtype").filter(|dtype| *dtype != DataType::Undefined).unwrap_or(stated.dtype);
    // [-1] is the default of the prototype: nothing is said.
    let said = call.node.attrs.ints("shape").filter(|dims| *dims != [UNKNOWN] && dims.iter().all(|&d| d >= UNKNOWN));
    if let Some(dims) = said {
        stated.shape = Shape::new(dims);
    }
    Inferred::all(vec![stated])
}

/// `Merge`: whichever of its inputs a run computes, and the number of that. At the head of a loop, later rounds may bring
/// other sizes than the first.
pub(crate) fn merge(call: &Call<'_>) -> Inference {
    let first = call.need(0)?;
    let inputs = || call.connected().map(|(_, desc)| desc);
    let mut common = first.shape.clone();
    for desc in inputs().skip(1) {
        common = match (common.dims(), desc.shape.dims()) {
            (Some(one), Some(other)) if one.len() == other.len() => {
                let sizes = one.iter().zip(other);
                Shape::new(sizes.map(|(&one, &other)| if one == other { one } else { UNKNOWN }).collect::<Vec<_>>())
            }
            _ => Shape::unknown_rank(),
        };
    }
    if call.goes_on() {
        common = Shape::unknown_rank();
    }
    let format = if inputs().all(|desc| desc.format == first.format) { first.format } else { Format::Nd };
    let merged = TensorDesc { dtype: first.dtype, shape: common, format };
    Inferred::all(vec![merged, TensorDesc::new(DataType::Int32, Shape::scalar())])
}

/// `Reshape`: target sizes from input 1 or attribute `shape`; 0 copies (unless `allowzero`), -1 takes
/// what is left. `axis` and `num_axes` limit the axes that are replaced.
pub(crate) fn reshape(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(target) = reshape_target(call)? else { return Inferred::shape(x.dtype, target_rank(call)) };
    let Some(dims) = x.shape.dims() else {
        let known = target.iter().map(|t| t.filter(|&d| d > 0).unwrap_or(UNKNOWN)).collect::<Vec<_>>();
        return Inferred::dims(x.dtype, known);
    };
    let axis = call.int(&["axis"]).unwrap_or(0);
    // Counted from behind, -1 stands after the last axis.
    let start = if axis < 0 { axis.saturating_add(dims.len() as i64 + 1) } else { axis };
    let start = usize::try_from(start).ok().filter(|&s| s <= dims.len()).ok_or_else(|| bad_axis(axis, dims))?;
    let count = call.int(&["num_axes"]).unwrap_or(-1);
    let end = if count < 0 { dims.len() } else { start.saturating_add(count as usize) };
    let replaced = dims.get(start..end).ok_or_else(|| bad_axis(axis, dims))?;
    let sizes = resolve_reshape(replaced, &target, call.flag(&["allowzero"], false))?;
    Inferred::dims(x.dtype, [&dims[..start], &sizes, &dims[end..]].concat())
}

fn bad_axis(axis: i64, dims: &[i64]) -> Reason {
    format!("axis {axis} and num_axes do not lie in {}", Shape::new(dims))
}

/// The wanted sizes as far as they are known; `None` when not even their number is.
fn reshape_target(call: &Call<'_>) -> Result<Option<Vec<Option<i64>>>, Reason> {
    if call.get(1).is_some() {
        return Ok(call.value(1).map(|v| v.partial_ints()));
    }
    match call.node.attrs.ints("shape") {
        Some(sizes) => Ok(Some(sizes.iter().copied().map(Some).collect())),
        None => Err("it has neither a shape input nor a `shape` attribute".into()),
    }
}

/// A shape of the rank that the shape input's own length tells.
fn target_rank(call: &Call<'_>) -> Shape {
    match call.get(1).and_then(|d| d.shape.known()) {
        Some(&[rank]) if (0..64).contains(&rank) => dim::of_rank(rank as usize),
        _ => Shape::unknown_rank(),
    }
}

/// Applies the rules of reshape to sizes that may be partly unknown on both sides.
pub(super) fn resolve_reshape(from: &[i64], to: &[Option<i64>], allow_zero: bool) -> Result<Vec<i64>, Reason> {
    let mut sizes = Vec::with_capacity(to.len());
    let mut open = None;
    for (i, &wanted) in to.iter().enumerate() {
        sizes.push(match wanted {
            Some(0) if !allow_zero => {
                *from.get(i).ok_or_else(|| format!("size {i} is to be copied from an axis that does not exist"))?
            }
            Some(-1) => {
                if open.replace(i).is_some() {
                    return Err("more than one size is -1".into());
                }
                1
            }
            Some(d) if d < -1 => return Err(format!("size {i} is {d}")),
            Some(d) => d,
            None => UNKNOWN,
        });
    }
    let (whole, rest) = (dim::product(from)?, dim::product(&sizes)?);
    match open {
        Some(i) => sizes[i] = open_size(from, &sizes, whole, rest)?,
        None if whole >= 0 && rest >= 0 && whole != rest => return Err(no_fit(whole, &sizes)),
        None => fill_only_gap(&mut sizes, whole)?,
    }
    Ok(sizes)
}

fn no_fit(whole: i64, sizes: &[i64]) -> Reason {
    format!("{whole} elements do not fill shape {}", Shape::new(sizes))
}

/// The size of the one -1: what is left of the elements. Axes of unknown size that both sides share
/// cancel.
fn open_size(from: &[i64], sizes: &[i64], whole: i64, rest: i64) -> Result<i64, Reason> {
    if whole >= 0 && rest >= 0 {
        return match whole.checked_rem(rest) {
            Some(0) => Ok(whole / rest),
            None if whole == 0 => Ok(0),
            _ => Err(no_fit(whole, sizes)),
        };
    }
    let known = |dims: &[i64]| dim::product(&dims.iter().copied().filter(|&d| d >= 0).collect::<Vec<_>>());
    let unknown = |dims: &[i64]| dims.iter().filter(|&&d| d < 0).count();
    if unknown(from) != 1 || unknown(sizes) != 1 {
        return Ok(UNKNOWN);
    }
    // One unknown on each side, most often the batch: taken to be the same one when the rest divides.
    let (from, to) = (known(from)?, known(sizes)?);
    Ok(if to > 0 && from % to == 0 { from / to } else { UNKNOWN })
}

/// With all elements counted, a single size that is not known follows from the others.
fn fill_only_gap(sizes: &mut [i64], whole: i64) -> Result<(), Reason> {
    let mut gaps = (0..sizes.len()).filter(|&i| sizes[i] < 0);
    let (Some(gap), None) = (gaps.next(), gaps.next()) else { return Ok(()) };
    sizes[gap] = 1;
    let others = dim::product(sizes)?;
    sizes[gap] = if whole > 0 && others > 0 && whole % others == 0 { whole / others } else { UNKNOWN };
    Ok(())
}

/// `Flatten` to a matrix at `axis`; `FlattenV2` merges the axes from `axis` to `end_axis`.
pub(crate) fn flatten(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let axis = call.int(&["axis"]).unwrap_or(1);
    if call.node.op_type == "FlattenV2" || call.int(&["end_axis"]).is_some() {
        if dims.is_empty() {
            return Inferred::dims(x.dtype, [1]);
        }
        let first = dim::axis(axis.min(dims.len() as i64 - 1), dims.len())?;
        let last = dim::axis(call.int(&["end_axis"]).unwrap_or(-1), dims.len())?;
        if first > last {
            return Err(format!("axis {first} comes after end_axis {last}"));
        }
        let merged = dim::product(&dims[first..=last])?;
        return Inferred::dims(x.dtype, [&dims[..first], &[merged], &dims[last + 1..]].concat());
    }
    let split = if axis == dims.len() as i64 { dims.len() } else { dim::axis(axis, dims.len())? };
    Inferred::dims(x.dtype, [dim::product(&dims[..split])?, dim::product(&dims[split..])?])
}

/// Removes axes of size 1: those named by input 1 or an attribute, else all.
pub(crate) fn squeeze(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let named = match call.params(1, &["axes", "axis", "squeeze_dims"]) {
        Params::Unknown => return Inferred::unknown(x.dtype),
        Params::Known(axes) if !axes.is_empty() => Some(dim::axes(&axes, dims.len())?),
        _ => None,
    };
    let Some(gone) = named else {
        if dims.contains(&UNKNOWN) {
            return Inferred::unknown(x.dtype);
        }
        return Inferred::dims(x.dtype, dims.iter().copied().filter(|&d| d != 1).collect::<Vec<_>>());
    };
    if let Some((_, d)) = gone.iter().zip(dims).find(|&(&gone, &d)| gone && d >= 0 && d != 1) {
        return Err(format!("an axis of size {d} cannot be squeezed"));
    }
    let kept = dims.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(&d, _)| d);
    Inferred::dims(x.dtype, kept.collect::<Vec<_>>())
}

/// Inserts axes of size 1 at the places (of the result) that input 1 or an attribute names.
pub(crate) fn unsqueeze(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let axes = match call.params(1, &["axes", "axis"]) {
        Params::Absent => return Err("it has no axes".into()),
        Params::Unknown => return Inferred::unknown(x.dtype),
        Params::Known(axes) => axes,
    };
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let new = dim::axes(&axes, dims.len() + axes.len())?;
    if new.iter().filter(|new| **new).count() != axes.len() {
        return Err("an axis is named twice".into());
    }
    let mut old = dims.iter().copied();
    let sizes = new.iter().map(|&new| if new { 1 } else { old.next().unwrap_or(1) });
    Inferred::dims(x.dtype, sizes.collect::<Vec<_>>())
}

/// The range of axes that `Shape` reports: attributes `start` and `end`, clamped.
pub(super) fn shape_range(call: &Call<'_>, rank: usize) -> std::ops::Range<usize> {
    let clamp = |at: i64| (if at < 0 { at.saturating_add(rank as i64) } else { at }).clamp(0, rank as i64) as usize;
    let start = clamp(call.int(&["start"]).unwrap_or(0));
    let end = clamp(call.int(&["end"]).unwrap_or(i64::MAX));
    start..end.max(start)
}

/// `Shape` of every input.
pub(crate) fn shape(call: &Call<'_>) -> Inference {
    let dtype = call.type_attr("dtype").unwrap_or(DataType::Int64);
    call.need(0)?;
    let length = |i| match call.get(i).and_then(|d: &TensorDesc| d.shape.rank()) {
        Some(rank) => shape_range(call, rank).len() as i64,
        None => UNKNOWN,
    };
    Inferred::all((0..call.results()).map(|i| TensorDesc::new(dtype, Shape::new([length(i)]))).collect())
}

/// `Size` and `Rank`: a scalar.
pub(crate) fn size(call: &Call<'_>) -> Inference {
    call.need(0)?;
    Inferred::shape(call.type_attr("dtype").unwrap_or(DataType::Int64), Shape::scalar())
}

/// The sizes that an input (or attribute) names, unknown ones where the value is not known.
fn sizes_from(call: &Call<'_>, input: usize, attrs: &[&str]) -> Result<Shape, Reason> {
    let Some(desc) = call.get(input) else {
        let sizes = attrs.iter().find_map(|name| call.node.attrs.ints(name)).ok_or("it has no sizes")?;
        return checked(sizes.iter().copied().map(Some));
    };
    match (call.value(input), desc.shape.known()) {
        (Some(value), _) => checked(value.partial_ints().into_iter()),
        (None, Some(&[rank])) if (0..64).contains(&rank) => Ok(dim::of_rank(rank as usize)),
        (None, _) => Ok(Shape::unknown_rank()),
    }
}

fn checked(sizes: impl Iterator<Item = Option<i64>>) -> Result<Shape, Reason> {
    let size = |s: Option<i64>| match s {
        Some(d) if d < 0 => Err(format!("a size is {d}")),
        other => Ok(other.unwrap_or(UNKNOWN)),
    };
    Ok(Shape::new(sizes.map(size).collect::<Result<Vec<_>, _>>()?))
}

/// `Fill(dims, value)` and its D form.
pub(crate) fn fill(call: &Call<'_>) -> Inference {
    if call.node.op_type.ends_with('D') {
        let dtype = call.type_attr("dtype").unwrap_or_else(|| call.dtype(0));
        let sizes = call.node.attrs.ints("dims").ok_or("it has no `dims`")?;
        return Inferred::shape(dtype, checked(sizes.iter().copied().map(Some))?);
    }
    let dtype = call.type_attr("dtype").unwrap_or_else(|| call.dtype(1));
    Inferred::shape(dtype, sizes_from(call, 0, &["dims"])?)
}

/// Random tensors: sizes from input 0 or attribute `shape`.
pub(crate) fn random(call: &Call<'_>) -> Inference {
    let dtype = call.type_attr("dtype").unwrap_or(DataType::Float);
    Inferred::shape(dtype, sizes_from(call, 0, &["shape"])?)
}

/// `Expand` and `BroadcastTo`: numpy's broadcast of x against the sizes of input 1; -1 keeps x's.
pub(crate) fn expand(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let target = if call.get(1).is_some() {
        call.value(1).map(|v| v.partial_ints())
    } else {
        let sizes = call.node.attrs.ints("shape").ok_or("it has no target shape")?;
        Some(sizes.iter().copied().map(Some).collect())
    };
    let (Some(dims), Some(target)) = (x.shape.dims(), target) else {
        return Inferred::shape(x.dtype, higher_rank(&target_rank(call), &x.shape));
    };
    if target.iter().flatten().any(|&d| d < -1) {
        return Err("a target size is below -1".into());
    }
    // A size of -1 is "as x": 1 broadcasts to just that.
    let sizes: Vec<_> = target.iter().map(|t| t.map_or(UNKNOWN, |d| if d == -1 { 1 } else { d })).collect();
    Inferred::dims(x.dtype, dim::broadcast(dims, &sizes)?)
}

/// A shape of the higher rank of the two, when both are known.
fn higher_rank(a: &Shape, b: &Shape) -> Shape {
    a.rank().zip(b.rank()).map_or(Shape::unknown_rank(), |(a, b)| dim::of_rank(a.max(b)))
}

/// `Range(start, limit, delta)`.
pub(crate) fn range(call: &Call<'_>) -> Inference {
    let value = |i: usize, name: &str| {
        let from_input = call.value(i).and_then(|v| v.partial_floats().first().copied().flatten());
        from_input.or_else(|| call.node.attrs.float(name))
    };
    let dtype = if call.get(0).is_some() { call.dtype(0) } else { DataType::Int32 };
    let (Some(start), Some(limit)) = (value(0, "start"), value(1, "limit")) else {
        return Inferred::dims(dtype, [UNKNOWN]);
    };
    let delta = if call.get(2).is_some() { value(2, "delta") } else { call.node.attrs.float("delta").or(Some(1.0)) };
    let Some(delta) = delta else { return Inferred::dims(dtype, [UNKNOWN]) };
    let count = ((limit - start) / delta).ceil();
    if delta == 0.0 || !count.is_finite() {
        return Err(format!("a range from {start} to {limit} in steps of {delta} never ends"));
    }
    if count >= 9.0e18 {
        return Err("the range has more elements than 64 bits can count".into());
    }
    Inferred::dims(dtype, [count.max(0.0) as i64])
}

/// `TransData` and `FixPipe`: the same tensor in layout `dst_format`.
pub(crate) fn trans_data(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let format = call.str("dst_format").and_then(Format::from_name).unwrap_or(x.format);
    Inferred::all(vec![TensorDesc { format, ..x.clone() }])
}

/// `Eye`: `num_rows` by `num_columns`, which are as many where they are none, for each of `batch_shape`.
pub(crate) fn sized_eye(call: &Call<'_>) -> Inference {
    let Some(rows) = call.int(&["num_rows"]) else { return Err("attribute `num_rows` is missing".to_owned()) };
    let columns = call.int(&["num_columns"]).filter(|&columns| columns > 0).unwrap_or(rows);
    let batch = call.node.attrs.ints("batch_shape").unwrap_or_default();
    let dtype = call.type_attr("dtype").unwrap_or(DataType::Float);
    Inferred::all(vec![TensorDesc::new(dtype, Shape::new([batch, &[rows, columns]].concat()))])
}

/// `EyeLike`: like input 0, in type `dtype`.
pub(crate) fn eye(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let dtype = call.type_attr("dtype").unwrap_or(x.dtype);
    Inferred::all(vec![TensorDesc { dtype, ..x.clone() }])
}
