//! Products of rows that are dealt out to groups, and of feed-forward blocks: their shape rules, and their sizes as kernels
//! compute them, which both read the operands by the same functions.

use super::dim::{self, Reason, UNKNOWN};
use super::language::{computed_type, named_inputs, packs_words};
use super::matmul::Product;
use super::{Call, Inference, Inferred};
use crate::op::work::Reading;
use crate::{DataType, Shape, TensorDesc};

/// Axes of an x before its last, which stay; `None` while they are not known.
fn rows<'a>(call: &Call<'a>, x: usize) -> Result<Option<&'a [i64]>, Reason> {
    Ok(call.dims(x)?.and_then(<[i64]>::split_last).map(|(_, rows)| rows))
}

/// A weight as it lies.
struct Matrix<'a> {
    stack: &'a [i64],
    rows: i64,
    columns: i64,
}

impl<'a> Matrix<'a> {
    /// `None` where the shape does not tell it.
    fn of(call: &Call<'a>, weight: usize) -> Result<Option<Matrix<'a>>, Reason> {
        Ok(match call.dims(weight)? {
            Some(&[ref stack @ .., rows, columns]) if !packs_words(call, weight) => {
                Some(Matrix { stack, rows, columns })
            }
            _ => None,
        })
    }
}

/// Which inputs are rows and weights.
struct Groups {
    /// Rows: of all groups, or of each weight its own.
    xs: Vec<usize>,
    /// Matrices, or stacks of them.
    weights: Vec<usize>,
    /// Whether the matrices lie transposed.
    transposed: bool,
}

impl Groups {
    /// `None` where nothing tells them, or where groups are not of rows. Where no attribute says how the matrices lie, they
    /// do as the kernel has them.
    fn of(call: &Call<'_>, transposed: bool) -> Option<Groups> {
        if call.flag(&["transpose_x"], false) {
            return None;
        }
        let transposed = call.flag(&["transpose_weight", "transpose_w"], transposed);
        let (xs, weights) = Groups::inputs(call)?;
        Some(Groups { xs, weights, transposed })
    }

    fn inputs(call: &Call<'_>) -> Option<(Vec<usize>, Vec<usize>)> {
        let weights = || named_inputs(call, "weight");
        match call.node.op_type.as_str() {
            "GroupedMatmul" => {
                let (xs, weights) = (named_inputs(call, "x"), weights());
                let (xs, weights) = if xs.is_empty() || weights.is_empty() {
                    let rank = |input| call.get(input).and_then(|desc| desc.shape.rank());
                    ((rank(0), rank(1)) == (Some(2), Some(3))).then(|| (vec![0], vec![1]))?
                } else {
                    (xs, weights)
                };
                // Rows are in groups, and all results in one tensor; groups along the inner axis give a stack. Of several
                // weights each has some of the rows.
                let group_type = call.int(&["group_type"]).unwrap_or(-1);
                let are_told = match (group_type, xs.len(), weights.len(), call.results()) {
                    (0 | -1, 1, 1, 1) | (0, 1, _, 1) => true,
                    (-1, xs, weights, results) => xs == weights && xs == results,
                    _ => false,
                };
                are_told.then_some((xs, weights))
            }
            "GroupedMatmulSwigluQuantV2" => {
                Some((vec![0], Some(weights()).filter(|w| !w.is_empty()).unwrap_or(vec![3])))
            }
            _ => Some((vec![0], vec![1])),
        }
    }

    /// Columns that one weight makes.
    fn columns(&self, call: &Call<'_>, weight: usize) -> Result<i64, Reason> {
        let matrix = Matrix::of(call, weight)?;
        Ok(matrix.map_or(UNKNOWN, |matrix| if self.transposed { matrix.rows } else { matrix.columns }))
    }

    /// The shape that one x and its weight make.
    fn output(&self, call: &Call<'_>, x: usize, weight: usize) -> Result<Shape, Reason> {
        let Some(rows) = rows(call, x)? else { return Ok(Shape::unknown_rank()) };
        Ok(Shape::new([rows, &[self.columns(call, weight)?]].concat()))
    }

    /// Rows dealt out evenly, as far as is known, and where they are fewer than the groups, one to each of as many.
    fn product(&self, call: &Call<'_>) -> Result<Option<Product>, Reason> {
        let are_alike = |list: &[usize]| -> Result<bool, Reason> {
            let first = call.dims(list[0])?;
            Ok(list.iter().map(|&input| call.dims(input)).collect::<Result<Vec<_>, _>>()?.iter().all(|d| *d == first))
        };
        let (x, weight) = (self.xs[0], self.weights[0]);
        if !are_alike(&self.xs)? || !are_alike(&self.weights)? {
            return Ok(None);
        }
        let inner = call.dims(x)?.and_then(<[i64]>::last);
        let (Some(lead), Some(&inner), Some(matrix)) = (rows(call, x)?, inner, Matrix::of(call, weight)?) else {
            return Ok(None);
        };
        let (rows, stacked) = (dim::product(lead)?, dim::product(matrix.stack)?);
        let (count, rows) = match self.xs.len() {
            1 => dealt(rows, dim::times(self.weights.len() as i64, stacked)?),
            pairs if stacked == 1 => (pairs as i64, rows),
            _ => return Ok(None),
        };
        let weights = [count, matrix.rows, matrix.columns];
        Product::of_dims(&[count, rows, inner], &weights, false, self.transposed).map(Some)
    }
}

/// Groups that have rows, and the rows of each.
fn dealt(rows: i64, groups: i64) -> (i64, i64) {
    let busy = groups.min(rows).max(1);
    (busy, (rows.max(0) as u64).div_ceil(busy as u64) as i64)
}

/// The input that is the right operand of a product: 1, but for groups whose weights stand elsewhere.
pub fn weight_place(call: &Call<'_>, reading: Reading) -> usize {
    let Reading::Groups { transposed } = reading else { return 1 };
    Groups::of(call, transposed).map_or(1, |groups| groups.weights[0])
}

/// Products of rows in groups as one stack of them.
pub(super) fn product(call: &Call<'_>, transposed: bool) -> Result<Option<Product>, Reason> {
    Groups::of(call, transposed).map_or(Ok(None), |groups| groups.product(call))
}

/// `GroupedMatmul` (x..., weight..., ...): one product for each group of rows, or for each pair. Which inputs are weights
/// is told by names; where a file has none, by one x of two axes before one weight of three.
pub(crate) fn grouped_product(call: &Call<'_>) -> Inference {
    let Some(groups) = Groups::of(call, false) else {
        return Inferred::all(vec![TensorDesc::unknown(); call.results()]);
    };
    let dtype = computed_type(call);
    let pairs = groups.xs.iter().zip(&groups.weights);
    let outputs = pairs.map(|(&x, &weight)| Ok(TensorDesc::new(dtype, groups.output(call, x, weight)?)));
    Inferred::all(outputs.collect::<Result<_, Reason>>()?)
}

/// `GroupedMatMulAllReduce` (x..., weight..., ...): as above, and what several x make may lie in one tensor; of one x that is
/// dealt out to several tensors, only the values of the groups tell the rows of each.
pub(crate) fn grouped_all_reduce(call: &Call<'_>) -> Inference {
    let (mut xs, mut weights) = (named_inputs(call, "x"), named_inputs(call, "weight"));
    if xs.is_empty() || weights.is_empty() {
        (xs, weights) = if call.arity() == 2 { (vec![0], vec![1]) } else { (Vec::new(), Vec::new()) };
    }
    let groups = Groups { xs, weights, transposed: false };
    let dtype = call.dtype(groups.xs.first().copied().unwrap_or(0));
    let result = |x: usize, weight: usize| groups.output(call, x, weight);
    let counts = (groups.xs.len(), groups.weights.len(), call.results());
    let shapes: Result<Vec<Shape>, Reason> = match counts {
        (1, 1.., 1) => result(groups.xs[0], groups.weights[0]).map(|shape| vec![shape]),
        (xs, weights, results) if xs == weights && xs == results => {
            groups.xs.iter().zip(&groups.weights).map(|(&x, &weight)| result(x, weight)).collect()
        }
        (xs, weights, 1) if xs == weights && xs > 0 => {
            let each = groups.xs.iter().map(|&x| Ok(rows(call, x)?.and_then(|rows| dim::product(rows).ok())));
            let each: Option<Vec<i64>> = each.collect::<Result<Vec<_>, Reason>>()?.into_iter().collect();
            let is_known = |each: &Vec<i64>| each.iter().all(|&rows| rows >= 0);
            let sum = each.filter(is_known).map_or(UNKNOWN, |each| each.iter().sum());
            Ok(vec![Shape::new([sum, groups.columns(call, groups.weights[0])?])])
        }
        (1, weights, results) if weights == results => {
            groups.weights.iter().map(|&weight| Ok(Shape::new([UNKNOWN, groups.columns(call, weight)?]))).collect()
        }
        _ => Ok(vec![Shape::unknown_rank(); call.results()]),
    };
    Inferred::all(shapes?.into_iter().map(|shape| TensorDesc::new(dtype, shape)).collect())
}

/// A product in groups through a gate, quantised: (x, weight, ...) as `GroupedMatmulSwigluQuant` has them, or with the
/// weights behind the scales and groups, as its second version: half the columns, and a scale for each row.
pub(crate) fn grouped_gated_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let output = match Groups::of(call, false) {
        Some(groups) => groups.output(call, groups.xs[0], groups.weights[0])?,
        None => Shape::unknown_rank(),
    };
    let (y, rows) = match output.dims().and_then(<[i64]>::split_last) {
        Some((&columns, rows)) => {
            let half = if columns < 0 { UNKNOWN } else { columns / 2 };
            (Shape::new([rows, &[half]].concat()), Shape::new(rows))
        }
        None => (Shape::unknown_rank(), Shape::unknown_rank()),
    };
    // Scales of blocks lie in a form of their own.
    let blocks = call.get(1).is_some_and(|scale| scale.dtype == DataType::Float8E8m0);
    let scale = if blocks { TensorDesc::unknown() } else { TensorDesc::new(DataType::Float, rows) };
    Inferred::all([TensorDesc::new(x.dtype, y), scale].into_iter().take(call.results()).collect())
}

/// `QuantGroupedMatmulDequant` and `QuantMatmulDequant` (x, weight, ...): the weights, of each group or of all rows, lie
/// transposed, unless an attribute says not.
pub(crate) fn grouped_dequant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let shape = Groups::of(call, true).map_or(Ok(Shape::unknown_rank()), |groups| groups.output(call, 0, 1))?;
    Inferred::shape(x.dtype, shape)
}

/// `GroupedMatmulFinalizeRouting` (x, w, ...): the rows of a batch, each the sum of those of its experts.
pub(crate) fn grouped_finalize(call: &Call<'_>) -> Inference {
    let rows = call.int(&["output_bs"]).filter(|&rows| rows > 0).unwrap_or(UNKNOWN);
    let columns = Groups::of(call, false).map_or(Ok(UNKNOWN), |groups| groups.columns(call, 1))?;
    Inferred::dims(call.type_attr("dtype").unwrap_or(DataType::Float), [rows, columns])
}

/// `FFN` (x, weight1, weight2, ...): the last axis is that of the second weight.
pub(crate) fn feed_forward(call: &Call<'_>) -> Inference {
    let dtype = match (computed_type(call), call.int(&["output_dtype"])) {
        (DataType::Undefined, Some(0)) => DataType::Float16,
        (DataType::Undefined, Some(1)) => DataType::Bfloat16,
        (dtype, _) => dtype,
    };
    let last = call.dims(2)?.and_then(|dims| dims.last()).copied();
    let columns = last.filter(|_| !packs_words(call, 2)).unwrap_or(UNKNOWN);
    match call.dims(0)?.and_then(|dims| dims.split_last()) {
        Some((_, rows)) => Inferred::dims(dtype, [rows, &[columns][..]].concat()),
        None => Inferred::unknown(dtype),
    }
}

/// Both products of an `FFN`, of all rows or of those of each expert; a gate between them halves the columns. `None` where
/// the operands do not tell them.
pub fn feed_forward_products(call: &Call<'_>) -> Result<Option<[Product; 2]>, Reason> {
    if packs_words(call, 1) || packs_words(call, 2) {
        return Ok(None);
    }
    let (Some([lead @ .., hidden]), Some([experts @ .., inner, wide]), Some([others @ .., narrow, back])) =
        (call.dims(0)?, call.dims(1)?, call.dims(2)?)
    else {
        return Ok(None);
    };
    if experts != others || (*wide != *narrow && *wide != dim::times(*narrow, 2)?) {
        return Ok(None);
    }
    let (busy, rows) = dealt(dim::product(lead)?, dim::product(experts)?);
    let product = |inner: i64, weight: [i64; 2]| {
        Product::of_dims(&[busy, rows, inner], &[busy, weight[0], weight[1]], false, false)
    };
    Ok(Some([product(*hidden, [*inner, *wide])?, product(*narrow, [*narrow, *back])?]))
}
