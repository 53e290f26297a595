//! Operators that move elements.

use super::{In, ints, list, one, refused, shapes, t};
use crate::{Attr, DataType};

#[test]
fn transposes_permute() {
    one("Transpose", &[t([2, 3, 4]), ints([2, 0, 1])], &[], "[4,2,3]");
    one("Transpose", &[t([2, 3, 4])], &[], "[4,3,2]");
    one("TransposeD", &[t([2, 3])], &[("perm", list(&[1, 0]))], "[3,2]");
    one("Permute", &[t([2, 3])], &[("order", list(&[1, 0]))], "[3,2]");
    let both = [("perm", list(&[0, 2, 1, 3])), ("shape", list(&[2, 5, 32])), ("transpose_first", Attr::Bool(true))];
    one("ConfusionTransposeD", &[t([2, 4, 5, 8])], &both, "[2,5,32]");
    refused("Transpose", &[t([2, 3]), ints([0, 0])], &[], "no order");
    refused("Transpose", &[t([2, 3]), ints([0])], &[], "no order");
    refused("Transpose", &[t([2, 3]), ints([0, 2])], &[], "axis 2");
}

#[test]
fn joining_adds_up_along_the_axis() {
    one("ConcatD", &[t([2, 3]), t([2, 5]), t([2, 1])], &[("concat_dim", Attr::Int(-1))], "[2,9]");
    one("ConcatV2", &[t([2, 3]), t([4, 3]), In::Int(0)], &[], "[6,3]");
    one("Concat", &[In::Int(1), t([2, 3]), t([2, 3])], &[], "[2,6]");
    one("ConcatD", &[t([2, -1]), t([2, 5])], &[("concat_dim", Attr::Int(1))], "[2,?]");
    one("Pack", &[t([2, 3]), t([2, 3])], &[("axis", Attr::Int(1))], "[2,2,3]");
    refused("ConcatD", &[t([2, 3]), t([3, 3])], &[("concat_dim", Attr::Int(1))], "sizes 2 and 3");
    refused("ConcatD", &[t([2, 3]), t([2])], &[("concat_dim", Attr::Int(1))], "rank");
    refused("ConcatD", &vec![t([1 << 58]); 32], &[("concat_dim", Attr::Int(0))], "overflows");
}

#[test]
fn splitting_takes_parts() {
    let axis = ("split_dim", Attr::Int(1));
    let split = |op: &str, inputs: &[In], attrs: &[(&str, Attr)], n| shapes(op, inputs, attrs, n);
    assert_eq!(split("Split", &[t([2, 6])], std::slice::from_ref(&axis), 3).unwrap(), "[2,2] [2,2] [2,2]");
    let uneven = split("Split", &[t([2, 7])], std::slice::from_ref(&axis), 3).unwrap_err();
    assert!(uneven.contains("7 does not split into 3 equal parts"), "{uneven}");
    assert_eq!(split("Split", &[In::Int(1), t([2, 6])], &[], 2).unwrap(), "[2,3] [2,3]");
    assert_eq!(split("SplitV", &[t([2, 6]), ints([1, 5])], std::slice::from_ref(&axis), 2).unwrap(), "[2,1] [2,5]");
    assert_eq!(split("SplitV", &[t([2, 6]), ints([1, -1]), In::Int(1)], &[], 2).unwrap(), "[2,1] [2,5]");
    let sizes = ("size_splits", list(&[4, 2]));
    assert_eq!(split("SplitVD", &[t([2, 6])], &[axis.clone(), sizes], 2).unwrap(), "[2,4] [2,2]");
    assert_eq!(split("Unpack", &[t([2, 6])], &[("axis", Attr::Int(0))], 2).unwrap(), "[6] [6]");
    let wrong = split("SplitV", &[t([2, 6]), ints([1, 4])], &[axis], 2).unwrap_err();
    assert!(wrong.contains("parts of 5 elements in all from an axis of 6"), "{wrong}");
}

#[test]
fn slices_clamp_like_onnx() {
    let slice = |begin: &[i64], end: &[i64], axes: &[i64], steps: &[i64], expected: &str| {
        one("StridedSliceV2", &[t([20, 10, 5]), ints(begin), ints(end), ints(axes), ints(steps)], &[], expected);
    };
    slice(&[0, 0], &[3, 10], &[0, 1], &[1, 1], "[3,10,5]");
    slice(&[0, 0, 3], &[20, 10, 4], &[0, 1, 2], &[1, 1, 1], "[20,10,1]");
    slice(&[1], &[1000], &[1], &[1], "[20,9,5]");
    slice(&[0], &[-1], &[1], &[1], "[20,9,5]");
    slice(&[20, 10, 4], &[0, 0, 1], &[0, 1, 2], &[-1, -3, -2], "[19,3,2]");
    slice(&[-1], &[i64::MIN], &[0], &[-1], "[20,10,5]");
    slice(&[0], &[i64::MAX], &[-1], &[2], "[20,10,3]");
    slice(&[1000], &[2000], &[0], &[1], "[0,10,5]");
    slice(&[0], &[i64::MAX], &[0], &[i64::MAX], "[1,10,5]");
    one("StridedSliceV2", &[t([20, 10]), ints([2]), ints([8])], &[], "[6,10]");
    one("StridedSliceV2", &[t([20, 10]), In::Typed(DataType::Int64, vec![1]), ints([8]), ints([0])], &[], "[?,10]");
    let steps = In::Typed(DataType::Int64, vec![1]);
    one("StridedSliceV2", &[t([20, 10]), ints([0]), ints([8]), ints([0]), steps], &[], "[?,10]");
    refused("StridedSliceV2", &[t([20]), ints([0]), ints([8]), ints([0]), ints([0])], &[], "a step is 0");
}

#[test]
fn slices_have_tensorflow_masks() {
    let slice = |masks: &[(&str, i64)], begin: &[i64], end: &[i64], expected: &str| {
        let attrs: Vec<_> = masks.iter().map(|&(name, bits)| (name, Attr::Int(bits))).collect();
        let steps = vec![1; begin.len()];
        one("StridedSlice", &[t([4, 5, 6]), ints(begin), ints(end), ints(steps)], &attrs, expected);
    };
    slice(&[("begin_mask", 1), ("end_mask", 1)], &[7, 2], &[7, 4], "[4,2,6]");
    slice(&[("shrink_axis_mask", 1)], &[-1], &[0], "[5,6]");
    slice(&[("ellipsis_mask", 1)], &[0, 1], &[0, 3], "[4,5,2]");
    slice(&[("new_axis_mask", 2)], &[0, 0], &[2, 0], "[2,1,5,6]");
    refused(
        "StridedSlice",
        &[t([4]), ints([4]), ints([5]), ints([1])],
        &[("shrink_axis_mask", Attr::Int(1))],
        "element 4",
    );
    one("Slice", &[t([4, 5]), ints([1, 2]), ints([2, -1])], &[], "[2,3]");
    one("SliceD", &[t([4, 5])], &[("offsets", list(&[0, 0])), ("size", list(&[4, 1]))], "[4,1]");
    refused("Slice", &[t([4, 5]), ints([3, 0]), ints([2, 5])], &[], "do not lie in an axis of 4");
}

#[test]
fn gathers_replace_the_axis_by_the_indices() {
    let index = |dims: &[i64]| In::Typed(DataType::Int64, dims.to_vec());
    one("GatherV2", &[t([30522, 768]), index(&[1, 128]), In::Int(0)], &[], "[1,128,768]");
    one("GatherV2", &[t([3, 4, 5]), index(&[]), In::Int(1)], &[], "[3,5]");
    one("GatherV2", &[t([3, 4, 5]), index(&[7]), In::Int(-1)], &[], "[3,4,7]");
    one("GatherV2", &[t([3, 4, 5]), index(&[3, 7]), In::Int(1)], &[("batch_dims", Attr::Int(1))], "[3,7,5]");
    one("Gather", &[t([3, 4]), index(&[2, 2])], &[], "[2,2,4]");
    one("GatherNd", &[t([2, 3, 4]), index(&[5, 2])], &[], "[5,4]");
    one("GatherNd", &[t([2, 3, 4]), index(&[2, 1])], &[("batch_dims", Attr::Int(1))], "[2,4]");
    one("GatherElements", &[t([2, 3]), index(&[2, 1])], &[], "[2,1]");
    one("ScatterNd", &[index(&[4, 1]), t([4]), ints([8])], &[], "[8]");
    one("TensorScatterUpdate", &[t([8, 2]), index(&[4, 1]), t([4, 2])], &[], "[8,2]");
    refused("GatherV2", &[t([3]), index(&[7]), In::Int(1)], &[], "axis 1");
    refused("GatherNd", &[t([2, 3]), index(&[5, 3])], &[], "3 positions in a tensor of rank 2");
}

#[test]
fn positions_and_updates_that_lie_outside_are_refused() {
    let index = |dims: &[i64]| In::Typed(DataType::Int64, dims.to_vec());
    let axis = |axis: i64| [("dim", Attr::Int(axis))];
    one("GatherElements", &[t([2, 64]), index(&[2, 99])], &axis(1), "[2,99]");
    one("GatherElements", &[t([-1, 64]), index(&[3, 4])], &axis(-1), "[3,4]");
    refused("GatherElements", &[t([2, 64]), index(&[3, 4])], &axis(1), "indices of shape [3,4] do not go with [2,64]");
    refused("GatherElements", &[t([2, 64]), index(&[2])], &axis(1), "[2] do not go with [2,64]");
    one("TensorScatterUpdate", &[t([2, 64]), index(&[3, 1]), t([])], &[], "[2,64]");
    one("TensorScatterUpdate", &[t([2, 64]), index(&[3, 2]), t([3])], &[], "[2,64]");
    one("TensorScatterUpdate", &[t([2, 64]), index(&[-1, 1]), t([3, -1])], &[], "[2,64]");
    let update = |updates: &[i64]| [t([2, 64]), index(&[3, 1]), t(updates)];
    refused("TensorScatterUpdate", &update(&[3, 63]), &[], "updates of shape [3,63] where [3,64] is expected");
    refused("TensorScatterAdd", &update(&[3]), &[], "[3,64] is expected");
    refused("ScatterNdUpdate", &[t([2]), index(&[3, 2]), t([3])], &[], "2 positions in a tensor of rank 1");
    refused("ScatterNd", &[index(&[4, 1]), t([5]), ints([8])], &[], "updates of shape [5] where [4] is expected");
}

#[test]
fn padding_tiling_and_encoding() {
    one("PadV3", &[t([2, 3]), ints([0, 1, 2, 3])], &[], "[4,7]");
    one("PadV3", &[t([2, 3]), ints([0, 2, 1, 3])], &[("paddings_contiguous", Attr::Bool(true))], "[4,7]");
    one("PadV3", &[t([2, 3]), ints([1, 1]), In::Absent, ints([-1])], &[], "[2,5]");
    one("PadV3", &[t([4]), ints([-1, -1])], &[], "[2]");
    one("PadD", &[t([2, 3])], &[("paddings", Attr::IntLists(vec![vec![0, 2], vec![1, 3]]))], "[4,7]");
    one("Tile", &[t([2, 3]), ints([2, 1])], &[], "[4,3]");
    one("Tile", &[t([3]), ints([2, 2])], &[], "[2,6]");
    one("TileWithAxis", &[t([2, 3])], &[("axis", Attr::Int(1)), ("tiles", Attr::Int(4))], "[2,12]");
    let index = In::Typed(DataType::Int64, vec![2, 3]);
    one("OneHot", &[index.clone(), In::Int(10), In::Int(1), In::Int(0)], &[], "[2,3,10]");
    one("OneHotD", &[index, In::Int(1), In::Int(0)], &[("depth", Attr::Int(5)), ("axis", Attr::Int(0))], "[5,2,3]");
    refused("PadV3", &[t([2, 3]), ints([1, 1])], &[], "2 paddings for 2 axes");
    refused("PadV3", &[t([2]), ints([-3, 0])], &[], "cannot be padded");
    refused("Tile", &[t([2]), ints([-1])], &[], "-1 times");
}
