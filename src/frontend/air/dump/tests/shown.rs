//! The view of a graph, and what it cannot show.

use super::*;
use crate::frontend::air::tests::{node, outputs, sources};
use crate::graph::Constant;

/// An attribute of a view.
fn shown(name: &str, value: &str, kind: &str) -> String {
    format!("attribute {{ name: \"{name}\" {value} type: {kind} }}\n")
}

/// The description of a tensor as a view has it.
fn described(side: &str, index: usize, layout: &str, dims: &[i64], origin: &str, origin_dims: &[i64]) -> String {
    let ints = |dims: &[i64]| dims.iter().map(|d| format!("ints: {d} ")).collect::<Vec<_>>().concat();
    [
        shown(&format!("{side}_desc_dtype:{index}"), "s: \"DT_FLOAT16\"", "STRING"),
        shown(&format!("{side}_desc_layout:{index}"), &format!("s: \"{layout}\""), "STRING"),
        shown(&format!("{side}_desc_shape:{index}"), &ints(dims), "INTS"),
        shown(&format!("{side}_desc_origin_layout:{index}"), &format!("s: \"{origin}\""), "STRING"),
        shown(&format!("{side}_desc_origin_shape:{index}"), &ints(origin_dims), "INTS"),
        shown(&format!("{side}_desc_weight_size:{index}"), "", "INT"),
    ]
    .concat()
}

fn shown_node(name: &str, op_type: &str, inputs: &[&str], attributes: &str) -> String {
    let inputs = inputs.iter().map(|i| format!("input: \"{i}\" ")).collect::<Vec<_>>().concat();
    format!("node {{ {inputs} output: \"{name}:0\" name: \"{name}\" op_type: \"{op_type}\" {attributes} }}\n")
}

fn view(nodes: &[String]) -> String {
    format!("ir_version: 6 producer_name: \"GE\" graph {{ {} name: \"g\" input {{ name: \"x\" }} }}", nodes.concat())
}

/// A convolution after its compilation, in a format of the device.
fn network() -> String {
    let data = "s: \"\\000\\074\\000\\300\"";
    let value = [
        shown("value_desc_dtype", "s: \"DT_FLOAT16\"", "STRING"),
        shown("value_desc_shape", "ints: 2", "INTS"),
        shown("value_desc_layout", "s: \"ND\"", "STRING"),
        shown("value_data", data, "STRING"),
    ];
    let input = described("output", 0, "NC1HWC0", &[1, 1, 8, 8, 16], "NCHW", &[1, 2, 8, 8]);
    let conv = [
        shown("input_desc_nums", "i: 2", "INT"),
        described("input", 0, "NC1HWC0", &[1, 1, 8, 8, 16], "NCHW", &[1, 2, 8, 8]),
        described("input", 1, "FRACTAL_Z:1", &[1, 1, 16, 16], "NCHW", &[2, 2, 1, 1]),
        shown("input_desc_attr_tag:1", "i: 7", "INT"),
        described("output", 0, "NC1HWC0", &[1, 1, 8, 8, 16], "NCHW", &[1, 2, 8, 8]),
        shown("strides", "ints: 1 ints: 1 ints: 1 ints: 1", "INTS"),
        shown("pads", "ints: 0 ints: 0 ints: 0 ints: 0", "INTS"),
        shown("data_format", "s: \"NCHW\"", "STRING"),
        shown("id", "i: 3", "INT"),
        shown("is_input_const", "ints: 0 ints: 1", "INTS"),
        shown("groups", "i: 1", "INT"),
        shown("scale", "f: 0.5", "FLOAT"),
        shown("empty", "", "INT"),
    ]
    .concat();
    view(&[
        shown_node("x", "ge:Data", &[""], &(shown("index", "", "INT") + &input)),
        shown_node("w", "ge:Const", &[], &described("output", 0, "NCHW", &[2, 2, 1, 1], "NCHW", &[2, 2, 1, 1])),
        shown_node("b", "ge:Const", &[], &(value.concat() + &described("output", 0, "ND", &[2], "ND", &[2]))),
        shown_node("c", "ge:Conv2D", &["x:0", "w:0", "b:0", "x:-1"], &conv),
        shown_node("out", "ge:NetOutput", &["c:0"], &shown("input_desc_nums", "i: 1", "INT")),
    ])
}

#[test]
fn a_view_reads_as_the_graph_that_it_shows() {
    let graph = read(network().into(), "n").unwrap();
    assert_eq!((graph.name.as_str(), outputs(&graph)), ("g", vec!["c:0".to_owned()]));
    assert_eq!(sources(&graph, "c"), ["x:0", "w:0", "b:0"]);
    let conv = node(&graph, "c");
    assert_eq!(conv.op_type, "Conv2D");
    assert_eq!((conv.outputs[0].shape.to_string(), conv.outputs[0].format.name()), ("[1,2,8,8]".into(), "NCHW"));
    assert_eq!(conv.attrs.ints("strides"), Some(&[1, 1, 1, 1][..]));
    assert_eq!((conv.attrs.int("groups"), conv.attrs.int("empty")), (Some(1), Some(0)));
    assert_eq!(conv.attrs.get("scale"), Some(&Attr::Float(0.5)));
    for bookkeeping in ["id", "is_input_const", "input_desc_nums", "input_desc_layout:0", "input_desc_attr_tag:1"] {
        assert_eq!(conv.attrs.get(bookkeeping), None, "{bookkeeping}");
    }
    assert_eq!(node(&graph, "b").value, Some(Constant::Floats(vec![1.0, -2.0])));
    let encoded = model(&encode_model(network().as_bytes(), "n").unwrap());
    let shown: proto::Graph = decode(encoded.graph[0].clone(), String::new).unwrap();
    let conv: proto::Op = decode(shown.op[3].clone(), String::new).unwrap();
    let filter: Tensor = decode(conv.input_desc[1].clone(), String::new).unwrap();
    assert_eq!((conv.id, filter.layout.as_str()), (3, "FRACTAL_Z"));
    assert_eq!(attr::read_all(&filter.attr, &String::new).unwrap().int("tag"), Some(7));
}

#[test]
fn numbers_of_a_view_are_truth_values_where_the_operator_has_those() {
    let nums = shown("input_desc_nums", "i: 2", "INT");
    let attributes = nums
        + &shown("transpose_x1", "", "INT")
        + &shown("transpose_x2", "i: 1", "INT")
        + &shown("offset_x", "", "INT");
    let inputs = shown("output_desc_nums", "i: 1", "INT") + &described("output", 0, "ND", &[4, 4], "ND", &[4, 4]);
    let text = view(&[
        shown_node("a", "ge:Data", &[""], &inputs),
        shown_node(
            "m",
            "ge:MatMulV2",
            &["a:0", "a:0"],
            &(attributes + &described("output", 0, "ND", &[4, 4], "ND", &[4, 4])),
        ),
    ]);
    let graph = read(text.into(), "n").unwrap();
    let attrs = &node(&graph, "m").attrs;
    let found = ["transpose_x1", "transpose_x2", "offset_x"].map(|name| attrs.get(name).cloned());
    assert_eq!(found, [Some(Attr::Bool(false)), Some(Attr::Bool(true)), Some(Attr::Int(0))]);
}

#[track_caller]
fn refused(nodes: &[String], parts: &[&str]) {
    let error = encode_model(view(nodes).as_bytes(), "dump").expect_err("the view must be refused").to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

#[test]
fn what_is_no_view_or_not_enough_of_one_is_told() {
    let nums = shown("input_desc_nums", "i: 1", "INT");
    refused(&[shown_node("a", "Relu", &["x"], "")], &["node `a` (Relu)", "`ge:`", ".onnx"]);
    refused(&[shown_node("a", "ge:Relu", &["x:0"], "")], &["node `a`", "DUMP_GE_GRAPH=1"]);
    let far = described("output", 4_000_000_000, "ND", &[1], "ND", &[1]);
    refused(&[shown_node("a", "ge:Relu", &["x:0"], &far)], &["output_desc_dtype:4000000000", "no tensor"]);
    let pool = nums.clone() + &shown("ksize", "ints: 2", "INTS");
    refused(&[shown_node("p", "ge:MaxPool", &["x:0"], &pool)], &["node `p`", "`padding`", "DUMP_GE_GRAPH=1"]);
    let odd = nums.clone() + &shown("t", "t { }", "TENSOR");
    refused(&[shown_node("a", "ge:Relu", &["x:0"], &odd)], &["attribute `t`", "kind 4"]);
}

#[test]
fn a_graph_is_run_by_the_one_call_or_the_view_does_not_say() {
    let nums = shown("input_desc_nums", "i: 1", "INT");
    let call = |name: &str| shown_node(name, "ge:PartitionedCall", &["x:0"], &nums);
    let inner = shown_node("r", "ge:Relu", &["a:0"], &nums);
    let body = |name: &str| {
        let graph = format!("g {{ name: \"{name}\" {inner} }}");
        format!("node {{ name: \"{name}\" op_type: \"subgraph\" {} }}", shown("graph", &graph, "GRAPH"))
    };
    let bytes = encode_model(view(&[call("k"), body("s")]).as_bytes(), "dump").unwrap();
    let model = model(&bytes);
    let root: proto::Graph = decode(model.graph[0].clone(), String::new).unwrap();
    let op: proto::Op = decode(root.op[0].clone(), String::new).unwrap();
    let sub: proto::Graph = decode(model.graph[1].clone(), String::new).unwrap();
    assert_eq!((op.subgraph_name, sub.name.as_str(), sub.op.len()), (vec!["s".to_owned()], "s", 1));
    refused(&[call("k"), body("s"), body("t")], &["node `k`", "does not say which", "ge_proto"]);
    refused(&[call("k")], &["node `k`"]);
}
