//! Rules of operators that occur in training graphs only.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred, Params, norm};
use crate::{DataType, Shape, TensorDesc};

/// Statistics of each channel in float32: `BNTrainingReduce`.
pub(crate) fn channel_stats(call: &Call<'_>) -> Inference {
    let channels = norm::channels(call)?.unwrap_or(UNKNOWN);
    Inferred::all(vec![TensorDesc::new(DataType::Float, Shape::new([channels])); call.results()])
}

fn first_then(call: &Call<'_>, input: usize) -> Inference {
    let mut outputs = vec![call.need(input)?.clone(); call.results().max(1)];
    outputs[0] = call.need(0)?.clone();
    Inferred::all(outputs)
}

/// The first output is like input 0, the others like input 1: `BNTrainingUpdate`.
pub(crate) fn first_then_second(call: &Call<'_>) -> Inference {
    first_then(call, 1)
}

/// The first output is like input 0, the others like input 2: `BatchNormGrad`.
pub(crate) fn first_then_third(call: &Call<'_>) -> Inference {
    first_then(call, 2)
}

/// All outputs are like input 2: `BNTrainingUpdateGrad`.
pub(crate) fn stats_like_third(call: &Call<'_>) -> Inference {
    Inferred::all(vec![call.need(2)?.clone(); call.results()])
}

/// `BiasAddGrad`: one sum per channel.
pub(crate) fn bias_grad(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let channels = match x.shape.dims() {
        None => UNKNOWN,
        Some(dims) if call.channels_last(call.format(0), dims.len()) => dims.last().copied().unwrap_or(1),
        Some(_) => norm::channels(call)?.unwrap_or(UNKNOWN),
    };
    Inferred::dims(x.dtype, [channels])
}

/// `LayerNormGrad` (dy, x, variance, mean, gamma): gradients of x, gamma and beta.
pub(crate) fn layer_norm_grad(call: &Call<'_>) -> Inference {
    first_then(call, 4)
}

/// `RmsNormGrad` (dy, x, rstd, gamma): gradients of x and gamma.
pub(crate) fn rms_norm_grad(call: &Call<'_>) -> Inference {
    first_then(call, 3)
}

/// Gradients of gamma and beta: attribute `shape_gamma`, in float32.
pub(crate) fn gamma_beta(call: &Call<'_>) -> Inference {
    call.need(0)?;
    let shape = call.node.attrs.ints("shape_gamma").map_or(Shape::unknown_rank(), Shape::new);
    Inferred::all(vec![TensorDesc::new(DataType::Float, shape); call.results()])
}

/// (features, labels): one loss per row, and the gradient.
pub(crate) fn softmax_cross_entropy(call: &Call<'_>) -> Inference {
    let features = call.need(0)?;
    let rows = match features.shape.dims() {
        Some([rows @ .., _]) => Shape::new(rows),
        Some([]) => return Err("the features are a scalar".into()),
        None => Shape::unknown_rank(),
    };
    Inferred::all(vec![TensorDesc::new(features.dtype, rows), features.clone()])
}

/// `NLLLoss`: a scalar (or one loss per row with `reduction` none), and the total weight.
pub(crate) fn loss_of_rows(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let by_row = call.str("reduction") == Some("none");
    let shape = match x.shape.dims() {
        Some([rows, ..]) if by_row => Shape::new([*rows]),
        _ => Shape::scalar(),
    };
    Inferred::all(vec![TensorDesc::new(x.dtype, shape), TensorDesc::new(x.dtype, Shape::scalar())])
}

/// Fused optimiser steps: every output has the shape of all inputs broadcast.
pub(crate) fn optimizer_steps(call: &Call<'_>) -> Inference {
    let mut inferred = super::elementwise::broadcast(call)?;
    for (output, (_, input)) in inferred.outputs.iter_mut().zip(call.connected()) {
        output.dtype = input.dtype;
    }
    Ok(inferred)
}

/// `DropOutGenMask(shape, prob)`: one bit per element, in units of 128 bits.
pub(crate) fn drop_mask(call: &Call<'_>) -> Inference {
    let Params::Known(sizes) = call.params(0, &["shape"]) else { return Inferred::dims(DataType::Uint8, [UNKNOWN]) };
    let elements = dim::product(&sizes)?;
    let bytes =
        if elements < 0 { UNKNOWN } else { elements.div_euclid(128).saturating_add(i64::from(elements % 128 != 0)) };
    Inferred::dims(DataType::Uint8, [if bytes < 0 { UNKNOWN } else { dim::times(bytes, 16)? }])
}

/// `AvgPoolGrad(orig_input_shape, dy)` and its D form.
pub(crate) fn avg_pool_grad(call: &Call<'_>) -> Inference {
    let by_attribute = call.node.op_type.ends_with("GradD");
    let dtype = call.dtype(usize::from(!by_attribute));
    match call.params((!by_attribute).then_some(0), &["orig_input_shape"]) {
        Params::Known(sizes) => Inferred::dims(dtype, sizes),
        _ => Inferred::unknown(dtype),
    }
}

/// The shape is the value of input 0 (attribute `shape` in the D form); the type is the last input's.
pub(crate) fn shape_from_first(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(call.arity().saturating_sub(1));
    let by_attribute = call.node.op_type.ends_with('D');
    match call.params((!by_attribute).then_some(0), &["shape"]) {
        Params::Known(sizes) => Inferred::dims(dtype, sizes),
        _ => Inferred::unknown(dtype),
    }
}

/// Sums over segments: the axes of the segment ids become one of `num_segments`.
pub(crate) fn segment_sum(call: &Call<'_>) -> Inference {
    let (x, ids) = (call.need(0)?, call.need(1)?);
    let (Some(dims), Some(id_rank)) = (x.shape.dims(), ids.shape.rank()) else { return Inferred::unknown(x.dtype) };
    let segments = call.params(2, &["num_segments"]).scalar(UNKNOWN).unwrap_or(UNKNOWN);
    let rest = dims.get(id_rank..).ok_or("there are more axes of segment ids than of data")?;
    Inferred::dims(x.dtype, [&[segments], rest].concat())
}

/// Gradient of an embedding table: attribute `num_weights` rows.
pub(crate) fn embedding_grad(call: &Call<'_>) -> Inference {
    let grad = call.need(0)?;
    let rows = call.int(&["num_weights"]).unwrap_or(UNKNOWN);
    match grad.shape.dims() {
        Some([.., width]) => Inferred::dims(grad.dtype, [rows, *width]),
        _ => Inferred::unknown(grad.dtype),
    }
}

/// `FlashAttentionScoreGrad`: gradients of query, key and value.
pub(crate) fn attention_grad(call: &Call<'_>) -> Inference {
    super::elementwise::mirror(call)
}

fn scaled_rows(call: &Call<'_>, scale: impl Fn(i64, i64) -> Result<i64, Reason>) -> Inference {
    let x = call.need(0)?;
    let devices = call.int(&["rank_size"]).unwrap_or(1);
    if devices < 1 {
        return Err(format!("`rank_size` is {devices}"));
    }
    match x.shape.dims() {
        Some([rows, ..]) => {
            let sizes = dim::with(x.shape.dims().unwrap_or_default(), 0, scale(*rows, devices)?);
            Inferred::dims(x.dtype, sizes)
        }
        _ => Inferred::all(vec![x.clone()]),
    }
}

/// `HcomAllGather`: the rows of all devices.
pub(crate) fn all_gather(call: &Call<'_>) -> Inference {
    scaled_rows(call, dim::times)
}

/// `HcomReduceScatter`: this device's share of the rows.
pub(crate) fn reduce_scatter(call: &Call<'_>) -> Inference {
    scaled_rows(call, |rows, devices| match rows {
        r if r < 0 => Ok(UNKNOWN),
        r if r % devices == 0 => Ok(r / devices),
        r => Err(format!("{r} rows do not divide among {devices} devices")),
    })
}
