//! Rules of normalisations.

use super::dim::{self, Reason};
use super::window::Layout;
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape, TensorDesc};
use std::ops::Range;

/// First axis that a layer norm covers: attribute `begin_norm_axis` (or `axis`); RMS norms cover as
/// many axes as gamma has.
pub fn begin_axis(call: &Call<'_>, rank: usize) -> Result<usize, Reason> {
    if let Some(axis) = call.int(&["begin_norm_axis", "axis"]) {
        return dim::axis(axis, rank);
    }
    if call.node.op_type.contains("Rms") {
        let gamma = call.get(gamma_input(call)).and_then(|g| g.shape.rank()).unwrap_or(1);
        return Ok(rank.saturating_sub(gamma));
    }
    Ok(if call.node.op_type.starts_with("Add") { rank.saturating_sub(1) } else { 0 })
}

fn gamma_input(call: &Call<'_>) -> usize {
    match call.node.op_type.as_str() {
        "RmsNorm" => 1,
        "RmsNormGrad" => 3,
        _ => 2,
    }
}

/// Sizes of the statistics: 1 on every axis that is normalised over.
fn statistics(call: &Call<'_>, x: &TensorDesc) -> Result<Shape, Reason> {
    let Some(dims) = x.shape.dims().filter(|d| !d.is_empty()) else { return Ok(x.shape.clone()) };
    let begin = begin_axis(call, dims.len())?;
    Ok(Shape::new(dims.iter().enumerate().map(|(i, &d)| if i < begin { d } else { 1 }).collect::<Vec<_>>()))
}

/// `LayerNorm` (x, gamma, beta): y, mean, variance.
pub(crate) fn layer_norm(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let shape = statistics(call, x)?;
    if let (Some(dims), Some(gamma)) = (x.shape.dims(), call.get(1).and_then(|g| g.shape.dims())) {
        dim::broadcast(dims, gamma)
            .ok()
            .filter(|whole| whole.len() == dims.len())
            .ok_or_else(|| format!("gamma of shape {} does not go with {}", Shape::new(gamma), x.shape))?;
    }
    let stats = TensorDesc::new(x.dtype, shape);
    Inferred::all(vec![x.clone(), stats.clone(), stats])
}

/// `RmsNorm` (x, gamma): y and the reciprocal deviation in float32.
pub(crate) fn rms_norm(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    Inferred::all(vec![x.clone(), TensorDesc::new(DataType::Float, statistics(call, x)?)])
}

/// Norm of a sum: y, statistics, and the sum itself last.
pub(crate) fn add_norm(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let stats = TensorDesc::new(DataType::Float, statistics(call, x)?);
    let last = call.results().saturating_sub(1);
    let output = |i: usize| if i == 0 || i == last { x.clone() } else { stats.clone() };
    Inferred::all((0..call.results()).map(output).collect())
}

/// Number of channels of the image at input 0.
pub fn channels(call: &Call<'_>) -> Result<Option<i64>, Reason> {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Ok(None) };
    match dims {
        [] => Err("a scalar has no channels".into()),
        [c] | [_, c] => Ok(Some(*c)),
        _ if dims.len() <= 5 => Ok(Some(dims[Layout::of(call, call.format(0), dims.len())?.channel()])),
        _ => Ok(Some(dims[1])),
    }
}

/// Checks that each of these inputs has an element for every channel, or one for all; with `groups`, one for every
/// group will do.
fn check_factors(call: &Call<'_>, inputs: Range<usize>, groups: Option<i64>) -> Result<(), Reason> {
    let Some(c) = channels(call)?.filter(|&c| c >= 0) else { return Ok(()) };
    for input in inputs {
        let Some(factors) = call.get(input).and_then(|s| s.shape.elements()) else { continue };
        if factors != c as u64 && factors != 1 && groups.is_none_or(|groups| factors != groups as u64) {
            return Err(format!("input {input}: {factors} factors for {c} channels"));
        }
    }
    Ok(())
}

/// `BatchNorm` (x, scale, offset, mean, variance): y, then statistics like the scale.
pub(crate) fn batch_norm(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    // A step of training makes the statistics; TensorFlow gives it empty ones.
    let made = call.flag(&["is_training"], true) && call.get(3).is_some_and(|d| d.shape.elements() == Some(0));
    check_factors(call, 1..if made { 3 } else { 5 }, None)?;
    let scale = TensorDesc { dtype: DataType::Float, ..call.need(1)?.clone() };
    let mut outputs = vec![scale; call.results().max(1)];
    outputs[0] = x.clone();
    Inferred::all(outputs)
}

/// Inference forms (x and up to five parameters, whose order differs): only y.
pub(crate) fn batch_norm_inference(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    check_factors(call, 1..call.arity(), None)?;
    Inferred::all(vec![x.clone()])
}

/// `InstanceNorm`, `GroupNorm` (x, gamma, beta): y, then one mean and variance per group.
pub(crate) fn instance_norm(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    match call.node.op_type.as_str() {
        "InstanceNorm" | "InstanceNormV3" => check_factors(call, 1..3, None)?,
        group if group.starts_with("GroupNorm") => check_factors(call, 1..3, call.int(&["num_groups"]))?,
        _ => {}
    }
    let stats = match (x.shape.dims(), channels(call)?) {
        (Some([batch, _, ..]), Some(c)) => {
            let groups = call.int(&["num_groups"]).unwrap_or(c);
            TensorDesc::new(DataType::Float, Shape::new([*batch, groups]))
        }
        _ => TensorDesc::new(DataType::Float, Shape::unknown_rank()),
    };
    Inferred::all(vec![x.clone(), stats.clone(), stats])
}
