//! Resizing of images.

use super::{Rule, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Constant, DataType, Node, Shape, TensorDesc};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("Resize", resize), with("Upsample", upsample), with("GridSample", grid_sample)];

/// An image or a volume, told by the grid's axes where the image does not.
fn grid_sample(op: &mut Op) -> Result<()> {
    let (x, grid) = (op.required(0)?, op.required(1)?);
    let op_type = match op.rank(0).or_else(|| op.rank(1)) {
        Some(5) => "GridSampler3D",
        _ => "GridSampler2D",
    };
    let mode = match op.str("mode")?.as_deref() {
        None | Some("linear" | "bilinear") => "bilinear",
        Some("cubic" | "bicubic") => "bicubic",
        Some("nearest") => "nearest",
        Some(other) => return Err(op.error(format!("attribute `mode` is `{other}`, which ONNX does not have"))),
    };
    let mut node = op.node(op_type).with_inputs([x, grid]);
    node.attrs.set("interpolation_mode", Attr::Str(mode.to_owned()));
    node.attrs.set("padding_mode", Attr::Str(op.str("padding_mode")?.unwrap_or_else(|| "zeros".to_owned())));
    node.attrs.set("align_corners", Attr::Bool(op.flag("align_corners", false)?));
    op.finish(node)
}

/// Inputs x, roi, scales, sizes, each of the last three optional. In opset 10 there is neither a
/// region nor a size.
fn resize(op: &mut Op) -> Result<()> {
    if op.opset < 11 {
        return upsample(op);
    }
    let x = op.required(0)?;
    let mut node = op.node("Resize");
    node.inputs = vec![Some(x), op.input(1), op.input(2), op.input(3)];
    // Exporters leave an empty tensor where an input is not meant.
    for slot in &mut node.inputs[1..] {
        *slot = slot.filter(|&port| op.desc(port).shape.elements() != Some(0));
    }
    set_mode(op, &mut node, "half_pixel")?;
    for name in ["cubic_coeff_a", "extrapolation_value"] {
        if let Some(value) = op.float(name)? {
            node.attrs.set(name, Attr::Float(value));
        }
    }
    for name in ["nearest_mode", "keep_aspect_ratio_policy"] {
        if let Some(value) = op.str(name)? {
            node.attrs.set(name, Attr::Str(value));
        }
    }
    if let Some(axes) = op.ints("axes")? {
        node.attrs.set("axes", Attr::Ints(axes));
    }
    if let Some(antialias) = op.int("antialias")? {
        node.attrs.set("antialias", Attr::Int(antialias));
    }
    op.finish(node)
}

/// The scales are input 1; before opset 9 an attribute, which some newer files still use.
fn upsample(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let scales = match (op.input(1), op.floats("scales")?) {
        (Some(scales), _) => scales,
        (None, Some(scales)) => {
            let desc = TensorDesc::new(DataType::Float, Shape::new([scales.len() as i64]));
            op.constant_input("scales", desc, Constant::Floats(scales))?
        }
        (None, None) => return Err(op.error("the scales are missing")),
    };
    let mut node = op.node("Resize");
    node.inputs = vec![Some(x), None, Some(scales), None];
    set_mode(op, &mut node, "asymmetric")?;
    op.finish(node)
}

fn set_mode(op: &Op, node: &mut Node, transformation: &str) -> Result<()> {
    node.attrs.set("mode", Attr::Str(op.str("mode")?.unwrap_or_else(|| "nearest".to_owned())));
    let transformation = op.str("coordinate_transformation_mode")?.unwrap_or_else(|| transformation.to_owned());
    node.attrs.set("coordinate_transformation_mode", Attr::Str(transformation));
    Ok(())
}
