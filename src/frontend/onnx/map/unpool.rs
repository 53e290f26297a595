//! The ways back: from maxima to the image they were found in, from columns to the image they were cut from.

use super::{Rule, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, DataType, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("MaxUnpool", max_unpool), with("Col2Im", col2im)];

/// Zeros, in which each maximum is put where its index says, counted over the whole tensor.
///
/// CANN has no such operator; it has the steps. What they work on follows from the shape of x, so that the sizes are
/// known once x's are.
fn max_unpool(op: &mut Op) -> Result<()> {
    let (x, indices) = (op.required(0)?, op.required(1)?);
    let shape = match op.input(2) {
        Some(shape) => shape,
        None => unpooled_shape(op, x)?,
    };
    let (flat, column) = (op.ints_input("flat", vec![-1])?, op.ints_input("column", vec![-1, 1])?);
    let first = op.ints_input("first", vec![0])?;
    let total = op.helper("ReduceProd", &[shape, first], &[("keep_dims", Attr::Bool(true))])?;
    let nothing = op.number_input("zero", 0.0, x)?;
    let zeros = op.helper("Fill", &[total, nothing], &[])?;
    let values = op.helper("Reshape", &[x, flat], &[])?;
    let places = op.helper("Reshape", &[indices, column], &[])?;
    let filled = op.helper("TensorScatterUpdate", &[zeros, places, values], &[])?;
    let node = op.node("Reshape").with_inputs([filled, shape]);
    op.finish(node)
}

/// (size - 1) * stride + window - padding along the spatial axes; batch and channels stay.
fn unpooled_shape(op: &mut Op, x: Port) -> Result<Port> {
    let Some(kernel) = op.ints("kernel_shape")? else { return Err(op.error("attribute `kernel_shape` is missing")) };
    let spatial = kernel.len();
    let strides = op.ints("strides")?.unwrap_or_else(|| vec![1; spatial]);
    let pads = op.ints("pads")?.unwrap_or_else(|| vec![0; 2 * spatial]);
    if strides.len() != spatial || pads.len() != 2 * spatial {
        let reason = "attributes `kernel_shape`, `strides` and `pads` are for different numbers of spatial dimensions";
        return Err(op.error(reason));
    }
    let fits = |&value: &i64| (0..=i64::from(i32::MAX)).contains(&value);
    if !kernel.iter().chain(&strides).chain(&pads).all(fits) {
        return Err(op.error("attribute `kernel_shape`, `strides` or `pads` holds a number that is out of range"));
    }
    let windows = (0..spatial).map(|axis| kernel[axis] - pads[axis] - pads[axis + spatial]);
    let least: Vec<i64> = [1, 1].into_iter().chain(windows).collect();
    let steps: Vec<i64> = [1, 1].into_iter().chain(strides).collect();
    let (least, steps) = (op.ints_input("least", least)?, op.ints_input("steps", steps)?);
    let one = op.int_input("one", 1)?;
    let sizes = op.helper("Shape", &[x], &[("dtype", Attr::Type(DataType::Int64))])?;
    let before = op.helper("Sub", &[sizes, one], &[])?;
    let covered = op.helper("Mul", &[before, steps], &[])?;
    op.helper("Add", &[covered, least], &[])
}

/// What CANN's operator takes of images: two axes, the same padding on both sides.
struct Columns {
    kernel: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    padding: Vec<i64>,
    /// Elements of a window.
    taps: i64,
    /// How many windows there are.
    windows: i64,
}

/// x is [N, C * taps, windows] in ONNX, [N, C, taps, windows] in CANN.
fn col2im(op: &mut Op) -> Result<()> {
    let (x, size) = (op.required(0)?, op.required(1)?);
    let Some(columns) = columns(op)? else { return op.keep_shaped_as("Col2im", op.desc(x).dtype) };
    let shape = op.ints_input("shape", vec![0, -1, columns.taps, columns.windows])?;
    let x = op.helper("Reshape", &[x, shape], &[])?;
    let size = op.helper("Cast", &[size], &[("dst_type", Attr::Type(DataType::Int32))])?;
    let mut node = op.node("Col2im").with_inputs([x, size]);
    node.attrs.set("kernel_size", Attr::Ints(columns.kernel));
    node.attrs.set("dilation", Attr::Ints(columns.dilations));
    node.attrs.set("padding", Attr::Ints(columns.padding));
    node.attrs.set("stride", Attr::Ints(columns.strides));
    op.finish(node)
}

/// `None` where CANN's operator does not fit, or where sizes are not constants.
fn columns(op: &Op) -> Result<Option<Columns>> {
    let constant = |input: usize| op.input(input).and_then(|port| op.const_ints(port)).map(<[i64]>::to_vec);
    let (Some(image), Some(kernel)) = (constant(1), constant(2)) else { return Ok(None) };
    let list = |name: &str, len: usize, default: i64| -> Result<Vec<i64>> {
        let list = op.ints(name)?.unwrap_or_else(|| vec![default; len]);
        let range = default..=i64::from(i32::MAX);
        if list.len() == len && list.iter().all(|value| range.contains(value)) {
            return Ok(list);
        }
        Err(op.error(format!("attribute `{name}` does not hold {len} numbers from {default} on")))
    };
    let (strides, dilations) = (list("strides", kernel.len(), 1)?, list("dilations", kernel.len(), 1)?);
    let pads = list("pads", 2 * kernel.len(), 0)?;
    let (padding, ends) = pads.split_at(kernel.len());
    if image.len() != kernel.len() {
        return Err(op.error(format!("an image of {} axes and a block of {}", image.len(), kernel.len())));
    }
    if kernel.len() != 2 || padding != ends {
        return Ok(None);
    }
    let count = |axis: usize| {
        let extent = kernel[axis].checked_sub(1)?.checked_mul(dilations[axis])?.checked_add(1)?;
        let room = image[axis].checked_add(2 * padding[axis])?.checked_sub(extent)?;
        (kernel[axis] > 0 && room >= 0).then(|| room / strides[axis] + 1)
    };
    let windows = count(0).zip(count(1)).and_then(|(rows, columns)| rows.checked_mul(columns));
    let Some((windows, taps)) = windows.zip(kernel[0].checked_mul(kernel[1])) else {
        return Err(op.error(format!("a block of {kernel:?} does not fit an image of {image:?}")));
    };
    Ok(Some(Columns { padding: padding.to_vec(), kernel, strides, dilations, taps, windows }))
}
