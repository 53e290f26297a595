//! Activations: elementwise functions of one tensor with parameters of their own.

use super::{
    Default::{Bool, Float, Str},
    Rule, attr, same, with,
};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    same("Relu", "Relu", &[]),
    same("LeakyRelu", "LeakyRelu", &[attr("alpha", "negative_slope", Float(0.01))]),
    same("PRelu", "PRelu", &[]),
    with("ThresholdedRelu", thresholded_relu),
    same("Elu", "Elu", &[attr("alpha", "alpha", Float(1.0))]),
    same("Selu", "Selu", &[]),
    with("Celu", celu),
    same("Sigmoid", "Sigmoid", &[]),
    // The defaults are ONNX's; 0.2 is stored there as binary32.
    same("HardSigmoid", "HardSigmoid", &[attr("alpha", "alpha", Float(0.2)), attr("beta", "beta", Float(0.5))]),
    same("HardSwish", "HardSwish", &[]),
    same("Tanh", "Tanh", &[]),
    same("Softplus", "Softplus", &[]),
    same("Softsign", "Softsign", &[]),
    same("Mish", "Mish", &[]),
    same("Gelu", "GeluV2", &[attr("approximate", "approximate", Str("none"))]),
    same("NPUGeluV2", "GeluV2", &[attr("approximate", "approximate", Str("none"))]),
    same("NPUFastGelu", "FastGelu", &[]),
    same("Erf", "Erf", &[]),
    same("Exp", "Exp", &[]),
    same("Log", "Log", &[]),
    same("Sqrt", "Sqrt", &[]),
    same("Reciprocal", "Reciprocal", &[]),
    same("Abs", "Abs", &[]),
    same("Neg", "Neg", &[]),
    same("Sign", "Sign", &[]),
    with("Hardmax", hardmax),
    same("Floor", "Floor", &[]),
    same("Ceil", "Ceil", &[]),
    same("Round", "Round", &[]),
    same("Sin", "Sin", &[]),
    same("Cos", "Cos", &[]),
    same("Tan", "Tan", &[]),
    same("Asin", "Asin", &[]),
    same("Acos", "Acos", &[]),
    same("Atan", "Atan", &[]),
    same("Sinh", "Sinh", &[]),
    same("Cosh", "Cosh", &[]),
    same("Asinh", "Asinh", &[]),
    same("Acosh", "Acosh", &[]),
    same("Atanh", "Atanh", &[]),
    same("Swish", "Swish", &[attr("alpha", "scale", Float(1.0))]),
    same("IsNaN", "IsNan", &[]),
    same(
        "IsInf",
        "IsInf",
        &[
            attr("detect_negative", "detect_negative", Bool(true)),
            attr("detect_positive", "detect_positive", Bool(true)),
        ],
    ),
    same("Shrink", "Shrink", &[attr("lambd", "lambd", Float(0.5)), attr("bias", "bias", Float(0.0))]),
    with("Clip", clip),
];

/// x where x > alpha, else 0: `Threshold` gives the mask, `Mul` applies it.
fn thresholded_relu(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let alpha = op.float("alpha")?.unwrap_or(1.0);
    let mask = op.helper("Threshold", &[x], &[("threshold", Attr::Float(alpha))])?;
    let node = op.node("Mul").with_inputs([mask, x]);
    op.finish(node)
}

/// Ascend's `Celu` has a factor for each of the three places of alpha; ONNX's uses two of them.
fn celu(op: &mut Op) -> Result<()> {
    let alpha = op.float("alpha")?.unwrap_or(1.0);
    let mut node = op.node("Celu").with_inputs([op.required(0)?]);
    node.attrs.set("alpha1", Attr::Float(alpha));
    node.attrs.set("alpha2", Attr::Float(alpha));
    node.attrs.set("alpha3", Attr::Float(1.0));
    op.finish(node)
}

/// Bounds are attributes before opset 11, optional inputs since.
fn clip(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let (low, high) =
        if op.opset < 11 { (clip_bound(op, "min", x)?, clip_bound(op, "max", x)?) } else { (op.input(1), op.input(2)) };
    let node = match (low, high) {
        (Some(low), Some(high)) => op.node("ClipByValue").with_inputs([x, low, high]),
        (Some(low), None) => op.node("Maximum").with_inputs([x, low]),
        (None, Some(high)) => op.node("Minimum").with_inputs([x, high]),
        (None, None) => op.node("Identity").with_inputs([x]),
    };
    op.finish(node)
}

/// A bound that an attribute gives; the largest finite number, ONNX's default, is none.
fn clip_bound(op: &mut Op, name: &str, like: Port) -> Result<Option<Port>> {
    match op.float(name)? {
        Some(bound) if bound.abs() < f64::from(f32::MAX) => op.number_input(name, bound, like).map(Some),
        _ => Ok(None),
    }
}

/// Before opset 13 it works on a matrix: all axes from `axis` on are one.
fn hardmax(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let (axis, is_matrix) = (op.int("axis")?, op.opset < 13);
    if is_matrix && axis != Some(-1) && op.rank(0).is_none_or(|rank| axis.unwrap_or(1) + 1 != rank as i64) {
        let dtype = op.desc(x).dtype;
        return op.keep_like_input(dtype);
    }
    let mut node = op.node("HardMax").with_inputs([x]);
    node.attrs.set("axis", Attr::Int(axis.unwrap_or(if is_matrix { 1 } else { -1 })));
    op.finish(node)
}
