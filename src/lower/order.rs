//! Operators that keep the length of the first axis but may turn, shift or mix what lies along it.

use crate::graph::infer::{Call, movement};
use crate::graph::op::Kind;

/// Movement that leaves each part of the first axis where it is, as long as the axis keeps its length.
const STAYING: &[&str] = &[
    "ShuffleChannel",
    "MemcpyAsync",
    "MemcpyAddrAsync",
    "TensorMove",
    "Copy",
    "Tile",
    "TileD",
    "Expand",
    "ExpandD",
    "BroadcastTo",
    "BroadcastToD",
    "DepthToSpace",
    "PixelShuffle",
    "SpaceToDepth",
    "PixelUnshuffle",
    "PassThrough",
    "TransData",
];

/// Vector work that looks at boxes, matrices or the whole axis, not at one element after the other.
const MIXING: &[&str] = &[
    "ROIAlign",
    "RoiAlign",
    "ROIPooling",
    "PSROIPooling",
    "PSROIPoolingV2",
    "CropAndResize",
    "CropAndResizeV2",
    "CropAndResizeD",
    "NonMaxSuppression",
    "NonMaxSuppressionV3",
    "NonMaxSuppressionV3D",
    "NonMaxSuppressionV6",
    "NonMaxSuppressionV7",
    "Cross",
    "LarsV2",
    "LarsV2Update",
    "Range",
    "RangeD",
    "Arange",
    "Fill",
    "FillD",
    "FillV2D",
];

/// Whether what an operator does to a part of the first axis follows from that part alone, beyond what shapes tell.
/// `carried` are the inputs that have the axis. What is not known counts as no.
pub(super) fn stays_in_order(kind: Kind, call: &Call<'_>, carried: &[usize]) -> bool {
    let op_type = call.node.op_type.as_str();
    let rank = call.get(0).and_then(|desc| desc.shape.rank()).unwrap_or(0);
    match kind {
        Kind::Slice if op_type.starts_with("Strided") => goes_forward(call),
        Kind::Gather => !carried.contains(&0) || picks_behind(call, rank, carried),
        Kind::Move if op_type.starts_with("Pad") || op_type.starts_with("MirrorPad") => {
            movement::paddings(call, rank).is_ok_and(|pairs| pairs.is_some_and(|pairs| pairs.first() == Some(&[0, 0])))
        }
        Kind::Move => STAYING.contains(&op_type),
        // A triangle of matrices is cut in each of them; of one matrix, by the row.
        Kind::Elementwise if op_type.starts_with("Tri") => rank > 2,
        // A list of conditions picks whole rows; only the whole list is there for a part.
        Kind::Elementwise if op_type == "Select" => rank > 1 || carried.contains(&0),
        Kind::Elementwise => !MIXING.contains(&op_type),
        _ => true,
    }
}

/// Whether a strided slice takes what it takes in order: no stride is negative.
fn goes_forward(call: &Call<'_>) -> bool {
    let input = if call.node.op_type.ends_with("V2") || call.node.op_type.ends_with("V3") { 4 } else { 3 };
    call.params(input, &["strides"]).known().is_some_and(|strides| strides.iter().all(|&stride| stride > 0))
}

/// Whether a table that has the axis is picked from along a later one, for each part by its own indices or by the
/// same.
fn picks_behind(call: &Call<'_>, rank: usize, carried: &[usize]) -> bool {
    let axis = match call.node.op_type.as_str() {
        "GatherElements" | "GatherD" if carried.contains(&1) => call.axis(2, &["dim", "axis"], 0, rank),
        "Gather" | "GatherV2" | "GatherV2D" | "GatherV3" if !carried.contains(&1) => call.axis(2, &["axis"], 0, rank),
        _ => return false,
    };
    axis.is_ok_and(|axis| axis.is_some_and(|axis| axis > 0)) && call.int(&["batch_dims"]).unwrap_or(0) == 0
}
