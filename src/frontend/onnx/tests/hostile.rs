//! Input that is damaged, contradictory or made to do harm.

use super::{Dim, Model, Value, encode, ints, node, single, value_info, weight};
use crate::frontend::onnx::proto;
use crate::frontend::{ModelOptions, load_memory};
use proptest::prelude::*;
use prost::bytes::Bytes;

fn assert_names(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

fn small() -> Model {
    Model::new(17)
        .input("x", &["n".into(), 3.into(), 8.into(), 8.into()])
        .initializer(&weight("w", &[4, 3, 3, 3]))
        .initializer(&ints("shape", &[0, -1]))
        .node(&node("Conv", &["x", "w"], &["c"], &[("pads", Value::Ints(vec![1, 1, 1, 1]))]))
        .node(&node("Relu", &["c"], &["r"], &[]))
        .node(&node("Reshape", &["r", "shape"], &["y"], &[]))
        .output("y")
}

/// A model whose reading hangs on what follows from its nodes: types, ranks, and the graphs that two `If`s run.
fn asking() -> Model {
    let graph = |op_type: &str| {
        let graph = super::inlined::branch(&[node(op_type, &["e"], &["w"], &[])], &[], &["w"]);
        Value::Graph(graph)
    };
    let graphs = [("then_branch", graph("Relu")), ("else_branch", graph("Neg"))];
    let zero = proto::Tensor { data_type: 3, ..weight("z", &[3]) };
    Model::new(17)
        .input("x", &["n".into(), 3.into(), 8.into()])
        .flag("c")
        .initializer(&weight("s", &[3]))
        .initializer(&zero)
        .initializer(&ints("at", &[1]))
        .initializer(&ints("three", &[3]))
        .node(&node("Exp", &["x"], &["e"], &[]))
        .node(&node("QuantizeLinear", &["e", "s", "z"], &["q"], &[]))
        .node(&node("DequantizeLinear", &["q", "s", "z"], &["d"], &[("axis", Value::Int(1))]))
        .node(&node("CastLike", &["e", "d"], &["k"], &[]))
        .node(&node("Shape", &["k"], &["sizes"], &[]))
        .node(&node("Gather", &["sizes", "at"], &["size"], &[]))
        .node(&node("Equal", &["size", "three"], &["is"], &[]))
        .node(&node("If", &["is"], &["f"], &graphs))
        .node(&node("If", &["c"], &["y"], &graphs))
        .output("f")
        .output("y")
}

fn resnet50() -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models/resnet50.onnx");
    std::fs::read(path).unwrap()
}

fn load(bytes: &[u8]) -> crate::status::Result<crate::graph::Graph> {
    load_memory(bytes, "test", None, &ModelOptions::default())
}

#[test]
fn a_model_cut_short_anywhere_is_an_error() {
    for bytes in [resnet50(), small().bytes().to_vec(), asking().bytes().to_vec()] {
        load(&bytes).unwrap();
        for part in 0..64 {
            let cut = bytes.len() * part / 64;
            load(&bytes[..cut]).expect_err("a cut model must not load");
        }
    }
}

#[test]
fn noise_is_an_error() {
    let mut rng = fastrand::Rng::with_seed(7);
    for length in [1, 2, 3, 10, 100, 10_000] {
        for _ in 0..50 {
            let noise: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            load(&noise).expect_err("noise must not load");
        }
    }
    assert_names(&load(&[]).unwrap_err().to_string(), &["empty"]);
}

#[test]
fn subgraphs_nested_without_end_cost_no_stack() {
    let relu = super::inlined::branch(&[node("Relu", &["x"], &["y"], &[])], &[], &["y"]);
    let both = |then| {
        let graphs = [("then_branch", Value::Graph(then)), ("else_branch", Value::Graph(relu.clone()))];
        node("If", &["c"], &["y"], &graphs)
    };
    let mut body = relu.clone();
    for _ in 0..4000 {
        let branch = both(body);
        let output = vec![encode(&proto::ValueInfo { name: "y".to_owned(), kind: None })];
        body = encode(&proto::Graph { node: vec![encode(&branch)], output, ..proto::Graph::default() });
    }
    let model = Model::new(17).input("x", &[2.into(), 3.into()]).flag("c").node(&both(body)).output("y");
    let graph = model.read().unwrap();
    let (_, branch) = graph.iter().find(|(_, n)| n.op_type == "If").unwrap();
    assert!(!branch.mapped);
}

#[test]
fn protobuf_groups_nested_without_end_are_refused() {
    // Start-group keys of an unknown field, which a reader has to skip.
    load(&vec![0xab; 100_000]).unwrap_err();
    let mut model = small().bytes().to_vec();
    model.extend([0xab, 0x06].repeat(50_000));
    load(&model).unwrap_err();
}

#[test]
fn impossible_dimensions_of_inputs_are_refused() {
    for size in [0, -1, -7, 1 << 31, i64::MAX, i64::MIN] {
        let message = Model::new(17).input("x", &[2.into(), size.into()]).refusal();
        assert_names(&message, &["input `x`", "dimension 1", &size.to_string()]);
    }
    let huge = [Dim::Size(i64::from(i32::MAX)); 4];
    let bytes = Model::new(17).input("x", &huge).node(&node("Relu", &["x"], &["y"], &[])).output("y").bytes();
    assert_names(&load(&bytes).unwrap_err().to_string(), &["input `x`", "too large"]);
}

#[test]
fn impossible_dimensions_of_weights_are_refused() {
    for size in [-1, 1 << 31, i64::MIN] {
        let message = Model::new(17).initializer(&weight("w", &[3, size])).refusal();
        assert_names(&message, &["`w`", "dimension 1", &size.to_string()]);
    }
    let message = Model::new(17).initializer(&weight("w", &[1 << 30; 3])).refusal();
    assert_names(&message, &["`w`", "too large"]);
}

#[test]
fn values_that_do_not_fill_their_shape_are_refused() {
    let mut tensor = ints("shape", &[1, 2, 3]);
    tensor.dims = vec![4];
    assert_names(&Model::new(17).initializer(&tensor).refusal(), &["`shape`", "4 values", "3"]);
    let raw = proto::Tensor { raw_data: vec![0; 7].into(), int64_data: Vec::new(), ..ints("raw", &[1]) };
    Model::new(17).initializer(&raw).read().unwrap_err();
    let raw = proto::Tensor { raw_data: vec![0; 9].into(), int64_data: Vec::new(), ..ints("raw", &[1]) };
    Model::new(17).initializer(&raw).read().unwrap_err();
}

#[test]
fn element_types_that_do_not_exist_are_refused() {
    for number in [0, 99, -1] {
        let mut model = Model::new(17);
        model.graph.input.push(encode(&value_info("x", number, &[1.into()])));
        assert_names(&model.refusal(), &["input `x`", &number.to_string()]);
        let tensor = proto::Tensor { data_type: number, ..weight("w", &[1]) };
        assert_names(&Model::new(17).initializer(&tensor).refusal(), &["`w`", &number.to_string()]);
    }
}

#[test]
fn inputs_without_a_type_are_refused() {
    let mut model = Model::new(17);
    model.graph.input.push(encode(&proto::ValueInfo { name: "s".into(), kind: Some(proto::Type::default()) }));
    assert_names(&model.refusal(), &["input `s`", "has no type"]);
}

#[test]
fn names_that_are_not_utf8_are_refused_and_their_field_named() {
    let mut bytes = small().bytes().to_vec();
    let at = bytes.windows(4).position(|w| w == b"Relu").unwrap();
    bytes[at] = 0xff;
    assert_names(&load(&bytes).unwrap_err().to_string(), &["node 1", "op_type", "UTF-8"]);
}

#[test]
fn two_tensors_of_one_name_are_refused() {
    let x = || Model::new(17).input("x", &[4.into()]);
    let relu = |input: &str, output: &str| node("Relu", &[input], &[output], &[]);
    let twice = x().node(&relu("x", "a")).node(&relu("a", "a")).output("a");
    assert_names(&twice.refusal(), &["Relu_1", "`a`", "Relu_0"]);
    assert_names(&x().node(&relu("x", "x")).refusal(), &["Relu_0", "`x`", "input"]);
    assert_names(&x().input("x", &[4.into()]).refusal(), &["input `x`", "second"]);
    let weights = x().initializer(&weight("w", &[1])).initializer(&weight("w", &[1]));
    assert_names(&weights.refusal(), &["`w`", "second"]);
}

#[test]
fn tensors_that_nobody_writes_are_named_with_their_reader() {
    let model = Model::new(17).input("x", &[4.into()]).node(&node("Add", &["x", "lost"], &["y"], &[]));
    assert_names(&model.refusal(), &["Add_0", "input 1", "`lost`"]);
    assert_names(&Model::new(17).input("x", &[4.into()]).output("gone").refusal(), &["output `gone`"]);
}

#[test]
fn a_cycle_is_named() {
    let model = Model::new(17)
        .input("x", &[4.into()])
        .node(&node("Add", &["x", "b"], &["a"], &[]))
        .node(&node("Relu", &["a"], &["b"], &[]))
        .output("b");
    assert_names(&model.refusal(), &["Add_0", "Relu_1", "cycle"]);
}

#[test]
fn nodes_without_operator_or_output_are_refused() {
    assert_names(&Model::new(17).node(&node("", &[], &["y"], &[])).refusal(), &["node 0", "operator type"]);
    assert_names(&Model::new(17).node(&node("Relu", &[], &[""], &[])).refusal(), &["node 0", "no output"]);
}

#[test]
fn attributes_of_the_wrong_type_or_range_are_refused_by_name() {
    let refused = |op: &proto::Node, parts: &[&str]| assert_names(&single(17, op, &[]).refusal(), parts);
    refused(&node("Concat", &["x"], &["r"], &[("axis", Value::Float(1.0))]), &["Concat_0", "`axis`", "integer"]);
    refused(&node("Concat", &["x"], &["r"], &[]), &["Concat_0", "`axis`", "missing"]);
    let pool = |kernel: Vec<i64>, pads: Vec<i64>| {
        node("MaxPool", &["x"], &["r"], &[("kernel_shape", Value::Ints(kernel)), ("pads", Value::Ints(pads))])
    };
    refused(&pool(vec![3, 0], vec![0; 4]), &["MaxPool_0", "`kernel_shape`", "0"]);
    refused(&pool(vec![3; 4], vec![0; 8]), &["MaxPool_0", "4 numbers for 2 spatial"]);
    refused(&pool(vec![3; 2], vec![0; 3]), &["MaxPool_0", "`pads`"]);
    let cast = node("Cast", &["x"], &["r"], &[("to", Value::Int(1 << 40))]);
    refused(&cast, &["Cast_0", "`to`"]);
    let conv = node("Conv", &["x", "y"], &["r"], &[("group", Value::Int(0))]);
    refused(&conv, &["Conv_0", "`group`"]);
}

#[test]
fn an_operator_with_more_tensors_than_its_version_has_is_refused() {
    let of = |opset: i64, op: &proto::Node| {
        let image = [2.into(), 3.into(), 8.into(), 8.into()];
        let model = Model::new(opset).input("x", &image).input("y", &image).initializer(&weight("s", &[3]));
        model.node(op).output("r")
    };
    let refused = |opset: i64, op: &proto::Node, parts: &[&str]| assert_names(&of(opset, op).refusal(), parts);
    let many = vec!["x"; 3000];
    refused(17, &node("Add", &many, &["r"], &[]), &["Add_0", "has 3000 inputs", "Add of opset 17 has 2"]);
    refused(17, &node("Relu", &["x", "x"], &["r"], &[]), &["Relu_0", "has 2 inputs", "has 1"]);
    refused(17, &node("MatMul", &["x", "x", "x"], &["r"], &[]), &["MatMul_0", "has 3 inputs", "has 2"]);
    refused(17, &node("Relu", &["x"], &["r", "t"], &[]), &["Relu_0", "has 2 outputs", "has 1"]);
    // What came as an input with a later version would be passed over.
    refused(12, &node("Squeeze", &["x", "y"], &["r"], &[]), &["Squeeze_0", "Squeeze of opset 12 has 1"]);
    let norm = |outputs: &[&str]| node("BatchNormalization", &["x", "s", "s", "s", "s"], outputs, &[]);
    of(9, &norm(&["r", "a", "b", "c", "d"])).read().unwrap();
    let parts = ["has 5 outputs", "BatchNormalization of opset 15 has 3"];
    refused(15, &norm(&["r", "a", "b", "c", "d"]), &parts);
    // An operator of any number of tensors, and inputs that are named and left out.
    of(17, &node("Sum", &many, &["r"], &[])).read().unwrap();
    of(17, &node("Relu", &["x", "", ""], &["r"], &[])).read().unwrap();
}

#[test]
fn an_operator_without_its_inputs_is_refused() {
    for op_type in ["Gemm", "MatMul", "Conv", "Gather", "BatchNormalization", "Clip", "Pad", "Slice", "OneHot", "Max"] {
        let op = node(op_type, &[], &["r"], &[("kernel_shape", Value::Ints(vec![1, 1]))]);
        assert_names(&single(17, &op, &[]).refusal(), &[op_type, "input 0"]);
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(2000))]

    #[test]
    fn a_model_with_bytes_changed_never_panics(
        asks in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = if asks { asking() } else { small() }.bytes().to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = load(&bytes);
    }

    #[test]
    fn a_model_with_bytes_inserted_or_removed_never_panics(
        at in any::<prop::sample::Index>(),
        removed in 0usize..8,
        inserted in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut bytes = small().bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + removed).min(bytes.len());
        bytes.splice(at..end, inserted);
        let _ = load(&bytes);
    }
}

#[test]
fn hints_that_make_no_sense_count_as_unknown() {
    let mut model = single(17, &node("Relu", &["x"], &["r"], &[]), &[]);
    model.graph.value_info.push(encode(&value_info("r", 99, &[(-5).into()])));
    let graph = model.read().unwrap();
    let relu = super::only(&graph, "Relu");
    assert_eq!(relu.outputs[0].shape.dims(), Some(&[-1][..]));
}

#[test]
fn a_kernel_shape_that_is_not_the_filters_is_refused_with_both() {
    for (op, filter) in [("Conv", [9, 4, 3, 3]), ("ConvTranspose", [3, 4, 3, 3])] {
        let conv = |kernel: &[i64]| {
            let attrs = [("kernel_shape", Value::Ints(kernel.to_vec()))];
            single(17, &node(op, &["x", "w"], &["y"], &attrs).named("c"), &[weight("w", &filter)])
        };
        conv(&[3, 3]).read().unwrap();
        let message = conv(&[5, 3]).refusal();
        assert_names(&message, &["`c`", "[5,3]", "4,3,3]"]);
    }
}

#[test]
fn bytes_that_are_no_text_stay_what_they_are() {
    use crate::graph::Attr;
    let with = |bytes: &'static [u8]| {
        let mut own = node("Mystery", &["x"], &["y"], &[]);
        let text =
            proto::Attribute { kind: 3, s: Some(Bytes::from_static(bytes)), ..super::attribute("blob", Value::Int(0)) };
        let list =
            proto::Attribute { kind: 8, strings: vec![bytes.into(); 2], ..super::attribute("blobs", Value::Int(0)) };
        own.attribute = [text, list].iter().map(encode).collect();
        let graph = single(17, &own, &[]).read().unwrap();
        let node = super::only(&graph, "Mystery");
        ["blob", "blobs"].map(|name| node.attrs.get(name).unwrap().clone())
    };
    assert_eq!(with(b"a\0b"), [Attr::Str("a\0b".into()), Attr::Strs(vec!["a\0b".into(); 2])]);
    // Fields 2 of `AttrDef`, and 2 of the list in field 1.
    let kept = [&b"\x12\x02\xff\x00"[..], b"\x0a\x08\x12\x02\xff\x00\x12\x02\xff\x00"];
    assert_eq!(with(b"\xff\0"), kept.map(|bytes| Attr::Opaque(Bytes::from_static(bytes))));
}

#[test]
fn what_onnx_does_not_allow_is_refused_and_not_made_something_else() {
    let list = |name: &str, values: &[i64]| (name.to_owned(), Value::Ints(values.to_vec()));
    let conv = |attr: (String, Value)| node("Conv", &["image", "k"], &["y"], &[(attr.0.as_str(), attr.1)]);
    let split = |outputs: &[&str], attrs: &[(&str, Value)]| node("Split", &["x"], outputs, attrs);
    let quantized = node("QuantizeLinear", &["x", "scales"], &["y"], &[("axis", Value::Int(5))]);
    let dequantized = node("DequantizeLinear", &["whole", "scales"], &["y"], &[("axis", Value::Int(-3))]);
    for (opset, made, parts) in [
        (17, conv(list("strides", &[2])), &["`strides` has 1 numbers for 2 spatial"][..]),
        (17, conv(list("pads", &[1, 1])), &["`pads` has 2 numbers for 2 spatial"]),
        (17, node("MaxPool", &["image"], &["y"], &[("kernel_shape", Value::Ints(vec![3]))]), &["`kernel_shape` has 1"]),
        (17, node("Gemm", &["image", "x"], &["y"], &[]), &["input 0 has 4 axes"]),
        (17, split(&["y", "b", "c"], &[]), &["an axis of 8 does not split into 3 equal parts"]),
        (18, split(&["y", "b", "c"], &[("num_outputs", Value::Int(2))]), &["`num_outputs` is 2", "has 3 outputs"]),
        (17, quantized, &["axis 5", "rank 2"]),
        (17, dequantized, &["axis -3", "rank 2"]),
        (17, node("Einsum", &["x"], &["y"], &[("equation", Value::Str("ij->ii"))]), &["axis `i` twice"]),
        (17, node("GridSample", &["image", "three"], &["y"], &[]), &["2 dimensions has 3 numbers"]),
        (17, node("GridSample", &["image", "grids"], &["y"], &[]), &["1 images, and a grid for 2"]),
    ] {
        let model = Model::new(opset)
            .input("x", &[8.into(), 4.into()])
            .input("image", &[1.into(), 3.into(), 8.into(), 8.into()])
            .input("three", &[1.into(), 5.into(), 5.into(), 3.into()])
            .input("grids", &[2.into(), 5.into(), 5.into(), 2.into()])
            .initializer(&weight("k", &[4, 3, 3, 3]))
            .initializer(&weight("scales", &[4]))
            .initializer(&proto::Tensor { data_type: 3, ..weight("whole", &[8, 4]) })
            .node(&made.clone().named("made"))
            .output("y");
        let message = load(&model.bytes()).map(|_| ()).expect_err(&made.op_type).to_string();
        assert_names(&message, &[&["`made`"], parts].concat());
    }
}

#[test]
fn parts_that_do_not_come_out_even_are_stated_by_their_sizes() {
    let split = node("Split", &["x"], &["a", "b", "c"], &[("num_outputs", Value::Int(3))]).named("cut");
    let model = Model::new(18).input("x", &[8.into(), 4.into()]).node(&split).output("a").output("c");
    let graph = load(&model.bytes()).unwrap();
    let cut = graph.node(graph.find("cut").unwrap());
    let shapes: Vec<String> = cut.outputs.iter().map(|output| output.shape.to_string()).collect();
    assert_eq!((cut.op_type.as_str(), shapes.join(" ").as_str()), ("SplitV", "[3,4] [3,4] [2,4]"));
}
