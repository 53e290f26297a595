//! What the reader makes of what CANN writes.

use super::*;
use crate::frontend::air::{CONTROL_INPUTS, CONTROL_OUTPUTS, is_model};
use crate::graph::{CONST, Constant, DATA};

fn data(name: &str, index: i64) -> proto::Op {
    with(op(name, "Data", &[], &[2, 4]), "index", &Attr::Int(index))
}

#[test]
fn edges_outputs_and_optional_inputs_are_read() {
    let graph = root(&[
        data("a:b", 0),
        proto::Op { output_desc: vec![described(&[2, 2]); 2], ..op("split", "Split", &["a:b:0"], &[]) },
        op("sum", "AddN", &["split:1", "", "split:0", "a:b:0"], &[2, 2]),
        net_output(&["sum:0", "split:1"]),
    ])
    .unwrap();
    assert_eq!(sources(&graph, "sum"), ["split:1", "", "split:0", "a:b:0"]);
    assert_eq!(outputs(&graph), ["sum:0", "split:1"]);
    assert_eq!((graph.len(), graph.name.as_str()), (3, "g"), "the NetOutput is no node");
}

#[test]
fn a_graph_without_net_output_has_the_outputs_it_states() {
    let mut def = graph_def("", &[data("x", 0), op("r", "Relu", &["x:0"], &[2, 4])]);
    def.output = vec!["r:0".to_owned()];
    let graph = read(file(&[def]).into(), "test").unwrap();
    assert_eq!(outputs(&graph), ["r:0"]);
    assert_eq!(graph.name, "m");
}

#[test]
fn inputs_come_in_the_order_of_their_index_whatever_they_are_called() {
    let graph = root(&[
        op("w", "Const", &[], &[2]),
        data("second", 1),
        with(op("first", "RefData", &[], &[3]), "index", &Attr::Int(0)),
        op("cut", "PlaceHolder", &[], &[4]),
        proto::Op { output_desc: Vec::new(), ..op("end", "End", &["second:0"], &[]) },
    ])
    .unwrap();
    let inputs: Vec<_> = graph.inputs().map(|(_, n)| (n.name.as_str(), n.op_type.as_str())).collect();
    assert_eq!(inputs, [("first", DATA), ("second", DATA), ("cut", DATA)]);
    assert_eq!(node(&graph, "first").origin_type, "RefData");
    assert_eq!(outputs(&graph), ["second:0"], "what a cut leaves of an output is one");
}

#[test]
fn small_constants_have_their_values_and_dumps_have_none() {
    let ints: Vec<u8> = [7i64, -1].iter().flat_map(|v| v.to_le_bytes()).collect();
    let int64 = |op: proto::Op| proto::Op {
        output_desc: vec![tensor::write(&TensorDesc::new(DataType::Int64, Shape::new([2])), tensor::Parts::default())],
        ..op
    };
    let mut small = int64(op("small", "Const", &[], &[2]));
    small.attr.push(value(DataType::Int64, &[2], &ints));
    let mut large = op("large", "Constant", &[], &[100, 100]);
    large.attr.push(value(DataType::Float16, &[100, 100], &vec![1; 20000]));
    let graph =
        root(&[small, large, op("dumped", "Const", &[], &[9]), op("far", "FileConstant", &[], &[1 << 20])]).unwrap();
    assert_eq!(node(&graph, "small").value, Some(Constant::Ints(vec![7, -1])));
    for name in ["large", "dumped", "far"] {
        assert_eq!(node(&graph, name).value, Some(Constant::Opaque), "{name}");
    }
    assert_eq!(
        (node(&graph, "large").op_type.as_str(), node(&graph, "large").origin_type.as_str()),
        (CONST, "Constant")
    );
}

#[test]
fn weights_outside_the_model_are_never_opened() {
    let far = with(op("far", "FileConstant", &[], &[4]), "location", &Attr::Str("/proc/self/mem".into()));
    let far = with(far, "offset", &Attr::Int(-5));
    assert_eq!(node(&root(&[far]).unwrap(), "far").value, Some(Constant::Opaque));
}

#[test]
fn attributes_of_every_kind_are_read_and_the_rest_goes_through() {
    let list = |list: proto::ListValue| encode(&Value { list: Some(encode(&list)), ..Value::default() });
    let untyped = |list_value: proto::ListValue| list(list_value);
    let cases: Vec<(Bytes, Option<Attr>)> = vec![
        (attr::write(&Attr::Int(-3)), Some(Attr::Int(-3))),
        (attr::write(&Attr::Float(0.5)), Some(Attr::Float(0.5))),
        (attr::write(&Attr::Bool(false)), Some(Attr::Bool(false))),
        (attr::write(&Attr::Str("NCHW".into())), Some(Attr::Str("NCHW".into()))),
        (attr::write(&Attr::Type(DataType::Bfloat16)), Some(Attr::Type(DataType::Bfloat16))),
        (attr::write(&Attr::Ints(vec![])), Some(Attr::Ints(vec![]))),
        (attr::write(&Attr::Floats(vec![])), Some(Attr::Floats(vec![]))),
        (attr::write(&Attr::Bools(vec![true, false])), Some(Attr::Bools(vec![true, false]))),
        (attr::write(&Attr::Strs(vec!["a".into()])), Some(Attr::Strs(vec!["a".into()]))),
        (attr::write(&Attr::IntLists(vec![vec![], vec![1, 2]])), Some(Attr::IntLists(vec![vec![], vec![1, 2]]))),
        (untyped(proto::ListValue { f: vec![2.0], ..Default::default() }), Some(Attr::Floats(vec![2.0]))),
        (untyped(proto::ListValue { s: vec!["t".into()], ..Default::default() }), Some(Attr::Strs(vec!["t".into()]))),
        (untyped(proto::ListValue::default()), Some(Attr::Ints(vec![]))),
        // Bytes that are no text, types that do not exist, values of other kinds, nothing at all.
        (encode(&Value { s: Some(Bytes::from_static(&[0xff, 0])), ..Value::default() }), None),
        (encode(&Value { dt: Some(1 << 40), ..Value::default() }), None),
        (untyped(proto::ListValue { dt: vec![1], ..Default::default() }), None),
        (untyped(proto::ListValue { g: vec![Bytes::new()], ..Default::default() }), None),
        (encode(&Value { t: Some(Bytes::new()), ..Value::default() }), None),
        (Bytes::new(), None),
    ];
    for (bytes, expected) in cases {
        let read = attr::read(bytes.clone(), &String::new).unwrap();
        assert_eq!(read, expected.unwrap_or(Attr::Opaque(bytes.clone())));
        assert_eq!(attr::read(attr::write(&read), &String::new).unwrap(), read);
        if matches!(read, Attr::Opaque(_)) {
            assert_eq!(attr::write(&read), bytes);
        }
    }
}

#[test]
fn numbers_may_come_packed_or_one_by_one() {
    let packed = Bytes::from_static(&[0x1a, 2, 5, 6, 0xa0, 1, 2]);
    let single = Bytes::from_static(&[0x18, 5, 0x18, 6, 0xa0, 1, 2]);
    for list in [packed, single] {
        let value = encode(&Value { list: Some(list), ..Value::default() });
        assert_eq!(attr::read(value, &String::new).unwrap(), Attr::Ints(vec![5, 6]));
    }
}

#[test]
fn tensors_are_seen_as_the_framework_sees_them() {
    let origin = [
        ("origin_shape", Attr::Ints(vec![1, 3, 8, 8])),
        ("origin_format", Attr::Str("NCHW".into())),
        ("origin_shape_initialized", Attr::Bool(true)),
    ];
    let scalar = [("origin_shape", Attr::Ints(vec![])), ("origin_shape_initialized", Attr::Bool(true))];
    let unset = [("origin_shape", Attr::Ints(vec![])), ("origin_format_for_int", Attr::Int(1))];
    let number = [("format_for_int", Attr::Int(0x0500_0100 | 0x1e))];
    for (bytes, shape, format) in [
        (raw_desc("NC1HWC0", &[1, 1, 8, 8, 16], &origin), "[1,3,8,8]", Format::Nchw),
        (raw_desc("ND", &[1], &scalar), "[]", Format::Nd),
        (raw_desc("NHWC", &[1, 8, 8, 3], &unset), "[1,8,8,3]", Format::Nhwc),
        (raw_desc("", &[1, 2, 3, 4, 5], &number), "[1,2,3,4,5]", Format::Ncdhw),
        (raw_desc("ND", &[-1, 4], &[]), "[?,4]", Format::Nd),
        (raw_desc("ND", &[-2], &[]), "[?]", Format::Nd),
        (raw_desc("ND", &[-3], &[]), "[?]", Format::Nd),
    ] {
        let read = tensor::read(bytes, &String::new).unwrap().desc.unwrap();
        assert_eq!((read.shape.to_string().as_str(), read.format), (shape, format));
    }
}

#[test]
fn element_types_without_a_number_of_their_own_come_from_the_attribute() {
    let own = [("__tensor_desc_data_type__", Attr::Int(i64::from(DataType::Hifloat4.ge_number())))];
    for number in [0, 99] {
        let mut bytes = proto::Tensor::decode(raw_desc("ND", &[1], &own)).unwrap();
        bytes.dtype = number;
        let read = tensor::read(encode(&bytes), &String::new).unwrap().desc.unwrap();
        assert_eq!(read.dtype, DataType::Hifloat4);
    }
}

#[test]
fn inputs_go_where_their_names_belong() {
    let names = |op: proto::Op, keys: &[&str]| {
        let op = with(op, "_input_name_key", &Attr::Strs(keys.iter().map(|&k| k.to_owned()).collect()));
        with(op, "_input_name_value", &Attr::Ints((0..keys.len() as i64).collect()))
    };
    let conv = || op("c", "Conv2D", &["x:0", "x:0", "x:0"], &[1]);
    let own = || op("c", "MyOp", &["x:0", "x:0", "x:0"], &[1]);
    let stated = |op: proto::Op, kinds: &[i64]| {
        let keys = ["x", "window", "filter", "offset_w"].map(str::to_owned).to_vec();
        let op = with(op, "_ir_inputs_key", &Attr::Strs(keys));
        with(op, "_ir_inputs_value", &Attr::Ints(kinds.to_vec()))
    };
    let keys = ["x", "filter", "offset_w"];
    for (op, expected) in [
        (conv(), vec!["x:0", "x:0", "x:0"]),
        (names(conv(), &keys), vec!["x:0", "x:0", "", "x:0"]),
        (names(conv(), &["x", "filter", "mystery"]), vec!["x:0", "x:0", "x:0"]),
        (names(own(), &keys), vec!["x:0", "x:0", "x:0"]),
        (stated(names(own(), &keys), &[0, 1, 0, 1]), vec!["x:0", "", "x:0", "x:0"]),
        // A dynamic input stands for any number, so that places tell nothing.
        (stated(names(own(), &keys), &[0, 2, 0, 1]), vec!["x:0", "x:0", "x:0"]),
    ] {
        let graph = root(&[data("x", 0), op]).unwrap();
        assert_eq!(sources(&graph, "c"), expected);
    }
}

#[test]
fn control_edges_are_kept_apart_from_data() {
    let graph = root(&[
        data("x", 0),
        op("a", "Relu", &["x:0"], &[2]),
        op("b", "Relu", &["x:0", "a:-1"], &[2]),
        net_output(&["b:0", "a:-1"]),
    ])
    .unwrap();
    assert_eq!(sources(&graph, "b"), ["x:0"]);
    assert_eq!(node(&graph, "b").attrs.get(CONTROL_INPUTS), Some(&Attr::Strs(vec!["a".into()])));
    assert_eq!(graph.attrs.get(CONTROL_OUTPUTS), Some(&Attr::Strs(vec!["a".into()])));
    assert_eq!(outputs(&graph), ["b:0"]);
}

#[test]
fn a_model_is_told_from_other_protobuf() {
    assert!(is_model(&file(&[graph_def("g", &[data("x", 0)])]).into()));
    for bytes in [vec![], file(&[]), file(&[graph_def("g", &[])]), b"hello".to_vec()] {
        assert!(!is_model(&bytes.into()));
    }
    let onnx = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models/resnet50.onnx");
    assert!(!is_model(&std::fs::read(onnx).unwrap().into()));
}

#[test]
fn names_that_inputs_have_in_their_descriptions_alone_count_and_are_written() {
    let named = |name: &str, dims: &[i64]| {
        let tensor: proto::Tensor = proto::decode(described(dims), String::new).unwrap();
        encode(&proto::Tensor { name: name.to_owned(), ..tensor })
    };
    let grouped = |names: &[&str]| {
        let dims: [&[i64]; 3] = [&[30, 64], &[64, 32], &[64, 32]];
        let inputs: Vec<String> = (0..names.len()).map(|at| format!("d{at}:0")).collect();
        let mut ops: Vec<_> = (0..names.len())
            .map(|at| with(op(&format!("d{at}"), "Data", &[], dims[at]), "index", &Attr::Int(at as i64)))
            .collect();
        let input_desc = names.iter().zip(dims).map(|(name, dims)| named(name, dims)).collect();
        let output_desc = vec![encode(&proto::Tensor::default())];
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let product = proto::Op { input_desc, output_desc, ..op("g", "GroupedMatmul", &inputs, &[]) };
        ops.push(with(product, "group_type", &Attr::Int(0)));
        ops.push(net_output(&["g:0"]));
        let mut graph = root(&ops).unwrap();
        crate::graph::infer::infer(&mut graph).unwrap();
        let shape = node(&graph, "g").outputs[0].shape.to_string();
        let written = read(super::super::encode_model(&graph).unwrap().into(), "test").unwrap();
        let keys = node(&written, "g").attrs.get("_input_name_key").cloned();
        (shape, keys)
    };
    let keys = |names: &[&str]| Some(Attr::Strs(names.iter().map(|name| (*name).to_owned()).collect()));
    // One x, and a weight for each group.
    let names = ["x0", "weight0", "weight1"];
    assert_eq!(grouped(&names), ("[30,32]".to_owned(), keys(&names)));
    // As torchair writes a list of one; names of another operator tell nothing.
    assert_eq!(grouped(&["x"]).1, keys(&["x0"]));
    assert_eq!(grouped(&["x0", "weight0", "other"]).1, None);
    assert_eq!(grouped(&["x0", "weight0", "x0"]).1, None);
}
