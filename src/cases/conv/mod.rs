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

const UNREAD: &str = "this convolution is not read from its operands; those of Conv2D, DepthwiseConv2D, Conv2DTranspose and \
                      the gradients of Conv2D are, and what is fused behind one is written as FusionOp_Conv2D_Relu; give \
                      another one as `workload` (`aoe kernels MODEL --cases` writes it)";

/// The convolution that `op` names, `None` when it names none.
pub(super) fn workload(op: &str, kernel: &Kernel, attrs: Option<&Map<String, Value>>) -> Result<Option<Workload>> {
    let Some(kind) = kind(op) else {
        // As movement of its operands it would take a small part of its time.
        let is_conv = ["Conv2D", "Conv3D", "ConvTranspose", "Deconvolution"].iter().any(|name| op.contains(name));
        return if is_conv { Err(kernel.error(UNREAD)) } else { Ok(None) };
    };
    let plain = plain::Operands::of(op, kind, kernel);
    let conv = match plain {
        Some(operands) => operands.conv(op, kind, kernel, attrs)?,
        None => blocks::conv(op, kind, kernel, attrs)?,
    };
    Ok(Some(Workload::Conv(conv)))
}

/// The kernel of an operator's type; `None` for one of another sort.
pub(super) fn kind(op: &str) -> Option<ConvKind> {
    if ["Conv2D", "Conv2DV2", "DepthwiseConv2D"].contains(&op) {
        return Some(ConvKind::Forward);
    }
    match op.strip_suffix('D').unwrap_or(op) {
        "Conv2DBackpropInput" | "Conv2DTranspose" | "DepthwiseConv2DBackpropInput" | "Deconvolution" => {
            Some(ConvKind::BackpropInput)
        }
        "Conv2DBackpropFilter" | "DepthwiseConv2DBackpropFilter" | "FusedDbnDw" => Some(ConvKind::BackpropFilter),
        _ => None,
    }
}
