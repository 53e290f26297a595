//! Sizes of what operators of ONNX give that stay as they are, because Ascend has none like them.
//!
//! Inputs stand at ONNX's places and attributes have ONNX's names; numbers of element types are read where the node is made,
//! so most rules tell the type of input 0, and the node's own counts where it has one. Source: ONNX's operator schemas.

use super::dim::{self, UNKNOWN};
use super::value::{Elements, Value};
use super::{Call, Inference, Inferred, Rule, elementwise};
use crate::{DataType, Shape, TensorDesc};
use rustc_hash::FxHashSet;

/// The rule of an operator of ONNX, by its name there.
pub(super) fn rule(op_type: &str) -> Option<Rule> {
    Some(match op_type {
        "AffineGrid" => affine_grid,
        "Attention" => attention,
        "Bernoulli" | "RandomNormalLike" | "RandomUniformLike" | "RotaryEmbedding" | "TensorScatter"
        | "RegexFullMatch" => like,
        "BlackmanWindow" | "HammingWindow" | "HannWindow" => window,
        "CenterCropPad" => center_crop_pad,
        "Compress" => compress,
        "DFT" => dft,
        "DeformConv" => deform_conv,
        "MelWeightMatrix" => mel_weights,
        "Multinomial" => multinomial,
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => loss,
        "RNN" => rnn,
        "RandomNormal" | "RandomUniform" => random,
        "STFT" => stft,
        "StringConcat" => elementwise::broadcast,
        "StringNormalizer" => normalised_text,
        "StringSplit" => split_text,
        "TfIdfVectorizer" => counted_words,
        "Unique" => unique,
        _ => return None,
    })
}

/// Whether there is a rule for an operator of ONNX.
pub fn tells_onnx(op_type: &str) -> bool {
    rule(op_type).is_some()
}

/// One number of an input, where it is known.
fn number(call: &Call<'_>, input: usize) -> Option<i64> {
    call.value(input)?.ints()?.first().copied()
}

fn number_or_unknown(call: &Call<'_>, input: usize) -> i64 {
    number(call, input).filter(|&n| n >= 0).unwrap_or(UNKNOWN)
}

fn like(call: &Call<'_>) -> Inference {
    Inferred::all(vec![call.need(0)?.clone()])
}

/// `AffineGrid(theta, size)`: for each place of an image of that size (N, C, ..) where it comes from.
fn affine_grid(call: &Call<'_>) -> Inference {
    let dtype = call.need(0)?.dtype;
    let rank = call.dims(1)?.and_then(|dims| dims.first().copied()).unwrap_or(UNKNOWN);
    let size = match call.value(1) {
        Some(size) => size.partial_ints().into_iter().map(|d| d.filter(|&d| d >= 0).unwrap_or(UNKNOWN)).collect(),
        None if (4..=5).contains(&rank) => vec![UNKNOWN; rank as usize],
        None => return Inferred::unknown(dtype),
    };
    let [batch, _, space @ ..] = size.as_slice() else { return Err("its size is no image's".to_owned()) };
    Inferred::dims(dtype, [&[*batch], space, &[space.len() as i64]].concat())
}

/// `Attention(Q, K, V, mask, past K, past V)`: the heads of three axes lie side by side in the last one.
fn attention(call: &Call<'_>) -> Inference {
    let (q, k, v) = (call.need(0)?, call.need(1)?, call.need(2)?);
    let heads = |name: &str| call.int(&[name]).filter(|&heads| heads > 0);
    let split = |tensor: &TensorDesc, heads: Option<i64>| match (tensor.shape.dims(), heads) {
        (Some(&[n, h, rows, size]), _) => Some([n, h, rows, size]),
        (Some(&[n, rows, size]), Some(heads)) => Some([n, heads, rows, if size < 0 { UNKNOWN } else { size / heads }]),
        _ => None,
    };
    let (few, many) = (heads("kv_num_heads"), heads("q_num_heads"));
    let (Some(queries), Some(keys), Some(values)) = (split(q, many), split(k, few), split(v, few)) else {
        return Inferred::all(vec![TensorDesc::new(q.dtype, Shape::unknown_rank())]);
    };
    let past = match call.get(4) {
        None => 0,
        Some(past) => past.shape.dims().and_then(|dims| dims.get(2).copied()).unwrap_or(UNKNOWN),
    };
    let total = if past < 0 || keys[2] < 0 { UNKNOWN } else { dim::plus(past, keys[2])? };
    let is_flat = q.shape.rank() == Some(3);
    let joined = if queries[1] < 0 || values[3] < 0 { UNKNOWN } else { dim::times(queries[1], values[3])? };
    let result = if is_flat {
        vec![queries[0], queries[2], joined]
    } else {
        vec![queries[0], queries[1], queries[2], values[3]]
    };
    let state = |of: [i64; 4], dtype| TensorDesc::new(dtype, Shape::new([of[0], of[1], total, of[3]]));
    let scores = TensorDesc::new(q.dtype, Shape::new([queries[0], queries[1], queries[2], total]));
    let outputs = [TensorDesc::new(q.dtype, Shape::new(result)), state(keys, k.dtype), state(values, v.dtype), scores];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// A window of as many numbers as input 0 says.
fn window(call: &Call<'_>) -> Inference {
    Inferred::dims(DataType::Float, [number_or_unknown(call, 0)])
}

/// `CenterCropPad(x, sizes)` along `axes`, else all.
fn center_crop_pad(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let axes = match call.node.attrs.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| dim::axis(axis, dims.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..dims.len()).collect(),
    };
    let sizes = call.value(1).map(|sizes| sizes.partial_ints());
    let mut result = dims.to_vec();
    for (at, axis) in axes.into_iter().enumerate() {
        let size = sizes.as_ref().and_then(|sizes| sizes.get(at).copied().flatten());
        result[axis] = size.filter(|&size| size >= 0).unwrap_or(UNKNOWN);
    }
    Inferred::dims(x.dtype, result)
}

/// `Compress(x, condition)`: the rows along `axis`, else the elements, at which the condition is true.
fn compress(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let picked = call.value(1).and_then(|condition| condition.ints());
    let count = picked.map_or(UNKNOWN, |picked| picked.iter().filter(|&&pick| pick != 0).count() as i64);
    match (call.int(&["axis"]), x.shape.dims()) {
        (None, _) => Inferred::dims(x.dtype, [count]),
        (Some(axis), Some(dims)) => Inferred::dims(x.dtype, dim::with(dims, dim::axis(axis, dims.len())?, count)),
        (Some(_), None) => Inferred::unknown(x.dtype),
    }
}

/// `DFT(x, length, axis)`: pairs of numbers along the last axis; half of a real signal's tells all of it.
fn dft(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let mut result = dims.to_vec();
    let Some(pair) = result.last_mut() else { return Err("a scalar has no signal".to_owned()) };
    *pair = 2;
    // An attribute before opset 20, an input since.
    let axis = match (call.int(&["axis"]), call.get(2)) {
        (Some(axis), _) => Some(axis),
        (None, Some(_)) => number(call, 2),
        (None, None) => None,
    };
    let Some(axis) = axis else {
        let open = result.iter().enumerate().map(|(at, &d)| if at + 1 == result.len() { d } else { UNKNOWN });
        return Inferred::dims(x.dtype, open.collect::<Vec<_>>());
    };
    let axis = dim::axis(axis, result.len())?;
    let length = if call.get(1).is_some() { number_or_unknown(call, 1) } else { result[axis] };
    let half = call.flag(&["onesided"], false) && length >= 0;
    result[axis] = if half { length / 2 + 1 } else { length };
    Inferred::dims(x.dtype, result)
}

/// `DeformConv(x, filter, offsets)`: an offset for each place of the result.
fn deform_conv(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let (Some(image), Some(filter), Some(offsets)) = (x.shape.dims(), call.dims(1)?, call.dims(2)?) else {
        return Inferred::unknown(x.dtype);
    };
    let (&[batch, ..], &[channels, ..], [_, _, space @ ..]) = (image, filter, offsets) else {
        return Err("an operand is no image".to_owned());
    };
    Inferred::dims(x.dtype, [&[batch, channels], space].concat())
}

/// `MelWeightMatrix(bins, length, ..)`.
fn mel_weights(call: &Call<'_>) -> Inference {
    let length = number(call, 1).filter(|&length| length >= 0).map_or(UNKNOWN, |length| length / 2 + 1);
    Inferred::dims(DataType::Float, [length, number_or_unknown(call, 0)])
}

/// So many draws for each row.
fn multinomial(call: &Call<'_>) -> Inference {
    let rows = call.dims(0)?.and_then(|dims| dims.first().copied()).unwrap_or(UNKNOWN);
    Inferred::dims(DataType::Int32, [rows, call.int(&["sample_size"]).unwrap_or(1)])
}

/// A loss of scores and labels: an entry for each label with `reduction` none, else one number; then the logarithms.
fn loss(call: &Call<'_>) -> Inference {
    let (x, labels) = (call.need(0)?, call.need(1)?);
    let entries = call.str("reduction") == Some("none");
    let shape = if entries { labels.shape.clone() } else { Shape::scalar() };
    Inferred::all([TensorDesc::new(x.dtype, shape), x.clone()].into_iter().take(call.results()).collect())
}

/// `RNN(x, w, r, ..)`: all states, and the last one.
fn rnn(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let hidden = call.dims(2)?.and_then(|dims| dims.get(2).copied()).or_else(|| call.int(&["hidden_size"]));
    let hidden = hidden.unwrap_or(UNKNOWN);
    let ways = if call.str("direction") == Some("bidirectional") { 2 } else { 1 };
    let batch_first = call.int(&["layout"]) == Some(1);
    let (steps, batch) = match x.shape.dims() {
        Some(&[batch, steps, _]) if batch_first => (steps, batch),
        Some(&[steps, batch, _]) => (steps, batch),
        _ => (UNKNOWN, UNKNOWN),
    };
    let (all, last) = if batch_first {
        ([batch, steps, ways, hidden], [batch, ways, hidden])
    } else {
        ([steps, ways, batch, hidden], [ways, batch, hidden])
    };
    let of = |dims: &[i64]| TensorDesc::new(x.dtype, Shape::new(dims));
    Inferred::all([of(&all), of(&last)].into_iter().take(call.results()).collect())
}

/// Numbers drawn for a tensor of attribute `shape`.
fn random(call: &Call<'_>) -> Inference {
    let sizes = call.node.attrs.ints("shape").ok_or("it has no attribute `shape`")?;
    Inferred::dims(DataType::Float, sizes)
}

/// `STFT(signal, step, window, length)`: a spectrum for each part of a signal.
fn stft(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let length = match call.get(3) {
        Some(_) => number_or_unknown(call, 3),
        None => call.get(2).and_then(|window| window.shape.dims()?.first().copied()).unwrap_or(UNKNOWN),
    };
    let (batch, samples) = match x.shape.dims() {
        Some(&[batch, samples, ..]) => (batch, samples),
        _ => (UNKNOWN, UNKNOWN),
    };
    let parts = match number(call, 1) {
        Some(step) if step <= 0 => return Err(format!("a step of {step} samples")),
        Some(_) if length >= 0 && samples >= 0 && length > samples => {
            return Err(format!("parts of {length} samples of a signal of {samples}"));
        }
        Some(step) if length >= 0 && samples >= 0 => (samples - length) / step + 1,
        _ => UNKNOWN,
    };
    let half = call.flag(&["onesided"], true) && length >= 0;
    Inferred::dims(x.dtype, [batch, parts, if half { length / 2 + 1 } else { length }, 2])
}

/// Words that are left out leave as many as a run finds.
fn normalised_text(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    match call.node.attrs.get("stopwords") {
        None => like(call),
        Some(_) => Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank())]),
    }
}

/// The parts of each text, as many as a run finds, and how many these are.
fn split_text(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let parts = x.shape.dims().map_or_else(Shape::unknown_rank, |dims| Shape::new([dims, &[UNKNOWN]].concat()));
    let counts = TensorDesc::new(DataType::Int64, x.shape.clone());
    Inferred::all([TensorDesc::new(x.dtype, parts), counts].into_iter().take(call.results()).collect())
}

/// `TfIdfVectorizer`: a number for each index that `ngram_indexes` names.
fn counted_words(call: &Call<'_>) -> Inference {
    let indices = call.node.attrs.ints("ngram_indexes").unwrap_or_default();
    let count = dim::plus(indices.iter().copied().max().unwrap_or(-1).max(-1), 1)?;
    match call.dims(0)? {
        Some([_]) => Inferred::dims(DataType::Float, [count]),
        Some(&[rows, _]) => Inferred::dims(DataType::Float, [rows, count]),
        _ => Inferred::unknown(DataType::Float),
    }
}

/// `Unique(x)`: the different elements of a flat tensor, or the different parts along `axis`; where each stands first, to which
/// each belongs, and how often it occurs. How many there are is known where x is.
fn unique(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let places = |shape: Shape| TensorDesc::new(DataType::Int64, shape);
    let Some(dims) = x.shape.dims() else {
        let outputs = [TensorDesc::new(x.dtype, Shape::unknown_rank()), places(Shape::unknown_rank())];
        return Inferred::all(outputs.into_iter().take(call.results()).collect());
    };
    let axis = dim::axis(call.int(&["axis"]).unwrap_or(0), dims.len())?;
    let count = call.value(0).and_then(|x| distinct(&x, axis)).map_or(UNKNOWN, |count| count as i64);
    let outputs = [
        TensorDesc::new(x.dtype, Shape::new(dim::with(dims, axis, count))),
        places(Shape::new([count])),
        places(Shape::new([dims[axis]])),
        places(Shape::new([count])),
    ];
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// How many different parts a value has along an axis; `None` where one is not known.
fn distinct(x: &Value, axis: usize) -> Option<usize> {
    let inner = usize::try_from(dim::product(&x.dims[axis + 1..]).ok()?).ok()?;
    let size = usize::try_from(x.dims[axis]).ok()?;
    // Zeros of both signs are equal, and no number that is none equals another.
    let element = |at: usize| match &x.elements {
        Elements::Ints(values) => values.get(at).copied().flatten(),
        Elements::Floats(values) => {
            let value = values.get(at).copied().flatten()?;
            (!value.is_nan()).then(|| if value == 0.0 { 0 } else { value.to_bits().cast_signed() })
        }
    };
    let part = |index: usize| -> Option<Vec<i64>> {
        let within = (0..x.len()).filter(|at| at / inner.max(1) % size == index);
        within.map(element).collect()
    };
    let parts: FxHashSet<Vec<i64>> = (0..size).map(part).collect::<Option<_>>()?;
    Some(parts.len())
}
