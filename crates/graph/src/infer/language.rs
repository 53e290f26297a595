//! Rules of the fused operators of language models. Inputs stand at the places of their interface
//! ([`crate::op::prototype`]).
//!
//! Sources: the operators' public descriptions in the headers of CANN's open repositories and in the documentation of
//! their functions in `torch_npu`.

use super::dim::{self, Reason, UNKNOWN};
use super::matmul::Product;
use super::{Call, Inference, Inferred};
use crate::op::prototype;
use crate::{Attr, DataType, Shape, TensorDesc};

/// Every output is like input 0.
pub(crate) fn like_first(call: &Call<'_>) -> Inference {
    super::elementwise::same(call)
}

/// What an interface alone tells: an output that bears the name of an input is that tensor, changed in place.
pub(crate) fn by_interface(call: &Call<'_>) -> Option<Inferred> {
    let prototype = prototype::prototype(&call.node.op_type)?;
    let place = |name: &str| prototype.inputs.iter().position(|slot| slot.name == name);
    // Places are those of the interface only before an input that stands for many.
    let many = prototype.inputs.iter().position(|slot| slot.count == prototype::Count::Dynamic);
    let named = |name: &str| place(name).filter(|place| many.is_none_or(|many| *place < many));
    let output = |slot: &prototype::Slot| named(slot.name).and_then(|place| call.get(place)).cloned();
    let outputs: Vec<_> = prototype.outputs.iter().take(call.results()).map(output).collect();
    let found = outputs.iter().any(Option::is_some);
    let outputs = outputs.into_iter().map(|desc| desc.unwrap_or_else(TensorDesc::unknown)).collect();
    found.then_some(Inferred { outputs, attrs: Vec::new() })
}

/// Type of what is computed of quantised operands: as asked for, else unknown; of others it is theirs.
pub(crate) fn computed_type(call: &Call<'_>) -> DataType {
    let x = call.dtype(0);
    if x.is_float() && x.bits() >= 16 {
        return x;
    }
    let asked = ["dtype", "y_dtype"].into_iter().find_map(|name| call.type_attr(name));
    asked.filter(|dtype| dtype.is_float()).unwrap_or(DataType::Undefined)
}

/// A weight of 4-bit numbers may come as 32-bit words of eight.
pub fn packs_words(call: &Call<'_>, input: usize) -> bool {
    call.dtype(input) == DataType::Int32
}

/// One product whose further inputs change no shape: (x1, x2, ...).
pub(crate) fn product(call: &Call<'_>) -> Inference {
    let dtype = computed_type(call);
    let known = if packs_words(call, 1) { None } else { Product::of(call)? };
    let shape = known.map_or_else(Shape::unknown_rank, |product| Shape::new(product.output()));
    Inferred::shape(dtype, shape)
}

/// A product and what a norm makes of it, in one kernel: two tensors of one shape.
pub(crate) fn product_and_norm(call: &Call<'_>) -> Inference {
    let mut inferred = product(call)?;
    inferred.outputs.push(inferred.outputs[0].clone());
    Ok(inferred)
}

/// Axes in the order that an attribute names; as they are where it names none.
fn permuted(call: &Call<'_>, attr: &str, dims: &[i64]) -> Result<Vec<i64>, Reason> {
    match call.node.attrs.ints(attr) {
        None | Some([]) => Ok(dims.to_vec()),
        Some(perm) if perm.len() == dims.len() && dim::axes(perm, dims.len())?.into_iter().all(|named| named) => {
            perm.iter().map(|&axis| Ok(dims[dim::axis(axis, dims.len())?])).collect()
        }
        Some(perm) => Err(format!("`{attr}` is {perm:?}, no order of {} axes", dims.len())),
    }
}

/// `TransposeBatchMatMul` (x1, x2): both and the result in orders of axes of their own.
pub(crate) fn transposed_product(call: &Call<'_>) -> Inference {
    let dtype = computed_type(call);
    let Some(product) = stack_of(call)? else { return Inferred::unknown(dtype) };
    let (output, parts) = (product.output(), call.int(&["batch_split_factor"]).unwrap_or(1));
    match output[..] {
        _ if parts == 1 => Inferred::dims(dtype, permuted(call, "perm_y", &output)?),
        // Rows of the products of a part lie one behind the other.
        [batch, m, _] if parts > 1 && batch < 0 => Inferred::dims(dtype, [parts, m, UNKNOWN]),
        [batch, m, n] if parts > 1 && batch % parts == 0 => {
            Inferred::dims(dtype, [parts, m, dim::times(batch / parts, n)?])
        }
        _ => Err(format!("`batch_split_factor` is {parts}, which does not divide the batch of {output:?}")),
    }
}

/// The products of a `TransposeBatchMatMul`; `None` while the rank of an operand is not known.
pub fn stack_of(call: &Call<'_>) -> Result<Option<Product>, Reason> {
    let (Some(a), Some(b)) = (call.dims(0)?, call.dims(1)?) else { return Ok(None) };
    let (a, b) = (permuted(call, "perm_x1", a)?, permuted(call, "perm_x2", b)?);
    Product::of_dims(&a, &b, false, false).map(Some)
}

/// The inputs that a file names `stem0`, `stem1`, ...; none where it names no inputs.
pub(crate) fn named_inputs(call: &Call<'_>, stem: &str) -> Vec<usize> {
    let (Some(Attr::Strs(keys)), Some(places)) =
        (call.node.attrs.get("_input_name_key"), call.node.attrs.ints("_input_name_value"))
    else {
        return Vec::new();
    };
    let place = |name: String| keys.iter().position(|key| *key == name).and_then(|at| places.get(at));
    (0..keys.len()).map_while(|n| place(format!("{stem}{n}"))).filter_map(|&at| usize::try_from(at).ok()).collect()
}

/// Rows and columns of an input of two axes.
pub(crate) fn matrix(call: &Call<'_>, input: usize) -> Result<Option<(i64, i64)>, Reason> {
    match call.dims(input)? {
        None => Ok(None),
        Some(&[rows, columns]) => Ok(Some((rows, columns))),
        Some(dims) => Err(format!("input {input} has {} axes, not 2", dims.len())),
    }
}

/// The lesser of two sizes, where both are known.
fn least(a: i64, b: i64) -> i64 {
    if a < 0 || b < 0 { UNKNOWN } else { a.min(b) }
}

/// `MoeInitRouting` (x, `row_idx`, `expert_idx`): rows of x for each expert that they go to, and where they came from.
pub(crate) fn init_routing(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some((rows, hidden)), Some((_, experts))) = (matrix(call, 0)?, matrix(call, 1)?) else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]);
    };
    let active = call.int(&["active_num"]).map_or(rows, |active| least(rows, active));
    let expanded = dim::times(active, experts)?;
    let index = |count: i64| TensorDesc::new(DataType::Int32, Shape::new([count]));
    Inferred::all(vec![
        TensorDesc::new(x.dtype, Shape::new([expanded, hidden])),
        index(dim::times(rows, experts)?),
        index(expanded),
    ])
}

/// `MoeInitRoutingV2` (x, `expert_idx`): as many rows as there are, or as many as each expert has room for.
pub(crate) fn init_routing_v2(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some((rows, hidden)), Some((_, experts))) = (matrix(call, 0)?, matrix(call, 1)?) else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]);
    };
    let attr = |name: &str| call.int(&[name]).unwrap_or(0);
    let all = dim::times(rows, experts)?;
    let expanded = match (attr("drop_pad_mode"), attr("active_num")) {
        (1, _) => Shape::new([attr("expert_num"), attr("expert_capacity"), hidden]),
        (_, active) if active > 0 => Shape::new([least(all, active), hidden]),
        _ => Shape::new([all, hidden]),
    };
    let index = |count: i64| TensorDesc::new(DataType::Int32, Shape::new([count]));
    let counts = index(attr("expert_num"));
    let outputs = vec![TensorDesc::new(x.dtype, expanded), index(all), counts.clone(), counts];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// Gates of experts (x): the best k, their numbers, and what the operator gives beside: rows, or all probabilities.
pub(crate) fn gating(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(k) = call.int(&["k"]) else { return Err("attribute `k` is missing".into()) };
    let Some((_, rows)) = x.shape.dims().and_then(<[i64]>::split_last) else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]);
    };
    let best = Shape::new([rows, &[k][..]].concat());
    let third = if call.node.op_type == "MoeGatingTopKSoftmax" {
        TensorDesc::new(DataType::Int32, best.clone())
    } else {
        TensorDesc::new(DataType::Float, x.shape.clone())
    };
    let outputs = vec![TensorDesc::new(x.dtype, best.clone()), TensorDesc::new(DataType::Int32, best), third];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// `MoeComputeExpertTokens`: a number for each expert.
pub(crate) fn expert_tokens(call: &Call<'_>) -> Inference {
    let experts = call.int(&["num_experts"]).ok_or("attribute `num_experts` is missing")?;
    Inferred::dims(call.need(0)?.dtype, [experts])
}

/// `MoeFinalizeRouting` (`expanded_x`, x1, ...): rows as before they were routed.
pub(crate) fn finalize_routing(call: &Call<'_>) -> Inference {
    let (expanded, x1) = (call.need(0)?, call.need(1)?);
    Inferred::shape(expanded.dtype, x1.shape.clone())
}

/// `MoeFinalizeRoutingV2` (`expanded_x`, `expanded_row_idx`, x1, x2, bias, scales): a row for each row of the scales; without
/// them, for each index.
pub(crate) fn finalize_routing_v2(call: &Call<'_>) -> Inference {
    let expanded = call.need(0)?;
    let hidden = expanded.shape.dims().and_then(<[i64]>::last).copied().unwrap_or(UNKNOWN);
    let counted = if call.get(5).is_some() { 5 } else { 1 };
    let rows = call.dims(counted)?.and_then(<[i64]>::first).copied().unwrap_or(UNKNOWN);
    Inferred::dims(expanded.dtype, [rows, hidden])
}

/// `KvRmsNormRopeCache` (kv, gamma, cos, sin, index, `k_cache`, `ckv_cache`): the caches, and the two parts of kv.
pub(crate) fn rms_norm_rope_cache(call: &Call<'_>) -> Inference {
    let (kv, gamma) = (call.need(0)?, call.need(1)?);
    let parts = match (kv.shape.dims().and_then(<[i64]>::split_last), gamma.shape.dims()) {
        (Some((&whole, rows)), Some(&[value])) => {
            if whole >= 0 && value > whole {
                return Err(format!("gamma of {value} for rows of {whole}"));
            }
            let rope = if whole < 0 || value < 0 { UNKNOWN } else { whole - value };
            [rope, value].map(|last| Shape::new([rows, &[last][..]].concat()))
        }
        _ => [Shape::unknown_rank(), Shape::unknown_rank()],
    };
    let caches = [call.need(5)?.clone(), call.need(6)?.clone()];
    let outputs = caches.into_iter().chain(parts.map(|shape| TensorDesc::new(kv.dtype, shape)));
    Inferred::all(outputs.take(call.results()).collect())
}

/// `MlaProlog` and its later versions (`token_x`, `weight_dq`, `weight_uq_qr`, `weight_uk`, ...): the query, its turned part, and both caches. The heads
/// and the width of the cache are those of `weight_uk`; the turned part is as wide as the sines.
pub(crate) fn mla_prolog(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let place = |name: &str| {
        let inputs = prototype::prototype(&call.node.op_type).map(|prototype| &prototype.inputs);
        inputs.and_then(|inputs| inputs.iter().position(|slot| slot.name == name))
    };
    let input = |name: &str| place(name).and_then(|place| call.get(place));
    let dims = |name: &str| input(name).and_then(|desc| desc.shape.dims());
    // With caches of 8 bits the query may be quantised, too: by an attribute, or, before there was one, by what the
    // description does not say.
    let cached = input("kv_cache").map_or(DataType::Undefined, |cache| cache.dtype);
    let dtype = match (call.int(&["query_quant_mode"]), call.node.op_type.as_str()) {
        (Some(1), _) => cached,
        (None, "MlaPrologV2") if cached.bits() == 8 => DataType::Undefined,
        _ if x.dtype.bits() == 8 => DataType::Bfloat16,
        _ => x.dtype,
    };
    let rows = x.shape.dims().and_then(<[i64]>::split_last).map(|(_, rows)| rows);
    let query = |last: Option<i64>| match (rows, dims("weight_uk"), last) {
        (Some(rows), Some(&[heads, _, _]), Some(last)) => Shape::new([rows, &[heads, last][..]].concat()),
        _ => Shape::unknown_rank(),
    };
    let widths = [dims("weight_uk"), dims("rope_sin")].map(|dims| dims.and_then(<[i64]>::last).copied());
    let queries = widths.map(|width| TensorDesc::new(dtype, query(width)));
    let caches = ["kv_cache", "kr_cache"].map(|name| input(name).cloned().unwrap_or_else(TensorDesc::unknown));
    Inferred::all(queries.into_iter().chain(caches).take(call.results()).collect())
}

/// One number for each row of a tensor.
fn of_rows(x: &TensorDesc) -> TensorDesc {
    let rows = x.shape.dims().and_then(<[i64]>::split_last).map(|(_, rows)| Shape::new(rows));
    TensorDesc::new(DataType::Float, rows.unwrap_or_else(Shape::unknown_rank))
}

/// A tensor in the quantised type that attribute `dst_type` asks for, int8 where it asks for none.
pub(crate) fn quantised(call: &Call<'_>, x: &TensorDesc) -> TensorDesc {
    TensorDesc { dtype: call.type_attr("dst_type").unwrap_or(DataType::Int8), ..x.clone() }
}

/// `DynamicQuantV2` (x): quantised, with a scale and an offset for each row, or for the whole.
pub(crate) fn dynamic_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let scale = match call.str("quant_mode").unwrap_or("pertoken") {
        "pertoken" => of_rows(x),
        "pertensor" => TensorDesc::new(DataType::Float, Shape::new([1])),
        _ => TensorDesc::new(DataType::Float, Shape::unknown_rank()),
    };
    Inferred::all([quantised(call, x), scale.clone(), scale].into_iter().take(call.results()).collect())
}

/// A gated activation that is quantised: the last axis shrinks to half.
pub(crate) fn gated_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let half = match x.shape.dims().and_then(<[i64]>::split_last) {
        Some((&last, _)) if last % 2 != 0 && last > 0 => return Err(format!("an axis of {last} cannot be halved")),
        // Other axes are halved on request only.
        Some((&last, rows))
            if call.int(&["activate_dim"]).is_none_or(|axis| axis == -1 || axis == rows.len() as i64) =>
        {
            Shape::new([rows, &[if last < 0 { last } else { last / 2 }][..]].concat())
        }
        _ => Shape::unknown_rank(),
    };
    let y = quantised(call, &TensorDesc::new(x.dtype, half));
    let scale = of_rows(x);
    Inferred::all([y, scale].into_iter().take(call.results()).collect())
}

/// Statistics of a norm over the last axes, which are those of gamma (input 2).
fn deviation(call: &Call<'_>, x: &TensorDesc) -> TensorDesc {
    let gamma = call.get(2).and_then(|gamma| gamma.shape.rank());
    let shape = match (x.shape.dims(), gamma) {
        (Some(dims), Some(gamma)) if gamma <= dims.len() => {
            Shape::new([&dims[..dims.len() - gamma], &vec![1; gamma][..]].concat())
        }
        _ => Shape::unknown_rank(),
    };
    TensorDesc::new(DataType::Float, shape)
}

/// `AddRmsNormCast` (x1, x2, gamma): in float32, in the inputs' type, the deviation, and the sum.
pub(crate) fn add_rms_norm_cast(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let wide = TensorDesc { dtype: DataType::Float, ..x.clone() };
    Inferred::all([wide, x.clone(), deviation(call, x), x.clone()].into_iter().take(call.results()).collect())
}

/// `AddRmsNormQuant` (x1, x2, gamma, ...): two quantised results, and the sum.
pub(crate) fn add_rms_norm_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let y = quantised(call, x);
    Inferred::all([y.clone(), y, x.clone()].into_iter().take(call.results()).collect())
}

/// `AddRmsNormDynamicQuant` (x1, x2, gamma, ...): two quantised results, the sum, and both scales.
pub(crate) fn add_rms_norm_dynamic_quant(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (y, scale) = (quantised(call, x), of_rows(x));
    Inferred::all([y.clone(), y, x.clone(), scale.clone(), scale].into_iter().take(call.results()).collect())
}

/// Fused attention of inference (query, key, value): like the query, its axes in the order that the second part of
/// `input_layout` names; then, where it is asked for, the logarithm of the sums.
pub(crate) fn infer_attention(call: &Call<'_>) -> Inference {
    let query = call.need(0)?;
    let layout = call.str("input_layout").unwrap_or("BSH");
    let heads = call.int(&["num_heads"]).unwrap_or(1);
    let result = match (layout, query.shape.dims()) {
        (_, None) => Shape::unknown_rank(),
        ("BNSD_BSND", Some(&[b, n, s, d])) => Shape::new([b, s, n, d]),
        ("BNSD_NBSD", Some(&[b, n, s, d])) => Shape::new([n, b, s, d]),
        ("BSND_NBSD", Some(&[b, s, n, d])) => Shape::new([n, b, s, d]),
        ("TND_NTD", Some(&[t, n, d])) => Shape::new([n, t, d]),
        ("NTD_TND", Some(&[n, t, d])) => Shape::new([t, n, d]),
        (layout, Some(_)) if layout.contains('_') => Shape::unknown_rank(),
        _ => query.shape.clone(),
    };
    // An output scale asks for int8; other inputs do not change the type.
    let scale = prototype::prototype(&call.node.op_type)
        .and_then(|p| p.inputs.iter().position(|slot| slot.name == "quant_scale2"))
        .and_then(|place| call.get(place));
    let dtype = match (scale, query.dtype) {
        (Some(_), _) => DataType::Int8,
        (None, DataType::Int8) => DataType::Float16,
        (None, dtype) => dtype,
    };
    let mut outputs = vec![TensorDesc { dtype, shape: result, ..query.clone() }];
    if call.results() > 1 {
        let sums = match (call.flag(&["softmax_lse_flag"], false), layout, query.shape.dims()) {
            (false, ..) => Shape::new([0]),
            (true, "BNSD" | "BNSD_BSND" | "BNSD_NBSD", Some(&[b, n, s, _])) => Shape::new([b, n, s, 1]),
            (true, "BSND" | "BSND_NBSD", Some(&[b, s, n, _])) => Shape::new([b, n, s, 1]),
            (true, "BSH", Some(&[b, s, _])) => Shape::new([b, heads, s, 1]),
            (true, "TND" | "TND_NTD", Some(&[t, n, _])) => Shape::new([t, n, 1]),
            _ => Shape::unknown_rank(),
        };
        outputs.push(TensorDesc::new(DataType::Float, sums));
    }
    Inferred::all(outputs)
}
