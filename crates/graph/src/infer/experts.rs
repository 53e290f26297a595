//! Rules of operators that send rows to experts, on this device and on others. Inputs stand at the places of their
//! interface ([`crate::op::prototype`]).
//!
//! Sources: CANN's public operator headers and the documentation of `torch_npu`'s functions.

use super::dim::{self, Reason, UNKNOWN};
use super::language::{matrix, quantised};
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape, TensorDesc};

fn attr(call: &Call<'_>, name: &str, default: i64) -> i64 {
    call.int(&[name]).unwrap_or(default)
}

/// The lesser of two sizes, where both are known.
fn least(a: i64, b: i64) -> i64 {
    if a < 0 || b < 0 { UNKNOWN } else { a.min(b) }
}

fn list(count: i64, dtype: DataType) -> TensorDesc {
    TensorDesc::new(dtype, Shape::new([count]))
}

fn taken(call: &Call<'_>, outputs: Vec<TensorDesc>) -> Inference {
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// `MoeInitRoutingQuant`: as `MoeInitRouting`, in int8.
pub(crate) fn init_routing_quant(call: &Call<'_>) -> Inference {
    let mut inferred = super::language::init_routing(call)?;
    quantise(&mut inferred);
    Ok(inferred)
}

/// `MoeInitRoutingQuantV2`: as `MoeInitRoutingV2`, in int8, with a scale for each row at the end.
pub(crate) fn init_routing_quant_v2(call: &Call<'_>) -> Inference {
    let mut inferred = super::language::init_routing_v2(call)?;
    quantise(&mut inferred);
    // What counts experts comes third and fourth, whether it is asked for or not.
    if let Some(rows) = inferred.outputs.first().and_then(|rows| rows.shape.dims()?.split_last()).map(|(_, rows)| rows)
    {
        let scale = dim::product(rows)?;
        inferred.outputs.push(list(scale, DataType::Float));
    }
    taken(call, inferred.outputs)
}

fn quantise(inferred: &mut Inferred) {
    if let Some(rows) = inferred.outputs.first_mut() {
        rows.dtype = DataType::Int8;
    }
}

/// `MoeInitRoutingV3` (x, `expert_idx`, scale, offset): rows for each expert, where they came from, how many each expert
/// gets, and scales.
pub(crate) fn init_routing_v3(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some((rows, hidden)), Some((_, chosen))) = (matrix(call, 0)?, matrix(call, 1)?) else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]);
    };
    let all = dim::times(rows, chosen)?;
    let (experts, active) = (attr(call, "expert_num", -1), attr(call, "active_num", -1));
    let quantises = attr(call, "quant_mode", -1) != -1;
    let room = [experts, attr(call, "expert_capacity", -1)];
    let (expanded, count) = match (attr(call, "drop_pad_mode", 0), active) {
        (1, _) => (vec![room[0], room[1], hidden], dim::times(room[0], room[1])?),
        (_, active) if active > 0 => (vec![least(all, active), hidden], least(all, active)),
        _ => (vec![all, hidden], all),
    };
    let y = if quantises { quantised(call, x) } else { x.clone() };
    let range = match call.node.attrs.ints("active_expert_range") {
        Some(&[first, end]) if end > first => end.saturating_sub(first),
        _ => experts,
    };
    // Counts, or pairs of expert and count.
    let counts = match attr(call, "expert_tokens_num_type", 0) {
        2 => Shape::new([experts, 2]),
        _ => Shape::new([range]),
    };
    taken(
        call,
        vec![
            TensorDesc::new(y.dtype, Shape::new(expanded)),
            list(all, DataType::Int32),
            TensorDesc::new(DataType::Int64, counts),
            list(count, DataType::Float),
        ],
    )
}

/// `MoeInitRoutingV2Grad` (rows of experts, their places): as many rows as before each went to k experts.
pub(crate) fn init_routing_grad(call: &Call<'_>) -> Inference {
    let grad = call.need(0)?;
    let k = attr(call, "top_k", 0);
    let (Some(hidden), Some(&[places])) = (grad.shape.dims().and_then(<[i64]>::last), call.dims(1)?) else {
        return Inferred::unknown(grad.dtype);
    };
    if k < 1 || places > 0 && places % k != 0 {
        return Err(format!("{places} places for {k} experts each"));
    }
    Inferred::dims(grad.dtype, [if places < 0 { UNKNOWN } else { places / k }, *hidden])
}

/// `MoeFinalizeRoutingV2Grad` (grad, places, rows of experts, scales): a row for each place, and the scales' gradient.
pub(crate) fn finalize_routing_grad(call: &Call<'_>) -> Inference {
    let grad = call.need(0)?;
    let hidden = grad.shape.dims().and_then(<[i64]>::last).copied();
    let places = call.dims(1)?.and_then(<[i64]>::first).copied();
    let expanded = match (attr(call, "drop_pad_mode", 0), hidden, places) {
        (1, Some(hidden), _) => Shape::new([attr(call, "expert_num", 0), attr(call, "expert_capacity", 0), hidden]),
        (_, Some(hidden), Some(places)) => {
            let active = attr(call, "active_num", 0);
            Shape::new([if active > 0 { least(places, active) } else { places }, hidden])
        }
        _ => Shape::unknown_rank(),
    };
    let scales = call.get(3).cloned().unwrap_or_else(TensorDesc::unknown);
    taken(call, vec![TensorDesc::new(grad.dtype, expanded), scales])
}

/// Products of rows that other devices send or get: (`gmm_x`, `gmm_weight`, counts, counts, `mm_x`, `mm_weight`).
pub(crate) fn exchanged_product(call: &Call<'_>) -> Inference {
    exchanged(call, 4)
}

/// The same of quantised rows: the scales of both stand before the counts.
pub(crate) fn exchanged_quant_product(call: &Call<'_>) -> Inference {
    exchanged(call, 6)
}

/// `mm_x`, which this device keeps, stands at input `own`, its weight behind it.
fn exchanged(call: &Call<'_>, own: usize) -> Inference {
    let x = call.need(0)?;
    let total = |name: &str| -> Result<i64, Reason> {
        let counts = call.node.attrs.ints(name).unwrap_or_default();
        counts.iter().try_fold(0, |sum, &count| dim::plus(sum, count.max(0)))
    };
    let columns = |weight: usize, transposed: &str| {
        let dims = call.get(weight).and_then(|desc| desc.shape.dims())?;
        let back = if call.flag(&[transposed], false) { 2 } else { 1 };
        dims.len().checked_sub(back).map(|at| dims[at])
    };
    let rows = total("recv_counts")?;
    let of = |name: &str, dtype: DataType| call.type_attr(name).filter(|&t| t != DataType::Undefined).unwrap_or(dtype);
    let shared = match (call.get(own), columns(own + 1, "trans_mm_weight")) {
        (Some(x), Some(n)) => match x.shape.dims() {
            Some(&[rows, _]) => TensorDesc::new(of("mm_dtype", x.dtype), Shape::new([rows, n])),
            _ => TensorDesc::new(of("mm_dtype", x.dtype), Shape::unknown_rank()),
        },
        _ => TensorDesc::unknown(),
    };
    let hidden = x.shape.dims().and_then(<[i64]>::last).copied().unwrap_or(UNKNOWN);
    let n = columns(1, "trans_gmm_weight").unwrap_or(UNKNOWN);
    let row = |dtype: DataType, width: i64| TensorDesc::new(dtype, Shape::new([rows, width]));
    taken(call, vec![row(of("y_dtype", x.dtype), n), shared, row(x.dtype, hidden)])
}

/// `MoeDistributeDispatch` (x, `expert_ids`, ...): the most rows that this device may get, and what is told of them.
///
/// A device of a shared expert gets the rows of those that share it; one of the others at most every row once for each of
/// its experts, or for each that a row asks for.
pub(crate) fn dispatch(call: &Call<'_>) -> Inference {
    dispatched(call, 0)
}

/// `MoeDistributeDispatchV3`: as the others, behind a context.
pub(crate) fn dispatch_in_context(call: &Call<'_>) -> Inference {
    dispatched(call, 1)
}

/// The rows stand at input `x`, their experts behind them.
fn dispatched(call: &Call<'_>, x: usize) -> Inference {
    let (rows, asked) = (x, x + 1);
    let x = call.need(rows)?;
    let (Some((batch, hidden)), Some((_, k))) = (matrix(call, rows)?, matrix(call, asked)?) else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]);
    };
    let world = attr(call, "ep_world_size", 1);
    let everyone = match attr(call, "global_bs", 0) {
        0 => dim::times(batch, world)?,
        given => given,
    };
    let shared_ranks = attr(call, "shared_expert_rank_num", 0);
    let is_shared = attr(call, "ep_rank_id", 0) < shared_ranks;
    let own = |all: i64, among: i64| if among > 0 && all >= 0 { all / among } else { UNKNOWN };
    let experts = if is_shared { 1 } else { own(attr(call, "moe_expert_num", 0), world.saturating_sub(shared_ranks)) };
    let rows = if is_shared {
        own(dim::times(everyone, attr(call, "shared_expert_num", 1))?, shared_ranks)
    } else {
        dim::times(everyone, least(experts, k))?
    };
    let tensor_ranks = attr(call, "tp_world_size", 0).max(1);
    let all_rows = dim::times(rows, tensor_ranks)?;
    let dtype = if attr(call, "quant_mode", 0) == 0 { x.dtype } else { DataType::Int8 };
    let places = match call.node.op_type.as_str() {
        "MoeDistributeDispatch" => dim::times(batch, k)?,
        // 128 words for each row.
        _ => dim::times(rows, 128)?,
    };
    let received = dim::times(dim::times(world, experts)?, tensor_ranks)?;
    taken(
        call,
        vec![
            TensorDesc::new(dtype, Shape::new([all_rows, hidden])),
            list(all_rows, DataType::Float),
            list(places, DataType::Int32),
            list(experts, DataType::Int64),
            list(received, DataType::Int32),
            list(tensor_ranks, DataType::Int32),
            list(rows, DataType::Float),
        ],
    )
}
