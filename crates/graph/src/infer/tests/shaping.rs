//! Elementwise operators and those that only rename axes.

use super::{In, graph_of, ints, list, one, refused, shapes, t, text};
use crate::infer::infer;
use crate::{Attr, DataType};

#[test]
fn elementwise_operators_broadcast() {
    one("Add", &[t([2, 3, 4]), t([3, 1])], &[], "[2,3,4]");
    one("AccumulateNV2", &[t([2, 1]), t([1, 3]), t([1])], &[], "[2,3]");
    one("SelectV2", &[In::Typed(DataType::Bool, vec![4, 1]), t([3]), t([])], &[], "[4,3]");
    one("Mul", &[t([-1, 3]), t([1])], &[], "[?,3]");
    one("Add", &[In::Open, t([1])], &[], "[?]");
    refused("Add", &[t([2, 3]), t([2, 4])], &[], "[2,3] and [2,4] do not broadcast");
    refused("Add", &[], &[], "input 0 is missing");
}

#[test]
fn types_follow_the_operator() {
    let dtype = |op_type: &str, inputs: &[In], attrs: &[(&str, Attr)]| {
        let mut graph = graph_of(op_type, inputs, attrs, 1);
        infer(&mut graph).unwrap();
        graph.node(graph.find("op").unwrap()).outputs[0].dtype
    };
    let int = In::Typed(DataType::Int32, vec![2]);
    assert_eq!(dtype("Less", &[t([2]), t([2])], &[]), DataType::Bool);
    assert_eq!(
        dtype("SelectV2", &[In::Typed(DataType::Bool, vec![2]), int.clone(), int.clone()], &[]),
        DataType::Int32
    );
    assert_eq!(
        dtype("Cast", std::slice::from_ref(&int), &[("dst_type", Attr::Type(DataType::Float16))]),
        DataType::Float16
    );
    assert_eq!(dtype("Cast", std::slice::from_ref(&int), &[("dst_type", Attr::Int(27))]), DataType::Bfloat16);
    assert_eq!(dtype("AscendQuant", &[t([2])], &[]), DataType::Int8);
    assert_eq!(dtype("AscendDequant", &[int.clone(), t([2])], &[("dtype", Attr::Int(0))]), DataType::Float);
    assert_eq!(dtype("Shape", std::slice::from_ref(&int), &[]), DataType::Int64);
    assert_eq!(dtype("ArgMaxV2", &[t([2, 3]), In::Int(0)], &[("dtype", Attr::Type(DataType::Int32))]), DataType::Int32);
    assert_eq!(dtype("ReduceAny", &[In::Typed(DataType::Bool, vec![2])], &[]), DataType::Bool);
}

#[test]
fn reshape_copies_zeros_and_fills_one_gap() {
    for (target, expected) in [
        (vec![6, 4], "[6,4]"),
        (vec![0, -1], "[2,12]"),
        (vec![-1], "[24]"),
        (vec![0, 0, 2, 2], "[2,3,2,2]"),
        (vec![4, -1, 1], "[4,6,1]"),
    ] {
        one("Reshape", &[t([2, 3, 4]), ints(target)], &[], expected);
    }
    one("Reshape", &[t([0, 3]), ints([0, 5])], &[("allowzero", Attr::Int(1))], "[0,5]");
    one("Reshape", &[t([-1, 3, 4]), ints([0, -1])], &[], "[?,12]");
    one("Reshape", &[t([-1, 12, 64]), ints([-1, 768])], &[], "[?,768]");
    one("Reshape", &[t([2, 3, 4])], &[("shape", list(&[6, 4]))], "[6,4]");
    one(
        "Reshape",
        &[t([2, 3, 4])],
        &[("shape", list(&[-1])), ("axis", Attr::Int(1)), ("num_axes", Attr::Int(2))],
        "[2,12]",
    );
    one("Reshape", &[t([2, 3]), In::Typed(DataType::Int64, vec![3])], &[], "[?,?,?]");
    refused("Reshape", &[t([2, 3]), ints([4])], &[], "6 elements");
    refused("Reshape", &[t([2, 3]), ints([4, -1])], &[], "6 elements");
    refused("Reshape", &[t([2, 3]), ints([-1, -1])], &[], "more than one size is -1");
    refused("Reshape", &[t([2, 3]), ints([6, 1, 0])], &[], "does not exist");
    refused("Reshape", &[t([2, 3]), ints([-2])], &[], "-2");
}

#[test]
fn flatten_splits_at_its_axis() {
    one("Flatten", &[t([2, 3, 4])], &[], "[2,12]");
    one("Flatten", &[t([2, 3, 4])], &[("axis", Attr::Int(0))], "[1,24]");
    one("Flatten", &[t([2, 3, 4])], &[("axis", Attr::Int(-1))], "[6,4]");
    one("Flatten", &[t([2, 3, 4])], &[("axis", Attr::Int(3))], "[24,1]");
    one("FlattenV2", &[t([2, 3, 4, 5])], &[("axis", Attr::Int(1)), ("end_axis", Attr::Int(2))], "[2,12,5]");
    refused("Flatten", &[t([2])], &[("axis", Attr::Int(4))], "axis 4");
}

#[test]
fn axes_of_size_one_come_and_go() {
    one("Squeeze", &[t([1, 3, 1, 5])], &[], "[3,5]");
    one("Squeeze", &[t([1, 3, 1, 5]), ints([0])], &[], "[3,1,5]");
    one("Squeeze", &[t([1, 3, 1, 5]), ints([-2])], &[], "[1,3,5]");
    one("Squeeze", &[t([1, 3])], &[("axis", list(&[0]))], "[3]");
    one("Unsqueeze", &[t([3, 4]), ints([0, -1])], &[], "[1,3,4,1]");
    one("Unsqueeze", &[t([]), ints([0])], &[], "[1]");
    one("ExpandDims", &[t([3, 4]), In::Int(1)], &[], "[3,1,4]");
    refused("Squeeze", &[t([2, 3]), ints([0])], &[], "size 2 cannot be squeezed");
    refused("Unsqueeze", &[t([2]), ints([0, 0])], &[], "twice");
    refused("Unsqueeze", &[t([2]), ints([5])], &[], "axis 5");
}

#[test]
fn tensors_are_made_from_sizes() {
    one("Fill", &[ints([2, 3]), In::Int(0)], &[], "[2,3]");
    one("Fill", &[In::Typed(DataType::Int64, vec![2]), In::Int(0)], &[], "[?,?]");
    one("Range", &[In::Int(0), In::Int(10), In::Int(3)], &[], "[4]");
    one("Range", &[In::Int(10), In::Int(0), In::Int(-1)], &[], "[10]");
    one("Range", &[In::Int(5), In::Int(5), In::Int(1)], &[], "[0]");
    one("Expand", &[t([3, 1]), ints([2, 1, 6])], &[], "[2,3,6]");
    one("BroadcastTo", &[t([3, 1]), ints([3, 4])], &[], "[3,4]");
    one("Shape", &[t([3, 1, 7])], &[], "[3]");
    one("Shape", &[t([3, 1, 7])], &[("start", Attr::Int(-2)), ("end", Attr::Int(100))], "[2]");
    one("Size", &[t([3])], &[], "[]");
    refused("Fill", &[ints([2, -3]), In::Int(0)], &[], "-3");
    refused("Range", &[In::Int(0), In::Int(10), In::Int(0)], &[], "never ends");
}

#[test]
fn conversions_between_layouts_change_the_layout_only() {
    let mut graph = graph_of("TransData", &[t([1, 3, 8, 8])], &[("dst_format", Attr::Str("NC1HWC0".into()))], 1);
    infer(&mut graph).unwrap();
    let output = &graph.node(graph.find("op").unwrap()).outputs[0];
    assert_eq!((output.shape.to_string().as_str(), output.format.name()), ("[1,3,8,8]", "NC1HWC0"));
}

#[test]
fn several_outputs_get_their_shapes() {
    assert_eq!(
        shapes("LayerNorm", &[t([2, 5, 8]), t([8]), t([8])], &[("begin_norm_axis", Attr::Int(-1))], 3).unwrap(),
        "[2,5,8] [2,5,1] [2,5,1]"
    );
    assert_eq!(shapes("ReluV2", &[t([2, 5])], &[], 2).unwrap(), "[2,5] [2,5]");
    assert_eq!(shapes("RmsNorm", &[t([2, 5, 8]), t([8])], &[], 2).unwrap(), "[2,5,8] [2,5,1]");
    assert_eq!(shapes("AddRmsNorm", &[t([2, 8]), t([2, 8]), t([8])], &[], 3).unwrap(), "[2,8] [2,1] [2,8]");
    refused("LayerNorm", &[t([2, 5, 8]), t([7]), t([7])], &[("begin_norm_axis", Attr::Int(-1))], "gamma of shape [7]");
}

#[test]
fn images_are_normalised_channel_by_channel() {
    let stats = || t([16]);
    let nchw = ("data_format", Attr::Str("NCHW".into()));
    one(
        "BatchNorm",
        &[t([2, 16, 4, 4]), stats(), stats(), stats(), stats()],
        std::slice::from_ref(&nchw),
        "[2,16,4,4]",
    );
    refused("BatchNorm", &[t([2, 8, 4, 4]), stats(), stats()], &[nchw], "16 factors for 8 channels");
    let group = shapes("GroupNorm", &[t([2, 16, 4, 4]), stats(), stats()], &[("num_groups", Attr::Int(4))], 3);
    assert_eq!(group.unwrap(), "[2,16,4,4] [2,4] [2,4]");
}

#[test]
fn every_factor_of_a_norm_goes_with_the_channels() {
    let x = || t([2, 16, 4, 4]);
    let training = |is: bool| [("is_training", Attr::Bool(is))];
    for wrong in 1..5 {
        let mut inputs = [x(), t([16]), t([16]), t([16]), t([16])];
        inputs[wrong] = t([15]);
        let reason = format!("input {wrong}: 15 factors for 16 channels");
        refused("BatchNorm", &inputs, &training(false), &reason);
        refused("BNInference", &inputs, &[], &reason);
    }
    one("BNInference", &[x(), t([16]), t([16]), t([1])], &[], "[2,16,4,4]");
    let empty = [x(), t([16]), t([16]), t([0]), t([0])];
    one("BatchNorm", &empty, &training(true), "[2,16,4,4]");
    refused("BatchNorm", &empty, &training(false), "0 factors for 16 channels");
    refused("InstanceNorm", &[x(), t([15]), t([16])], &[], "input 1: 15 factors");
    let groups = [("num_groups", Attr::Int(4))];
    one("GroupNorm", &[x(), t([4]), t([4])], &groups, "[2,16,4,4]");
    refused("GroupNorm", &[x(), t([4]), t([5])], &groups, "input 2: 5 factors for 16 channels");
}

#[test]
fn slopes_biases_and_scales_go_with_what_they_are_for() {
    let x = || t([2, 24, 14, 15]);
    for slope in [&[24][..], &[1], &[], &[24, 1, 1], &[14, 15], &[-1], &[1, 24, 14, 1]] {
        one("PRelu", &[x(), t(slope)], &[], "[2,24,14,15]");
    }
    refused("PRelu", &[x(), t([23, 1, 1])], &[], "a slope of shape [23,1,1] does not go with [2,24,14,15]");
    refused("PRelu", &[t([2, 1]), t([2, 7])], &[], "a slope of shape [2,7]");
    let format = |name: &str| [("data_format", text(name))];
    one("BiasAdd", &[x(), t([15])], &format("NHWC"), "[2,24,14,15]");
    one("BiasAdd", &[x(), t([24])], &format("NCHW"), "[2,24,14,15]");
    one("BiasAdd", &[t([7, 5]), t([5])], &[], "[7,5]");
    refused("BiasAdd", &[x(), t([24])], &format("NHWC"), "a bias of shape [24] does not go with [2,24,14,15]");
    let axis = |axis: i64| [("axis", Attr::Int(axis))];
    one("Scale", &[x(), t([24]), t([24])], &[], "[2,24,14,15]");
    one("Scale", &[x(), t([14, 15])], &axis(2), "[2,24,14,15]");
    one("Scale", &[x(), t([1, 24, 1, 1])], &[], "[2,24,14,15]");
    refused("Scale", &[x(), t([24]), t([25])], &[], "a bias of shape [25]");
    refused("Scale", &[x(), t([14])], &[], "a scale of shape [14]");
    refused("Bias", &[x(), t([15, 1])], &axis(3), "a bias of shape [15,1]");
}
