//! Graphs of a few nodes, what becomes of them, and graphs that are damaged.

use super::proto::{Dimension, Entry, Graph as File, List, Node as Def, Shape as Dims, Tensor, Value};
use crate::frontend::{Framework, Gear, ModelOptions, load_memory};
use crate::graph::{Constant, DataType, Graph, Node, infer};
use crate::status::Result;
use proptest::prelude::*;
use prost::Message;
use prost::bytes::Bytes;

fn encode(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

fn dims(sizes: &[i64]) -> Bytes {
    let dim = sizes.iter().map(|&size| encode(&Dimension { size })).collect();
    encode(&Dims { dim, unknown_rank: false })
}

fn int(i: i64) -> Value {
    Value { i: Some(i), ..Value::default() }
}

fn flag(b: bool) -> Value {
    Value { b: Some(b), ..Value::default() }
}

fn text_value(s: &'static str) -> Value {
    Value { s: Some(s.into()), ..Value::default() }
}

fn kind(kind: i32) -> Value {
    Value { kind: Some(kind), ..Value::default() }
}

fn ints(i: &[i64]) -> Value {
    Value { list: Some(encode(&List { i: i.to_vec(), ..List::default() })), ..Value::default() }
}

fn def(name: &str, op: &str, input: &[&str], attrs: &[(&str, Value)]) -> Bytes {
    let attr = attrs.iter().map(|(key, value)| encode(&Entry { key: (*key).to_owned(), value: Some(value.clone()) }));
    let input = input.iter().map(|&i| i.to_owned()).collect();
    encode(&Def { name: name.to_owned(), op: op.to_owned(), input, attr: attr.collect() })
}

fn placeholder(sizes: &[i64]) -> Bytes {
    def(
        "x",
        "Placeholder",
        &[],
        &[("dtype", kind(1)), ("shape", Value { shape: Some(dims(sizes)), ..Value::default() })],
    )
}

fn constant(name: &str, tensor: &Tensor) -> Bytes {
    def(name, "Const", &[], &[("value", Value { tensor: Some(encode(tensor)), ..Value::default() })])
}

/// A weight whose payload was taken out.
fn weight(name: &str, sizes: &[i64]) -> Bytes {
    constant(name, &Tensor { dtype: 1, shape: dims(sizes), ..Tensor::default() })
}

/// A list of 32-bit integers.
fn list(name: &str, values: &[i32]) -> Bytes {
    constant(
        name,
        &Tensor { dtype: 3, shape: dims(&[values.len() as i64]), int_val: values.to_vec(), ..Tensor::default() },
    )
}

fn bytes(nodes: Vec<Bytes>) -> Vec<u8> {
    File { node: nodes }.encode_to_vec()
}

fn load_bytes(bytes: &[u8], batch: Option<i64>) -> Result<Graph> {
    let options = ModelOptions { gear: batch.map(Gear::Batch), ..ModelOptions::default() };
    load_memory(bytes, "test", Some(Framework::TensorFlow), &options)
}

fn load(nodes: Vec<Bytes>) -> Result<Graph> {
    load_bytes(&bytes(nodes), None)
}

fn refusal(nodes: Vec<Bytes>) -> String {
    load(nodes).expect_err("the graph must be refused").to_string()
}

fn named<'g>(graph: &'g Graph, name: &str) -> &'g Node {
    graph.node(graph.find(name).unwrap_or_else(|| panic!("no node `{name}`")))
}

fn shape(graph: &Graph, name: &str) -> String {
    named(graph, name).outputs[0].shape.to_string()
}

fn conv(op: &str, filter: &[i64], attrs: &[(&str, Value)]) -> Vec<Bytes> {
    let read = def("w/read", "Identity", &["w"], &[]);
    vec![placeholder(&[2, 9, 9, 4]), weight("w", filter), read, def("y", op, &["x", "w/read"], attrs)]
}

#[test]
fn convolutions_keep_their_layout_and_pad_as_told() {
    let strides = || ("strides", ints(&[1, 2, 2, 1]));
    for (op, filter, padding, explicit, expected) in [
        ("Conv2D", [3, 3, 4, 8], "SAME", None, "[2,5,5,8]"),
        // TensorFlow states no groups: two, of two channels each.
        ("Conv2D", [3, 3, 2, 8], "VALID", None, "[2,4,4,8]"),
        ("Conv2D", [3, 3, 3, 8], "VALID", None, "uneven"),
        ("Conv2D", [3, 3, 4, 8], "VALID", None, "[2,4,4,8]"),
        ("Conv2D", [3, 3, 4, 8], "EXPLICIT", Some([0, 0, 2, 3, 0, 1, 0, 0]), "[2,6,4,8]"),
        ("DepthwiseConv2dNative", [3, 3, 4, 2], "SAME", None, "[2,5,5,8]"),
    ] {
        let mut attrs = vec![strides(), ("padding", text_value(padding))];
        attrs.extend(explicit.map(|list| ("explicit_paddings", ints(&list))));
        let loaded = load(conv(op, &filter, &attrs));
        if expected == "uneven" {
            assert!(loaded.unwrap_err().to_string().contains("channels"));
            continue;
        }
        let graph = loaded.unwrap();
        assert_eq!(shape(&graph, "y"), expected, "{op} {padding}");
        assert_eq!(named(&graph, "w").outputs[0].format.name(), "HWCN");
        infer::require_static(&graph).unwrap();
    }
}

#[test]
fn windows_that_tensorflow_does_not_have_are_refused() {
    let strides = |list: &[i64]| ("strides", ints(list));
    let same = || ("padding", text_value("SAME"));
    for (attrs, part) in [
        (vec![same()], "`strides`"),
        (vec![strides(&[1, 2, 2, 1])], "`padding`"),
        (vec![strides(&[2, 2, 2, 1]), same()], "pass images or channels over"),
        (vec![strides(&[1, 1, 2, 2]), same()], "pass images or channels over"),
        (vec![strides(&[1, 2, 2, 1]), same(), ("data_format", text_value("NWHC"))], "`NWHC`"),
    ] {
        let message = refusal(conv("Conv2D", &[3, 3, 4, 8], &attrs));
        assert!(message.contains("`y` (Conv2D)") && message.contains(part), "{part}: {message}");
    }
    let pool = def("y", "MaxPool", &["x"], &[strides(&[1, 2, 2, 1]), same()]);
    assert!(refusal(vec![placeholder(&[1, 8, 8, 4]), pool]).contains("`ksize`"));
}

#[test]
fn filters_lie_as_hwcn_for_channels_first_too() {
    let mut nodes = conv(
        "Conv2D",
        &[3, 3, 4, 8],
        &[("strides", ints(&[1, 1, 1, 1])), ("padding", text_value("SAME")), ("data_format", text_value("NCHW"))],
    );
    nodes[0] = placeholder(&[2, 4, 9, 9]);
    assert_eq!(shape(&load(nodes).unwrap(), "y"), "[2,8,9,9]");
}

/// Operator, shape of what it reads first, what it reads second, attributes; Ascend type and shape of the result.
type Case<'a> = (&'a str, &'a [i64], Option<Bytes>, Vec<(&'a str, Value)>, &'a str, &'a str);

#[test]
fn shapes_and_operator_types_of_single_operators() {
    let value = |v: i32| constant("k", &Tensor { dtype: 3, shape: dims(&[]), int_val: vec![v], ..Tensor::default() });
    #[rustfmt::skip]
    let cases: Vec<Case<'_>> = vec![
        ("Relu6", &[2, 3], None, vec![], "Relu6", "[2,3]"),
        ("MaxPool", &[1, 9, 9, 4], None, vec![("ksize", ints(&[1, 3, 3, 1])), ("strides", ints(&[1, 2, 2, 1])), ("padding", text_value("SAME"))], "MaxPool", "[1,5,5,4]"),
        ("AvgPool", &[1, 9, 9, 4], None, vec![("ksize", ints(&[1, 3, 3, 1])), ("strides", ints(&[1, 2, 2, 1])), ("padding", text_value("VALID"))], "AvgPool", "[1,4,4,4]"),
        ("MatMul", &[2, 3], Some(weight("k", &[5, 3])), vec![("transpose_b", flag(true))], "MatMulV2", "[2,5]"),
        ("BatchMatMulV2", &[7, 2, 3], Some(weight("k", &[7, 5, 3])), vec![("adj_y", flag(true))], "BatchMatMulV2", "[7,2,5]"),
        ("AddV2", &[2, 3], Some(weight("k", &[3])), vec![], "Add", "[2,3]"),
        ("BiasAdd", &[2, 5, 5, 3], Some(weight("k", &[3])), vec![], "BiasAdd", "[2,5,5,3]"),
        ("Mean", &[2, 5, 6, 3], Some(list("k", &[1, 2])), vec![("keep_dims", flag(false))], "ReduceMean", "[2,3]"),
        ("Max", &[2, 5, 6, 3], Some(list("k", &[-1])), vec![("keep_dims", flag(true))], "ReduceMax", "[2,5,6,1]"),
        ("Reshape", &[2, 5, 6], Some(list("k", &[-1, 6])), vec![], "Reshape", "[10,6]"),
        ("ExpandDims", &[2, 5], Some(value(1)), vec![], "ExpandDims", "[2,1,5]"),
        ("Squeeze", &[2, 1, 5, 1], None, vec![("squeeze_dims", ints(&[1]))], "Squeeze", "[2,5,1]"),
        ("Transpose", &[2, 5, 6], Some(list("k", &[2, 0, 1])), vec![], "Transpose", "[6,2,5]"),
        ("Pad", &[2, 5], Some(constant("k", &Tensor { dtype: 3, shape: dims(&[2, 2]), int_val: vec![1], ..Tensor::default() })), vec![], "Pad", "[4,7]"),
        ("Softmax", &[2, 5], None, vec![], "SoftmaxV2", "[2,5]"),
        ("Cast", &[2, 5], None, vec![("SrcT", kind(1)), ("DstT", kind(19))], "Cast", "[2,5]"),
        ("Shape", &[2, 5, 7], None, vec![], "Shape", "[3]"),
        ("ResizeBilinear", &[1, 4, 4, 3], Some(list("k", &[8, 6])), vec![], "ResizeBilinearV2", "[1,8,6,3]"),
    ];
    for (op, input, second, attrs, op_type, expected) in cases {
        let reads: &[&str] = if second.is_some() { &["x", "k"] } else { &["x"] };
        let nodes = [placeholder(input)].into_iter().chain(second).chain([def("y", op, reads, &attrs)]).collect();
        let graph = load(nodes).unwrap_or_else(|e| panic!("{op}: {e}"));
        assert_eq!((named(&graph, "y").op_type.as_str(), shape(&graph, "y").as_str()), (op_type, expected), "{op}");
        infer::require_static(&graph).unwrap_or_else(|e| panic!("{op}: {e}"));
    }
}

#[test]
fn operators_of_several_tensors_and_outputs() {
    let axis = constant("axis", &Tensor { dtype: 3, shape: dims(&[]), int_val: vec![1], ..Tensor::default() });
    let graph = load(vec![
        // Out of order, as TensorFlow allows.
        def("joined", "ConcatV2", &["parts:2", "parts", "axis"], &[("N", int(2))]),
        def("parts", "Split", &["axis", "x", "^ready"], &[("num_split", int(3))]),
        def("packed", "Pack", &["parts:1", "parts:0"], &[("N", int(2)), ("axis", int(0))]),
        def("picked", "StridedSlice", &["packed", "b", "e", "s"], &[("shrink_axis_mask", int(1))]),
        list("b", &[0, 0]),
        list("e", &[1, 4]),
        list("s", &[1, 2]),
        def("rows", "GatherV2", &["picked", "b", "axis"], &[]),
        axis,
        placeholder(&[4, 9]),
        def("ready", "NoOp", &["^x"], &[]),
    ])
    .unwrap();
    let shapes = ["parts", "joined", "packed", "picked", "rows"].map(|name| shape(&graph, name));
    assert_eq!(shapes, ["[4,3]", "[4,6]", "[2,4,3]", "[2,3]", "[2,2]"]);
    let outputs: Vec<_> = graph.outputs().iter().map(|&port| graph.tensor_name(port)).collect();
    assert_eq!(outputs, ["joined", "rows"]);
    assert_eq!(graph.find("ready"), None);
}

#[test]
fn a_number_of_tensors_that_is_not_theirs_is_refused_by_name() {
    let sum = |n: i64| load(vec![placeholder(&[4, 9]), def("sum", "AddN", &["x", "x"], &[("N", int(n))])]);
    sum(2).unwrap();
    let error = sum(3).unwrap_err().to_string();
    assert!(error.contains("sum") && error.contains("`N` 3, and joins 2 tensors"), "{error}");
}

#[test]
fn a_batch_norm_at_inference_is_told_from_one_in_training() {
    for (training, expected) in [(Some(false), false), (Some(true), true), (None, true)] {
        let attrs: Vec<_> = training.map(|b| ("is_training", flag(b))).into_iter().collect();
        let vector = |name: &str| weight(name, &[4]);
        let norm = def("y", "FusedBatchNormV3", &["x", "s", "o", "m", "v"], &attrs);
        let nodes = vec![placeholder(&[2, 5, 5, 4]), vector("s"), vector("o"), vector("m"), vector("v"), norm];
        let graph = load(nodes).unwrap();
        assert_eq!(
            (named(&graph, "y").attrs.bool("is_training"), named(&graph, "y").outputs.len()),
            (Some(expected), 6)
        );
    }
}

#[test]
fn a_list_shorter_than_its_tensor_repeats_its_last_element() {
    let read = |tensor: Tensor| {
        let graph = load(vec![constant("k", &tensor), def("y", "Identity", &["k"], &[])])?;
        Ok::<_, crate::status::Error>(named(&graph, "k").value.clone().unwrap())
    };
    let three = |int_val: Vec<i32>| Tensor { dtype: 3, shape: dims(&[3]), int_val, ..Tensor::default() };
    assert_eq!(read(three(vec![7])).unwrap(), Constant::Ints(vec![7, 7, 7]));
    assert_eq!(read(three(vec![7, 8])).unwrap(), Constant::Ints(vec![7, 8, 8]));
    assert_eq!(read(three(vec![])).unwrap(), Constant::Opaque);
    assert!(read(three(vec![1, 2, 3, 4])).unwrap_err().to_string().contains("4 values for 3"));
    let content = |length: usize| Tensor { content: vec![1; length].into(), ..three(vec![]) };
    assert_eq!(read(content(12)).unwrap(), Constant::Ints(vec![0x0101_0101; 3]));
    for length in [1, 11, 13] {
        assert!(read(content(length)).unwrap_err().to_string().contains("bytes of content"));
    }
    let half = Tensor { dtype: 19, half_val: vec![0x3c00], ..three(vec![]) };
    assert_eq!(read(half).unwrap(), Constant::Floats(vec![1.0; 3]));
}

#[test]
fn an_open_batch_takes_what_the_caller_gives() {
    let nodes = bytes(vec![placeholder(&[-1, 3]), weight("k", &[3, 5]), def("y", "MatMul", &["x", "k"], &[])]);
    assert_eq!(shape(&load_bytes(&nodes, Some(6)).unwrap(), "y"), "[6,5]");
}

#[test]
fn unknown_operators_keep_their_type_and_what_the_file_says_of_their_shape() {
    let stated = encode(&List { shape: vec![dims(&[2, 7])], ..List::default() });
    let attrs = [("_output_shapes", Value { list: Some(stated), ..Value::default() })];
    let graph = load(vec![placeholder(&[2, 3]), def("y", "MyOp", &["x"], &attrs)]).unwrap();
    let node = named(&graph, "y");
    assert_eq!((node.op_type.as_str(), node.mapped, shape(&graph, "y").as_str()), ("MyOp", false, "[2,7]"));
    assert_eq!(named(&graph, "x").outputs[0].dtype, DataType::Float);
}

#[test]
fn graphs_that_contradict_themselves_are_refused_by_name() {
    let relu = |name: &str, input: &str| def(name, "Relu", &[input], &[]);
    for (nodes, parts) in [
        (vec![relu("a", "b"), relu("b", "a")], vec!["cycle", "`a`"]),
        (vec![placeholder(&[1]), relu("a", "gone")], vec!["`a` (Relu)", "`gone`", "does not exist"]),
        (vec![placeholder(&[1]), relu("a", "x:-1")], vec!["`a`", "no output"]),
        (vec![placeholder(&[1]), relu("a", "x:70000")], vec!["`a`", "no output"]),
        (vec![placeholder(&[1]), relu("a", "x:1")], vec!["`a`, input 0", "output 1 of `x`", "it has 1"]),
        (vec![placeholder(&[1]), relu("a", "x"), relu("a", "x")], vec!["`a`", "second"]),
        (vec![def("n", "NoOp", &[], &[]), relu("a", "n")], vec!["`a`", "gives no tensor"]),
        (vec![def("n", "NoOp", &[], &[])], vec!["no operator"]),
        (vec![def("k", "Const", &[], &[])], vec!["`k` (Const)", "`value`"]),
        (vec![weight("k", &[1 << 30, 1 << 30, 1 << 30])], vec!["`k`", "too large"]),
        (vec![weight("k", &[-1])], vec!["`k`", "no size"]),
        (vec![placeholder(&[-2])], vec!["`x`", "-2"]),
        (vec![placeholder(&[1]), def("s", "Unpack", &["x"], &[("num", int(1 << 40))])], vec!["`s`", "outputs"]),
        (vec![placeholder(&[2, 3]), weight("k", &[4, 5]), def("y", "MatMul", &["x", "k"], &[])], vec!["`y`", "differ"]),
    ] {
        let message = refusal(nodes);
        assert!(parts.iter().all(|part| message.contains(part)), "{parts:?}: {message}");
    }
}

#[test]
fn a_graph_with_any_byte_changed_or_cut_off_never_panics() {
    let mut nodes = conv("Conv2D", &[3, 3, 4, 8], &[("strides", ints(&[1, 2, 2, 1])), ("padding", text_value("SAME"))]);
    nodes.extend([list("k", &[1, 2]), def("z", "Mean", &["y", "k"], &[("keep_dims", flag(false))])]);
    let whole = bytes(nodes);
    load_bytes(&whole, None).unwrap();
    for at in 0..whole.len() {
        let _ = load_bytes(&whole[..at], None);
        for change in [0x01, 0x02, 0x08, 0x40, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            if let Ok(graph) = load_bytes(&changed, None) {
                graph.validate().unwrap();
            }
        }
    }
}

proptest! {
    #[test]
    fn noise_is_a_graph_or_an_error(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(graph) = load_bytes(&noise, None) {
            graph.validate().unwrap();
        }
    }
}

#[test]
fn a_graph_in_text_is_the_same_as_in_binary_form() {
    let text = r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
               attr { key: "shape" value { shape { dim { size: 2 } dim { size: 9 } dim { size: 9 } dim { size: 4 } } } } }
        node { name: "w" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT
               tensor_shape { dim { size: 3 } dim { size: 3 } dim { size: 4 } dim { size: 8 } } } } } }
        node { name: "w/read" op: "Identity" input: "w" }
        node { name: "y" op: "Conv2D" input: "x" input: "w/read"
               attr { key: "strides" value { list { i: 1 i: 2 i: 2 i: 1 } } } attr { key: "padding" value { s: "SAME" } } }
        node { name: "k" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
               tensor_content: "\001\000\000\000\002\000\000\000" } } } }
        node { name: "z" op: "Mean" input: "y" input: "k" attr { key: "keep_dims" value { b: false } } }
    "#;
    let mut nodes = conv("Conv2D", &[3, 3, 4, 8], &[("strides", ints(&[1, 2, 2, 1])), ("padding", text_value("SAME"))]);
    nodes.extend([list("k", &[1, 2]), def("z", "Mean", &["y", "k"], &[("keep_dims", flag(false))])]);
    let read = load_bytes(text.as_bytes(), None).unwrap();
    assert_eq!(format!("{read:?}"), format!("{:?}", load(nodes).unwrap()));
    assert!(super::is_graph(&text.into()));
}

#[test]
fn a_text_that_is_no_graph_is_refused_with_its_place() {
    for (text, parts) in [
        ("node { name: 'x' op: 'Relu'", vec!["line 1", "end of the file"]),
        ("node {\n name: 'x' op: 7 }", vec!["node `x`", "line 2", "string in quotes"]),
        ("node { name: 'x' op: 'P' attr { key: 'dtype' value { type: DT_ODD } } }", vec!["`x`", "`dtype`", "DT_ODD"]),
        (
            "node { name: 'k' op: 'Const' attr { key: 'value' value { tensor { dtype: DT_INT32 int_val: 3000000000 } } } }",
            vec!["`k`", "3000000000"],
        ),
        ("node { name: '' op: 'Relu' }", vec!["node 0", "no name"]),
        ("versions { producer: 1 }", vec!["no operator"]),
    ] {
        let message = load_bytes(text.as_bytes(), None).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{parts:?}: {message}");
    }
}
