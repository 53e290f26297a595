//! Rules of operators that torch's graphs have and other frameworks' have not. Inputs stand at the places of their
//! interface ([`crate::op::prototype`]).
//!
//! Sources: the functions of torch and `torch_npu` that become these operators, and CANN's public operator headers.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred, Params};
use crate::{DataType, Format, Shape, TensorDesc};

/// Type of what is made of nothing: attribute `dtype`, else what the operator makes by itself.
fn made_type(call: &Call<'_>, default: DataType) -> DataType {
    call.type_attr("dtype").unwrap_or(default)
}

/// A tensor of the sizes at input 0; a second output is like input 1, the state of the generator.
pub(crate) fn of_shape(call: &Call<'_>) -> Inference {
    let dtype = made_type(call, DataType::Float);
    let shape = match call.params(0, &["shape"]) {
        Params::Known(sizes) => Shape::new(sizes),
        _ => Shape::unknown_rank(),
    };
    let state = call.get(1).cloned().unwrap_or_else(TensorDesc::unknown);
    Inferred::all([TensorDesc::new(dtype, shape), state].into_iter().take(call.results()).collect())
}

/// Integers drawn between two inputs, whose type they have: (shape, ..., from, to).
pub(crate) fn of_shape_between(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(call.arity().saturating_sub(1));
    match call.params(0, &["shape"]) {
        Params::Known(sizes) => Inferred::dims(dtype, sizes),
        _ => Inferred::unknown(dtype),
    }
}

/// A list as long as attribute `n` or input 0 says.
pub(crate) fn permutation(call: &Call<'_>) -> Inference {
    let count = call.params((call.arity() > 0).then_some(0), &["n"]).scalar(UNKNOWN).unwrap_or(UNKNOWN);
    Inferred::dims(made_type(call, DataType::Int64), [count])
}

/// `LinSpace(start, stop, num)`: so many numbers of the type of the first.
pub(crate) fn lin_space(call: &Call<'_>) -> Inference {
    let number = call.arity().saturating_sub(1);
    Inferred::dims(call.dtype(0), [call.params(number, &[]).scalar(UNKNOWN).unwrap_or(UNKNOWN)])
}

/// Counts in so many bins: attribute `bins`, or input 1 of `Bincount`.
pub(crate) fn bins(call: &Call<'_>) -> Inference {
    let (count, dtype) = match call.node.op_type.as_str() {
        "Bincount" => (call.params(1, &[]).scalar(UNKNOWN).unwrap_or(UNKNOWN), call.dtype(2)),
        "HistogramV2" => (call.int(&["bins"]).unwrap_or(100), call.type_attr("y_dtype").unwrap_or(DataType::Int32)),
        _ => (call.int(&["bins"]).unwrap_or(100), DataType::Float),
    };
    Inferred::dims(dtype, [count])
}

/// The number of the interval, as int64 unless int32 is asked for.
pub(crate) fn intervals(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let dtype = if call.flag(&["out_int32"], false) { DataType::Int32 } else { DataType::Int64 };
    Inferred::all(vec![TensorDesc { dtype, ..x.clone() }])
}

/// A loss: an entry for each of x with `reduction` none, else one number.
pub(crate) fn loss(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    match call.str("reduction").unwrap_or("mean") {
        "none" => super::elementwise::broadcast(call),
        _ => Inferred::shape(x.dtype, Shape::scalar()),
    }
}

/// `CosineSimilarity`: the axis that is summed over goes.
pub(crate) fn without_axis(call: &Call<'_>) -> Inference {
    let (a, b) = (call.need(0)?, call.need(1)?);
    let (Some(left), Some(right)) = (a.shape.dims(), b.shape.dims()) else { return Inferred::unknown(a.dtype) };
    let common = dim::broadcast(left, right)?;
    let axis = dim::axis(call.int(&["dim"]).unwrap_or(1), common.len())?;
    Inferred::dims(a.dtype, dim::splice(&common, axis, &[]))
}

/// The outer product of two vectors, the last two of the tensors given.
pub(crate) fn outer(call: &Call<'_>) -> Inference {
    let first = usize::from(call.node.op_type == "Addr");
    let (Some(rows), Some(columns)) = (call.dims(first)?, call.dims(first + 1)?) else {
        return Inferred::unknown(call.dtype(0));
    };
    let ([rows], [columns]) = (rows, columns) else { return Err("an outer product takes vectors".into()) };
    Inferred::dims(call.dtype(0), [*rows, *columns])
}

/// `Embedding(x, indices)`: a row of x for each index.
pub(crate) fn embedding(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some([_, row @ ..]), Some(indices)) = (x.shape.dims(), call.dims(1)?) else {
        return Inferred::unknown(x.dtype);
    };
    Inferred::dims(x.dtype, [indices, row].concat())
}

/// `RepeatInterleave(x, repeats)`: each entry of an axis so many times; all entries of x in a row, where no axis is named.
pub(crate) fn repeated(call: &Call<'_>) -> Inference {
    /// What stands for no axis.
    const FLAT: i64 = 1000;
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let (dims, axis) = match call.int(&["axis"]).unwrap_or(FLAT) {
        FLAT => (vec![dim::product(dims)?], 0),
        axis => (dims.to_vec(), dim::axis(axis, dims.len())?),
    };
    let size = match call.params(1, &[]) {
        Params::Known(repeats) if repeats.iter().any(|&count| count < 0) => return Err("a count is negative".into()),
        Params::Known(repeats) if repeats.len() == 1 => dim::times(dims[axis], repeats[0])?,
        Params::Known(repeats) => repeats.iter().try_fold(0, |sum, &count| dim::plus(sum, count))?,
        _ => UNKNOWN,
    };
    Inferred::dims(x.dtype, dim::with(&dims, axis, size))
}

/// `Index(x, indexed_sizes, indexed_strides, indices...)`: the axes marked in `indexed_sizes` give way to what the indices
/// are together, where they were if they are neighbours, else in front. `IndexByTensor(x, indices...)` has the marks in an
/// attribute.
pub(crate) fn index(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (marks, first_index) = match call.node.op_type.as_str() {
        "IndexByTensor" => (call.params(None, &["indices_mask"]), 1),
        _ => (call.params(1, &[]), 3),
    };
    let (Some(dims), Params::Known(marks)) = (x.shape.dims(), marks) else {
        return Inferred::unknown(x.dtype);
    };
    if marks.len() > dims.len() {
        return Err(format!("{} marks for {} axes", marks.len(), dims.len()));
    }
    let mut together = Vec::new();
    for input in first_index..call.arity() {
        let Some(index) = call.get(input) else { continue };
        let Some(index) = index.shape.dims() else { return Inferred::unknown(x.dtype) };
        together = dim::broadcast(&together, index)?;
    }
    let marked = |axis: usize| marks.get(axis).is_some_and(|&mark| mark != 0);
    let kept = |axes: std::ops::Range<usize>| axes.filter(|&axis| !marked(axis)).map(|axis| dims[axis]).collect();
    let first = (0..dims.len()).find(|&axis| marked(axis)).unwrap_or(dims.len());
    let last = (0..dims.len()).rev().find(|&axis| marked(axis)).map_or(first, |axis| axis + 1);
    let at = if (first..last).all(marked) { first } else { 0 };
    let (before, behind): (Vec<i64>, Vec<i64>) = (kept(0..at), kept(at..dims.len()));
    Inferred::dims(x.dtype, [before, together, behind].concat())
}

/// A constant that lies elsewhere: attributes say what it is, where they are there.
pub(crate) fn by_attributes(call: &Call<'_>) -> Inference {
    let stated = call.node.outputs.first().cloned().unwrap_or_else(TensorDesc::unknown);
    let Some(dims) = ["shape", "origin_shape"].iter().find_map(|name| call.node.attrs.ints(name)) else {
        return Inferred::all(vec![stated]);
    };
    let format = call.int(&["origin_format"]).and_then(|number| Format::from_ge(i32::try_from(number).ok()?));
    let dtype = made_type(call, stated.dtype);
    Inferred::all(vec![TensorDesc { dtype, shape: Shape::new(dims), format: format.unwrap_or(stated.format) }])
}

/// Draws from each row of x: as many as attribute `numsamples` or input 1 says.
pub(crate) fn drawn(call: &Call<'_>) -> Inference {
    let (count, dtype) = match call.node.op_type.as_str() {
        "Multinomial" => (call.params(1, &[]).scalar(UNKNOWN).unwrap_or(UNKNOWN), made_type(call, DataType::Int64)),
        _ => (call.int(&["numsamples"]).unwrap_or(UNKNOWN), DataType::Int64),
    };
    match call.dims(0)?.and_then(<[i64]>::split_last) {
        Some((_, rows)) => Inferred::dims(dtype, [rows, &[count]].concat()),
        None => Inferred::unknown(dtype),
    }
}

/// `Svd`: singular values, and the vectors of both sides, of which only as many as values are kept unless
/// `full_matrices`.
pub(crate) fn decomposed(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some([stack @ .., rows, columns]) = x.shape.dims() else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank()); call.results()]);
    };
    let least = if *rows < 0 || *columns < 0 { UNKNOWN } else { *rows.min(columns) };
    let full = call.flag(&["full_matrices"], false);
    let kept = |side: &i64| if full { *side } else { least };
    let of = |sizes: &[i64]| TensorDesc::new(x.dtype, Shape::new([stack, sizes].concat()));
    let outputs = [of(&[least]), of(&[*rows, kept(rows)]), of(&[*columns, kept(columns)])];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// `TransformBiasRescaleQkv` of [batch, tokens, 3 * hidden]: each third by heads.
pub(crate) fn heads_of(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let heads = call.int(&["num_heads"]).filter(|heads| (1..1 << 32).contains(heads));
    let heads = heads.ok_or("attribute `num_heads` is missing or not positive")?;
    let shape = match x.shape.dims() {
        Some(&[batch, tokens, all]) if all >= 0 && all % (3 * heads) == 0 => {
            Shape::new([batch, heads, tokens, all / 3 / heads])
        }
        Some(&[_, _, all]) if all > 0 => return Err(format!("{all} columns for 3 times {heads} heads")),
        _ => Shape::unknown_rank(),
    };
    Inferred::all(vec![TensorDesc::new(x.dtype, shape); call.results()])
}

/// `PadV3Grad(x, paddings)`: without the padding.
pub(crate) fn unpadded(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some(dims), Params::Known(pads)) = (x.shape.dims(), call.params(1, &["paddings"])) else {
        return Inferred::unknown(x.dtype);
    };
    if pads.len() != 2 * dims.len() {
        return Err(format!("{} paddings for {} axes", pads.len(), dims.len()));
    }
    let side_by_side = call.flag(&["paddings_contiguous"], true);
    let size = |(axis, &size): (usize, &i64)| {
        let [before, behind] = if side_by_side { [2 * axis, 2 * axis + 1] } else { [axis, axis + dims.len()] };
        let left = size.checked_sub(pads[before]).and_then(|size| size.checked_sub(pads[behind]));
        if size < 0 { Ok(UNKNOWN) } else { left.filter(|&left| left >= 0).ok_or("the padding is larger than an axis") }
    };
    Inferred::dims(x.dtype, dims.iter().enumerate().map(size).collect::<Result<Vec<_>, _>>()?)
}

/// `EmbeddingBag(weight, indices, offsets, ...)`: a row for each bag, the bag of each index, sizes of bags, and what
/// maxima were found at.
pub(crate) fn bags(call: &Call<'_>) -> Inference {
    let weight = call.need(0)?;
    let width = weight.shape.dims().and_then(<[i64]>::last).copied().unwrap_or(UNKNOWN);
    let indices = call.dims(1)?;
    let counted = match (indices, call.get(2).and_then(|offsets| offsets.shape.dims())) {
        (Some(&[bags, _]), _) => bags,
        (_, Some(&[offsets])) if offsets > 0 => offsets - i64::from(call.flag(&["include_last_offset"], false)),
        _ => UNKNOWN,
    };
    let list = |sizes: Vec<i64>| TensorDesc::new(call.dtype(1), Shape::new(sizes));
    let all = indices.map_or(Ok(UNKNOWN), dim::product)?;
    let found = if call.str("mode") == Some("max") { vec![counted, width] } else { vec![counted] };
    let rows = TensorDesc::new(weight.dtype, Shape::new([counted, width]));
    let outputs = [rows, list(vec![all]), list(vec![counted]), list(found)];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// A vector on a diagonal, or the diagonal of a matrix (`DiagV2`).
pub(crate) fn diagonal(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let off = call.int(&["diagonal"]).unwrap_or(0).checked_abs().ok_or("attribute `diagonal` is out of range")?;
    let square = |side: i64| Inferred::dims(x.dtype, [side, side]);
    match (call.node.op_type.as_str(), dims) {
        ("Diag", _) => Inferred::dims(x.dtype, [dims, dims].concat()),
        ("MatrixDiag", [.., last]) => Inferred::dims(x.dtype, [dims, &[*last]].concat()),
        ("DiagFlat", _) => square(dim::plus(dim::product(dims)?, off)?),
        ("DiagV2", [side]) => square(dim::plus(*side, off)?),
        ("DiagV2", [rows, columns]) if *rows >= 0 && *columns >= 0 => {
            let below = call.int(&["diagonal"]).unwrap_or(0) < 0;
            let (rows, columns) = if below { (rows - off, *columns) } else { (*rows, columns - off) };
            Inferred::dims(x.dtype, [rows.min(columns).max(0)])
        }
        _ => Inferred::unknown(x.dtype),
    }
}

/// `SliceLastDim`: from `start` to `end` in steps of `stride`.
pub(crate) fn slice_last(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some((&size, rows)) = x.shape.dims().and_then(<[i64]>::split_last) else { return Inferred::unknown(x.dtype) };
    let (start, end) = (call.int(&["start"]).unwrap_or(0), call.int(&["end"]).unwrap_or(size));
    let stride = call.int(&["stride"]).unwrap_or(1);
    if stride < 1 {
        return Err(format!("attribute `stride` is {stride}"));
    }
    let at = |place: i64| if place < 0 { place.saturating_add(size) } else { place }.clamp(0, size.max(0));
    let taken = if size < 0 { UNKNOWN } else { (at(end) - at(start)).max(0).div_ceil_of(stride) };
    Inferred::dims(x.dtype, [rows, &[taken]].concat())
}

/// `SliceWithAxes(x, offsets, size)`: so much of the named axes; -1 is all from the offset on.
pub(crate) fn slice_axes(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some(dims), Some(axes)) = (x.shape.dims(), call.node.attrs.ints("axes")) else {
        return Inferred::unknown(x.dtype);
    };
    let (offsets, sizes) = (call.params(1, &["offsets"]), call.params(2, &["size"]));
    let mut result = dims.to_vec();
    for (at, &axis) in axes.iter().enumerate() {
        let axis = dim::axis(axis, dims.len())?;
        let offset = offsets.known().and_then(|list| list.get(at)).copied();
        result[axis] = match (sizes.known().and_then(|list| list.get(at)).copied(), offset) {
            (Some(-1), Some(offset)) if dims[axis] >= 0 => dims[axis].saturating_sub(offset).max(0),
            (Some(size), _) if size >= 0 => size,
            _ => UNKNOWN,
        };
    }
    Inferred::dims(x.dtype, result)
}

/// Whole blocks in a size.
trait Blocks {
    fn div_ceil_of(self, block: i64) -> i64;
}

impl Blocks for i64 {
    fn div_ceil_of(self, block: i64) -> i64 {
        if self < 0 || block < 1 { UNKNOWN } else { self / block + i64::from(self % block != 0) }
    }
}

/// `DynamicMxQuant`: quantised, with a scale for each pair of blocks along an axis, the two of a pair side by side.
pub(crate) fn mx_quant(call: &Call<'_>) -> Inference {
    mx_quantised(call, call.need(0)?)
}

/// `SwigluMxQuant`: the halves of an axis multiply, and what that gives is quantised as above.
pub(crate) fn gated_mx_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return mx_quantised(call, x) };
    let axis = dim::axis(call.int(&["activate_dim"]).unwrap_or(-1), dims.len())?;
    if dims[axis] > 0 && dims[axis] % 2 != 0 {
        return Err(format!("axis {axis} of size {} cannot be halved", dims[axis]));
    }
    let half = if dims[axis] < 0 { UNKNOWN } else { dims[axis] / 2 };
    mx_quantised(call, &TensorDesc::new(x.dtype, Shape::new(dim::with(dims, axis, half))))
}

fn mx_quantised(call: &Call<'_>, x: &TensorDesc) -> Inference {
    let y = TensorDesc { dtype: call.type_attr("dst_type").unwrap_or(DataType::Undefined), ..x.clone() };
    let scale = match x.shape.dims() {
        Some(dims) if !dims.is_empty() => {
            let axis = dim::axis(call.int(&["axis"]).unwrap_or(-1), dims.len())?;
            let blocks = dims[axis].div_ceil_of(call.int(&["blocksize"]).unwrap_or(32));
            Shape::new([&dim::with(dims, axis, blocks.div_ceil_of(2))[..], &[2]].concat())
        }
        _ => Shape::unknown_rank(),
    };
    let scale = TensorDesc::new(DataType::Float8E8m0, scale);
    Inferred::all([y, scale].into_iter().take(call.results()).collect())
}

/// `DynamicBlockQuant`: quantised, with a scale for each block of rows and columns.
pub(crate) fn block_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let y = TensorDesc { dtype: call.type_attr("dst_type").unwrap_or(DataType::Undefined), ..x.clone() };
    let block = |name: &str, default: i64| call.int(&[name]).unwrap_or(default);
    let scale = match x.shape.dims() {
        Some([stack @ .., rows, columns]) => {
            let rows = rows.div_ceil_of(block("row_block_size", 1));
            Shape::new([stack, &[rows, columns.div_ceil_of(block("col_block_size", 128))]].concat())
        }
        _ => Shape::unknown_rank(),
    };
    let scale = TensorDesc::new(DataType::Float, scale);
    Inferred::all([y, scale].into_iter().take(call.results()).collect())
}

/// `MultiScaleDeformableAttnFunction` (value, ..., locations, weights): all heads of a query in one row.
pub(crate) fn deformable_attention(call: &Call<'_>) -> Inference {
    let value = call.need(0)?;
    match (value.shape.dims(), call.dims(3)?) {
        (Some(&[batch, _, heads, width]), Some(&[_, queries, ..])) => {
            Inferred::dims(value.dtype, [batch, queries, dim::times(heads, width)?])
        }
        _ => Inferred::unknown(value.dtype),
    }
}

/// What another device sends: sizes and type are attributes.
pub(crate) fn received(call: &Call<'_>) -> Inference {
    let shape = call.node.attrs.ints("shape").ok_or("attribute `shape` is missing")?;
    Inferred::dims(made_type(call, DataType::Undefined), shape)
}

/// Stacks of matrices multiplied and summed: (x1, x2, ...).
pub(crate) fn summed_product(call: &Call<'_>) -> Inference {
    let dtype = made_type(call, DataType::Bfloat16);
    let Some(product) = super::matmul::Product::of(call)? else { return Inferred::unknown(dtype) };
    let matrix = [product.m, product.n];
    let kept = call.flag(&["keep_dims"], false);
    Inferred::dims(dtype, if kept { [&[1][..], &matrix].concat() } else { matrix.to_vec() })
}

/// Every output is like the input at its place: operators over lists of tensors.
pub(crate) fn each(call: &Call<'_>) -> Result<Inferred, Reason> {
    super::elementwise::mirror(call)
}
