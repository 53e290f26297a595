//! Activations, arithmetic, normalisation and pooling.

use super::cube::{spread, window};
use super::{
    Default::{Bool, Float, Int},
    Parameter, Rule, same, with,
};
use crate::frontend::caffe::op::Op;
use crate::graph::{Attr, Shape, UNKNOWN_DIM};
use crate::status::Result;

#[rustfmt::skip] // one row, one line
pub const RULES: &[Rule] = &[
    same("ReLU", "LeakyRelu", "relu_param", &[Parameter("negative_slope", "negative_slope", Float(0.0))]),
    same("ReLU6", "Relu6", "relu_param", &[]),
    same("ELU", "Elu", "elu_param", &[Parameter("alpha", "alpha", Float(1.0))]),
    with("PReLU", prelu),
    same("Sigmoid", "Sigmoid", "sigmoid_param", &[]),
    same("TanH", "Tanh", "tanh_param", &[]),
    same("Mish", "Mish", "mish_param", &[]),
    same("BNLL", "BNLL", "bnll_param", &[]),
    same("AbsVal", "Abs", "absval_param", &[]),
    same("Threshold", "Threshold", "threshold_param", &[Parameter("threshold", "threshold", Float(0.0))]),
    same("Exp", "Exp", "exp_param", &[Parameter("base", "base", Float(-1.0)), Parameter("scale", "scale", Float(1.0)), Parameter("shift", "shift", Float(0.0))]),
    same("Log", "Log", "log_param", &[Parameter("base", "base", Float(-1.0)), Parameter("scale", "scale", Float(1.0)), Parameter("shift", "shift", Float(0.0))]),
    same("Power", "Power", "power_param", &[Parameter("power", "power", Float(1.0)), Parameter("scale", "scale", Float(1.0)), Parameter("shift", "shift", Float(0.0))]),
    with("Eltwise", eltwise),
    with("BatchNorm", batch_norm),
    with("Scale", |op| per_channel(op, "Scale", "scale_param", "scale")),
    with("Bias", |op| per_channel(op, "Bias", "bias_param", "bias")),
    same("MVN", "MVN", "mvn_param", &[Parameter("normalize_variance", "normalize_variance", Bool(true)), Parameter("across_channels", "across_channels", Bool(false)), Parameter("eps", "eps", Float(1e-9))]),
    with("LRN", lrn),
    with("Softmax", softmax),
    same("Reduction", "Reduction", "reduction_param", &[Parameter("axis", "axis", Int(0)), Parameter("coeff", "coeff", Float(1.0))]),
    with("ArgMax", arg_max),
    with("Pooling", pooling),
];

/// One slope for each channel, or one for all.
fn prelu(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("prelu_param")?);
    let shared = op.field(param.bool("channel_shared"))?.unwrap_or(false);
    let slope = op.weight("weight", Shape::new([if shared { 1 } else { UNKNOWN_DIM }]))?;
    let node = op.node("PRelu").with_inputs([x, slope]);
    op.finish(node)
}

/// A value of an enumeration, by name or by number.
fn choice(op: &Op, field: &str, found: Option<&str>, names: &[&str], default: usize) -> Result<usize> {
    let Some(word) = found else { return Ok(default) };
    let by_number = || word.parse().ok().filter(|number| *number < names.len());
    names.iter().position(|name| *name == word).or_else(by_number).ok_or_else(|| {
        let word: String = word.chars().take(40).collect();
        op.error(format!("`{field}` is `{word}`, not one of {}", names.join(", ")))
    })
}

fn eltwise(op: &mut Op) -> Result<()> {
    let param = op.param("eltwise_param")?;
    let inputs = op.bottoms().to_vec();
    if inputs.len() < 2 {
        return Err(op.error("it has fewer than two bottoms"));
    }
    let mode = choice(op, "operation", op.field(param.word("operation"))?, &["PROD", "SUM", "MAX"], 1)?;
    let coeff = op.field(param.floats("coeff"))?;
    if !coeff.is_empty() && coeff.len() != inputs.len() {
        return Err(op.error(format!("{} `coeff` for {} bottoms", coeff.len(), inputs.len())));
    }
    let mut node = op.node("Eltwise");
    node.attrs.set("N", Attr::Int(inputs.len() as i64));
    node.attrs.set("mode", Attr::Int(mode as i64));
    node.attrs.set("coeff", Attr::Floats(coeff));
    op.finish(node.with_inputs(inputs))
}

/// With the statistics of training: mean and variance of each channel.
fn batch_norm(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("batch_norm_param")?);
    let mean = op.weight("mean", Shape::new([UNKNOWN_DIM]))?;
    let variance = op.weight("variance", Shape::new([UNKNOWN_DIM]))?;
    // What the two are to be divided by.
    let momentum = op.weight("momentum", Shape::new([1]))?;
    let mut node = op.node("BNInference").with_inputs([x, mean, variance, momentum]);
    node.attrs.set("epsilon", Attr::Float(op.field(param.float("eps"))?.unwrap_or(1e-5)));
    node.attrs.set("use_global_stats", Attr::Bool(op.field(param.bool("use_global_stats"))?.unwrap_or(true)));
    op.finish(node)
}

/// `Scale` and `Bias`: a factor or summand for each index of `num_axes` axes from `axis` on, learned or a second
/// bottom.
fn per_channel(op: &mut Op, op_type: &str, param: &str, role: &str) -> Result<()> {
    let param = op.param(param)?;
    let num_axes = op.field(param.int("num_axes"))?.unwrap_or(1);
    let shape = match num_axes {
        -1 => Shape::unknown_rank(),
        0..=8 => Shape::new(vec![UNKNOWN_DIM; num_axes as usize]),
        _ => return Err(op.error(format!("`num_axes` is {num_axes}, not -1 to 8"))),
    };
    let inputs = match *op.bottoms() {
        [x] => vec![x, op.weight(role, shape.clone())?],
        [x, factor] => vec![x, factor],
        _ => return Err(op.error(format!("it has {} bottoms, one or two are expected", op.bottoms().len()))),
    };
    let learned = op.bottoms().len() == 1;
    let mut node = op.node(op_type).with_inputs(inputs);
    if op_type == "Scale" && op.field(param.bool("bias_term"))?.unwrap_or(false) {
        node.inputs.push(Some(op.weight("bias", shape)?));
    }
    node.attrs.set("axis", Attr::Int(op.field(param.int("axis"))?.unwrap_or(1)));
    node.attrs.set("num_axes", Attr::Int(num_axes));
    node.attrs.set(if op_type == "Scale" { "scale_from_blob" } else { "bias_from_blob" }, Attr::Bool(learned));
    op.finish(node)
}

fn lrn(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("lrn_param")?);
    let region =
        choice(op, "norm_region", op.field(param.word("norm_region"))?, &["ACROSS_CHANNELS", "WITHIN_CHANNEL"], 0)?;
    let mut node = op.node("LRN").with_inputs([x]);
    node.attrs.set("local_size", Attr::Int(op.size(param, "local_size")?.unwrap_or(5)));
    node.attrs.set("norm_region", Attr::Str(["ACROSS_CHANNELS", "WITHIN_CHANNEL"][region].to_owned()));
    op.set_float(&mut node, param, "alpha", 1.0)?;
    op.set_float(&mut node, param, "beta", 0.75)?;
    op.set_float(&mut node, param, "k", 1.0)?;
    op.finish(node)
}

fn softmax(op: &mut Op) -> Result<()> {
    let axis = op.field(op.param("softmax_param")?.int("axis"))?.unwrap_or(1);
    let mut node = op.node("SoftmaxV2").with_inputs([op.bottom()?]);
    node.attrs.set("axes", Attr::Ints(vec![axis]));
    op.finish(node)
}

/// Along an axis; without one, Caffe searches whole images, for which there is no operator type.
fn arg_max(op: &mut Op) -> Result<()> {
    let param = op.param("argmax_param")?;
    let Some(axis) = op.field(param.int("axis"))? else { return op.keep_unmapped() };
    let mut node = op.node("ArgMaxWithK").with_inputs([op.bottom()?]);
    node.attrs.set("axis", Attr::Int(axis));
    node.attrs.set("topk", Attr::Int(op.size(param, "top_k")?.unwrap_or(1)));
    node.attrs.set("out_max_val", Attr::Bool(op.field(param.bool("out_max_val"))?.unwrap_or(false)));
    op.finish(node)
}

/// Sizes round up unless the layer says otherwise; attribute `ceil_mode` is 0 for up.
fn pooling(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("pooling_param")?);
    let mode = choice(op, "pool", op.field(param.word("pool"))?, &["MAX", "AVE", "STOCHASTIC"], 0)?;
    let global = op.field(param.bool("global_pooling"))?.unwrap_or(false);
    let kernel = window(op, param, ["kernel_size", "kernel_h", "kernel_w"], 1)?;
    if kernel.is_some() == global {
        return Err(op.error("give either `kernel_size` or `global_pooling: true`"));
    }
    let strides = window(op, param, ["stride", "stride_h", "stride_w"], 1)?;
    let pads = window(op, param, ["pad", "pad_h", "pad_w"], 0)?;
    let down = choice(op, "round_mode", op.field(param.word("round_mode"))?, &["CEIL", "FLOOR"], 0)? == 1;
    let down = down || op.field(param.bool("ceil_mode"))? == Some(false);
    let mut node = op.node("Pooling").with_inputs([x]);
    node.attrs.set("mode", Attr::Int(mode as i64));
    node.attrs.set("global_pooling", Attr::Bool(global));
    if !global {
        let pads = spread(op, "pad", pads, 2, 0)?;
        node.attrs.set("window", Attr::Ints(spread(op, "kernel_size", kernel, 2, 1)?));
        node.attrs.set("stride", Attr::Ints(spread(op, "stride", strides, 2, 1)?));
        node.attrs.set("pad", Attr::Ints(pads.into_iter().flat_map(|pad| [pad, pad]).collect()));
    }
    node.attrs.set("ceil_mode", Attr::Int(i64::from(down)));
    node.attrs.set("data_format", Attr::Str("NCHW".to_owned()));
    op.finish(node)
}
