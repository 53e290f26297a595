//! Reductions, positions, pooling.

use super::{In, ints, list, one, refused, shapes, t, text};
use crate::{Attr, DataType};

#[test]
fn reductions_follow_their_axes() {
    let keep = ("keep_dims", Attr::Bool(true));
    let x = t([2, 3, 4]);
    one("ReduceSum", std::slice::from_ref(&x), &[], "[]");
    one("ReduceSum", std::slice::from_ref(&x), std::slice::from_ref(&keep), "[1,1,1]");
    one("ReduceMean", &[x.clone(), ints([-1])], std::slice::from_ref(&keep), "[2,3,1]");
    one("ReduceMean", &[x.clone(), ints([0, 2])], &[], "[3]");
    one("ReduceMeanD", std::slice::from_ref(&x), &[("axes", list(&[1]))], "[2,4]");
    one("ReduceSum", &[x.clone(), ints([])], &[], "[2,3,4]");
    one("ReduceSum", &[x.clone(), ints([])], &[("noop_with_empty_axes", Attr::Bool(false))], "[]");
    one("ReduceSum", std::slice::from_ref(&x), &[("noop_with_empty_axes", Attr::Int(1))], "[2,3,4]");
    one("ReduceMeanD", std::slice::from_ref(&x), &[("axes", list(&[]))], "[]");
    one("ReduceMax", &[x.clone(), In::Typed(DataType::Int64, vec![1])], std::slice::from_ref(&keep), "[?,?,?]");
    one("ReduceMax", &[x.clone(), In::Typed(DataType::Int64, vec![2])], &[], "[?]");
    one("LpNormV2", &[t([-1, 3]), ints([1])], &[keep], "[?,1]");
    one("Reduction", std::slice::from_ref(&x), &[("axis", Attr::Int(1))], "[2]");
    one("L2Loss", std::slice::from_ref(&x), &[], "[]");
    refused("ReduceSum", &[x, ints([3])], &[], "axis 3 is outside a tensor of rank 3");
}

#[test]
fn softmax_keeps_the_shape_and_checks_its_axes() {
    one("SoftmaxV2", &[t([2, 3])], &[("axes", list(&[-1]))], "[2,3]");
    one("LogSoftmaxV2", &[t([2, 3])], &[], "[2,3]");
    refused("SoftmaxV2", &[t([2, 3])], &[("axes", list(&[2]))], "axis 2");
}

#[test]
fn positions_of_extremes() {
    one("ArgMaxV2", &[t([2, 3, 4]), In::Int(1)], &[], "[2,4]");
    one("ArgMaxD", &[t([2, 3, 4])], &[("dimension", Attr::Int(-1))], "[2,3]");
    one("ArgMin", &[t([2, 3, 4]), In::Int(0)], &[("keep_dims", Attr::Bool(true))], "[1,3,4]");
    assert_eq!(shapes("TopK", &[t([2, 10]), ints([3])], &[], 2).unwrap(), "[2,3] [2,3]");
    assert_eq!(
        shapes("TopKD", &[t([10, 2])], &[("k", Attr::Int(4)), ("dim", Attr::Int(0))], 2).unwrap(),
        "[4,2] [4,2]"
    );
    assert_eq!(shapes("TopK", &[t([2, 10]), In::Typed(DataType::Int64, vec![1])], &[], 2).unwrap(), "[2,?] [2,?]");
    refused("TopK", &[t([2, 10]), ints([11])], &[], "best 11 of 10");
    one("NonZero", &[t([2, 3])], &[], "[2,?]");
    one("Where", &[t([2, 3])], &[], "[?,2]");
}

#[test]
fn pools_follow_onnx() {
    let x = t([1, 64, 112, 112]);
    let window = |extra: &[(&'static str, Attr)]| {
        let base = [("ksize", list(&[1, 1, 3, 3])), ("strides", list(&[1, 1, 2, 2]))];
        base.into_iter().chain(extra.iter().cloned()).collect::<Vec<_>>()
    };
    one("MaxPoolV3", std::slice::from_ref(&x), &window(&[("pads", list(&[1, 1, 1, 1]))]), "[1,64,56,56]");
    one("MaxPoolV3", std::slice::from_ref(&x), &window(&[]), "[1,64,55,55]");
    one("MaxPoolV3", std::slice::from_ref(&x), &window(&[("ceil_mode", Attr::Bool(true))]), "[1,64,56,56]");
    one("AvgPoolV2", std::slice::from_ref(&x), &window(&[("auto_pad", text("SAME_UPPER"))]), "[1,64,56,56]");
    one("AvgPoolV2", std::slice::from_ref(&x), &[("global_pooling", Attr::Bool(true))], "[1,64,1,1]");
    one("AvgPool", std::slice::from_ref(&x), &[("ksize", list(&[1, 1, -1, -1]))], "[1,64,1,1]");
    one("MaxPoolV3", &[t([1, 8, 10])], &[("ksize", list(&[2])), ("strides", list(&[2]))], "[1,8,5]");
    one(
        "MaxPool3D",
        &[t([1, 8, 4, 10, 10])],
        &[("ksize", list(&[1, 1, 2, 2, 2])), ("strides", list(&[2]))],
        "[1,8,2,5,5]",
    );
    one("GlobalAveragePool", &[t([2, 8, 7, 7])], &[], "[2,8,1,1]");
    one("AdaptiveAvgPool2d", &[t([2, 8, 7, 7])], &[("output_size", list(&[3, 3]))], "[2,8,3,3]");
    // Caffe rounds up unless told otherwise.
    one("Pooling", &[t([1, 8, 6, 6])], &[("window", list(&[3, 3])), ("stride", list(&[2, 2]))], "[1,8,3,3]");
    one(
        "Pooling",
        &[t([1, 8, 6, 6])],
        &[("window", list(&[3, 3])), ("stride", list(&[2, 2])), ("ceil_mode", Attr::Int(1))],
        "[1,8,2,2]",
    );
    refused("MaxPoolV3", &[x], &[("ksize", list(&[200, 200]))], "does not fit");
}

#[test]
fn rounding_up_never_starts_a_window_in_the_padding() {
    // Without the rule, the third window would start at 4, past an input of 4.
    let attrs = [("ksize", list(&[1, 1])), ("strides", list(&[2, 2])), ("ceil_mode", Attr::Bool(true))];
    one("MaxPoolV3", &[t([1, 1, 4, 4])], &attrs, "[1,1,2,2]");
}

#[test]
fn maxima_come_with_their_positions() {
    let attrs = [("ksize", list(&[2, 2])), ("strides", list(&[2, 2]))];
    assert_eq!(shapes("MaxPoolWithArgmaxV2", &[t([1, 4, 8, 8])], &attrs, 2).unwrap(), "[1,4,4,4] [1,4,4,4]");
}
