//! Rules of image operators: resizing, regions, blocks of pixels.

use super::dim::{self, Reason, UNKNOWN};
use super::window::Layout;
use super::{Call, Inference, Inferred, Params};
use crate::{Shape, TensorDesc};

/// A size times a scale, rounded down.
fn scaled(size: i64, scale: f64) -> Result<i64, Reason> {
    if size < 0 {
        return Ok(UNKNOWN);
    }
    let result = (size as f64 * scale).floor();
    if !(0.0..9.0e18).contains(&result) {
        return Err(format!("a size of {size} scaled by {scale}"));
    }
    Ok(result as i64)
}

/// `Resize(x, roi, scales, sizes)`: sizes win over scales; attribute `axes` limits both. `Upsample` has
/// its scales in input 1 or attributes.
pub(crate) fn resize(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let axes = match call.node.attrs.ints("axes") {
        Some(axes) => axes.iter().map(|&a| dim::axis(a, dims.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..dims.len()).collect(),
    };
    let sizes = call.params(3, &["sizes"]);
    let result = match (&sizes, scales(call)) {
        (Params::Known(sizes), _) if !sizes.is_empty() => apply_sizes(call, dims, &axes, sizes)?,
        (Params::Known(_) | Params::Absent, Some(scales)) => apply_scales(dims, &axes, &scales)?,
        _ => vec![UNKNOWN; dims.len()],
    };
    Inferred::all(vec![TensorDesc { dtype: x.dtype, shape: Shape::new(result), format: call.format(0) }])
}

fn scales(call: &Call<'_>) -> Option<Vec<f64>> {
    let input = if call.node.op_type == "Upsample" { 1 } else { 2 };
    if let Some(value) = call.value(input) {
        return value.partial_floats().into_iter().collect();
    }
    if call.get(input).is_some() {
        return None;
    }
    if let Some(crate::Attr::Floats(scales)) = call.node.attrs.get("scales") {
        return Some(scales.clone());
    }
    let scale = ["scale", "stride"].iter().find_map(|name| call.node.attrs.float(name))?;
    let factor = |name: &str| call.node.attrs.float(name).unwrap_or(scale);
    Some(vec![1.0, 1.0, factor("stride_h"), factor("stride_w")])
}

fn apply_scales(dims: &[i64], axes: &[usize], scales: &[f64]) -> Result<Vec<i64>, Reason> {
    if scales.len() != axes.len() {
        return Err(format!("{} scales for {} axes", scales.len(), axes.len()));
    }
    let mut result = dims.to_vec();
    for (&axis, &scale) in axes.iter().zip(scales) {
        result[axis] = scaled(dims[axis], scale)?;
    }
    Ok(result)
}

fn apply_sizes(call: &Call<'_>, dims: &[i64], axes: &[usize], sizes: &[i64]) -> Result<Vec<i64>, Reason> {
    // Sizes of the spatial axes alone go with the last ones.
    let axes = if sizes.len() < axes.len() { &axes[axes.len() - sizes.len()..] } else { axes };
    if sizes.len() != axes.len() {
        return Err(format!("{} sizes for {} axes", sizes.len(), axes.len()));
    }
    let ratios = axes.iter().zip(sizes).map(|(&a, &s)| s as f64 / dims[a] as f64);
    let common = match call.str("keep_aspect_ratio_policy") {
        Some("not_larger") => Some(ratios.fold(f64::INFINITY, f64::min)),
        Some("not_smaller") => Some(ratios.fold(0.0, f64::max)),
        _ => None,
    };
    let mut result = dims.to_vec();
    for (&axis, &size) in axes.iter().zip(sizes) {
        result[axis] = match common {
            Some(_) if dims[axis] < 0 => UNKNOWN,
            Some(ratio) => scaled(1, (dims[axis] as f64 * ratio).round())?,
            None if size < 0 => return Err(format!("a size is {size}")),
            None => size,
        };
    }
    Ok(result)
}

/// Resizing of an image to the two sizes in input 1 or attribute `size`, or by attribute `scales`.
pub(crate) fn resize_to_size(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    let space = match call.params(1, &["size", "output_size"]) {
        Params::Known(size) if size.len() == layout.spatial => size,
        // An empty list leaves it to the scales.
        Params::Known(size) if size.is_empty() => return resize(call),
        Params::Known(size) => return Err(format!("{} sizes for {} axes", size.len(), layout.spatial)),
        Params::Unknown => vec![UNKNOWN; layout.spatial],
        Params::Absent => return resize(call),
    };
    let shape = Shape::new(layout.join(dims[0], dims[layout.channel()], &space));
    Inferred::all(vec![TensorDesc { dtype: x.dtype, shape, format: call.format(0) }])
}

/// The gradient of resizing (grads, size).
pub(crate) fn resize_grad(call: &Call<'_>) -> Inference {
    resize_to_size(call)
}

/// `GridSample(x, grid)`: the space of the grid.
pub(crate) fn grid_sample(call: &Call<'_>) -> Inference {
    let (x, grid) = (call.need(0)?, call.need(1)?);
    let (Some(dims), Some([images, space @ .., places])) = (x.shape.dims(), grid.shape.dims()) else {
        return Inferred::unknown(x.dtype);
    };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    if space.len() != layout.spatial {
        return Err("image and grid differ in rank".into());
    }
    if *places >= 0 && *places != layout.spatial as i64 {
        return Err(format!("a place in {} dimensions has {places} numbers in the grid", layout.spatial));
    }
    if dims[0] >= 0 && *images >= 0 && dims[0] != *images {
        return Err(format!("{} images, and a grid for {images}", dims[0]));
    }
    Inferred::dims(x.dtype, layout.join(dims[0], dims[layout.channel()], space))
}

/// Regions of interest (x, rois): one pooled patch each. Rois are a list of all, or [images, 5, regions of each], as the
/// operators of Caffe's networks have them (CANN's public rules of these shapes).
pub(crate) fn roi(call: &Call<'_>) -> Inference {
    let (x, rois) = (call.need(0)?, call.need(1)?);
    let (Some([_, channels, _, _]), Some(regions)) = (x.shape.dims(), rois.shape.dims()) else {
        return Inferred::unknown(x.dtype);
    };
    let count = match regions {
        [images, 5, each] => dim::times(*images, *each)?,
        [count, ..] => *count,
        [] => return Err("a scalar is no list of regions".into()),
    };
    // A patch of position-sensitive regions is as large as their groups.
    let group = call.int(&["group_size"]);
    let size = |names: &[&str]| call.int(names).or(group).unwrap_or(1);
    let (h, w) =
        (size(&["pooled_height", "pooled_h", "output_height"]), size(&["pooled_width", "pooled_w", "output_width"]));
    let channels = call.int(&["output_dim"]).unwrap_or(*channels);
    Inferred::dims(x.dtype, [count, channels, h, w])
}

/// `CropAndResize(x, boxes, box_index, crop_size)`.
pub(crate) fn crop_and_resize(call: &Call<'_>) -> Inference {
    let (x, boxes) = (call.need(0)?, call.need(1)?);
    let (Some(dims), Some([count, ..])) = (x.shape.dims(), boxes.shape.dims()) else {
        return Inferred::unknown(x.dtype);
    };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    let space = match call.params(3, &["crop_size"]) {
        Params::Known(size) if size.len() == layout.spatial => size,
        _ => vec![UNKNOWN; layout.spatial],
    };
    Inferred::dims(x.dtype, layout.join(*count, dims[layout.channel()], &space))
}

fn block(call: &Call<'_>) -> Result<i64, Reason> {
    let size = call.int(&["block_size", "blocksize", "upscale_factor", "downscale_factor", "stride"]).unwrap_or(2);
    if size > 0 { Ok(size) } else { Err(format!("a block of {size} pixels")) }
}

fn divide(size: i64, by: i64) -> Result<i64, Reason> {
    match size {
        s if s < 0 => Ok(UNKNOWN),
        s if s % by == 0 => Ok(s / by),
        s => Err(format!("{s} does not divide into blocks of {by}")),
    }
}

fn reblock(call: &Call<'_>, to_space: bool) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    let size = block(call)?;
    let area = (0..layout.spatial).try_fold(1, |n, _| dim::times(n, size))?;
    let step = |d: i64| if to_space { dim::times(d, size) } else { divide(d, size) };
    let space = layout.space(dims).iter().map(|&d| step(d)).collect::<Result<Vec<_>, _>>()?;
    let channels = dims[layout.channel()];
    let channels = if to_space { divide(channels, area)? } else { dim::times(channels, area)? };
    let shape = Shape::new(layout.join(dims[0], channels, &space));
    Inferred::all(vec![TensorDesc { dtype: x.dtype, shape, format: call.format(0) }])
}

/// Channels become pixels.
pub(crate) fn depth_to_space(call: &Call<'_>) -> Inference {
    reblock(call, true)
}

/// Pixels become channels.
pub(crate) fn space_to_depth(call: &Call<'_>) -> Inference {
    reblock(call, false)
}

/// Caffe's reorganisation; `reverse` turns it round.
pub(crate) fn pass_through(call: &Call<'_>) -> Inference {
    reblock(call, call.flag(&["reverse"], false))
}

/// Block sizes and the pairs (paddings or crops) of `SpaceToBatchND` and its inverse.
fn blocks_and_pairs(call: &Call<'_>, pairs: &str) -> Option<(Vec<i64>, Vec<i64>)> {
    let by_attribute = call.node.op_type.ends_with("DD");
    let list = |input: usize, name: &str| match call.node.attrs.get(name) {
        Some(crate::Attr::IntLists(lists)) if by_attribute => Some(lists.concat()),
        _ => call.params((!by_attribute).then_some(input), &[name]).known().map(<[i64]>::to_vec),
    };
    Some((list(1, "block_shape")?, list(2, pairs)?))
}

fn batch_blocks(call: &Call<'_>, to_batch: bool) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let Some((blocks, pairs)) = blocks_and_pairs(call, if to_batch { "paddings" } else { "crops" }) else {
        return Inferred::shape(x.dtype, dim::of_rank(dims.len()));
    };
    if dims.len() <= blocks.len() || pairs.len() != 2 * blocks.len() || blocks.iter().any(|&b| b < 1) {
        return Err(format!("blocks {blocks:?} with {pairs:?} do not go with {}", x.shape));
    }
    let mut sizes = dims.to_vec();
    for (i, &b) in blocks.iter().enumerate() {
        let edge = pairs[2 * i].checked_add(pairs[2 * i + 1]).ok_or("paddings overflow")?;
        let at = &mut sizes[i + 1];
        *at = match *at {
            d if d < 0 => UNKNOWN,
            d if to_batch => divide(d.saturating_add(edge), b)?,
            d => dim::times(d, b)?.saturating_sub(edge),
        };
        sizes[0] = if to_batch { dim::times(sizes[0], b)? } else { divide(sizes[0], b)? };
    }
    Inferred::dims(x.dtype, sizes)
}

/// `SpaceToBatchND(x, block_shape, paddings)`.
pub(crate) fn space_to_batch(call: &Call<'_>) -> Inference {
    batch_blocks(call, true)
}

/// `BatchToSpaceND(x, block_shape, crops)`.
pub(crate) fn batch_to_space(call: &Call<'_>) -> Inference {
    batch_blocks(call, false)
}

/// Columns back to the image that they were cut from: `Col2im(x, output_size)` with x of [N, C, taps, windows]. Where the
/// taps lie with the channels, [N, C * taps, windows], input 2 is the window.
pub(crate) fn col2im(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let channels = match dims {
        [_, channels, _, _] => *channels,
        [_, columns, _] => match call.params(2, &["kernel_size"]).known() {
            Some(window) => per_window(*columns, dim::product(window)?)?,
            None => UNKNOWN,
        },
        _ => return Err(format!("columns have 3 or 4 axes, not {}", dims.len())),
    };
    match call.params(1, &["output_size"]) {
        Params::Known(size) => Inferred::dims(x.dtype, [&[dims[0], channels], &size[..]].concat()),
        _ => Inferred::unknown(x.dtype),
    }
}

/// Channels of so many columns, each of which is there once for each tap.
fn per_window(columns: i64, taps: i64) -> Result<i64, Reason> {
    match (columns, taps) {
        (..0, _) => Ok(UNKNOWN),
        (_, 1..) if columns % taps == 0 => Ok(columns / taps),
        _ => Err(format!("{columns} columns are not whole windows of {taps}")),
    }
}
