//! One form per Ascend operator, whatever the opset.

use super::{INT64, Model, Value, fed, ints, node, only, scalar, single, weight};
use crate::frontend::onnx::proto;
use crate::frontend::{ModelOptions, load_memory};
use crate::graph::{Attr, Constant, DataType, Graph};
use prost::bytes::Bytes;

fn read(opset: i64, op: &proto::Node, initializers: &[proto::Tensor]) -> Graph {
    let graph = single(opset, op, initializers).read().unwrap();
    assert!(graph.iter().all(|(_, n)| n.mapped), "{graph:?}");
    graph
}

/// Types of the nodes that are neither inputs nor constants.
fn types(graph: &Graph) -> Vec<&str> {
    graph.iter().map(|(_, n)| n.op_type.as_str()).filter(|t| !["Data", "Const"].contains(t)).collect()
}

#[test]
fn axes_are_an_input_whichever_way_the_opset_gives_them() {
    for (op_type, old, new) in [
        ("Squeeze", 11, 13),
        ("Unsqueeze", 11, 13),
        ("ReduceSum", 11, 13),
        ("ReduceMean", 13, 18),
        ("ReduceMax", 17, 18),
    ] {
        let by_attribute = node(op_type, &["x"], &["r"], &[("axes", Value::Ints(vec![0, 2]))]);
        let graph = read(old, &by_attribute, &[]);
        assert_eq!(fed(&graph, only(&graph, op_type), 1), [0, 2], "{op_type}");
        let by_input = node(op_type, &["x", "axes"], &["r"], &[]);
        let graph = read(new, &by_input, &[ints("axes", &[0, 2])]);
        assert_eq!(fed(&graph, only(&graph, op_type), 1), [0, 2], "{op_type}");
    }
}

#[test]
fn a_reduction_without_axes_covers_all_unless_it_says_otherwise() {
    let graph = read(17, &node("ReduceMax", &["x"], &["r"], &[("keepdims", Value::Int(0))]), &[]);
    let reduce = only(&graph, "ReduceMax");
    assert_eq!((reduce.inputs.len(), reduce.attrs.bool("keep_dims")), (1, Some(false)));
    let noop = [("noop_with_empty_axes", Value::Int(1))];
    assert_eq!(types(&read(18, &node("ReduceSum", &["x"], &["r"], &noop), &[])), ["Identity"]);
}

#[test]
fn softmax_before_opset_13_covers_all_axes_from_its_own_on() {
    let axes = |opset, attrs: &[(&str, Value)]| {
        let bytes = single(opset, &node("Softmax", &["x"], &["r"], attrs), &[]).bytes();
        let graph = load_memory(&bytes, "test", None, &ModelOptions::default()).unwrap();
        only(&graph, "SoftmaxV2").attrs.ints("axes").unwrap().to_vec()
    };
    assert_eq!(axes(11, &[]), [1, 2, 3]);
    assert_eq!(axes(11, &[("axis", Value::Int(-2))]), [2, 3]);
    assert_eq!(axes(13, &[]), [-1]);
    assert_eq!(axes(13, &[("axis", Value::Int(1))]), [1]);
}

#[test]
fn clip_takes_its_bounds_from_attributes_or_inputs() {
    let old = node("Clip", &["x"], &["r"], &[("min", Value::Float(0.0)), ("max", Value::Float(6.0))]);
    let graph = read(9, &old, &[]);
    let clip = only(&graph, "ClipByValue");
    let high = graph.node(clip.input(2).unwrap().node);
    assert_eq!(high.value, Some(Constant::Floats(vec![6.0])));
    let (low, high) = (scalar("low", 0.0), scalar("high", 6.0));
    let new = |inputs: &[&str]| read(11, &node("Clip", inputs, &["r"], &[]), &[low.clone(), high.clone()]);
    assert_eq!(types(&new(&["x", "low", "high"])), ["ClipByValue"]);
    assert_eq!(types(&new(&["x", "low"])), ["Maximum"]);
    assert_eq!(types(&new(&["x", "", "high"])), ["Minimum"]);
    assert_eq!(types(&new(&["x"])), ["Identity"]);
}

#[test]
fn pads_and_slices_are_inputs_whichever_way_the_opset_gives_them() {
    let pads = vec![0, 0, 1, 1, 0, 0, 2, 2];
    let old = read(2 + 7, &node("Pad", &["x"], &["r"], &[("pads", Value::Ints(pads.clone()))]), &[]);
    let new = read(13, &node("Pad", &["x", "p"], &["r"], &[]), &[ints("p", &pads)]);
    for graph in [old, new] {
        let pad = only(&graph, "PadV3");
        assert_eq!(fed(&graph, pad, 1), pads);
        assert_eq!(pad.attrs.bool("paddings_contiguous"), Some(false), "all beginnings before all ends");
        assert_eq!(pad.attrs.str("mode"), Some("constant"));
    }
    let list = |v: &[i64]| Value::Ints(v.to_vec());
    let old = [("starts", list(&[1])), ("ends", list(&[5])), ("axes", list(&[2]))];
    let old = read(9, &node("Slice", &["x"], &["r"], &old), &[]);
    let given = [ints("s", &[1]), ints("e", &[5]), ints("a", &[2]), ints("t", &[2])];
    let new = read(13, &node("Slice", &["x", "s", "e", "a", "t"], &["r"], &[]), &given);
    for graph in [&old, &new] {
        let slice = only(graph, "StridedSliceV2");
        assert_eq!((fed(graph, slice, 1), fed(graph, slice, 2), fed(graph, slice, 3)), (&[1][..], &[5][..], &[2][..]));
    }
    assert_eq!(fed(&new, only(&new, "StridedSliceV2"), 4), [2]);
}

#[test]
fn split_is_even_or_by_sizes() {
    let even = read(13, &node("Split", &["x"], &["a", "b"], &[("axis", Value::Int(1))]), &[]);
    let split = only(&even, "Split");
    assert_eq!((split.attrs.int("split_dim"), split.attrs.int("num_split")), (Some(1), Some(2)));
    assert_eq!((split.inputs.len(), split.outputs.len()), (1, 2));
    let old = read(11, &node("Split", &["x"], &["a", "b"], &[("split", Value::Ints(vec![1, 2]))]), &[]);
    let new = read(13, &node("Split", &["x", "s"], &["a", "b"], &[]), &[ints("s", &[1, 2])]);
    for graph in [old, new] {
        assert_eq!(fed(&graph, only(&graph, "SplitV"), 1), [1, 2]);
    }
}

#[test]
fn convolutions_carry_ascend_lists() {
    let attrs = [
        ("pads", Value::Ints(vec![1, 2, 3, 4])),
        ("strides", Value::Ints(vec![2, 3])),
        ("dilations", Value::Ints(vec![1, 2])),
        ("group", Value::Int(3)),
    ];
    let graph = read(17, &node("Conv", &["x", "w"], &["r"], &attrs), &[weight("w", &[6, 1, 3, 3])]);
    let conv = only(&graph, "Conv2D");
    assert_eq!(conv.attrs.ints("pads"), Some(&[1, 3, 2, 4][..]), "top, bottom, left, right");
    assert_eq!(conv.attrs.ints("strides"), Some(&[1, 1, 2, 3][..]));
    assert_eq!(conv.attrs.ints("dilations"), Some(&[1, 1, 1, 2][..]));
    assert_eq!(conv.attrs.int("groups"), Some(3));
}

#[test]
fn convolutions_tell_their_rank_from_attributes_or_weights() {
    let conv = |dims: &[i64]| {
        let model = Model::new(17)
            .input("x", &[1.into(), 3.into(), 8.into()])
            .initializer(&weight("w", dims))
            .node(&node("Conv", &["x", "w"], &["r"], &[]))
            .output("r");
        model.read().unwrap()
    };
    let graph = conv(&[4, 3, 3]);
    assert_eq!(only(&graph, "Conv2D").attrs.ints("strides"), Some(&[1][..]));
    assert_eq!(only(&graph, "Conv2D").attrs.ints("pads"), Some(&[0, 0][..]));
    let graph = conv(&[4, 3, 3, 3, 3]);
    assert_eq!(only(&graph, "Conv3D").attrs.ints("strides"), Some(&[1; 5][..]));
    assert_eq!(only(&graph, "Conv3D").attrs.str("data_format"), Some("NCDHW"));
}

#[test]
fn automatic_padding_is_left_to_shape_inference() {
    for mode in ["SAME_UPPER", "SAME_LOWER"] {
        let attrs = [("auto_pad", Value::Str(mode)), ("kernel_shape", Value::Ints(vec![3, 3]))];
        let graph = read(17, &node("Conv", &["x", "w"], &["r"], &attrs), &[weight("w", &[4, 3, 3, 3])]);
        assert_eq!(only(&graph, "Conv2D").attrs.str("auto_pad"), Some(mode));
    }
    let attrs = [("auto_pad", Value::Str("VALID")), ("kernel_shape", Value::Ints(vec![3, 3]))];
    let graph = read(17, &node("MaxPool", &["x"], &["r"], &attrs), &[]);
    let pool = only(&graph, "MaxPoolV3");
    assert_eq!((pool.attrs.str("auto_pad"), pool.attrs.ints("pads")), (None, Some(&[0; 4][..])));
}

#[test]
fn a_transposed_convolution_has_the_size_of_its_result_first() {
    let w = [weight("w", &[3, 4, 2, 2])];
    let plain = read(17, &node("ConvTranspose", &["x", "w"], &["r"], &[("strides", Value::Ints(vec![2, 2]))]), &w);
    assert_eq!(fed(&plain, only(&plain, "Conv2DTranspose"), 0), [0; 4]);
    let sized = [("output_shape", Value::Ints(vec![17, 18]))];
    let sized = read(17, &node("ConvTranspose", &["x", "w"], &["r"], &sized), &w);
    assert_eq!(fed(&sized, only(&sized, "Conv2DTranspose"), 0), [0, 0, 17, 18]);
}

#[test]
fn gemm_is_a_product_with_what_it_scales_and_adds() {
    let gemm = |attrs: &[(&str, Value)], c: &[i64]| {
        let model = Model::new(13)
            .input("a", &[8.into(), 4.into()])
            .initializer(&weight("b", &[5, 4]))
            .initializer(&weight("c", c))
            .node(&node("Gemm", &["a", "b", "c"], &["r"], &[attrs, &[("transB", Value::Int(1))]].concat()))
            .output("r");
        let graph = model.read().unwrap();
        let product = only(&graph, "MatMulV2");
        assert_eq!(product.name, "Gemm_0");
        assert_eq!(product.attrs.bool("transpose_x1"), Some(false));
        assert_eq!(product.attrs.bool("transpose_x2"), Some(true));
        types(&graph).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(gemm(&[], &[5]), ["MatMulV2"], "a bias of one axis rides along");
    assert_eq!(gemm(&[], &[8, 5]), ["MatMulV2", "Add"]);
    assert_eq!(gemm(&[("alpha", Value::Float(2.0))], &[5]), ["MatMulV2", "Muls", "Add"]);
    assert_eq!(gemm(&[("beta", Value::Float(2.0))], &[5]), ["MatMulV2", "Muls", "Add"]);
    assert_eq!(gemm(&[("beta", Value::Float(0.0))], &[5]), ["MatMulV2"]);
}

#[test]
fn weights_made_by_nodes_have_their_shape_as_initializers_do() {
    let model = Model::new(9)
        .input("a", &[8.into(), 4.into()])
        .initializer(&weight("b", &[4, 5]))
        .initializer(&ints("size", &[5]))
        .node(&node("ConstantOfShape", &["size"], &["c"], &[]))
        .node(&node("Gemm", &["a", "b", "c"], &["r"], &[]))
        .output("r");
    assert_eq!(types(&model.read().unwrap()), ["Fill", "MatMulV2"]);
}

#[test]
fn operators_over_many_tensors_become_chains_or_sums() {
    let of = |op_type: &str, inputs: &[&str]| {
        let graph = read(13, &node(op_type, inputs, &["r"], &[]), &[]);
        types(&graph).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("Max", &["x"]), ["Identity"]);
    assert_eq!(of("Max", &["x", "y"]), ["Maximum"]);
    assert_eq!(of("Min", &["x", "y", "z"]), ["Minimum", "Minimum"]);
    assert_eq!(of("Sum", &["x", "y", "z"]), ["AccumulateNV2"]);
    assert_eq!(of("Mean", &["x", "y", "z"]), ["AccumulateNV2", "Muls"]);
    assert_eq!(of("Xor", &["x", "y"]), ["Cast", "Cast", "BitwiseXor", "Cast"]);
    assert_eq!(of("LpNormalization", &["x"]), ["LpNormV2", "Div"]);
    assert_eq!(of("ThresholdedRelu", &["x"]), ["Threshold", "Mul"]);
}

#[test]
fn dropout_lets_everything_through_unless_its_mask_is_read() {
    let graph = read(13, &node("Dropout", &["x"], &["r"], &[]), &[]);
    assert_eq!(types(&graph), ["Identity"]);
    let model = Model::new(13).input("x", &[4.into()]).node(&node("Dropout", &["x"], &["r", "mask"], &[])).output("r");
    assert_eq!(types(&model.read().unwrap()), ["Identity"]);
    let graph = model.output("mask").read().unwrap();
    assert!(!only(&graph, "Dropout").mapped);
}

#[test]
fn arg_max_that_keeps_its_axis_gets_it_back() {
    let graph = read(13, &node("ArgMax", &["x"], &["r"], &[("axis", Value::Int(1))]), &[]);
    assert_eq!(types(&graph), ["ArgMaxV2", "Unsqueeze"]);
    let dropped = [("keepdims", Value::Int(0))];
    let graph = read(13, &node("ArgMax", &["x"], &["r"], &dropped), &[]);
    assert_eq!(types(&graph), ["ArgMaxV2"]);
}

#[test]
fn one_hot_has_its_two_values_apart() {
    let values = proto::Tensor { dims: vec![2], float_data: vec![0.5, 2.0], ..scalar("v", 0.0) };
    let graph = read(13, &node("OneHot", &["x", "d", "v"], &["r"], &[]), &[ints("d", &[7]), values]);
    let one_hot = only(&graph, "OneHot");
    let value = |i: usize| graph.node(one_hot.input(i).unwrap().node).value.clone().unwrap();
    assert_eq!((value(2), value(3)), (Constant::Floats(vec![2.0]), Constant::Floats(vec![0.5])));
    assert_eq!(one_hot.attrs.int("axis"), Some(-1));
}

#[test]
fn resizing_has_region_scales_and_sizes_where_they_are_meant() {
    let scales = proto::Tensor { dims: vec![4], float_data: vec![1.0, 1.0, 2.0, 2.0], ..scalar("s", 0.0) };
    let empty = proto::Tensor { dims: vec![0], float_data: Vec::new(), ..scalar("roi", 0.0) };
    let mode = [("mode", Value::Str("linear"))];
    let new = read(13, &node("Resize", &["x", "roi", "s"], &["r"], &mode), &[empty, scales.clone()]);
    let old = read(9, &node("Upsample", &["x", "s"], &["r"], &mode), std::slice::from_ref(&scales));
    let ten = read(10, &node("Resize", &["x", "s"], &["r"], &mode), &[scales]);
    for (graph, transformation) in [(new, "half_pixel"), (old, "asymmetric"), (ten, "asymmetric")] {
        let resize = only(&graph, "Resize");
        assert_eq!((resize.input(1), resize.input(3)), (None, None));
        assert!(resize.input(2).is_some());
        assert_eq!(resize.attrs.str("mode"), Some("linear"));
        assert_eq!(resize.attrs.str("coordinate_transformation_mode"), Some(transformation));
    }
}

#[test]
fn a_global_maximum_is_a_reduction_over_space() {
    let bytes = single(17, &node("GlobalMaxPool", &["x"], &["r"], &[]), &[]).bytes();
    let graph = load_memory(&bytes, "test", None, &ModelOptions::default()).unwrap();
    let reduce = only(&graph, "ReduceMaxD");
    assert_eq!(reduce.attrs.ints("axes"), Some(&[2, 3][..]));
    assert_eq!(reduce.attrs.bool("keep_dims"), Some(true));
}

#[test]
fn a_recurrent_layer_that_puts_the_batch_first_is_turned_round() {
    let weights = [weight("w", &[1, 16, 3]), weight("r", &[1, 16, 4])];
    let lstm = |layout| {
        let attrs = [("hidden_size", Value::Int(4)), ("layout", Value::Int(layout))];
        let mut model = Model::new(14)
            .input("x", &[2.into(), 5.into(), 3.into()])
            .node(&node("LSTM", &["x", "w", "r"], &["y", "h"], &attrs))
            .output("y")
            .output("h");
        for w in &weights {
            model = model.initializer(w);
        }
        model.read().unwrap()
    };
    assert_eq!(types(&lstm(0)), ["CommonLSTM"]);
    let graph = lstm(1);
    assert_eq!(types(&graph), ["Transpose", "CommonLSTM", "Transpose", "Transpose"]);
    let outputs: Vec<_> = graph.outputs().iter().map(|p| graph.node(p.node).op_type.as_str()).collect();
    assert_eq!(outputs, ["Transpose", "Transpose"]);
}

#[test]
fn a_cast_says_its_type() {
    let graph = read(13, &node("Cast", &["x"], &["r"], &[("to", Value::Int(10))]), &[]);
    assert_eq!(only(&graph, "Cast").attrs.get("dst_type"), Some(&Attr::Type(DataType::Float16)));
    let graph = read(15, &node("CastLike", &["x", "k"], &["r"], &[]), &[ints("k", &[1])]);
    assert_eq!(only(&graph, "Cast").attrs.get("dst_type"), Some(&Attr::Type(DataType::Int64)));
}

#[test]
fn an_operator_without_a_rule_keeps_its_name_attributes_and_outputs() {
    let mut op = node("Fancy", &["x"], &["r", "s"], &[("alpha", Value::Float(0.5)), ("list", Value::Ints(vec![1]))]);
    op.domain = "my.domain".to_owned();
    let graph = single(17, &op, &[]).read().unwrap();
    let fancy = only(&graph, "my.domain::Fancy");
    assert!(!fancy.mapped);
    assert_eq!(fancy.outputs.len(), 2);
    assert_eq!((fancy.attrs.float("alpha"), fancy.attrs.ints("list")), (Some(0.5), Some(&[1][..])));
    // A name that has a rule in ONNX's own domain has none in another.
    let foreign = proto::Node { domain: "my.domain".to_owned(), ..node("Relu", &["x"], &["r"], &[]) };
    assert!(!only(&single(17, &foreign, &[]).read().unwrap(), "my.domain::Relu").mapped);
}

/// A list of 8-bit integers.
fn bytes(name: &str, unsigned: bool, values: &[u8]) -> proto::Tensor {
    let data_type = if unsigned { 2 } else { 3 };
    let dims = if values.len() == 1 { Vec::new() } else { vec![values.len() as i64] };
    proto::Tensor { name: name.into(), dims, data_type, raw_data: Bytes::copy_from_slice(values), ..Default::default() }
}

#[test]
fn quantised_numbers_are_what_cann_has_or_the_arithmetic_that_they_are() {
    let model = Model::new(19)
        .input("x", &[2.into(), 3.into(), 8.into(), 8.into()])
        .initializer(&scalar("s", 0.5))
        .initializer(&bytes("z", false, &[3]))
        .initializer(&weight("by_channel", &[3]))
        .initializer(&bytes("zeros", false, &[0, 0, 0]))
        .node(&node("QuantizeLinear", &["x", "s", "z"], &["q"], &[]).named("q"))
        .initializer(&proto::Tensor { dims: vec![3, 4], ..bytes("w", false, &[1; 12]) })
        .node(&node("DequantizeLinear", &["q", "by_channel", "zeros"], &["d"], &[]).named("d"))
        .node(&node("DequantizeLinear", &["w", "by_channel", "zeros"], &["f"], &[("axis", Value::Int(0))]).named("f"))
        .node(&node("DequantizeLinear", &["q", "s", "z"], &["e"], &[]).named("e"))
        .output("d")
        .output("e");
    let mut graph = model.read().unwrap();
    crate::graph::infer::infer(&mut graph).unwrap();
    let q = only(&graph, "Quantize");
    assert_eq!((q.outputs[0].dtype, q.attrs.str("dtype")), (DataType::Int8, Some("torch.qint8")));
    // Zero points of 0 are not taken off; a scale for each row lies along the rows, and one for each channel along these.
    let [d, e, f] = ["d", "e", "f"].map(|name| graph.node(graph.find(name).unwrap()));
    assert_eq!((e.op_type.as_str(), f.op_type.as_str(), graph.find("f/Sub")), ("Mul", "Mul", None));
    assert_eq!(graph.desc(f.input(1).unwrap()).shape.to_string(), "[3,1]");
    assert_eq!(graph.desc(d.input(1).unwrap()).shape.to_string(), "[3,1,1]");
    assert!(graph.find("e/Sub").is_some() && d.op_type == "Mul");
    for &output in graph.outputs() {
        let desc = graph.desc(output);
        assert_eq!((desc.shape.to_string().as_str(), desc.dtype), ("[2,3,8,8]", DataType::Float));
    }
}

#[test]
fn sizes_that_do_not_hang_on_values_are_known_behind_operators_that_are_not() {
    let behind = |model: Model| {
        let mut graph = model.read().unwrap();
        crate::graph::infer::infer(&mut graph).unwrap();
        let outputs: Vec<String> = graph
            .outputs()
            .iter()
            .map(|&port| format!("{} {}", graph.desc(port).dtype.name(), graph.desc(port).shape))
            .collect();
        outputs
    };
    let x = || Model::new(13).input("x", &[4.into(), 6.into()]);
    let dynamic = node("DynamicQuantizeLinear", &["x"], &["y", "s", "z"], &[]);
    assert_eq!(
        behind(x().node(&dynamic).output("y").output("s").output("z")),
        ["uint8 [4,6]", "float32 []", "uint8 []"]
    );
    let eye = node("EyeLike", &["x"], &["y"], &[("dtype", Value::Int(INT64.into()))]);
    assert_eq!(behind(x().node(&eye).output("y")), ["int64 [4,6]"]);
    for k in [0, 2, -1] {
        let eye = node("EyeLike", &["x"], &["y"], &[("k", Value::Int(k))]).named("eye");
        let model = x().node(&eye).output("y").bytes();
        let read = load_memory(&model, "net", None, &ModelOptions::default()).unwrap();
        let (_, made) = read.iter().find(|(_, made)| made.name == "eye").unwrap();
        assert!(made.mapped && made.outputs[0].shape.to_string() == "[4,6]", "{made:?}");
        let (_, whole) = read.iter().find(|(_, made)| made.op_type == "Eye").unwrap();
        let sizes = (whole.attrs.int("num_rows"), whole.attrs.int("num_columns"));
        let offsets = made.attrs.ints("offsets").map(<[i64]>::to_vec);
        let expected = match k {
            0 => ((Some(4), Some(6)), None),
            2 => ((Some(6), Some(6)), Some(vec![2, 0])),
            _ => ((Some(4), Some(7)), Some(vec![0, 1])),
        };
        assert_eq!((sizes, offsets), expected, "{k}");
        let written = crate::frontend::air::encode_model(&read).unwrap();
        let judged = crate::frontend::check::judge(&crate::frontend::air::read(written.into(), "net").unwrap());
        assert!(judged.compiles(), "{judged:?}");
    }
    let scatter = node("ScatterND", &["x", "i", "u"], &["y"], &[("reduction", Value::Str("mul"))]).named("mul");
    let model = Model::new(16).input("x", &[4.into()]).input("i", &[2.into(), 1.into()]).input("u", &[2.into()]);
    let read = model.node(&scatter).output("y").read().unwrap();
    let (_, made) = read.iter().find(|(_, made)| made.name == "mul").unwrap();
    assert_eq!(made.attrs.str(crate::graph::WHY_UNMAPPED), Some("CANN has no scatter that multiplies"));
    assert_eq!(behind(x().node(&node("Hardmax", &["x"], &["y"], &[])).output("y")), ["float32 [4,6]"]);
    let grid = Model::new(16)
        .input("x", &[2.into(), 3.into(), 8.into(), 8.into()])
        .input("g", &[2.into(), 5.into(), 7.into(), 2.into()]);
    let sample = node("GridSample", &["x", "g"], &["y"], &[("mode", Value::Str("nearest"))]);
    assert_eq!(behind(grid.node(&sample).output("y")), ["float32 [2,3,5,7]"]);
}

#[test]
fn what_is_found_in_values_is_what_only_a_run_tells_though_the_operator_is_not_known() {
    use crate::graph::infer::{Cause, infer, split_static};
    for (op_type, reads) in [("Unique", &["x"][..]), ("Compress", &["x", "c"])] {
        let model = Model::new(13).input("x", &[8.into()]).input("c", &[8.into()]);
        let model = model.node(&node(op_type, reads, &["y"], &[])).node(&node("Relu", &["y"], &["z"], &[]).named("z"));
        let mut graph = model.output("z").read().unwrap();
        infer(&mut graph).unwrap();
        let left_out = split_static(graph).unwrap().left_out;
        assert!(left_out.iter().any(|node| node.name == "z" && node.cause == Cause::Run), "{op_type}: {left_out:?}");
    }
}

#[test]
fn what_is_known_of_what_is_found_is_not_left_to_a_run() {
    use crate::graph::infer::infer;
    let found = |model: Model, output: &str| {
        let mut graph = model.output(output).read().unwrap();
        infer(&mut graph).unwrap();
        let read = graph.desc(graph.outputs()[0]);
        format!("{} {}", read.dtype.name(), read.shape)
    };
    let x = || Model::new(13).input("x", &[4.into(), 6.into()]);
    // Every element has a place among the different ones, but nobody knows how many these are.
    let unique = node("Unique", &["x"], &["y", "", "places", "counts"], &[]);
    assert_eq!(found(x().node(&unique), "places"), "int64 [24]");
    assert_eq!(found(x().node(&unique), "counts"), "int64 [?]");
    let rows = node("Unique", &["x"], &["y", "", "places"], &[("axis", Value::Int(0))]);
    assert_eq!(found(x().node(&rows), "places"), "int64 [4]");
    assert_eq!(found(x().node(&rows), "y"), "float32 [?,6]");
    // Of constants it is known how many there are.
    let few = || Model::new(13).initializer(&ints("x", &[3, 1, 3, 2, 1]));
    assert_eq!(found(few().node(&unique), "counts"), "int64 [3]");
    let pairs = ints("x", &[3, 1, 2, 5, 3, 1]);
    let pairs = Model::new(13).initializer(&proto::Tensor { dims: vec![3, 2], ..pairs });
    assert_eq!(found(pairs.node(&rows), "y"), "int64 [2,2]");
    let sizes = node("Shape", &["x"], &["sizes"], &[]);
    assert_eq!(found(x().node(&sizes).node(&node("NonZero", &["sizes"], &["y"], &[])), "y"), "int64 [1,2]");
    assert_eq!(found(x().node(&node("NonZero", &["x"], &["y"], &[])), "y"), "int64 [2,?]");
}
