//! Convolutions.

use super::{Rule, window, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Node};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("Conv", conv), with("ConvTranspose", conv_transpose)];

/// Convolution; a depthwise one is a `Conv2D` with groups.
fn conv(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[1, 0])?;
    let mut node = op.node(if spatial == 3 { "Conv3D" } else { "Conv2D" });
    node.inputs = vec![Some(op.required(0)?), Some(op.required(1)?)];
    node.inputs.extend(op.input(2).map(Some));
    window::set_window(op, &mut node, spatial)?;
    set_groups(op, &mut node)?;
    op.finish(node)
}

/// Transposed convolution. Ascend's input 0 is the size of the result; it is absent here, and the
/// attributes `output_padding` and `output_shape` (spatial sizes, where the file gives them) decide.
fn conv_transpose(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[1, 0])?;
    let mut node = op.node(if spatial == 3 { "Conv3DTranspose" } else { "Conv2DTranspose" });
    node.inputs = vec![None, Some(op.required(0)?), Some(op.required(1)?)];
    node.inputs.extend(op.input(2).map(Some));
    window::set_window(op, &mut node, spatial)?;
    set_groups(op, &mut node)?;
    let mut padding = window::full(op, "output_padding", spatial, 0)?.unwrap_or_else(|| window::lead(vec![0; spatial]));
    if spatial > 1 {
        padding[..2].fill(0);
    }
    node.attrs.set("output_padding", Attr::Ints(padding));
    if let Some(size) = op.ints("output_shape")? {
        // Some exporters write the batch and channels too.
        let Some(size) = size.len().checked_sub(spatial).map(|start| &size[start..]) else {
            return Err(op.error(format!("attribute `output_shape` has fewer than {spatial} numbers")));
        };
        node.attrs.set("output_shape", Attr::Ints(size.to_vec()));
    }
    op.finish(node)
}

fn set_groups(op: &Op, node: &mut Node) -> Result<()> {
    let groups = op.int("group")?.unwrap_or(1);
    if !(1..=i64::from(i32::MAX)).contains(&groups) {
        return Err(op.error(format!("attribute `group` is {groups}, which is out of range")));
    }
    node.attrs.set("groups", Attr::Int(groups));
    Ok(())
}
