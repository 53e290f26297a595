//! What networks that find things in images have before and behind their convolutions: the preparation of camera images,
//! boxes and their scores. Sizes follow from attributes; they are as CANN's public headers and rules of these shapes say.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred};
use crate::{Attr, DataType, Format, Shape, TensorDesc};
use serde_json::{Map, Value};

/// Numbers for each image that say how many boxes there are: more than one for the kernels' sake.
const COUNTS: i64 = 8;

/// An image [N, C, H, W], in whatever format it is said to be: so these operators read it. `None` while its rank is open.
fn image(call: &Call<'_>) -> Result<Option<[i64; 4]>, Reason> {
    match call.dims(0)? {
        Some(&[n, c, h, w]) => Ok(Some([n, c, h, w])),
        Some(dims) => Err(format!("an image has 4 axes, not {}", dims.len())),
        None => Ok(None),
    }
}

/// A list of numbers in an attribute.
fn numbers(call: &Call<'_>, name: &str) -> Vec<f64> {
    match call.node.attrs.get(name) {
        Some(Attr::Floats(list)) => list.clone(),
        Some(Attr::Float(one)) => vec![*one],
        Some(Attr::Ints(list)) => list.iter().map(|&n| n as f64).collect(),
        Some(Attr::Int(one)) => vec![*one as f64],
        _ => Vec::new(),
    }
}

/// An attribute that counts something: at least 1.
fn count(call: &Call<'_>, name: &str, default: i64) -> Result<i64, Reason> {
    match call.int(&[name]).unwrap_or(default) {
        count if count > 0 => Ok(count),
        count => Err(format!("`{name}` is {count}")),
    }
}

fn plus(a: i64, b: i64) -> Result<i64, Reason> {
    if a < 0 || b < 0 {
        return Ok(UNKNOWN);
    }
    a.checked_add(b).ok_or_else(|| format!("{a} + {b} is too large"))
}

/// `PriorBox` (x, img): boxes around each point of x, and their variances. Each smallest size has a box of its own and one
/// for each ratio of its sides but 1, turned too where `flip` says so; each largest size has one.
pub(crate) fn prior_box(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let mut ratios: Vec<f64> = Vec::new();
    for ratio in numbers(call, "aspect_ratio") {
        let is_there = |other: &f64| (ratio - other).abs() < 1e-6;
        if is_there(&1.0) || ratios.iter().any(is_there) {
            continue;
        }
        ratios.push(ratio);
        if call.flag(&["flip"], true) {
            if ratio <= 0.0 {
                return Err(format!("`aspect_ratio` has {ratio}"));
            }
            ratios.push(1.0 / ratio);
        }
    }
    let list = |name: &str| numbers(call, name).len() as i64;
    // Without a size there is no box, and what was meant nobody knows.
    if list("min_size") == 0 {
        return Inferred::unknown(dtype);
    }
    let boxes = plus(dim::times(list("min_size"), 1 + ratios.len() as i64)?, list("max_size"))?;
    let Some([_, _, h, w]) = image(call)? else { return Inferred::unknown(dtype) };
    Inferred::dims(dtype, [1, 2, dim::product(&[h, w, boxes, 4])?, 1])
}

/// The same with the boxes of a point as tensors: how many there are is the length of the last.
pub(crate) fn prior_box_of(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let boxes = call.arity().checked_sub(1).and_then(|last| call.get(last)).and_then(|boxes| boxes.shape.dims());
    let boxes = boxes.and_then(<[i64]>::first).copied().unwrap_or(UNKNOWN);
    let Some([_, _, h, w]) = image(call)? else { return Inferred::unknown(dtype) };
    Inferred::dims(dtype, [1, 2, dim::product(&[h, w, boxes])?, 4])
}

/// `SPP` (x): the image pooled to 1, 2, 4, ... rows and columns, all in one list.
pub(crate) fn pyramid(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let levels = count(call, "pyramid_height", 1)?;
    if levels > 15 {
        return Err(format!("`pyramid_height` is {levels}: no image has so many points"));
    }
    let points = (0..levels).map(|level| 1_i64 << (2 * level)).sum();
    let Some([n, c, _, _]) = image(call)? else { return Inferred::unknown(dtype) };
    Inferred::dims(dtype, [n, dim::times(c, points)?, 1, 1])
}

/// Points of so many values as the kernels of YOLO's networks lay them out: 32 bytes more, in whole blocks of 32, of
/// numbers of 2 bytes.
fn padded(points: i64) -> Result<i64, Reason> {
    let bytes = plus(dim::times(points, 2)?, 32 + 31)?;
    Ok(if bytes < 0 { UNKNOWN } else { bytes / 32 * 32 / 2 })
}

/// `Yolo` (x): the coordinates of boxes, how sure they are, and of which class.
pub(crate) fn yolo(call: &Call<'_>) -> Inference {
    let (boxes, coordinates, classes) =
        (count(call, "boxes", 3)?, count(call, "coords", 4)?, count(call, "classes", 80)?);
    let dtype = call.dtype(0);
    let Some([n, _, h, w]) = image(call)? else { return all_unknown(call, dtype) };
    let points = dim::product(&[h, w])?;
    let (each, all) = (padded(points)?, padded(dim::times(points, boxes)?)?);
    let shapes = [vec![n, dim::times(boxes, coordinates)?, each], vec![n, all], vec![n, classes, all]];
    Inferred::all(shapes.into_iter().map(|dims| TensorDesc::new(dtype, Shape::new(dims))).collect())
}

fn all_unknown(call: &Call<'_>, dtype: DataType) -> Inference {
    Inferred::all(vec![TensorDesc::new(dtype, Shape::unknown_rank()); call.results()])
}

/// The boxes of each image in so many numbers, and how many of them are some.
fn boxes(call: &Call<'_>, sizes: &[i64]) -> Inference {
    let images = call.dims(0)?.and_then(<[i64]>::first).copied().unwrap_or(UNKNOWN);
    let boxes = TensorDesc::new(call.dtype(0), Shape::new([&[images], sizes].concat()));
    Inferred::all(vec![boxes, TensorDesc::new(DataType::Int32, Shape::new([images, COUNTS]))])
}

/// `YoloV2DetectionOutput` and the third version's: six numbers for each box.
pub(crate) fn yolo_boxes(call: &Call<'_>) -> Inference {
    boxes(call, &[dim::times(6, count(call, "post_nms_topn", 512)?)?])
}

/// `YoloV3DetectionOutputV2`: the six on an axis of their own, unless `out_box_dim` is 2.
pub(crate) fn yolo_boxes_in_rows(call: &Call<'_>) -> Inference {
    match call.int(&["out_box_dim"]) {
        Some(2) => yolo_boxes(call),
        None | Some(3) => boxes(call, &[6, count(call, "post_nms_topn", 512)?]),
        Some(other) => Err(format!("`out_box_dim` is {other}, neither 2 nor 3")),
    }
}

/// `Proposal` (`cls_prob`, ...): the number of its image and four coordinates of each box.
pub(crate) fn proposal(call: &Call<'_>) -> Inference {
    boxes(call, &[5, count(call, "post_nms_topn", 304)?])
}

/// `SSDDetectionOutput` (`bbox_delta`, ...): how many boxes there are, and eight numbers of each, in whole blocks of 128 boxes.
pub(crate) fn ssd_boxes(call: &Call<'_>) -> Inference {
    let kept = call.int(&["keep_top_k"]).filter(|&kept| kept != -1).unwrap_or(1024);
    if kept < 1 {
        return Err(format!("`keep_top_k` is {kept}"));
    }
    let whole = plus(kept, 127)? / 128 * 128;
    let mut inferred = boxes(call, &[whole, COUNTS])?;
    inferred.outputs.swap(0, 1);
    Ok(inferred)
}

/// `FSRDetectionOutput` (rois, `bbox_delta`, ...): boxes of each class, at most 1024 of an image.
pub(crate) fn fsr_boxes(call: &Call<'_>) -> Inference {
    let classes = count(call, "num_classes", 1)?;
    let (images, regions) = match call.dims(0)? {
        Some(&[images, _, regions]) => (images, if regions < 0 { UNKNOWN } else { regions.min(1024) }),
        Some(dims) => return Err(format!("regions have 3 axes, not {}", dims.len())),
        None => (UNKNOWN, UNKNOWN),
    };
    let counts = TensorDesc::new(DataType::Int32, Shape::new([images, classes, COUNTS]));
    Inferred::all(vec![counts, TensorDesc::new(call.dtype(1), Shape::new([images, classes, regions, COUNTS]))])
}

/// `Aipp` (images, params): the image that the network reads, made of one of a camera's.
///
/// Before GE has read the file that configures it, what comes in is described as what comes out. Then the attribute has the
/// configuration itself, what comes in is the camera's image, and what comes out is that cut, resized and padded, in this
/// order. A configuration that a tensor gives tells nothing here.
pub(crate) fn aipp(call: &Call<'_>) -> Inference {
    let images = call.need(0)?;
    let Some(text) = call.str("aipp_config_path").filter(|text| text.trim_start().starts_with('{')) else {
        return Inferred::all(vec![images.clone()]);
    };
    let config: Map<String, Value> = serde_json::from_str(text).map_err(|e| format!("its configuration: {e}"))?;
    let is_given = call.get(1).is_some() || config.get("aipp_mode").and_then(Value::as_str) == Some("dynamic");
    let output = call.node.outputs.first();
    let dtype = output.map_or(DataType::Undefined, |output| output.dtype);
    // Where GE has said the result, that is it.
    if is_given || output.is_some_and(|output| output.shape.known().is_some()) {
        return Inferred::unknown(dtype);
    }
    let Some(&[batch, a, b, c]) = images.shape.dims() else { return Inferred::unknown(dtype) };
    let (h, w) = if call.format(0) == Format::Nchw { (b, c) } else { (a, b) };
    let size = |given: i64, side: char| prepared(&config, given, side);
    let (h, w) = (size(h, 'h')?, size(w, 'w')?);
    let of_grey = config.get("input_format").and_then(Value::as_str).is_some_and(|name| name.starts_with("YUV400"));
    let channels = if of_grey { 1 } else { 3 };
    let format = output.map_or(Format::Nd, |output| output.format);
    let dims = if format == Format::Nhwc { [batch, h, w, channels] } else { [batch, channels, h, w] };
    Inferred::all(vec![TensorDesc { dtype, shape: Shape::new(dims), format }])
}

/// Rows or columns of an image that is prepared so.
fn prepared(config: &Map<String, Value>, given: i64, side: char) -> Result<i64, Reason> {
    let number = |name: &str| config.get(name).and_then(Value::as_i64).filter(|&n| n > 0);
    let is_on = |name: &str| config.get(name).is_some_and(|on| on.as_bool() == Some(true) || on.as_i64() == Some(1));
    let of_side = |name: &str| number(&format!("{name}_{side}"));
    let mut size = of_side("src_image_size").unwrap_or(given);
    for (step, name) in [("crop", "crop_size"), ("resize", "resize_output")] {
        if is_on(step) {
            size = of_side(name).unwrap_or(UNKNOWN);
        }
    }
    if is_on("padding") {
        let ends = if side == 'h' {
            ["top_padding_size", "bottom_padding_size"]
        } else {
            ["left_padding_size", "right_padding_size"]
        };
        for end in ends {
            size = plus(size, number(end).unwrap_or(0))?;
        }
    }
    Ok(size)
}
