//! Convolutions.

use super::{Rule, window, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Node, Shape};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("Conv", conv), with("ConvTranspose", conv_transpose)];

/// Convolution; a depthwise one is a `Conv2D` with groups.
fn conv(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[1, 0])?;
    let mut node = op.node(if spatial == 3 { "Conv3D" } else { "Conv2D" });
    node.inputs = vec![Some(op.required(0)?), Some(op.required(1)?)];
    node.inputs.extend(op.input(2).map(Some));
    check_kernel(op, 1, spatial)?;
    window::set_window(op, &mut node, spatial)?;
    set_groups(op, &mut node)?;
    op.finish(node)
}

/// Transposed convolution. Input 0 is the size of the result; zeros where the file leaves it to the
/// strides, pads and `output_padding`.
fn conv_transpose(op: &mut Op) -> Result<()> {
    let spatial = window::spatial_rank(op, &[1, 0])?;
    let (x, filter, bias) = (op.required(0)?, op.required(1)?, op.input(2));
    let mut size = vec![0; spatial + 2];
    if let Some(given) = op.ints("output_shape")? {
        // Some exporters write the batch and channels too.
        let Some(start) = given.len().checked_sub(spatial) else {
            return Err(op.error(format!("attribute `output_shape` has fewer than {spatial} numbers")));
        };
        size[2..].copy_from_slice(&given[start..]);
    }
    check_kernel(op, 1, spatial)?;
    let size = op.ints_input("input_size", size)?;
    let mut node = op.node(if spatial == 3 { "Conv3DTranspose" } else { "Conv2DTranspose" });
    node.inputs = [size, x, filter].into_iter().chain(bias).map(Some).collect();
    window::set_window(op, &mut node, spatial)?;
    set_groups(op, &mut node)?;
    let mut padding = window::full(op, "output_padding", spatial, 0)?.unwrap_or_else(|| window::lead(vec![0; spatial]));
    if spatial > 1 {
        padding[..2].fill(0);
    }
    node.attrs.set("output_padding", Attr::Ints(padding));
    op.finish(node)
}

/// `kernel_shape` only repeats what the filter's own shape says.
pub fn check_kernel(op: &Op, filter: usize, spatial: usize) -> Result<()> {
    let (Some(stated), Some(filter)) = (op.ints("kernel_shape")?, op.input(filter)) else { return Ok(()) };
    let shape = &op.desc(filter).shape;
    let Some(window) = shape.dims().and_then(|dims| dims.get(dims.len().checked_sub(spatial)?..)) else {
        return Ok(());
    };
    if window.iter().zip(&stated).all(|(&has, &says)| has < 0 || has == says) {
        return Ok(());
    }
    Err(op.error(format!("attribute `kernel_shape` is {}, the filter has shape {shape}", Shape::new(stated))))
}

/// Sets `groups`, one where the file says nothing.
pub fn set_groups(op: &Op, node: &mut Node) -> Result<()> {
    let groups = op.int("group")?.unwrap_or(1);
    if !(1..=i64::from(i32::MAX)).contains(&groups) {
        return Err(op.error(format!("attribute `group` is {groups}, which is out of range")));
    }
    node.attrs.set("groups", Attr::Int(groups));
    Ok(())
}
