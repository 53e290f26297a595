//! Operators through mapping and shape inference together: results have the shapes ONNX defines.

use super::{Model, Value, ints, node, scalar, weight};
use crate::frontend::onnx::proto;
use crate::frontend::{ModelOptions, load_memory};
use crate::graph::{infer, op};

/// One operator over the inputs and constants below; the shapes of its results.
fn shapes(opset: i64, op: &proto::Node) -> String {
    let mut model = Model::new(opset).node(op);
    let inputs: [(&str, &[i64]); 5] =
        [("x", &[2, 3, 8, 8]), ("v", &[5, 6]), ("s", &[1, 6, 1]), ("q", &[4, 2, 6]), ("d", &[1, 8, 3, 5])];
    for (name, dims) in inputs {
        let dims: Vec<_> = dims.iter().map(|&d| d.into()).collect();
        model = model.input(name, &dims);
    }
    let floats = |name: &str, values: &[f32]| proto::Tensor {
        dims: vec![values.len() as i64],
        float_data: values.to_vec(),
        ..scalar(name, 0.0)
    };
    let constants = [
        weight("w", &[4, 3, 3, 3]),
        weight("wt", &[3, 4, 3, 3]),
        weight("lstm_w", &[1, 16, 6]),
        weight("lstm_r", &[1, 16, 4]),
        weight("c", &[3]),
        weight("c6", &[6]),
        weight("wide_row", &[8, 1]),
        weight("roi_boxes", &[9, 4]),
        ints("one", &[1]),
        ints("two", &[2]),
        ints("ends", &[0, 2]),
        ints("pair", &[1, 2]),
        ints("pads", &[0, 0, 1, 2, 0, 0, 3, 4]),
        ints("sizes", &[2, 3, 16, 4]),
        ints("indices", &[0, 2, 1, 1, 0]),
        ints("wide", &[3, 1, 7]),
        ints("minus", &[0, -1]),
        floats("scales", &[1.0, 1.0, 2.0, 0.5]),
        floats("on_off", &[0.0, 1.0]),
    ];
    for tensor in &constants {
        model = model.initializer(tensor);
    }
    for output in op.output.iter().filter(|o| !o.is_empty()) {
        model = model.output(output);
    }
    let graph = load_memory(&model.bytes(), "test", None, &ModelOptions::default())
        .unwrap_or_else(|e| panic!("{} in opset {opset}: {e}", op.op_type));
    infer::require_static(&graph).unwrap_or_else(|e| panic!("{} in opset {opset}: {e}", op.op_type));
    for (_, node) in graph.iter() {
        assert!(node.mapped && op::family(&node.op_type).is_some(), "{} became {}", op.op_type, node.op_type);
    }
    graph.outputs().iter().map(|&port| graph.desc(port).shape.to_string()).collect::<Vec<_>>().join(" ")
}

fn list(values: &[i64]) -> Value {
    Value::Ints(values.to_vec())
}

/// As [`shapes`], for an operator of one result.
fn of(opset: i64, op_type: &str, inputs: &[&str], attrs: &[(&str, Value)]) -> String {
    shapes(opset, &node(op_type, inputs, &["r"], attrs))
}

#[test]
fn convolutions_and_pools() {
    let conv = |attrs: &[(&str, Value)]| of(17, "Conv", &["x", "w"], attrs);
    assert_eq!(conv(&[]), "[2,4,6,6]");
    assert_eq!(conv(&[("pads", list(&[1, 0, 2, 0])), ("strides", list(&[2, 1]))]), "[2,4,5,6]");
    assert_eq!(conv(&[("auto_pad", Value::Str("SAME_UPPER")), ("strides", list(&[3, 1]))]), "[2,4,3,8]");
    assert_eq!(conv(&[("dilations", list(&[2, 3]))]), "[2,4,4,2]");
    let transposed = |attrs: &[(&str, Value)]| of(17, "ConvTranspose", &["x", "wt"], attrs);
    assert_eq!(transposed(&[]), "[2,4,10,10]");
    let strided = ("strides", list(&[2, 2]));
    assert_eq!(transposed(&[strided.clone(), ("pads", list(&[1, 1, 1, 1]))]), "[2,4,15,15]");
    assert_eq!(transposed(&[strided.clone(), ("output_padding", list(&[1, 0]))]), "[2,4,18,17]");
    assert_eq!(transposed(&[strided.clone(), ("output_shape", list(&[16, 17]))]), "[2,4,16,17]");
    assert_eq!(transposed(&[strided, ("auto_pad", Value::Str("SAME_LOWER"))]), "[2,4,16,16]");
    let pool = |op_type: &str, attrs: &[(&str, Value)]| {
        of(17, op_type, &["x"], &[&[("kernel_shape", list(&[3, 3]))], attrs].concat())
    };
    for op_type in ["MaxPool", "AveragePool"] {
        assert_eq!(pool(op_type, &[("strides", list(&[2, 2]))]), "[2,3,3,3]");
        assert_eq!(pool(op_type, &[("strides", list(&[2, 2])), ("ceil_mode", Value::Int(1))]), "[2,3,4,4]");
        assert_eq!(pool(op_type, &[("pads", list(&[1, 1, 1, 1]))]), "[2,3,8,8]");
    }
    for op_type in ["GlobalAveragePool", "GlobalMaxPool"] {
        assert_eq!(of(17, op_type, &["x"], &[]), "[2,3,1,1]");
    }
    let roi = [("output_height", Value::Int(5)), ("output_width", Value::Int(7))];
    assert_eq!(of(17, "RoiAlign", &["x", "roi_boxes", "indices"], &roi), "[9,3,5,7]");
}

#[test]
fn products() {
    assert_eq!(of(17, "MatMul", &["q", "s"], &[]), "[4,2,1]");
    assert_eq!(of(17, "Gemm", &["v", "v"], &[("transB", Value::Int(1))]), "[5,5]");
    assert_eq!(of(17, "Gemm", &["v", "v"], &[("transA", Value::Int(1)), ("alpha", Value::Float(0.5))]), "[6,6]");
    let einsum = [("equation", Value::Str("ij,kj->ki"))];
    assert_eq!(of(17, "Einsum", &["v", "v"], &einsum), "[5,5]");
    let lstm = |layout: i64, outputs: &[&str]| {
        let attrs = [("hidden_size", Value::Int(4)), ("layout", Value::Int(layout))];
        shapes(17, &node("LSTM", &["q", "lstm_w", "lstm_r"], outputs, &attrs))
    };
    assert_eq!(lstm(0, &["y", "y_h", "y_c"]), "[4,1,2,4] [1,2,4] [1,2,4]");
    assert_eq!(lstm(1, &["y", "y_h", "y_c"]), "[4,2,1,4] [4,1,4] [4,1,4]");
}

#[test]
fn norms_and_reductions() {
    assert_eq!(of(17, "LayerNormalization", &["q", "c6", "c6"], &[]), "[4,2,6]");
    assert_eq!(of(17, "BatchNormalization", &["x", "c", "c", "c", "c"], &[]), "[2,3,8,8]");
    assert_eq!(of(17, "InstanceNormalization", &["x", "c", "c"], &[]), "[2,3,8,8]");
    assert_eq!(of(21, "GroupNormalization", &["x", "c", "c"], &[("num_groups", Value::Int(3))]), "[2,3,8,8]");
    assert_eq!(of(17, "LRN", &["x"], &[("size", Value::Int(5))]), "[2,3,8,8]");
    assert_eq!(of(17, "LpNormalization", &["x"], &[("axis", Value::Int(1))]), "[2,3,8,8]");
    for op_type in
        ["ReduceMean", "ReduceMax", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd"]
    {
        assert_eq!(of(17, op_type, &["x"], &[("axes", list(&[1, -1]))]), "[2,1,8,1]");
        assert_eq!(of(18, op_type, &["x", "one"], &[("keepdims", Value::Int(0))]), "[2,8,8]");
        assert_eq!(of(17, op_type, &["x"], &[("keepdims", Value::Int(0))]), "[]");
    }
    assert_eq!(of(17, "ArgMax", &["x"], &[("axis", Value::Int(2))]), "[2,3,1,8]");
    assert_eq!(of(17, "ArgMin", &["x"], &[("axis", Value::Int(2)), ("keepdims", Value::Int(0))]), "[2,3,8]");
    assert_eq!(shapes(17, &node("TopK", &["x", "two"], &["a", "b"], &[])), "[2,3,8,2] [2,3,8,2]");
    let k = [("k", Value::Int(2)), ("axis", Value::Int(1))];
    assert_eq!(shapes(9, &node("TopK", &["x"], &["a", "b"], &k)), "[2,2,8,8] [2,2,8,8]");
    assert_eq!(of(17, "CumSum", &["x", "one"], &[]), "[2,3,8,8]");
    assert_eq!(of(11, "Softmax", &["x"], &[]), "[2,3,8,8]");
}

#[test]
fn movement() {
    assert_eq!(of(17, "Transpose", &["q"], &[]), "[6,2,4]");
    assert_eq!(of(17, "Transpose", &["q"], &[("perm", list(&[1, 0, 2]))]), "[2,4,6]");
    assert_eq!(of(17, "Concat", &["x", "x"], &[("axis", Value::Int(-3))]), "[2,6,8,8]");
    let parts =
        |opset, inputs: &[&str], attrs: &[(&str, Value)]| shapes(opset, &node("Split", inputs, &["a", "b"], attrs));
    assert_eq!(parts(17, &["x"], &[("axis", Value::Int(2))]), "[2,3,4,8] [2,3,4,8]");
    assert_eq!(parts(17, &["x", "pair"], &[("axis", Value::Int(1))]), "[2,1,8,8] [2,2,8,8]");
    assert_eq!(parts(11, &["x"], &[("axis", Value::Int(1)), ("split", list(&[2, 1]))]), "[2,2,8,8] [2,1,8,8]");
    let bounds = [("starts", list(&[1, -3])), ("ends", list(&[i64::MAX, -1])), ("axes", list(&[1, 3]))];
    assert_eq!(of(9, "Slice", &["x"], &bounds), "[2,2,8,2]");
    assert_eq!(of(17, "Slice", &["x", "one", "two", "one"], &[]), "[2,1,8,8]");
    assert_eq!(of(17, "Pad", &["x", "pads"], &[]), "[2,3,12,14]");
    assert_eq!(of(9, "Pad", &["x"], &[("pads", list(&[0, 0, 1, 2, 0, 0, 3, 4]))]), "[2,3,12,14]");
    assert_eq!(of(18, "Pad", &["v", "pair", "", "one"], &[]), "[5,9]");
    assert_eq!(of(17, "Gather", &["x", "indices"], &[("axis", Value::Int(1))]), "[2,5,8,8]");
    assert_eq!(of(17, "GatherElements", &["v", "v"], &[]), "[5,6]");
    assert_eq!(of(17, "Tile", &["v", "pair"], &[]), "[5,12]");
    assert_eq!(of(17, "Expand", &["s", "wide"], &[]), "[3,6,7]");
    assert_eq!(of(17, "DepthToSpace", &["d"], &[("blocksize", Value::Int(2))]), "[1,2,6,10]");
    assert_eq!(of(17, "SpaceToDepth", &["x"], &[("blocksize", Value::Int(2))]), "[2,12,4,4]");
    assert_eq!(of(17, "OneHot", &["indices", "two", "on_off"], &[]), "[5,2]");
    assert_eq!(of(17, "OneHot", &["indices", "two", "on_off"], &[("axis", Value::Int(0))]), "[2,5]");
    assert_eq!(of(17, "Resize", &["x", "", "scales"], &[]), "[2,3,16,4]");
    assert_eq!(of(17, "Resize", &["x", "", "", "sizes"], &[]), "[2,3,16,4]");
    assert_eq!(of(10, "Resize", &["x", "scales"], &[]), "[2,3,16,4]");
    assert_eq!(of(9, "Upsample", &["x", "scales"], &[]), "[2,3,16,4]");
}

#[test]
fn shapes_of_shapes() {
    assert_eq!(of(17, "Reshape", &["x", "minus"], &[]), "[2,192]");
    assert_eq!(of(17, "Flatten", &["x"], &[("axis", Value::Int(2))]), "[6,64]");
    assert_eq!(of(17, "Squeeze", &["s"], &[]), "[6]");
    assert_eq!(of(11, "Squeeze", &["s"], &[("axes", list(&[0]))]), "[6,1]");
    assert_eq!(of(17, "Squeeze", &["s", "two"], &[]), "[1,6]");
    assert_eq!(of(17, "Unsqueeze", &["v", "ends"], &[]), "[1,5,1,6]");
    assert_eq!(of(11, "Unsqueeze", &["v"], &[("axes", list(&[0, 2]))]), "[1,5,1,6]");
    assert_eq!(of(17, "ConstantOfShape", &["pair"], &[]), "[1,2]");
    assert_eq!(of(17, "Shape", &["x"], &[("start", Value::Int(1))]), "[3]");
    assert_eq!(of(17, "Size", &["x"], &[]), "[]");
    assert_eq!(of(13, "Xor", &["v", "v"], &[]), "[5,6]");
    for op_type in ["Mean", "Sum", "Max", "Min"] {
        assert_eq!(of(13, op_type, &["x", "wide_row", "x"], &[]), "[2,3,8,8]");
    }
}
