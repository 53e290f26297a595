//! Convolutions from operand shapes: [`blocks`] as kernels have them, [`plain`] as networks do; `window` says how the
//! filter slides.

mod blocks;
mod plain;
mod window;

#[cfg(test)]
mod tests;

use super::kernel::Kernel;
use crate::status::Result;
use crate::workload::{ConvKind, Workload};
use serde_json::{Map, Value};

/// Attributes that say how a filter slides, by the names of CANN's operators.
pub(super) const ATTRIBUTES: &[&str] = &["strides", "pads", "dilations", "groups"];

/// The convolution that `op` names, `None` when it names none.
pub(super) fn workload(op: &str, kernel: &Kernel, attrs: Option<&Map<String, Value>>) -> Result<Option<Workload>> {
    let Some(kind) = kind(op) else { return Ok(None) };
    let plain = plain::Operands::of(op, kind, kernel);
    let conv = match plain {
        Some(operands) => operands.conv(op, kind, kernel, attrs)?,
        None => blocks::conv(op, kind, kernel, attrs)?,
    };
    Ok(Some(Workload::Conv(conv)))
}

/// The kernel of an operator's type; `None` for one of another sort.
pub(super) fn kind(op: &str) -> Option<ConvKind> {
    match op.trim_end_matches('D') {
        "Conv2" | "Conv2DV2" | "DepthwiseConv2" => Some(ConvKind::Forward),
        "Conv2DBackpropInput" | "Conv2DTranspose" | "DepthwiseConv2DBackpropInput" | "Deconvolution" => {
            Some(ConvKind::BackpropInput)
        }
        "Conv2DBackpropFilter" | "DepthwiseConv2DBackpropFilter" | "FusedDbnDw" => Some(ConvKind::BackpropFilter),
        _ => None,
    }
}
