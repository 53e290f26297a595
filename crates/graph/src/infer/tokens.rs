//! Rules of operators that sort rows by their experts and put them back: `MoeTokenPermute` and its kin. Inputs stand at the
//! places of their interface ([`crate::op::prototype`]).
//!
//! Sources: the operators' public descriptions in CANN's open repositories and the documentation of `torch_npu`.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape, TensorDesc};

/// The first or the last size of an input.
fn size(call: &Call<'_>, input: usize, pick: fn(&[i64]) -> Option<&i64>) -> i64 {
    call.get(input).and_then(|desc| pick(desc.shape.dims()?)).copied().unwrap_or(UNKNOWN)
}

fn first(call: &Call<'_>, input: usize) -> i64 {
    size(call, input, <[i64]>::first)
}

fn last(call: &Call<'_>, input: usize) -> i64 {
    size(call, input, <[i64]>::last)
}

/// How often a part is in a whole; unknown where one is.
fn share(whole: i64, part: i64) -> i64 {
    if whole < 0 || part < 1 { UNKNOWN } else { whole / part }
}

fn list(dtype: DataType, count: i64) -> TensorDesc {
    TensorDesc::new(dtype, Shape::new([count]))
}

fn rows(dtype: DataType, count: i64, hidden: i64) -> TensorDesc {
    TensorDesc::new(dtype, Shape::new([count, hidden]))
}

fn taken(call: &Call<'_>, outputs: Vec<TensorDesc>) -> Inference {
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// Where `restore_shape` counts, and says two sizes, these.
fn restored(call: &Call<'_>) -> Option<[i64; 2]> {
    <[i64; 2]>::try_from(call.node.attrs.ints("restore_shape")?).ok()
}

/// `MoeTokenPermute` (tokens, indices): each row once for each of its experts, or so many of these as are asked for; a
/// negative number drops as many of them. Where each went is told of all.
pub(crate) fn permute(call: &Call<'_>) -> Inference {
    let tokens = call.need(0)?;
    let all = match call.dims(1)? {
        Some(dims) => dim::product(dims)?,
        None => UNKNOWN,
    };
    let kept = match call.int(&["num_out_tokens"]).unwrap_or(0) {
        _ if all < 0 => UNKNOWN,
        asked if asked > 0 => all.min(asked),
        dropped => all.saturating_add(dropped).max(0),
    };
    taken(call, vec![rows(tokens.dtype, kept, last(call, 0)), list(DataType::Int32, all)])
}

/// `MoeTokenPermuteGrad` (grad, places): a row for `num_topk` places.
pub(crate) fn permute_grad(call: &Call<'_>) -> Inference {
    let grad = call.need(0)?;
    let (places, experts) = (first(call, 1), call.int(&["num_topk"]).unwrap_or(1));
    if places > 0 && experts > 0 && places % experts != 0 {
        return Err(format!("{places} places for {experts} experts each"));
    }
    taken(call, vec![rows(grad.dtype, share(places, experts), last(call, 0))])
}

/// `MoeTokenUnpermute` (rows, places, probabilities): a row for each row of the probabilities, for each place where there
/// are none.
pub(crate) fn unpermute(call: &Call<'_>) -> Inference {
    let sorted = call.need(0)?;
    let counted = if call.get(2).is_some() { 2 } else { 1 };
    let own = [first(call, counted), last(call, 0)];
    let [count, hidden] = restored(call).filter(|_| call.flag(&["padded_mode"], false)).unwrap_or(own);
    taken(call, vec![rows(sorted.dtype, count, hidden)])
}

/// `MoeTokenUnpermuteGrad` (rows, grad, places, probabilities): gradients of rows and probabilities.
pub(crate) fn unpermute_grad(call: &Call<'_>) -> Inference {
    let probabilities = call.get(3).cloned().unwrap_or_else(TensorDesc::unknown);
    taken(call, vec![call.need(0)?.clone(), probabilities])
}

/// `MoeTokenPermuteWithRoutingMap` (tokens, map, probabilities): rows sorted by expert, as many of each row as it has
/// experts, or as many for each expert as it has room for.
pub(crate) fn permute_mapped(call: &Call<'_>) -> Inference {
    let tokens = call.need(0)?;
    let asked = call.int(&["num_out_tokens"]).ok_or("attribute `num_out_tokens` is missing")?;
    // Either way the rows that are left over are dropped.
    let each = if call.flag(&["drop_and_pad"], false) { last(call, 1) } else { first(call, 1) };
    let count = match share(asked, each) {
        UNKNOWN => UNKNOWN,
        times => dim::times(times, each)?,
    };
    let probabilities = call.get(2).map_or_else(TensorDesc::unknown, |desc| list(desc.dtype, count));
    taken(call, vec![rows(tokens.dtype, count, last(call, 0)), probabilities, list(DataType::Int32, count)])
}

/// `MoeTokenPermuteWithRoutingMapGrad` (grad, gradient of probabilities, places, map): as before they were sorted.
pub(crate) fn permute_mapped_grad(call: &Call<'_>) -> Inference {
    let grad = call.need(0)?;
    let number = |name: &'static str| -> Result<i64, Reason> {
        call.int(&[name]).ok_or_else(|| format!("attribute `{name}` is missing"))
    };
    let (count, experts) = (number("tokens_num")?, number("num_experts")?);
    let probabilities = call.get(1).map_or_else(TensorDesc::unknown, |desc| rows(desc.dtype, count, experts));
    taken(call, vec![rows(grad.dtype, count, last(call, 0)), probabilities])
}

/// `MoeTokenUnpermuteWithRoutingMap` (rows, places, map, probabilities): rows as before, and what its gradient needs.
pub(crate) fn unpermute_mapped(call: &Call<'_>) -> Inference {
    let (sorted, places) = (call.need(0)?, first(call, 1));
    let counted = [2, 3].into_iter().find(|&input| call.get(input).is_some());
    let own = [counted.map_or(UNKNOWN, |input| first(call, input)), last(call, 0)];
    let [count, hidden] = restored(call).unwrap_or(own);
    let place = list(DataType::Int32, places);
    let probabilities = call.get(3).map_or_else(TensorDesc::unknown, |desc| list(desc.dtype, places));
    taken(call, vec![rows(sorted.dtype, count, hidden), place.clone(), place, probabilities])
}

/// `MoeTokenUnpermuteWithRoutingMapGrad` (grad, places, ...): a row for each place, and the probabilities' gradient.
pub(crate) fn unpermute_mapped_grad(call: &Call<'_>) -> Inference {
    let grad = call.need(0)?;
    let probabilities = call.get(5).cloned().unwrap_or_else(TensorDesc::unknown);
    taken(call, vec![rows(grad.dtype, first(call, 1), last(call, 0)), probabilities])
}
