//! Descriptions as ATC takes them, and what is wrong with others.

use super::{is_description, read};
use crate::frontend::{Framework, ModelOptions, load_memory};
use crate::graph::{Attr, Constant, DataType, Format, Graph};
use crate::lower::{Settings, lower};
use crate::soc::Soc;
use crate::status::Result;
use prost::bytes::Bytes;

fn parse(text: &str) -> Result<Graph> {
    read(&Bytes::copy_from_slice(text.as_bytes()), "ops")
}

const ADD: &str = r#"[{"op": "Add",
  "input_desc": [{"format": "ND", "shape": [3, 3], "type": "int32"}, {"format": "nd", "shape": [3, 3], "type": "int32"}],
  "output_desc": [{"format": "ND", "shape": [3, 3], "type": "int32"}]}]"#;

/// One operator with these inputs and attributes, and one output.
fn one(op: &str, inputs: &[&str], attrs: &str, output: &str) -> String {
    format!(r#"[{{"op": "{op}", "input_desc": [{}], "output_desc": [{output}], "attr": [{attrs}]}}]"#, inputs.join(","))
}

fn tensor(rest: &str) -> String {
    format!(r#"{{"format": "ND", "shape": [2, 2], "type": "float16"{rest}}}"#)
}

#[test]
fn an_operator_is_named_as_atc_names_its_file() {
    let graph = parse(ADD).unwrap();
    let (_, node) = graph.iter().find(|(_, n)| n.op_type == "Add").unwrap();
    assert_eq!(node.name, "0_Add_3_2_3_3_3_2_3_3_3_2_3_3");
    assert_eq!((graph.inputs().count(), graph.outputs().len()), (2, 1));
}

#[test]
fn several_operators_stand_side_by_side_and_are_all_lowered() {
    let text = format!("[{0},{0}]", &ADD[1..ADD.len() - 1]);
    let graph = load_memory(text.as_bytes(), "ops", None, &ModelOptions::default()).unwrap();
    assert_eq!(graph.outputs().len(), 2);
    let lowered = lower(&graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    assert_eq!(lowered.kernels.len(), 2);
    assert_eq!(lowered.kernels[0].workload, lowered.kernels[1].workload);
}

#[test]
fn a_product_and_a_convolution_become_cube_work() {
    let matrix = |r: u32, c: u32| {
        format!(r#"{{"format": "FRACTAL_NZ", "shape": [{}, {}, 16, 16], "type": "float16"}}"#, c / 16, r / 16)
    };
    let attrs = r#"{"name": "transpose_x1", "type": "bool", "value": false}"#;
    let absent = r#"{"format": "RESERVED", "type": "UNDEFINED", "shape": []}"#;
    let product = one("MatMulV2", &[&matrix(64, 32), &matrix(32, 128), absent], attrs, &matrix(64, 128));
    let image = r#"{"format": "NC1HWC0", "shape": [1, 1, 8, 8, 16], "origin_format": "NCHW", "origin_shape": [1, 3, 8, 8], "type": "float16"}"#;
    let filter = r#"{"format": "FRACTAL_Z", "shape": [1, 1, 16, 16], "origin_format": "NCHW", "origin_shape": [4, 3, 1, 1], "type": "float16"}"#;
    let window = r#"{"name": "strides", "type": "list_int", "value": [1, 1, 1, 1]}, {"name": "pads", "type": "list_int", "value": [0, 0, 0, 0]}, {"name": "data_format", "type": "string", "value": "NCHW"}"#;
    let four = r#"{"format": "NC1HWC0", "shape": [1, 1, 8, 8, 16], "origin_format": "NCHW", "origin_shape": [1, 4, 8, 8], "type": "float16"}"#;
    let conv = one("Conv2D", &[image, filter], window, four);
    for (text, macs) in [(product, 64 * 32 * 128), (conv, 64 * 3 * 4)] {
        let graph = load_memory(text.as_bytes(), "ops", None, &ModelOptions::default()).unwrap();
        let lowered = lower(&graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
        let cube: Vec<_> = lowered.kernels.iter().filter_map(|k| k.workload.macs()).collect();
        assert_eq!(cube, [macs]);
    }
}

#[test]
fn a_filter_whose_format_hides_its_sizes_is_refused_without_them() {
    let image = r#"{"format": "NCHW", "shape": [1, 3, 8, 8], "type": "float16"}"#;
    let filter = r#"{"format": "FRACTAL_Z", "shape": [1, 1, 16, 16], "type": "float16"}"#;
    let text = one("Conv2D", &[image, filter], "", image);
    let error = load_memory(text.as_bytes(), "ops", None, &ModelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("FRACTAL_Z") && error.contains("origin_shape"), "{error}");
}

#[test]
fn an_output_that_the_inputs_do_not_give_is_named() {
    let input = |shape: &str| format!(r#"{{"format": "ND", "shape": {shape}, "type": "float16"}}"#);
    let product = |output: &str| {
        let text = one("MatMulV2", &[&input("[16, 32]"), &input("[32, 64]")], "", &input(output));
        load_memory(text.as_bytes(), "ops", None, &ModelOptions::default())
    };
    product("[16, 64]").unwrap();
    product("[-1, 64]").unwrap();
    let error = product("[16, 65]").unwrap_err().to_string();
    assert!(["MatMulV2", "[16,65]", "[16,64]"].iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn every_type_of_attribute_is_read() {
    let attrs = r#"{"name": "a", "type": "bool", "value": true}, {"name": "b", "type": "int", "value": -1},
        {"name": "c", "type": "float", "value": 1}, {"name": "d", "type": "string", "value": "s"},
        {"name": "e", "type": "list_bool", "value": [false]}, {"name": "f", "type": "list_int", "value": []},
        {"name": "g", "type": "list_float", "value": [0.5, 2]}, {"name": "h", "type": "list_string", "value": ["x"]},
        {"name": "i", "type": "list_list_int", "value": [[1], []]}, {"name": "j", "type": "data_type", "value": "DT_BF16"},
        {"name": "k", "type": "data_type", "value": 1}"#;
    let graph = parse(&one("Relu", &[&tensor("")], attrs, &tensor(""))).unwrap();
    let (_, node) = graph.iter().find(|(_, n)| n.op_type == "Relu").unwrap();
    let expected = [
        ("a", Attr::Bool(true)),
        ("b", Attr::Int(-1)),
        ("c", Attr::Float(1.0)),
        ("d", Attr::Str("s".into())),
        ("e", Attr::Bools(vec![false])),
        ("f", Attr::Ints(vec![])),
        ("g", Attr::Floats(vec![0.5, 2.0])),
        ("h", Attr::Strs(vec!["x".into()])),
        ("i", Attr::IntLists(vec![vec![1], vec![]])),
        ("j", Attr::Type(DataType::Bfloat16)),
        ("k", Attr::Type(DataType::Float16)),
    ];
    for (name, value) in expected {
        assert_eq!(node.attrs.get(name), Some(&value), "{name}");
    }
}

#[test]
fn constants_names_and_groups_of_inputs_are_read() {
    let axes =
        r#"{"format": "ND", "shape": [2], "type": "int64", "is_const": true, "const_value": [0, -1], "name": "axes"}"#;
    let part = tensor(r#", "dynamic_input": "x""#);
    let graph = parse(&one("ConcatV2", &[&part, &part, axes], "", &tensor(""))).unwrap();
    let names: Vec<_> = graph.iter().filter_map(|(_, n)| n.name.split_once('/')).map(|(_, label)| label).collect();
    assert_eq!(names, ["x0", "x1", "axes"]);
    let (_, axes) = graph.iter().find(|(_, n)| n.name.ends_with("/axes")).unwrap();
    assert_eq!(axes.value, Some(Constant::Ints(vec![0, -1])));
}

#[test]
fn a_name_is_kept_and_a_second_of_the_same_is_told_apart() {
    let named = |name: &str| {
        one("Relu", &[&tensor("")], "", &tensor("")).replacen("{\"op\"", &format!("{{\"name\": \"{name}\", \"op\""), 1)
    };
    let pair =
        format!("{}, {}]", named("my.op-1").trim_end_matches(']'), &named("my.op-1")[1..named("my.op-1").len() - 1]);
    let graph = parse(&pair).unwrap();
    let found: Vec<_> = graph.iter().filter(|(_, n)| n.op_type == "Relu").map(|(_, n)| n.name.as_str()).collect();
    assert_eq!(found, ["my.op-1", "1_Relu_1_2_2_2_1_2_2_2"]);
    let long = "n".repeat(200);
    let graph = parse(&named(&long)).unwrap();
    assert!(graph.find(&long[..128]).is_some());
}

#[test]
fn formats_and_types_have_every_spelling_of_the_guide() {
    for (kind, dtype) in [
        ("HALF", DataType::Float16),
        ("fp16", DataType::Float16),
        ("float", DataType::Float),
        ("hifloat4", DataType::Hifloat4),
    ] {
        let t = tensor("").replace("float16", kind).replace("ND", "nhwc").replace("[2, 2]", "[1, 2, 2, 1]");
        let graph = parse(&one("Relu", &[&t], "", &t)).unwrap();
        let desc = &graph.inputs().next().unwrap().1.outputs[0];
        assert_eq!((desc.dtype, desc.format), (dtype, Format::Nhwc));
    }
}

#[test]
fn what_breaks_a_rule_is_named_with_its_place() {
    let bad = |rest: &str| one("Relu", &[&tensor(rest)], "", &tensor(""));
    let bad_attr = |attr: &str| one("Relu", &[&tensor("")], attr, &tensor(""));
    let input = |text: &str| one("Relu", &[text], "", &tensor(""));
    let cases = [
        ("{}".to_owned(), "invalid type"),
        ("[]".to_owned(), "no operator"),
        ("[{\"op\": \"Add\"}]".to_owned(), "input_desc"),
        (format!("{ADD} x"), "trailing"),
        (ADD.replace("\"Add\"", "\"\""), "`op` is empty"),
        (ADD.replace("\"op\"", "\"compile_flag\": 2, \"op\""), "compile_flag"),
        (ADD.replace("\"op\"", "\"name\": \"a/b\", \"op\""), "`/`"),
        (ADD.replacen("int32", "int33", 1), "`int33`"),
        (ADD.replacen("\"nd\"", "\"dn\"", 1), "no format `dn`"),
        (ADD.replacen("[3, 3]", "[3, -5]", 1), "-5"),
        (ADD.replacen("[3, 3]", "[3, 2147483648]", 1), "2147483648"),
        (ADD.replacen("[3, 3]", "[3, \"x\"]", 1), "[0].input_desc[0].shape[1]"),
        (input(r#"{"format": "RESERVED", "type": "float16", "shape": []}"#), "go together"),
        (input(r#"{"format": "ND", "type": "UNDEFINED", "shape": []}"#), "go together"),
        (input(r#"{"format": "RESERVED", "type": "UNDEFINED", "shape": [1]}"#), "shape []"),
        (bad(r#", "const_value": [1]"#), "is_const"),
        (bad(r#", "is_const": true"#), "const_value"),
        (bad(r#", "is_const": true, "const_value": [1, 2, 3]"#), "3 elements"),
        (bad(r#", "is_const": true, "const_value": [1, 2, 3, "x"]"#), "no float16"),
        (bad(r#", "shape_range": [[1, 2]]"#), "shape_range"),
        (bad(r#", "origin_format": "XX""#), "`XX`"),
        (bad(r#", "origin_shape": [-9]"#), "origin_shape"),
        (bad_attr(r#"{"name": "", "type": "int", "value": 1}"#), "attribute 0"),
        (bad_attr(r#"{"name": "a", "type": "int", "value": 1.5}"#), "not of type int"),
        (bad_attr(r#"{"name": "a", "type": "ints", "value": 1}"#), "`ints`"),
        (bad_attr(r#"{"name": "a", "type": "data_type", "value": "FLOAT"}"#), "data_type"),
        (bad_attr(r#"{"name": "a", "type": "int", "value": 1}, {"name": "a", "type": "int", "value": 1}"#), "twice"),
    ];
    for (text, part) in cases {
        let message = parse(&text).expect_err(&text).to_string();
        assert!(message.contains(part), "`{part}` is missing in: {message}\n{text}");
    }
}

#[test]
fn what_makes_up_the_frame_of_a_graph_is_no_single_operator() {
    for op in ["AippData", "Const", "FileConstant", "NetOutput", "End", "PartitionedCall"] {
        let message = parse(&one(op, &[&tensor("")], "", &tensor(""))).expect_err(op).to_string();
        assert!(message.contains(op) && message.contains("frame of a graph"), "{message}");
    }
}

#[test]
fn integers_out_of_range_of_their_type_are_refused() {
    for (kind, value) in [("int8", "128"), ("uint8", "-1"), ("int32", "2147483648"), ("int64", "1.5"), ("uint64", "-1")]
    {
        let t = format!(
            r#"{{"format": "ND", "shape": [1], "type": "{kind}", "is_const": true, "const_value": [{value}]}}"#
        );
        let message = parse(&one("Relu", &[&t], "", &tensor(""))).expect_err(kind).to_string();
        assert!(message.contains(value) && message.contains(kind), "{message}");
    }
}

#[test]
fn names_stay_short_whatever_the_number_of_inputs() {
    let part = tensor(r#", "dynamic_input": "x""#);
    let inputs = vec![part.as_str(); 3000];
    let graph = parse(&one("AddN", &inputs, "", &tensor(""))).unwrap();
    assert_eq!(graph.len(), 3001);
    let longest = graph.iter().map(|(_, node)| node.name.len()).max().unwrap();
    // ATC cuts the stem of the om file at 128.
    assert_eq!(graph.iter().find(|(_, node)| node.op_type == "AddN").unwrap().1.name.len(), 128);
    assert!(longest < 140, "{longest}");
    let text = one(&"\u{e9}".repeat(200), &[&tensor("")], "", &tensor(""));
    assert!(parse(&text).unwrap().iter().all(|(_, node)| node.name.chars().count() < 140));
}

#[test]
fn an_operator_takes_no_more_inputs_than_its_prototype_has() {
    let message =
        parse(&one("Add", &[&tensor(""), &tensor(""), &tensor("")], "", &tensor(""))).unwrap_err().to_string();
    assert!(message.contains("3 inputs") && message.contains("2 (x1, x2)"), "{message}");
}

#[test]
fn a_description_is_told_by_its_content() {
    let is = |text: &str| is_description(&Bytes::copy_from_slice(text.as_bytes()));
    assert!(is(ADD) && is(&format!("\u{feff}\n {ADD}")));
    assert!(!is("[{\"basic\": {}}, {\"OPAT\": {}}]") && !is("") && !is("{\"input_desc\": []}"));
    let named = load_memory(ADD.as_bytes(), "ops", Some(Framework::SingleOp), &ModelOptions::default()).unwrap();
    assert_eq!(named.name, "ops");
}

#[test]
fn no_byte_that_is_cut_or_turned_around_makes_the_reader_panic() {
    for at in 0..ADD.len() {
        let cut = Bytes::copy_from_slice(&ADD.as_bytes()[..at]);
        read(&cut, "ops").expect_err("a cut description must not load");
        for flip in [0x01, 0x10, 0x80] {
            let mut damaged = ADD.as_bytes().to_vec();
            damaged[at] ^= flip;
            if let Ok(graph) = load_memory(&damaged, "ops", Some(Framework::SingleOp), &ModelOptions::default()) {
                graph.validate().unwrap();
            }
        }
    }
    read(&Bytes::from("[".repeat(100_000)), "ops").unwrap_err();
}
