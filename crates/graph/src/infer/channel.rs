//! Rules of operators with a parameter for each channel: slopes, biases, factors.

use super::dim::{self, Reason};
use super::{Call, Inference, Inferred, norm};
use crate::{Shape, TensorDesc};

/// The parameter at an input with the sizes of x, where both are known and it is not one value for all.
fn parameter<'a>(call: &Call<'a>, x: &'a TensorDesc, input: usize) -> Option<(&'a [i64], &'a [i64])> {
    let desc = call.get(input).filter(|desc| desc.shape.elements() != Some(1))?;
    Some((x.shape.dims()?, desc.shape.dims()?))
}

fn refusal(what: &str, found: &[i64], x: &[i64]) -> Reason {
    format!("a {what} of shape {} does not go with {}", Shape::new(found), Shape::new(x))
}

/// `PRelu` (x, slope): a slope for each channel, or slopes that broadcast to x.
pub(crate) fn prelu(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    if let Some((dims, slope)) = parameter(call, x, 1) {
        let by_channel = matches!((slope, norm::channels(call)?), (&[n], Some(c)) if dim::unify(n, c).is_ok());
        let spreads = dim::broadcast(dims, slope).is_ok_and(|whole| whole.len() == dims.len() && keeps(dims, &whole));
        if !by_channel && !spreads {
            return Err(refusal("slope", slope, dims));
        }
    }
    Inferred::all(vec![x.clone(); call.results()])
}

/// Whether broadcasting left every known size as it was.
fn keeps(dims: &[i64], whole: &[i64]) -> bool {
    dims.iter().zip(whole).all(|(&was, &is)| dim::unify(was, is).is_ok())
}

/// `BiasAdd` (x, bias): a summand for each channel.
pub(crate) fn bias_add(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    if let Some((dims, bias)) = parameter(call, x, 1) {
        let last = call.channels_last(call.format(0), dims.len());
        let channels = if last { dims.last().copied() } else { norm::channels(call)? };
        let count = dim::product(bias)?;
        if channels.is_none_or(|c| dim::unify(count, c).is_err()) {
            return Err(refusal("bias", bias, dims));
        }
    }
    Inferred::all(vec![x.clone(); call.results()])
}

/// `Scale` (x, scale, bias) and `Bias` (x, bias): a value for each index of some axes from `axis` on.
pub(crate) fn along_axes(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    for input in 1..call.arity() {
        let Some((dims, part)) = parameter(call, x, input) else { continue };
        let at = dim::axis(call.int(&["axis"]).unwrap_or(1), dims.len())?;
        let along = dims[at..].get(..part.len()).is_some_and(|along| keeps(along, part));
        // A file may state the axes around them too, as ones.
        let spread = part.len() == dims.len() && dim::broadcast(dims, part).is_ok_and(|whole| keeps(dims, &whole));
        if !along && !spread {
            let what = if input == 1 && call.node.op_type == "Scale" { "scale" } else { "bias" };
            return Err(refusal(what, part, dims));
        }
    }
    Inferred::all(vec![x.clone(); call.results()])
}
