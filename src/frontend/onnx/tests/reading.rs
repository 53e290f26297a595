//! Names, order, inputs and constants.

use super::{FLOAT, Model, Value, encode, ints, node, only, scalar, value_info, weight};
use crate::frontend::onnx::proto;
use crate::frontend::{DIM_NAMES, Framework, ModelOptions, load_memory};
use crate::graph::infer::{in_words, split_static};
use crate::graph::{Attr, CONST, Constant, DATA, DataType};
use prost::bytes::Bytes;

fn relu_chain() -> [proto::Node; 3] {
    [node("Relu", &["x"], &["a"], &[]), node("Relu", &["a"], &["b"], &[]), node("Add", &["a", "b"], &["c"], &[])]
}

fn chain(order: [usize; 3]) -> Model {
    let nodes = relu_chain();
    order.iter().fold(Model::new(17).input("x", &[4.into()]), |m, &i| m.node(&nodes[i])).output("c")
}

#[test]
fn nodes_may_stand_in_any_order() {
    let sorted = chain([0, 1, 2]).read().unwrap();
    assert_eq!(sorted.len(), 4);
    for order in [[2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let graph = chain(order).read().unwrap();
        let types: Vec<_> = graph.iter().map(|(_, n)| n.op_type.as_str()).collect();
        assert_eq!(types, [DATA, "Relu", "Relu", "Add"]);
        let add = only(&graph, "Add");
        assert_eq!(add.inputs.len(), 2);
        assert_ne!(add.input(0), add.input(1));
        graph.validate().unwrap();
    }
}

#[test]
fn unnamed_nodes_get_the_same_unique_names_every_time() {
    let names = |m: &Model| m.read().unwrap().iter().map(|(_, n)| n.name.clone()).collect::<Vec<_>>();
    let model = chain([0, 1, 2]);
    assert_eq!(names(&model), ["x", "Relu_0", "Relu_1", "Add_2"]);
    assert_eq!(names(&model), names(&model));
}

#[test]
fn a_second_node_of_a_name_is_told_apart_by_number() {
    let call = |name: &str, n: proto::Node| proto::Node { name: name.to_owned(), ..n };
    let [a, b, c] = relu_chain();
    let model = Model::new(17)
        .input("x", &[4.into()])
        .node(&call("act", a))
        .node(&call("act", b))
        .node(&call("x", c))
        .output("c");
    let graph = model.read().unwrap();
    let names: Vec<_> = graph.iter().map(|(_, n)| n.name.as_str()).collect();
    assert_eq!(names, ["x", "act", "act_1", "x_1"], "the input keeps its name, by which it is bound");
}

#[test]
fn an_input_that_repeats_an_initializer_is_a_constant() {
    let model = Model::new(9)
        .input("x", &[4.into()])
        .input("w", &[4.into()])
        .initializer(&weight("w", &[4]))
        .node(&node("Add", &["x", "w"], &["y"], &[]))
        .output("y");
    let graph = model.read().unwrap();
    assert_eq!(graph.inputs().map(|(_, n)| n.name.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(only(&graph, CONST).value, Some(Constant::Opaque));
}

#[test]
fn an_initializer_that_nothing_reads_is_left_out_and_one_read_twice_is_one_node() {
    let model = Model::new(17)
        .input("x", &[4.into()])
        .initializer(&weight("unused", &[4]))
        .initializer(&weight("w", &[4]))
        .node(&node("Add", &["x", "w"], &["a"], &[]))
        .node(&node("Mul", &["a", "w"], &["b"], &[]))
        .output("b");
    let graph = model.read().unwrap();
    assert_eq!(only(&graph, CONST).name, "w");
}

#[test]
fn symbols_of_dimensions_are_kept_and_their_sizes_unknown() {
    let model = Model::new(17).input("x", &["batch".into(), 3.into()]);
    let graph = model.node(&node("Relu", &["x"], &["y"], &[])).output("y").read().unwrap();
    let data = only(&graph, DATA);
    assert_eq!(data.outputs[0].shape.dims(), Some(&[-1, 3][..]));
    assert_eq!(data.attrs.get(DIM_NAMES), Some(&Attr::Strs(vec!["batch".into(), String::new()])));
}

#[test]
fn value_info_describes_what_a_node_writes() {
    let mut model = chain([0, 1, 2]);
    model.graph.value_info.push(encode(&value_info("a", FLOAT, &[4.into()])));
    let graph = model.read().unwrap();
    let first = graph.node(graph.find("Relu_0").unwrap());
    assert_eq!((first.outputs[0].dtype, first.outputs[0].shape.dims()), (DataType::Float, Some(&[4][..])));
}

#[test]
fn constants_keep_small_values_in_every_encoding() {
    let read = |tensor: proto::Tensor| {
        let model = Model::new(17).node(&node("Constant", &[], &["c"], &[("value", Value::Tensor(tensor))]));
        only(&model.output("c").read().unwrap(), CONST).value.clone().unwrap()
    };
    let of = |data_type: i32, len: i64| proto::Tensor { data_type, dims: vec![len], ..proto::Tensor::default() };
    assert_eq!(read(ints("", &[1, -2])), Constant::Ints(vec![1, -2]));
    assert_eq!(read(scalar("", 1.5)), Constant::Floats(vec![1.5]));
    let raw = |data_type, len, bytes: &'static [u8]| proto::Tensor { raw_data: bytes.into(), ..of(data_type, len) };
    assert_eq!(read(raw(7, 1, &[254, 255, 255, 255, 255, 255, 255, 255])), Constant::Ints(vec![-2]));
    assert_eq!(read(raw(6, 1, &[255, 255, 255, 255])), Constant::Ints(vec![-1]));
    assert_eq!(read(raw(9, 2, &[0, 3])), Constant::Ints(vec![0, 1]));
    assert_eq!(read(raw(10, 3, &[0, 0x3e, 0, 0xc0, 1, 0])), Constant::Floats(vec![1.5, -2.0, 2f64.powi(-24)]));
    assert_eq!(read(raw(16, 1, &[0xc0, 0x3f])), Constant::Floats(vec![1.5]));
    assert_eq!(read(proto::Tensor { int32_data: vec![0x3e00], ..of(10, 1) }), Constant::Floats(vec![1.5]));
    assert_eq!(read(proto::Tensor { uint64_data: vec![7], ..of(13, 1) }), Constant::Ints(vec![7]));
    assert_eq!(read(of(7, 2)), Constant::Opaque, "an emptied payload counts as not read");
    assert_eq!(read(of(7, 5000)), Constant::Opaque);
}

#[test]
fn constant_nodes_take_their_value_from_any_of_the_attributes() {
    let read = |name: &str, value: Value| {
        let model = Model::new(17).node(&node("Constant", &[], &["c"], &[(name, value)])).output("c");
        let graph = model.read().unwrap();
        let constant = only(&graph, CONST);
        (constant.value.clone().unwrap(), constant.outputs[0].shape.to_string())
    };
    assert_eq!(read("value_int", Value::Int(3)), (Constant::Ints(vec![3]), "[]".into()));
    assert_eq!(read("value_ints", Value::Ints(vec![3, 4])), (Constant::Ints(vec![3, 4]), "[2]".into()));
    assert_eq!(read("value_float", Value::Float(0.5)), (Constant::Floats(vec![0.5]), "[]".into()));
    assert_eq!(read("value_floats", Value::Floats(vec![0.5])), (Constant::Floats(vec![0.5]), "[1]".into()));
    assert_eq!(read("value_string", Value::Str("a")), (Constant::Opaque, "[]".into()));
}

#[test]
fn opsets_outside_9_to_21_are_named_or_taken_with_a_warning() {
    let message = Model { opset: 8, ..chain([0, 1, 2]) }.refusal();
    assert!(message.contains("opset 8") && message.contains("9 to 21"), "{message}");
    Model { opset: 22, ..chain([0, 1, 2]) }.read().unwrap();
    let bytes = encode(&proto::Model {
        ir_version: Some(8),
        graph: vec![encode(&chain([0, 1, 2]).graph)],
        ..proto::Model::default()
    });
    let message = super::super::read(bytes, "test", None, &ModelOptions::default()).unwrap_err().to_string();
    assert!(message.contains("opset_import"), "{message}");
}

#[test]
fn the_graph_is_called_as_in_the_file_or_else_as_the_file() {
    assert_eq!(chain([0, 1, 2]).read().unwrap().name, "test");
    let mut named = chain([0, 1, 2]);
    named.graph.name = "net".to_owned();
    assert_eq!(named.read().unwrap().name, "net");
}

#[test]
fn an_input_that_is_no_tensor_leaves_out_what_reads_it_and_nothing_else() {
    for (kind, what) in [
        (proto::Type { sequence: Some(Bytes::new()), ..proto::Type::default() }, "a sequence"),
        (proto::Type { optional: Some(Bytes::new()), ..proto::Type::default() }, "an optional"),
        (proto::Type { map: Some(Bytes::new()), ..proto::Type::default() }, "a map"),
        (proto::Type { sparse: Some(Bytes::new()), ..proto::Type::default() }, "a sparse tensor"),
    ] {
        let mut model = Model::new(17)
            .input("x", &[8.into(), 4.into()])
            .initializer(&weight("w", &[4, 4]))
            .node(&node("MatMul", &["x", "w"], &["a"], &[]).named("a"))
            .node(&node("SequenceAt", &["s", "at"], &["b"], &[]).named("b"))
            .node(&node("Relu", &["b"], &["c"], &[]).named("c"))
            .initializer(&ints("at", &[0]))
            .output("a")
            .output("c");
        model.graph.input.push(encode(&proto::ValueInfo { name: "s".into(), kind: Some(kind) }));
        let graph = load_memory(&model.bytes(), "net", Some(Framework::Onnx), &ModelOptions::default()).unwrap();
        let split = split_static(graph).unwrap();
        assert!(split.graph.find("a").is_some());
        let left: Vec<_> = split.left_out.iter().map(|node| (node.name.as_str(), node.source.as_str())).collect();
        assert_eq!(left, [("b", "s"), ("c", "s")]);
        assert!(in_words(&split.left_out)[0].contains(what), "{:?}", split.left_out);
        // Nobody can give it a shape.
        let options = ModelOptions { shapes: vec![("s".into(), vec![4])], ..ModelOptions::default() };
        let error = load_memory(&model.bytes(), "net", Some(Framework::Onnx), &options).unwrap_err().to_string();
        assert!(error.contains("`s`") && error.contains(what), "{error}");
    }
}
