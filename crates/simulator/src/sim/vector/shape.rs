//! What the shapes of a vector kernel's operands say: how the work can be dealt, what is repeated, what lies apart.

use crate::workload::Operand;
use aoe_graph::{DataType, Format};

/// The operand with most elements.
pub(super) fn largest<'a>(inputs: &'a [Operand], outputs: &'a [Operand]) -> Option<&'a Operand> {
    inputs.iter().chain(outputs).max_by_key(|o| o.elements())
}

/// Parts into which elementwise work can be cut when an operand is repeated along inner axes: whole
/// outer slices, then channel blocks.
pub(super) fn units(inputs: &[Operand], outputs: &[Operand], cores: f64) -> f64 {
    let Some(whole) = largest(inputs, outputs) else { return 0.0 };
    let repeated = inputs.iter().any(|o| o.elements() > 1 && o.elements() < whole.elements());
    match whole.shape.as_slice() {
        [outer, blocks, _, ..] if repeated && whole.shape.len() >= 4 => {
            let (outer, blocks) = (*outer as f64, *blocks as f64);
            if outer >= cores { outer } else { outer.max(blocks) }
        }
        _ => 0.0,
    }
}

/// Whether a kernel works on parameters, gradients or optimizer state: plain fp32 matrices and vectors, and
/// filters. They are used once or twice in a step, so L2 does not hold them; what other kernels read was
/// written shortly before.
pub(super) fn is_cold(inputs: &[Operand], outputs: &[Operand]) -> bool {
    let largest = largest(inputs, outputs).map_or(0, Operand::elements);
    let parameter = |o: &Operand| {
        o.elements() * 2 > largest
            && match o.format {
                Format::FractalZ | Format::FractalZ3d => true,
                Format::Nd => o.shape.len() <= 2 && o.dtype == DataType::Float,
                _ => false,
            }
    };
    inputs.iter().chain(outputs).any(parameter)
}

/// Planes of an NC1HWC0 feature map.
pub(super) fn image_planes(inputs: &[Operand], outputs: &[Operand]) -> f64 {
    match largest(inputs, outputs).map(|whole| (whole.format, whole.shape.as_slice())) {
        Some((Format::Nc1hwc0, &[batch, blocks, ..])) => (batch * blocks) as f64,
        _ => 0.0,
    }
}

/// Planes of an NC1HWC0 feature map when an operand has one value for each channel.
pub(super) fn planes(inputs: &[Operand], outputs: &[Operand]) -> f64 {
    let Some(whole) = largest(inputs, outputs) else { return 0.0 };
    match (whole.format, whole.shape.as_slice()) {
        (Format::Nc1hwc0, &[batch, blocks, height, width, lanes]) if height * width > 1 => {
            let channels = blocks * lanes;
            let each_channel =
                |o: &Operand| o.format == Format::Nc1hwc0 && [channels, batch * channels].contains(&o.elements());
            if inputs.iter().chain(outputs).any(each_channel) { (batch * blocks) as f64 } else { 0.0 }
        }
        _ => 0.0,
    }
}

/// Rows along the last axis: rotary embeddings work on halves of each.
pub(super) fn last_axis_rows(inputs: &[Operand]) -> f64 {
    let whole = inputs.iter().max_by_key(|o| o.elements());
    whole.map_or(0.0, |o| o.elements() as f64 / o.shape.last().copied().unwrap_or(1).max(1) as f64)
}

/// Rows of the result that an operand with one value for each row is repeated along.
pub(super) fn spread_rows(inputs: &[Operand], outputs: &[Operand]) -> f64 {
    let Some(whole) = largest(inputs, outputs) else { return 0.0 };
    let Some(&row) = whole.shape.last().filter(|&&row| row > 1) else { return 0.0 };
    let is_spread = |o: &Operand| o.elements() > 1 && o.shape.len() == whole.shape.len() && o.shape.last() == Some(&1);
    if inputs.iter().any(is_spread) { whole.elements() as f64 / row as f64 } else { 0.0 }
}

/// Rows of a result that takes both halves of each row of its operand; 0 for other work.
pub(super) fn halved_rows(inputs: &[Operand], outputs: &[Operand]) -> f64 {
    match (inputs.first(), outputs.first()) {
        (Some(x), Some(y)) if x.shape.len() == y.shape.len() && x.elements() == 2 * y.elements() => {
            let (&from, &to) = (x.shape.last().unwrap_or(&1), y.shape.last().unwrap_or(&1));
            if from == 2 * to { y.elements() as f64 / to.max(1) as f64 } else { 0.0 }
        }
        _ => 0.0,
    }
}

/// Whether a transpose exchanges the last axis for another: what lies together before does not after. Axes that stay
/// neighbours are one axis here, so of two axes both change places.
pub(super) fn is_turned(inputs: &[Operand], outputs: &[Operand]) -> bool {
    match (inputs, outputs) {
        ([x], [y]) => x.shape.len() > 1 && (x.shape.len() == 2 || x.shape.last() != y.shape.last()),
        _ => false,
    }
}

/// Rows of lanes that an instance norm of a plain tensor goes through, the elements of each, and whether the planes of
/// lanes fill whole blocks; `None` for tensors that lie in blocks, and for statistics of whole rows.
pub(super) fn instance_rows(inputs: &[Operand], outputs: &[Operand]) -> Option<(f64, f64, bool)> {
    let (x, means) = (inputs.first()?, outputs.get(1)?);
    let [.., height, lanes] = *x.shape.as_slice() else { return None };
    let is_plain = !matches!(x.format, Format::Nc1hwc0 | Format::Ndc1hwc0 | Format::FractalNz);
    if !is_plain || means.shape.last() != Some(&lanes) || means.elements() >= x.elements() || lanes == 0 {
        return None;
    }
    let plane = height.saturating_mul(lanes).saturating_mul(u64::from(x.dtype.bits())) / 8;
    Some((x.elements() as f64 / lanes as f64, lanes as f64, plane.is_multiple_of(BLOCK_BYTES)))
}

/// Bytes of a block of UB.
const BLOCK_BYTES: u64 = 32;
