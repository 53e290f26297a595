//! Rules of operators that move elements without computing.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred, Params};
use crate::{DataType, Shape, TensorDesc};

/// Like input 1: `GatherElements` (indices), gradients of resizing.
pub(crate) fn like_second(call: &Call<'_>) -> Inference {
    let (x, second) = (call.need(0)?, call.need(1)?);
    Inferred::all(vec![TensorDesc::new(x.dtype, second.shape.clone())])
}

/// `Crop(x, reference)`: the sizes of the reference from attribute `axis` (2) on.
pub(crate) fn crop(call: &Call<'_>) -> Inference {
    let (x, reference) = (call.need(0)?, call.need(1)?);
    let (Some(dims), Some(wanted)) = (x.shape.dims(), reference.shape.dims()) else {
        return Inferred::unknown(x.dtype);
    };
    let axis = dim::axis(call.int(&["axis"]).unwrap_or(2), dims.len())?;
    let sizes =
        wanted.get(axis..).filter(|_| wanted.len() == dims.len()).ok_or("x and the reference differ in rank")?;
    if let Some(i) = (axis..dims.len()).find(|&i| dims[i] >= 0 && wanted[i] > dims[i]) {
        return Err(format!("{} of the {} elements on axis {i} cannot be cut out", wanted[i], dims[i]));
    }
    Inferred::dims(x.dtype, [&dims[..axis], sizes].concat())
}

/// The order of axes: input 1 or an attribute, else reversed; `None` when it is not known.
pub fn permutation(call: &Call<'_>, rank: usize) -> Result<Option<Vec<usize>>, Reason> {
    let order = match call.params(1, &["perm", "order"]) {
        Params::Unknown => return Ok(None),
        Params::Absent => return Ok(Some((0..rank).rev().collect())),
        Params::Known(order) => order,
    };
    let axes = order.iter().map(|&a| dim::axis(a, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut seen = vec![false; rank];
    for &a in &axes {
        seen[a] = true;
    }
    if axes.len() != rank || seen.contains(&false) {
        return Err(format!("{order:?} is no order of {rank} axes"));
    }
    Ok(Some(axes))
}

/// `Transpose(x, perm)`, `TransposeD`, `Permute`.
pub(crate) fn transpose(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let Some(order) = permutation(call, dims.len())? else {
        return Inferred::shape(x.dtype, dim::of_rank(dims.len()));
    };
    Inferred::dims(x.dtype, order.iter().map(|&a| dims[a]).collect::<Vec<_>>())
}

/// `ConfusionTransposeD`: a transpose and a reshape to attribute `shape`, in either order.
pub(crate) fn confusion_transpose(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some((dims, order, shape)) = confused(call)? else { return Inferred::unknown(x.dtype) };
    let moved: Vec<i64> = order.iter().map(|&axis| dims[axis]).collect();
    Inferred::dims(x.dtype, if call.flag(&["transpose_first"], true) { resolved(&moved, &shape)? } else { moved })
}

/// What a `ConfusionTransposeD` transposes: the sizes, the order of their axes, and the sizes of its view; `None` when
/// they are not known.
type Confused = (Vec<i64>, Vec<usize>, Vec<i64>);

/// The transpose within a `ConfusionTransposeD`.
pub fn confused(call: &Call<'_>) -> Result<Option<Confused>, Reason> {
    let Params::Known(shape) = call.params(1, &["shape"]) else { return Ok(None) };
    let Some(dims) = call.need(0)?.shape.dims() else { return Ok(None) };
    let first = call.flag(&["transpose_first"], true);
    let dims = if first { dims.to_vec() } else { resolved(dims, &shape)? };
    let order = call.node.attrs.ints("perm").unwrap_or_default();
    let order = order.iter().map(|&axis| dim::axis(axis, dims.len())).collect::<Result<_, _>>()?;
    Ok(Some((dims, order, shape)))
}

fn resolved(dims: &[i64], shape: &[i64]) -> Result<Vec<i64>, Reason> {
    let wanted: Vec<_> = shape.iter().copied().map(Some).collect();
    super::shape::resolve_reshape(dims, &wanted, true)
}

/// The tensors that a concatenation joins, and the axis; `None` when the axis is not known.
pub fn joined(call: &Call<'_>) -> Result<(Vec<usize>, Params), Reason> {
    let count = call.arity();
    let (tensors, axis) = match call.node.op_type.as_str() {
        "Concat" if call.node.attrs.get("concat_dim").is_none() => (1..count, call.params(0, &[])),
        "ConcatV2" if call.node.attrs.get("concat_dim").is_none() => {
            let last = count.saturating_sub(1);
            (0..last, call.params(last, &[]))
        }
        _ => (0..count, call.params(None, &["concat_dim", "axis"])),
    };
    if tensors.is_empty() {
        return Err("there is nothing to join".into());
    }
    Ok((tensors.filter(|&i| call.get(i).is_some()).collect(), axis))
}

/// `ConcatD` (attribute `concat_dim`), `ConcatV2` (last input), `Concat` (first input).
pub(crate) fn concat(call: &Call<'_>) -> Inference {
    let (tensors, axis) = joined(call)?;
    let first = call.need(*tensors.first().ok_or("there is nothing to join")?)?;
    let shapes: Option<Vec<_>> = tensors.iter().map(|&i| call.get(i).and_then(|d| d.shape.dims())).collect();
    let rank = tensors.iter().find_map(|&i| call.get(i).and_then(|d| d.shape.rank()));
    let (Some(rank), Some(axis)) = (rank, axis.scalar(0)) else { return Inferred::unknown(first.dtype) };
    let axis = dim::axis(axis, rank)?;
    let Some(shapes) = shapes else { return Inferred::shape(first.dtype, dim::of_rank(rank)) };
    let mut sizes = shapes[0].to_vec();
    for dims in &shapes[1..] {
        if dims.len() != rank {
            return Err(format!("shapes {} and {} differ in rank", Shape::new(sizes), Shape::new(*dims)));
        }
        for (i, (size, &d)) in sizes.iter_mut().zip(*dims).enumerate() {
            *size = if i == axis { dim::plus(*size, d)? } else { dim::unify(*size, d)? };
        }
    }
    Inferred::all(vec![TensorDesc { dtype: first.dtype, shape: Shape::new(sizes), format: first.format }])
}

/// `Pack`: a new axis over tensors of one shape.
pub(crate) fn pack(call: &Call<'_>) -> Inference {
    let first = call.need(0)?;
    let mut sizes: Option<Vec<i64>> = None;
    for (_, desc) in call.connected() {
        let Some(dims) = desc.shape.dims() else { continue };
        sizes = Some(match sizes {
            None => dims.to_vec(),
            Some(s) if s.len() == dims.len() => {
                s.iter().zip(dims).map(|(&a, &b)| dim::unify(a, b)).collect::<Result<_, _>>()?
            }
            Some(s) => return Err(format!("shapes {} and {} differ in rank", Shape::new(s), desc.shape)),
        });
    }
    let Some(sizes) = sizes else { return Inferred::unknown(first.dtype) };
    let axis = dim::axis(call.int(&["axis"]).unwrap_or(0), sizes.len() + 1)?;
    let count = call.connected().count() as i64;
    Inferred::dims(first.dtype, [&sizes[..axis], &[count], &sizes[axis..]].concat())
}

/// Where the operands of a split are.
pub struct SplitPlan<'a> {
    /// The tensor that is split.
    pub x: &'a TensorDesc,
    /// The axis, when it is known.
    pub axis: Option<i64>,
    /// Sizes of the parts: absent when they are equal.
    sizes: Params,
}

impl<'a> SplitPlan<'a> {
    /// Reads the node: the TensorFlow order of `Split` has the axis first.
    pub fn of(call: &Call<'a>) -> Result<SplitPlan<'a>, Reason> {
        let attr_axis = call.params(None, &["split_dim", "axis"]);
        let axis_first = call.node.op_type == "Split" && attr_axis == Params::Absent && call.get(1).is_some();
        if axis_first {
            let axis = call.params(0, &[]).scalar(0);
            return Ok(SplitPlan { x: call.need(1)?, axis, sizes: Params::Absent });
        }
        let axis = if call.get(2).is_some() { call.params(2, &[]) } else { attr_axis };
        Ok(SplitPlan { x: call.need(0)?, axis: axis.scalar(0), sizes: call.params(1, &["size_splits", "split"]) })
    }

    /// Sizes along the axis, one per output.
    fn parts(&self, whole: i64, count: usize) -> Result<Vec<i64>, Reason> {
        let sizes = match &self.sizes {
            Params::Unknown => return Ok(vec![UNKNOWN; count]),
            Params::Known(sizes) if !sizes.is_empty() => sizes.clone(),
            _ if whole < 0 => return Ok(vec![UNKNOWN; count]),
            _ => return even_parts(whole, count),
        };
        if sizes.len() != count {
            return Err(format!("{} sizes for {count} outputs", sizes.len()));
        }
        fill_open_part(sizes, whole)
    }
}

/// Equal parts.
fn even_parts(whole: i64, count: usize) -> Result<Vec<i64>, Reason> {
    let n = count.max(1) as i64;
    if whole % n != 0 {
        return Err(format!("an axis of {whole} does not split into {n} equal parts, and their sizes are not stated"));
    }
    Ok(vec![whole / n; count.max(1)])
}

/// Replaces one -1 by what the other sizes leave, and checks that they add up.
fn fill_open_part(mut sizes: Vec<i64>, whole: i64) -> Result<Vec<i64>, Reason> {
    let given = sizes.iter().filter(|&&s| s >= 0).try_fold(0i64, |n, &s| n.checked_add(s));
    let given = given.ok_or("the sizes of the parts overflow 64 bits")?;
    let open: Vec<_> = (0..sizes.len()).filter(|&i| sizes[i] < 0).collect();
    match open[..] {
        [] if whole >= 0 && given != whole => Err(format!("parts of {given} elements in all from an axis of {whole}")),
        [] => Ok(sizes),
        [i] if whole >= given => {
            sizes[i] = whole - given;
            Ok(sizes)
        }
        [_] if whole < 0 => Ok(sizes),
        _ => Err(format!("sizes {sizes:?} do not split an axis of {whole}")),
    }
}

/// `SplitD`, `SplitV`, `SplitVD`, `Split`.
pub(crate) fn split(call: &Call<'_>) -> Inference {
    let plan = SplitPlan::of(call)?;
    let (Some(dims), Some(axis)) = (plan.x.shape.dims(), plan.axis) else {
        return Inferred::all(vec![TensorDesc::new(plan.x.dtype, Shape::unknown_rank()); call.results()]);
    };
    let axis = dim::axis(axis, dims.len())?;
    let parts = plan.parts(dims[axis], call.results())?;
    let output = |part: i64| TensorDesc::new(plan.x.dtype, Shape::new(dim::with(dims, axis, part)));
    Inferred::all(parts.into_iter().map(output).collect())
}

/// `Unpack`: the axis disappears.
pub(crate) fn unpack(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let axis = dim::axis(call.int(&["axis"]).unwrap_or(0), dims.len())?;
    if dims[axis] >= 0 && dims[axis] != call.results() as i64 {
        return Err(format!("{} outputs from an axis of {}", call.results(), dims[axis]));
    }
    Inferred::all(vec![TensorDesc::new(x.dtype, Shape::new(dim::splice(dims, axis, &[]))); call.results()])
}

/// `AsStrided(x, size, stride)`: any view of the elements.
pub(crate) fn as_strided(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    match call.params(1, &["size"]) {
        Params::Known(sizes) => Inferred::dims(x.dtype, sizes),
        _ => Inferred::unknown(x.dtype),
    }
}

/// `Tile(x, multiples)`.
pub(crate) fn tile(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let Params::Known(times) = call.params(1, &["multiples"]) else {
        return Inferred::shape(x.dtype, dim::of_rank(dims.len()));
    };
    let rank = dims.len().max(times.len());
    let at = |list: &[i64], i: usize| (i + list.len()).checked_sub(rank).map_or(1, |j| list[j]);
    if let Some(n) = times.iter().find(|&&n| n < 0) {
        return Err(format!("a tensor cannot be repeated {n} times"));
    }
    let sizes = (0..rank).map(|i| dim::times(at(dims, i), at(&times, i)));
    Inferred::dims(x.dtype, sizes.collect::<Result<Vec<_>, _>>()?)
}

/// `TileWithAxis`: attribute `tiles` along attribute `axis`.
pub(crate) fn tile_with_axis(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let axis = dim::axis(call.int(&["axis"]).unwrap_or(1), dims.len())?;
    let tiles = call.int(&["tiles"]).filter(|&t| t > 0).ok_or("`tiles` must be positive")?;
    Inferred::dims(x.dtype, dim::with(dims, axis, dim::times(dims[axis], tiles)?))
}

/// Padding before and after each axis; `None` when it is not known.
pub fn paddings(call: &Call<'_>, rank: usize) -> Result<Option<Vec<[i64; 2]>>, Reason> {
    let from_input = call.get(1).is_some();
    let list = match call.node.attrs.get("paddings") {
        Some(crate::Attr::IntLists(pairs)) if !from_input => pairs.concat(),
        _ => match call.params(1, &["paddings", "pads"]) {
            Params::Known(list) => list,
            Params::Unknown => return Ok(None),
            Params::Absent => return Err("it has no paddings".into()),
        },
    };
    // Padding for some axes only: input 3 names them (ONNX 18).
    let axes = match call.params(3, &["axes"]) {
        Params::Known(axes) => axes.iter().map(|&a| dim::axis(a, rank)).collect::<Result<Vec<_>, _>>()?,
        Params::Absent => (0..rank).collect(),
        Params::Unknown => return Ok(None),
    };
    let n = axes.len();
    if list.len() != 2 * n {
        return Err(format!("{} paddings for {n} axes", list.len()));
    }
    let flat = call.get(1).is_some_and(|d| d.shape.rank() == Some(1));
    let in_pairs = call.flag(&["paddings_contiguous"], !flat);
    let mut pairs = vec![[0, 0]; rank];
    for (i, &axis) in axes.iter().enumerate() {
        pairs[axis] = if in_pairs { [list[2 * i], list[2 * i + 1]] } else { [list[i], list[n + i]] };
    }
    Ok(Some(pairs))
}

/// `Pad`, `PadV3`, `MirrorPad`: paddings as input 1 or attribute, in pairs or begins then ends.
pub(crate) fn pad(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let Some(pairs) = paddings(call, dims.len())? else {
        return Inferred::shape(x.dtype, dim::of_rank(dims.len()));
    };
    let size = |(&d, p): (&i64, &[i64; 2])| {
        if d < 0 {
            return Ok(UNKNOWN);
        }
        let padded = d.checked_add(p[0]).and_then(|n| n.checked_add(p[1]));
        padded.filter(|&n| n >= 0).ok_or_else(|| format!("an axis of {d} cannot be padded by {p:?}"))
    };
    Inferred::dims(x.dtype, dims.iter().zip(&pairs).map(size).collect::<Result<Vec<_>, Reason>>()?)
}

/// `OneHot(x, depth, on_value, off_value)`: a new axis.
pub(crate) fn one_hot(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let by_attribute = call.node.op_type.ends_with('D');
    let dtype = call.type_attr("dtype").unwrap_or_else(|| call.dtype(if by_attribute { 1 } else { 2 }));
    let dtype = if dtype == DataType::Undefined { x.dtype } else { dtype };
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(dtype) };
    let depth = call.params((!by_attribute).then_some(1), &["depth"]).scalar(UNKNOWN).unwrap_or(UNKNOWN);
    if depth < UNKNOWN {
        return Err(format!("`depth` is {depth}"));
    }
    let axis = dim::axis(call.int(&["axis"]).unwrap_or(-1), dims.len() + 1)?;
    Inferred::dims(dtype, [&dims[..axis], &[depth], &dims[axis..]].concat())
}

/// `DiagPart`: the first half of the axes.
pub(crate) fn diag_part(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let (first, second) = dims.split_at(dims.len() / 2);
    if dims.len() % 2 != 0 {
        return Err("a diagonal needs an even number of axes".into());
    }
    let sizes = first.iter().zip(second).map(|(&a, &b)| dim::unify(a, b));
    Inferred::dims(x.dtype, sizes.collect::<Result<Vec<_>, _>>()?)
}
