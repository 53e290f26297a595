//! Pools.

use super::{
    Default::{Float, Int, Str},
    Rule, attr, same, window, with,
};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, DataType, Node, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("MaxPool", max_pool),
    with("AveragePool", average_pool),
    same("GlobalAveragePool", "GlobalAveragePool", &[]),
    with("LpPool", lp_pool),
    with("GlobalLpPool", global_lp_pool),
    // Becomes a reduction once its rank is known: see `settle`, where ranks are known.
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

/// CANN counts the places of maxima within a channel of an image, ONNX over the whole tensor: a pool whose places are read
/// stays as it is, with the sizes that a pool has.
fn max_pool(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[0])?;
    if op.is_used(1) {
        let mut node = op.shaped_as("MaxPoolV3", DataType::Undefined)?;
        if let Some(places) = node.outputs.get_mut(1) {
            places.dtype = DataType::Int64;
        }
        set_pool(op, &mut node, spatial)?;
        return op.finish(node);
    }
    let mut node = op.node(if spatial == 3 { "MaxPool3D" } else { "MaxPoolV3" }).with_inputs([op.required(0)?]);
    set_pool(op, &mut node, spatial)?;
    op.finish(node)
}

fn average_pool(op: &mut Op) -> Result<()> {
    let node = average_form(op)?.with_inputs([op.required(0)?]);
    op.finish(node)
}

/// The pool without its input.
pub fn average_form(op: &Op) -> Result<Node> {
    let spatial = window::spatial_rank(op, &[0])?;
    let mut node = op.node(if spatial == 3 { "AvgPool3D" } else { "AvgPoolV2" });
    set_pool(op, &mut node, spatial)?;
    let count_pads = op.flag("count_include_pad", false)?;
    set_average(&mut node, spatial, count_pads, 0);
    Ok(node)
}

/// What sums are divided by: this number; if it is 0, the elements below the window, with those of the padding or without.
fn set_average(node: &mut Node, spatial: usize, count_pads: bool, divisor: i64) {
    if spatial == 3 {
        node.attrs.set("count_include_pad", Attr::Bool(count_pads));
    } else {
        node.attrs.set("exclusive", Attr::Bool(!count_pads));
        node.attrs.set("global_pooling", Attr::Bool(false));
    }
    if spatial != 3 || divisor != 0 {
        node.attrs.set("divisor_override", Attr::Int(divisor));
    }
}

/// The root of the sum of powers below the window: CANN's averages with a divisor of 1 are sums.
fn lp_pool(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let spatial = window::spatial_rank(op, &[0])?;
    let power = op.int("p")?.unwrap_or(2);
    if power < 1 {
        return Err(op.error(format!("attribute `p` is {power}, not 1 or more")));
    }
    if op.ints("dilations")?.is_some_and(|list| list.iter().any(|&gap| gap != 1)) {
        // CANN's averages have no dilation.
        let mut node = op.shaped_as("AvgPoolV2", op.element_type(x))?;
        set_pool(op, &mut node, spatial)?;
        return op.finish(node);
    }
    let powers = match power {
        1 => op.helper("Abs", &[x], &[])?,
        2 => op.helper("Square", &[x], &[])?,
        _ => {
            let positive = op.helper("Abs", &[x], &[])?;
            let power = op.number_input("p", power as f64, x)?;
            op.helper("Pow", &[positive, power], &[])?
        }
    };
    let mut node = op.node(if spatial == 3 { "AvgPool3D" } else { "AvgPoolV2" }).with_inputs([powers]);
    set_pool(op, &mut node, spatial)?;
    set_average(&mut node, spatial, true, 1);
    let sums = Port::first(op.core(node)?);
    let root = match power {
        1 => sums,
        2 => op.helper("Sqrt", &[sums], &[])?,
        _ => {
            let root = op.number_input("root", 1.0 / power as f64, x)?;
            op.helper("Pow", &[sums, root], &[])?
        }
    };
    op.finish_with(root);
    Ok(())
}

fn global_lp_pool(op: &mut Op) -> Result<()> {
    let mut node = op.node("GlobalLpPool").with_inputs([op.required(0)?]);
    node.attrs.set("p", Attr::Float(op.int("p")?.unwrap_or(2) as f64));
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
