//! Rules of attention that reads chosen keys, and of what stands around it in served language models. Inputs stand at the
//! places of their interface ([`crate::op::prototype`]).
//!
//! Sources: the operators' public descriptions in CANN's operator headers and the documentation of `torch_npu`.

use super::dim::{self, UNKNOWN};
use super::language::named_inputs;
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape, TensorDesc};

/// Like the query, in rows of another length.
fn like_query(call: &Call<'_>, width: impl Fn(i64) -> i64) -> Result<TensorDesc, String> {
    let query = call.need(0)?;
    let shape = match query.shape.dims().and_then(<[i64]>::split_last) {
        Some((&last, rows)) => Shape::new([rows, &[width(last)][..]].concat()),
        None => Shape::unknown_rank(),
    };
    Ok(TensorDesc::new(query.dtype, shape))
}

/// `LightningIndexer`, `QuantLightningIndexer` (query, key, ...): the numbers of the keys to read, for each row of the query
/// and head of the keys.
pub(crate) fn indexer(call: &Call<'_>) -> Inference {
    let (query, key) = (call.need(0)?, call.need(1)?);
    let count = call.int(&["sparse_count"]).unwrap_or(2048);
    // Keys lie as [.., heads, width], in pages or not.
    let heads = key.shape.dims().and_then(|dims| dims.len().checked_sub(2).map(|at| dims[at])).unwrap_or(UNKNOWN);
    let rows = query.shape.dims().and_then(|dims| dims.len().checked_sub(2).map(|rows| &dims[..rows]));
    let Some(rows) = rows else { return Inferred::unknown(DataType::Int32) };
    let chosen = Shape::new([rows, &[heads, count][..]].concat());
    let mut outputs = vec![TensorDesc::new(DataType::Int32, chosen.clone())];
    // Without their values the second output is a place holder.
    let values = if call.flag(&["return_values"], false) { chosen } else { Shape::unknown_rank() };
    outputs.push(TensorDesc::new(query.dtype, values));
    outputs.truncate(call.results());
    Inferred::all(outputs)
}

/// `KvQuantSparseFlashAttention` and its `Pioneer` (query, ...): rows of the query hold those of its turned part, which the result has not.
pub(crate) fn quantised_attention(call: &Call<'_>) -> Inference {
    let turned = call.int(&["rope_head_dim"]).unwrap_or(64);
    let width = |whole: i64| if whole < 0 { UNKNOWN } else { whole - turned };
    if let Some(&whole) = call.dims(0)?.and_then(<[i64]>::last)
        && (turned < 0 || whole >= 0 && whole < turned)
    {
        return Err(format!("`rope_head_dim` is {turned} in rows of {whole}"));
    }
    Inferred::all(vec![like_query(call, width)?])
}

/// Attention to selected blocks (query, key, value, ...): each head's rows are those of the values. Layouts that keep heads
/// apart only.
fn selected(call: &Call<'_>) -> Result<TensorDesc, String> {
    let apart = matches!(call.str("input_layout").unwrap_or("BSND"), "BSND" | "TND" | "BNSD");
    let value = call.dims(2)?.and_then(<[i64]>::last).copied().filter(|_| apart);
    match value {
        Some(value) => like_query(call, |_| value),
        None => Ok(TensorDesc::new(call.dtype(0), Shape::unknown_rank())),
    }
}

/// `NsaSelectedAttentionInfer`: the result alone.
pub(crate) fn selected_attention(call: &Call<'_>) -> Inference {
    Inferred::all(vec![selected(call)?])
}

/// `NsaSelectedAttention`: maxima and sums of each row, eight of each, then the result.
pub(crate) fn selected_attention_training(call: &Call<'_>) -> Inference {
    let sums = TensorDesc { dtype: DataType::Float, ..like_query(call, |_| 8)? };
    Inferred::all([sums.clone(), sums, selected(call)?].into_iter().take(call.results()).collect())
}

/// `NsaCompressAttention`: maxima and sums as above, the result, then the blocks that each row chooses for each head of the
/// keys, which are packed: [rows, heads, width].
pub(crate) fn compressed_attention(call: &Call<'_>) -> Inference {
    let sums = TensorDesc { dtype: DataType::Float, ..like_query(call, |_| 8)? };
    let count = call.int(&["select_block_count"]).unwrap_or(UNKNOWN);
    let chosen = match (call.dims(0)?, call.dims(1)?) {
        (Some(&[rows, _, _]), Some(&[_, heads, _])) => Shape::new([rows, heads, count]),
        _ => Shape::unknown_rank(),
    };
    let outputs = [sums.clone(), sums, selected(call)?, TensorDesc::new(DataType::Int32, chosen)];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// `MhcPreSinkhorn` (x, ...): x has several streams of each row, `[.., streams, width]`. One row of them, the factors that mix
/// them, and what only a backward pass reads: without that, these are place holders.
pub(crate) fn mixed_streams(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let float = |shape: Shape| TensorDesc::new(DataType::Float, shape);
    let Some(&[ref rows @ .., streams, width]) = x.shape.dims() else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]);
    };
    let each = |last: i64| Shape::new([rows, &[last]].concat());
    let pairs = dim::times(streams, streams)?;
    let mut outputs = vec![TensorDesc::new(x.dtype, each(width)), float(each(streams)), float(each(pairs))];
    if call.flag(&["need_backward"], true) {
        let both = if pairs < 0 { UNKNOWN } else { pairs + 2 * streams };
        let rounds = dim::times(2, call.int(&["num_iters"]).unwrap_or(20))?;
        let sums = [&[rounds], rows, &[streams]].concat();
        let norms = [&[rounds], rows, &[streams, streams]].concat();
        outputs.extend([each(streams), each(both), each(1), Shape::new(sums), Shape::new(norms)].map(float));
    } else {
        outputs.resize(8, float(Shape::unknown_rank()));
    }
    outputs.truncate(call.results());
    Inferred::all(outputs)
}

/// `AttentionUpdate`: parts of an attention put together, each like the whole.
pub(crate) fn update(call: &Call<'_>) -> Inference {
    let like = |stem: &str, fallback: usize| {
        let place = named_inputs(call, stem).first().copied().unwrap_or(fallback);
        call.get(place).cloned().unwrap_or_else(TensorDesc::unknown)
    };
    // Sums come first, as many as parts.
    let parts = call.int(&["sp"]).and_then(|parts| usize::try_from(parts).ok()).unwrap_or(call.arity() / 2);
    Inferred::all([like("go", parts), like("lse", 0)].into_iter().take(call.results()).collect())
}

/// `QkvRmsNormRopeCache` (qkv, ..., `q_out`, `k_cache`, `v_cache`, ...): three that are changed in place, then the parts
/// of qkv where they are asked for.
pub(crate) fn cached_parts(call: &Call<'_>) -> Inference {
    let qkv = call.need(0)?;
    let rows = call.dims(0)?.and_then(<[i64]>::first).copied().unwrap_or(UNKNOWN);
    let width = call.node.attrs.ints("qkv_size").and_then(<[i64]>::last).copied().unwrap_or(UNKNOWN);
    let heads = call.node.attrs.ints("head_nums").unwrap_or_default();
    let mut outputs = vec![call.need(6)?.clone(), call.need(7)?.clone(), call.need(8)?.clone()];
    for part in 0..3 {
        let heads = heads.get(part).copied().unwrap_or(UNKNOWN);
        let asked = call.flag(&["is_output_qkv"], false);
        let shape = if asked { Shape::new([rows, dim::times(heads, width)?]) } else { Shape::unknown_rank() };
        outputs.push(TensorDesc::new(qkv.dtype, shape));
    }
    outputs.truncate(call.results());
    Inferred::all(outputs)
}

/// `AttentionWorkerCombine` (context, scales, layer): a row for each row of the scales.
pub(crate) fn combined(call: &Call<'_>) -> Inference {
    let rows = call.dims(1)?.and_then(<[i64]>::first).copied().unwrap_or(UNKNOWN);
    let hidden = call.int(&["hidden_size"]).ok_or("attribute `hidden_size` is missing")?;
    let dtype = match call.int(&["token_dtype"]).unwrap_or(0) {
        0 => DataType::Float16,
        1 => DataType::Bfloat16,
        _ => DataType::Undefined,
    };
    let rows = TensorDesc::new(dtype, Shape::new([rows, hidden]));
    Inferred::all([rows, call.need(2)?.clone()].into_iter().take(call.results()).collect())
}
