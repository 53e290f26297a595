//! Convolutions and products. `strides`, `dilations` in full NCHW form, `pads` `[top, bottom, left, right]`.

use super::{Default, Parameter, Rule, same, with};
use crate::frontend::caffe::op::Op;
use crate::frontend::limits::MAX_DIM;
use crate::frontend::prototext::Message;
use crate::graph::{Attr, Node, Shape, UNKNOWN_DIM};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("Convolution", |op| convolution(op, Form::Forward)),
    with("DepthwiseConvolution", |op| convolution(op, Form::Depthwise)),
    with("ConvolutionDepthwise", |op| convolution(op, Form::Depthwise)),
    with("Deconvolution", |op| convolution(op, Form::Transposed)),
    with("InnerProduct", inner_product),
    same(
        "BatchedMatMul",
        "BatchMatMul",
        "batch_matmul_param",
        &[Parameter("adj_x1", "adj_x1", Default::Bool(false)), Parameter("adj_x2", "adj_x2", Default::Bool(false))],
    ),
];

/// Which convolution a layer is.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Forward,
    Depthwise,
    Transposed,
}

/// One number for each spatial axis: a list, one for all, or the fields for height and width.
pub fn window(op: &Op, param: &Message, names: [&str; 3], least: i64) -> Result<Option<Vec<i64>>> {
    let [name, vertical, horizontal] = names;
    let list = op.field(param.ints(name))?;
    let pair = (op.field(param.int(vertical))?, op.field(param.int(horizontal))?);
    let sizes = match (list.is_empty(), pair) {
        (true, (None, None)) => return Ok(None),
        (false, (None, None)) => list,
        (true, (Some(h), Some(w))) => vec![h, w],
        // The side that is left out of a padding is not padded; a kernel or stride needs both.
        (true, (h, w)) if least == 0 => vec![h.unwrap_or(0), w.unwrap_or(0)],
        _ => return Err(op.error(format!("give either `{name}`, or both `{vertical}` and `{horizontal}`"))),
    };
    match sizes.iter().find(|size| !(least..=MAX_DIM).contains(*size)) {
        Some(size) => Err(op.error(format!("`{name}` is {size}, not {least} to {MAX_DIM}"))),
        None => Ok(Some(sizes)),
    }
}

/// One value for each of so many axes.
pub fn spread(op: &Op, name: &str, sizes: Option<Vec<i64>>, axes: usize, default: i64) -> Result<Vec<i64>> {
    match sizes {
        None => Ok(vec![default; axes]),
        Some(sizes) if sizes.len() == 1 => Ok(vec![sizes[0]; axes]),
        Some(sizes) if sizes.len() == axes => Ok(sizes),
        Some(sizes) => Err(op.error(format!("`{name}` has {} numbers for {axes} spatial axes", sizes.len()))),
    }
}

fn convolution(op: &mut Op, form: Form) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("convolution_param")?);
    let outputs = op.size(param, "num_output")?.ok_or_else(|| op.error("it has no `num_output`"))?;
    let groups = op.size(param, "group")?.unwrap_or(if form == Form::Depthwise { outputs } else { 1 });
    if outputs % groups != 0 {
        return Err(op.error(format!("num_output {outputs} does not divide into {groups} groups")));
    }
    let kernel = window(op, param, ["kernel_size", "kernel_h", "kernel_w"], 1)?;
    let kernel = kernel.ok_or_else(|| op.error("it has no `kernel_size`"))?;
    let axes = kernel.len().max(2);
    let kernel = spread(op, "kernel_size", Some(kernel), axes, 1)?;
    if axes > 3 || axes == 3 && form == Form::Transposed {
        return Err(op.error(format!("windows of {axes} axes are not tuned")));
    }
    let sizes = match form {
        Form::Transposed => [UNKNOWN_DIM, outputs / groups],
        _ => [outputs, UNKNOWN_DIM],
    };
    let filter = op.weight("filter", Shape::new([&sizes[..], &kernel].concat()))?;
    let op_type = match (form, axes) {
        (Form::Transposed, _) => "Deconvolution",
        (_, 3) => "Conv3D",
        _ => "Conv2D",
    };
    let mut node = op.node(op_type).with_inputs([x, filter]);
    if op.field(param.bool("bias_term"))?.unwrap_or(true) {
        node.inputs.push(Some(op.weight("bias", Shape::new([outputs]))?));
    }
    set_window(op, &mut node, param, axes)?;
    node.attrs.set("groups", Attr::Int(groups));
    op.finish(node)
}

fn set_window(op: &Op, node: &mut Node, param: &Message, axes: usize) -> Result<()> {
    let whole = |sizes: Vec<i64>| Attr::Ints([vec![1, 1], sizes].concat());
    let strides = window(op, param, ["stride", "stride_h", "stride_w"], 1)?;
    let dilations = window(op, param, ["dilation", "dilation_h", "dilation_w"], 1)?;
    let pads = window(op, param, ["pad", "pad_h", "pad_w"], 0)?;
    let pads = spread(op, "pad", pads, axes, 0)?;
    node.attrs.set("strides", whole(spread(op, "stride", strides, axes, 1)?));
    node.attrs.set("dilations", whole(spread(op, "dilation", dilations, axes, 1)?));
    node.attrs.set("pads", Attr::Ints(pads.into_iter().flat_map(|pad| [pad, pad]).collect()));
    node.attrs.set("data_format", Attr::Str(if axes == 3 { "NCDHW" } else { "NCHW" }.to_owned()));
    Ok(())
}

/// x, flattened from `axis` on, by weights stored as [outputs, inputs].
fn inner_product(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("inner_product_param")?);
    let outputs = op.size(param, "num_output")?.ok_or_else(|| op.error("it has no `num_output`"))?;
    let transpose = op.field(param.bool("transpose"))?.unwrap_or(false);
    let sizes = if transpose { [UNKNOWN_DIM, outputs] } else { [outputs, UNKNOWN_DIM] };
    let weights = op.weight("weights", Shape::new(sizes))?;
    let mut node = op.node("FullyConnection").with_inputs([x, weights]);
    if op.field(param.bool("bias_term"))?.unwrap_or(true) {
        node.inputs.push(Some(op.weight("bias", Shape::new([outputs]))?));
    }
    node.attrs.set("num_output", Attr::Int(outputs));
    node.attrs.set("transpose", Attr::Bool(transpose));
    node.attrs.set("axis", Attr::Int(op.field(param.int("axis"))?.unwrap_or(1)));
    op.finish(node)
}
