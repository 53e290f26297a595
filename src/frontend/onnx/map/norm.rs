//! Softmax and normalisations.

use super::{
    Default::{Float, Int},
    Rule, attr, same, with,
};
use crate::frontend::onnx::op::Op;
use crate::frontend::onnx::settle::AXES_TO_END;
use crate::graph::{Attr, Node, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("Softmax", |op| softmax(op, "SoftmaxV2")),
    with("LogSoftmax", |op| softmax(op, "LogSoftmaxV2")),
    with("LayerNormalization", layer_norm),
    with("RMSNormalization", |op| rms_norm(op, op.int("axis")?.unwrap_or(-1))),
    with("BatchNormalization", batch_norm),
    with("InstanceNormalization", instance_norm),
    with("GroupNormalization", group_norm),
    with("MeanVarianceNormalization", mean_variance_norm),
    with("LpNormalization", lp_norm),
    with("LRN", lrn),
    same("AscendQuant", "AscendQuant", &[attr("scale", "scale", Float(1.0)), attr("offset", "offset", Float(0.0))]),
    with("Int8Quantize", int8_quantize),
    same("AscendDequant", "AscendDequant", &[attr("dtype", "dtype", Int(0))]),
];

/// Softmax over one axis since opset 13; before, over that axis and all behind it taken as one.
fn softmax(op: &mut Op, op_type: &str) -> Result<()> {
    let old = op.opset < 13;
    let axis = op.int("axis")?.unwrap_or(if old { 1 } else { -1 });
    let mut node = op.node(op_type).with_inputs([op.required(0)?]);
    node.attrs.set("axes", Attr::Ints(vec![axis]));
    if old {
        node.attrs.set(AXES_TO_END, Attr::Bool(true));
    }
    op.finish(node)
}

fn layer_norm(op: &mut Op) -> Result<()> {
    let axis = op.int("axis")?.unwrap_or(-1);
    let mut node = op.node("LayerNorm");
    node.inputs = vec![Some(op.required(0)?), Some(op.required(1)?), op.input(2)];
    node.attrs.set("begin_norm_axis", Attr::Int(axis));
    node.attrs.set("begin_params_axis", Attr::Int(axis));
    set_epsilon(op, &mut node)?;
    op.finish(node)
}

/// CANN's takes the axes that its factors have; factors of fewer axes would be broadcast.
fn rms_norm(op: &mut Op, axis: i64) -> Result<()> {
    let (x, factors) = (op.required(0)?, op.required(1)?);
    let over = if axis < 0 { Some(axis.saturating_neg()) } else { op.found_rank(0).map(|rank| rank as i64 - axis) };
    let has = op.found_rank(1).map(|rank| rank as i64);
    if axis != -1 && (over.is_none() || over != has) {
        return op.keep_like_input(op.desc(x).dtype);
    }
    let mut node = op.node("RmsNorm").with_inputs([x, factors]);
    set_epsilon(op, &mut node)?;
    op.finish(node)
}

/// The inference form: the statistics are inputs.
fn batch_norm(op: &mut Op) -> Result<()> {
    let inputs: Vec<Port> = (0..5).map(|i| op.required(i)).collect::<Result<_>>()?;
    let mut node = op.node("BatchNorm").with_inputs(inputs);
    set_epsilon(op, &mut node)?;
    set_nchw(&mut node);
    node.attrs.set("is_training", Attr::Bool(op.flag("training_mode", false)?));
    op.finish(node)
}

fn instance_norm(op: &mut Op) -> Result<()> {
    let inputs: Vec<Port> = (0..3).map(|i| op.required(i)).collect::<Result<_>>()?;
    let mut node = op.node("InstanceNorm").with_inputs(inputs);
    set_epsilon(op, &mut node)?;
    set_nchw(&mut node);
    op.finish(node)
}

fn group_norm(op: &mut Op) -> Result<()> {
    let inputs: Vec<Port> = (0..3).map(|i| op.required(i)).collect::<Result<_>>()?;
    let Some(groups) = op.int("num_groups")?.filter(|&g| g > 0) else {
        return Err(op.error("attribute `num_groups` is missing or not positive"));
    };
    let mut node = op.node("GroupNorm").with_inputs(inputs);
    node.attrs.set("num_groups", Attr::Int(groups));
    node.attrs.set("eps", Attr::Float(op.float("epsilon")?.unwrap_or(1e-5)));
    node.attrs.set("is_training", Attr::Bool(false));
    set_nchw(&mut node);
    op.finish(node)
}

fn mean_variance_norm(op: &mut Op) -> Result<()> {
    let axes = op.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let mut node = op.node("MVNV2").with_inputs([op.required(0)?]);
    node.attrs.set("axes", Attr::Ints(axes));
    op.finish(node)
}

/// x divided by its norm along one axis.
fn lp_norm(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let axis = op.int("axis")?.unwrap_or(-1);
    let p = op.int("p")?.unwrap_or(2);
    let over = op.ints_input("axes", vec![axis])?;
    let norm = op.helper("LpNormV2", &[x, over], &[("p", Attr::Float(p as f64)), ("keep_dims", Attr::Bool(true))])?;
    let node = op.node("Div").with_inputs([x, norm]);
    op.finish(node)
}

/// Caffe2's quantisation divides by its scale, Ascend's multiplies.
fn int8_quantize(op: &mut Op) -> Result<()> {
    let scale = op.float("Y_scale")?.unwrap_or(1.0);
    let offset = op.int("Y_zero_point")?.unwrap_or(0);
    let mut node = op.node("AscendQuant").with_inputs([op.required(0)?]);
    node.attrs.set("scale", Attr::Float(1.0 / scale));
    node.attrs.set("offset", Attr::Float(offset as f64));
    op.finish(node)
}

/// ONNX divides alpha by the window's size, Ascend does not and counts the window from its middle.
fn lrn(op: &mut Op) -> Result<()> {
    let Some(size) = op.int("size")?.filter(|&s| s > 0) else {
        return Err(op.error("attribute `size` is missing or not positive"));
    };
    let mut node = op.node("LRN").with_inputs([op.required(0)?]);
    node.attrs.set("depth_radius", Attr::Int((size - 1) / 2));
    node.attrs.set("bias", Attr::Float(op.float("bias")?.unwrap_or(1.0)));
    node.attrs.set("alpha", Attr::Float(op.float("alpha")?.unwrap_or(1e-4) / size as f64));
    node.attrs.set("beta", Attr::Float(op.float("beta")?.unwrap_or(0.75)));
    node.attrs.set("norm_region", Attr::Str("ACROSS_CHANNELS".to_owned()));
    op.finish(node)
}

fn set_epsilon(op: &Op, node: &mut Node) -> Result<()> {
    node.attrs.set("epsilon", Attr::Float(op.float("epsilon")?.unwrap_or(1e-5)));
    Ok(())
}

fn set_nchw(node: &mut Node) {
    node.attrs.set("data_format", Attr::Str("NCHW".to_owned()));
}
