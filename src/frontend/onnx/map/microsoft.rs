//! What ONNX Runtime's optimiser makes of transformers, in a domain of its own: attention with its projection, norms with
//! what is added before them, activations with their bias. They become the operators that they were made of.

use super::integer::{self, Places};
use super::{Rule, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, DataType, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("Attention", attention),
    with("QAttention", quantised_attention),
    with("Gelu", |op| gelu(op, "none")),
    with("BiasGelu", |op| gelu(op, "none")),
    with("FastGelu", |op| gelu(op, "tanh")),
    with("SkipLayerNormalization", skip_layer_norm),
    with("EmbedLayerNormalization", embed_layer_norm),
];

/// The inputs that an attention may have beside its projection.
struct Beside {
    mask: usize,
    /// Those that change what is computed: states of earlier steps, further addends.
    others: &'static [usize],
}

/// Heads of an attention, and how long each is, where the weight tells it.
struct Heads {
    count: i64,
    width: i64,
}

impl Heads {
    /// `None` where the attention does more than what is expressed here, or sizes are missing.
    fn of(op: &Op, weight: Port, beside: &Beside) -> Result<Option<Heads>> {
        let more = beside.others.iter().any(|&input| op.input(input).is_some()) || op.is_used(1);
        let flags = ["unidirectional", "do_rotary"];
        let set = flags.iter().map(|name| op.flag(name, false)).collect::<Result<Vec<_>>>()?;
        let uneven = op.ints("qkv_hidden_sizes")?.is_some_and(|sizes| sizes.windows(2).any(|two| two[0] != two[1]));
        // A number for each row or for each key; others are one for each pair, or several lists in one.
        let masked = op.input(beside.mask).is_some() && !matches!(op.found_rank(beside.mask), Some(1 | 2));
        let Some(count) = op.int("num_heads")?.filter(|&count| count > 0) else {
            return Err(op.error("attribute `num_heads` is missing"));
        };
        let columns = op.desc(weight).shape.dims().and_then(|dims| dims.last()).copied();
        let Some(columns) = columns.filter(|&n| n > 0 && n % (3 * count) == 0) else { return Ok(None) };
        let plain = !(more || set.contains(&true) || uneven || masked);
        Ok(plain.then_some(Heads { count, width: columns / (3 * count) }))
    }
}

/// An attention that stays as it is; its result is like what it reads where the weight is three squares.
fn keep(op: &mut Op, weight: Port) -> Result<()> {
    let is_square = op
        .desc(weight)
        .shape
        .dims()
        .is_some_and(|dims| matches!(dims, &[rows, columns] if rows > 0 && columns == 3 * rows));
    if is_square { op.keep_like_input(DataType::Float) } else { op.keep_unmapped() }
}

/// x, the weights of queries, keys and values side by side, their bias, a mask.
fn attention(op: &mut Op) -> Result<()> {
    let (x, weight) = (op.required(0)?, op.required(1)?);
    let beside = Beside { mask: 3, others: &[4, 5, 6] };
    let Some(heads) = Heads::of(op, weight, &beside)? else { return keep(op, weight) };
    let mut node = op.node("BatchMatMulV2").with_inputs([x, weight]);
    node.attrs.set("adj_x1", Attr::Bool(false));
    node.attrs.set("adj_x2", Attr::Bool(false));
    let product = Port::first(op.core(node)?);
    let projected = match op.input(2) {
        Some(bias) => op.helper("Add", &[product, bias], &[])?,
        None => product,
    };
    attend(op, projected, &heads, beside.mask)
}

/// The same of quantised x and weights, with their scales, a mask, their zero points.
fn quantised_attention(op: &mut Op) -> Result<()> {
    let (weight, bias) = (op.required(1)?, op.required(2)?);
    let (rows, columns) = (op.required(3)?, op.required(4)?);
    let beside = Beside { mask: 5, others: &[8] };
    let Some(heads) = Heads::of(op, weight, &beside)? else { return keep(op, weight) };
    let at = Places { left: 0, right: 1, left_zero: Some(6), right_zero: Some(7) };
    let Some(sums) = integer::product(op, &at)? else { return keep(op, weight) };
    let wide = op.helper("Cast", &[sums], &[("dst_type", Attr::Type(DataType::Float))])?;
    let scale = op.helper("Mul", &[rows, columns], &[])?;
    let real = op.helper("Mul", &[wide, scale], &[])?;
    let projected = op.helper("Add", &[real, bias], &[])?;
    attend(op, projected, &heads, beside.mask)
}

/// softmax(Q K^T / sqrt(width) + mask) V of queries, keys and values that lie side by side in rows of `projected`.
fn attend(op: &mut Op, projected: Port, heads: &Heads, mask: usize) -> Result<()> {
    let parts = op.ints_input("parts", vec![0, 0, 3, heads.count, heads.width])?;
    let apart = op.helper("Reshape", &[projected, parts], &[])?;
    let stacked = op.transposed(apart, &[2, 0, 3, 1, 4])?;
    let first = op.int_input("axis", 0)?;
    let pick = |op: &mut Op, which: i64| -> Result<Port> {
        let which = op.int_input(&format!("part{which}"), which)?;
        op.helper("GatherV2", &[stacked, which, first], &[])
    };
    let (queries, keys, values) = (pick(op, 0)?, pick(op, 1)?, pick(op, 2)?);
    let product = |turned: bool| [("adj_x1", Attr::Bool(false)), ("adj_x2", Attr::Bool(turned))];
    let scores = op.helper("BatchMatMulV2", &[queries, keys], &product(true))?;
    let scale = op.float("scale")?.filter(|&scale| scale != 0.0).unwrap_or(1.0 / (heads.width as f64).sqrt());
    let mut scores = op.helper("Muls", &[scores], &[("value", Attr::Float(scale))])?;
    if op.input(mask).is_some() {
        // 1 where a key counts: others are put far below the rest.
        let far = op.float("mask_filter_value")?.unwrap_or(-10000.0);
        let mask = by_key(op, mask)?;
        let real = op.helper("Cast", &[mask], &[("dst_type", Attr::Type(DataType::Float))])?;
        let away = op.helper("Muls", &[real], &[("value", Attr::Float(-far))])?;
        let away = op.helper("Adds", &[away], &[("value", Attr::Float(far))])?;
        let shape = op.ints_input("mask_shape", vec![0, 1, 1, -1])?;
        let away = op.helper("Reshape", &[away, shape], &[])?;
        scores = op.helper("Add", &[scores, away], &[])?;
    }
    let weights = op.helper("SoftmaxV2", &[scores], &[("axes", Attr::Ints(vec![-1]))])?;
    let mixed = op.helper("BatchMatMulV2", &[weights, values], &product(false))?;
    let rows = op.transposed(mixed, &[0, 2, 1, 3])?;
    let whole = op.ints_input("rows", vec![0, 0, heads.count * heads.width])?;
    let result = op.helper("Reshape", &[rows, whole], &[])?;
    op.finish_with(result);
    Ok(())
}

/// A mask with a number for each key; one for each row says how many of its keys count.
fn by_key(op: &mut Op, mask: usize) -> Result<Port> {
    let port = op.required(mask)?;
    if op.found_rank(mask) == Some(2) {
        return Ok(port);
    }
    let x = op.required(0)?;
    let places = counted(op, x)?;
    let wide = op.helper("Cast", &[port], &[("dst_type", Attr::Type(DataType::Int64))])?;
    let shape = op.ints_input("lengths_shape", vec![-1, 1])?;
    let lengths = op.helper("Reshape", &[wide, shape], &[])?;
    op.helper("Less", &[places, lengths], &[])
}

/// The numbers 0, 1, .. of the places along the second axis of a tensor.
fn counted(op: &mut Op, x: Port) -> Result<Port> {
    let shape = op.helper("Shape", &[x], &[("dtype", Attr::Type(DataType::Int64))])?;
    let (axis, one, zero) = (op.int_input("first", 0)?, op.int_input("one", 1)?, op.int_input("zero", 0)?);
    let count = op.helper("GatherV2", &[shape, one, axis], &[])?;
    op.helper("Range", &[zero, count, one], &[])
}

/// x and, where there is one, a bias.
fn gelu(op: &mut Op, approximate: &str) -> Result<()> {
    let mut x = op.required(0)?;
    if let Some(bias) = op.input(1) {
        x = op.helper("Add", &[x, bias], &[])?;
    }
    let mut node = op.node("GeluV2").with_inputs([x]);
    node.attrs.set("approximate", Attr::Str(approximate.to_owned()));
    op.finish(node)
}

/// x, what is added to it, scale and shift of the norm, a bias that is added, too. Statistics that are read are those that
/// only training has.
fn skip_layer_norm(op: &mut Op) -> Result<()> {
    if op.is_used(1) || op.is_used(2) {
        return op.keep_unmapped();
    }
    let (x, skip, scale, shift) = (op.required(0)?, op.required(1)?, op.required(2)?, op.input(3));
    let mut sum = op.helper("Add", &[x, skip], &[])?;
    if let Some(bias) = op.input(4) {
        sum = op.helper("Add", &[sum, bias], &[])?;
    }
    op.finish_output(3, sum);
    finish_norm(op, sum, scale, shift)
}

/// The norm of rows, whose one output is the operator's first.
fn finish_norm(op: &mut Op, x: Port, scale: Port, shift: Option<Port>) -> Result<()> {
    let mut node = op.node("LayerNorm");
    node.outputs.truncate(1);
    node.inputs = vec![Some(x), Some(scale), shift];
    node.attrs.set("begin_norm_axis", Attr::Int(-1));
    node.attrs.set("begin_params_axis", Attr::Int(-1));
    node.attrs.set("epsilon", Attr::Float(op.float("epsilon")?.unwrap_or(1e-12)));
    let result = Port::first(op.core(node)?);
    op.finish_with(result);
    Ok(())
}

/// Numbers of words, of segments; tables of words, places and segments; scale and shift of the norm; a mask; the places.
/// Beside the norm: how many words of each row count, and the sum.
fn embed_layer_norm(op: &mut Op) -> Result<()> {
    let (words, table, places) = (op.required(0)?, op.required(2)?, op.required(3)?);
    let (scale, shift) = (op.required(5)?, op.input(6));
    let axis = op.int_input("axis", 0)?;
    let mut sum = op.helper("GatherV2", &[table, words, axis], &[])?;
    // Without numbers of places one stands behind the other.
    let numbers = op.input(8).map_or_else(|| counted(op, words), Ok)?;
    let rows = op.helper("GatherV2", &[places, numbers, axis], &[])?;
    sum = op.helper("Add", &[sum, rows], &[])?;
    if let (Some(segments), Some(table)) = (op.input(1), op.input(4)) {
        let rows = op.helper("GatherV2", &[table, segments, axis], &[])?;
        sum = op.helper("Add", &[sum, rows], &[])?;
    }
    if op.is_used(1) {
        let Some(mask) = op.input(7) else { return op.keep_unmapped() };
        let attrs = [("axes", Attr::Ints(vec![1])), ("keep_dims", Attr::Bool(false))];
        let counted = op.helper("ReduceSumD", &[mask], &attrs)?;
        op.finish_output(1, counted);
    }
    op.finish_output(2, sum);
    finish_norm(op, sum, scale, shift)
}
