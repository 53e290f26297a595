//! Pools.

use super::{
    Default::{Float, Int, Str},
    Rule, attr, same, window, with,
};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Node};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("MaxPool", max_pool),
    with("AveragePool", average_pool),
    same("GlobalAveragePool", "GlobalAveragePool", &[]),
    // Becomes a reduction once its rank is known: see `frontend::settle_axes`.
    same("GlobalMaxPool", "GlobalMaxPool", &[]),
    with("MaxRoiPool", max_roi_pool),
    same(
        "RoiAlign",
        "ROIAlign",
        &[
            attr("spatial_scale", "spatial_scale", Float(1.0)),
            attr("output_height", "pooled_height", Int(1)),
            attr("output_width", "pooled_width", Int(1)),
            attr("sampling_ratio", "sample_num", Int(0)),
            attr("mode", "pool_mode", Str("avg")),
        ],
    ),
];

/// Window size, strides, pads and rounding.
fn set_pool(op: &Op, node: &mut Node, spatial: usize) -> Result<()> {
    let Some(ksize) = window::full(op, "kernel_shape", spatial, 1)? else {
        return Err(op.error("attribute `kernel_shape` is missing"));
    };
    node.attrs.set("ksize", Attr::Ints(ksize));
    window::set_window(op, node, spatial)?;
    node.attrs.set("padding_mode", Attr::Str("CALCULATED".to_owned()));
    node.attrs.set("ceil_mode", Attr::Bool(op.flag("ceil_mode", false)?));
    Ok(())
}

/// The indices of the maxima have no counterpart: a pool whose indices are read stays unmapped.
fn max_pool(op: &mut Op) -> Result<()> {
    if op.is_used(1) {
        return op.keep_unmapped();
    }
    let spatial = window::spatial_rank(op, &[0])?;
    let mut node = op.node(if spatial == 3 { "MaxPool3D" } else { "MaxPoolV3" }).with_inputs([op.required(0)?]);
    set_pool(op, &mut node, spatial)?;
    op.finish(node)
}

fn average_pool(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[0])?;
    let mut node = op.node(if spatial == 3 { "AvgPool3D" } else { "AvgPoolV2" }).with_inputs([op.required(0)?]);
    set_pool(op, &mut node, spatial)?;
    let count_pads = op.flag("count_include_pad", false)?;
    if spatial == 3 {
        node.attrs.set("count_include_pad", Attr::Bool(count_pads));
    } else {
        node.attrs.set("exclusive", Attr::Bool(!count_pads));
        node.attrs.set("global_pooling", Attr::Bool(false));
        node.attrs.set("divisor_override", Attr::Int(0));
    }
    op.finish(node)
}

fn max_roi_pool(op: &mut Op) -> Result<()> {
    let Some([height, width]) = op.ints("pooled_shape")?.and_then(|s| <[i64; 2]>::try_from(s).ok()) else {
        return Err(op.error("attribute `pooled_shape` does not hold two numbers"));
    };
    let mut node = op.node("ROIPooling").with_inputs([op.required(0)?, op.required(1)?]);
    node.attrs.set("pooled_h", Attr::Int(height));
    node.attrs.set("pooled_w", Attr::Int(width));
    let scale = op.float("spatial_scale")?.unwrap_or(1.0);
    node.attrs.set("spatial_scale_h", Attr::Float(scale));
    node.attrs.set("spatial_scale_w", Attr::Float(scale));
    op.finish(node)
}
