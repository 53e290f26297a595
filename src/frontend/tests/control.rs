//! Loops and conditionals of TensorFlow 1, and variables: what is tuned, and why the rest is not.

use crate::frontend::{Framework, ModelOptions, air, load_memory};
use crate::graph::infer::{Cause, in_words, nothing_left, split_static};
use crate::graph::{DataType, Graph};
use crate::status::Error;

fn node(name: &str, op: &str, inputs: &[&str], attrs: &str) -> String {
    let inputs: Vec<String> = inputs.iter().map(|input| format!("input: '{input}'")).collect();
    format!("node {{ name: '{name}' op: '{op}' {} {attrs} }}\n", inputs.join(" "))
}

fn shape(dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(|size| format!("dim {{ size: {size} }}")).collect();
    format!("shape {{ {} }}", dims.join(" "))
}

fn attr(key: &str, value: &str) -> String {
    format!("attr {{ key: '{key}' value {{ {value} }} }} ")
}

/// An input, two weights, and a product that needs nothing else.
fn beginning() -> String {
    let input = |name: &str, kind: &str, dims: &[i64]| {
        node(name, "Placeholder", &[], &(attr("dtype", &format!("type: {kind}")) + &attr("shape", &shape(dims))))
    };
    let weight = |name: &str, dims: &[i64]| {
        let dims = shape(dims).replacen("shape", "tensor_shape", 1);
        node(name, "Const", &[], &attr("value", &format!("tensor {{ dtype: DT_FLOAT {dims} float_val: 0.5 }}")))
    };
    input("x", "DT_FLOAT", &[128, 256])
        + &input("p", "DT_BOOL", &[])
        + &weight("w", &[256, 256])
        + &weight("wide", &[256, 512])
        + &node("before", "MatMul", &["x", "w"], "")
}

fn load(text: &str) -> Graph {
    load_memory(text.as_bytes(), "net", Some(Framework::TensorFlow), &ModelOptions::default()).unwrap()
}

/// Names of the products and activations that stay, and of what is left out with the reason.
fn split(graph: &Graph) -> (Vec<String>, Vec<(String, Cause, String)>) {
    let split = split_static(graph.clone()).unwrap();
    split.graph.validate().unwrap();
    let kernels = split.graph.iter().filter(|(_, node)| ["MatMulV2", "Relu"].contains(&node.op_type.as_str()));
    let kernels = kernels.map(|(_, node)| node.name.clone()).collect();
    let left = split.left_out.into_iter().map(|node| (node.name, node.cause, node.why.unwrap_or_default()));
    (kernels, left.collect())
}

/// A loop of products from what `begins` it; with the shape of what goes round stated, or not.
fn rounds(begins: &str, stated: bool) -> String {
    let of_merge = attr("_output_shapes", &format!("list {{ {} {} }}", shape(&[128, 256]), shape(&[])));
    let frame = attr("frame_name", "s: 'while'");
    node("while/Enter", "Enter", &[begins], &frame)
        + &node("while/w", "Enter", &["w"], &(attr("is_constant", "b: true") + &frame))
        + &node("while/Merge", "Merge", &["while/Enter", "while/Next"], if stated { &of_merge } else { "" })
        + &node("while/Any", "Any", &["while/Merge"], "")
        + &node("while/LoopCond", "LoopCond", &["while/Any"], "")
        + &node("while/Switch", "Switch", &["while/Merge", "while/LoopCond"], "")
        + &node("while/product", "MatMul", &["while/Switch:1", "while/w"], "")
        + &node("while/Next", "NextIteration", &["while/product"], "")
        + &node("while/Exit", "Exit", &["while/Switch"], "")
        + &node("after", "MatMul", &["while/Exit", "w"], "")
}

#[test]
fn what_depends_on_a_loop_is_left_out_by_name_and_all_else_is_tuned() {
    for (stated, left) in
        [(false, vec!["while/Any", "while/product", "after"]), (true, vec!["while/Any", "while/product"])]
    {
        let graph = load(&(beginning() + &rounds("before", stated)));
        let (kernels, out) = split(&graph);
        let expected: &[&str] = if stated { &["before", "after"] } else { &["before"] };
        assert_eq!(kernels, expected);
        assert_eq!(out.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), left);
        assert!(
            out.iter().all(|(_, cause, why)| *cause == Cause::Flow && why.contains("how often that runs")),
            "{out:?}"
        );
        let words = in_words(&split_static(graph).unwrap().left_out);
        assert!(words.len() == 1 && words[0].contains("TensorFlow 1 loop") && words[0].contains("while/product"));
    }
}

#[test]
fn a_loop_survives_a_graph_of_ges_and_is_left_out_there_alike() {
    let graph = load(&(beginning() + &rounds("before", false)));
    let again = air::read(air::encode_model(&graph).unwrap().into(), "again").unwrap();
    assert_eq!(split(&again).1.len(), 3);
}

#[test]
fn a_network_that_is_a_loop_leaves_nothing_to_tune() {
    let graph =
        load(&(beginning() + &rounds("x", true)).replace("'MatMul' input: 'while/Exit'", "'Odd' input: 'while/Exit'"));
    let left_out = split_static(graph.clone()).unwrap().left_out;
    let error = nothing_left(&graph, &left_out).unwrap();
    assert!(matches!(error, Error::Graph { .. }), "{error}");
    assert!(error.to_string().contains("TensorFlow 1 loop") && error.to_string().contains("while/"), "{error}");
}

#[test]
fn only_the_edge_that_closes_a_loop_may_close_a_cycle() {
    for rest in [
        node("a", "AddV2", &["before", "b"], "") + &node("b", "Relu", &["a"], ""),
        node("a", "Merge", &["before", "b"], "") + &node("b", "NextIteration", &["b"], ""),
        node("a", "AddV2", &["before", "b"], "") + &node("b", "NextIteration", &["a"], ""),
    ] {
        let text = beginning() + &rest;
        let loaded = load_memory(text.as_bytes(), "net", Some(Framework::TensorFlow), &ModelOptions::default());
        assert!(loaded.unwrap_err().to_string().contains("cycle"), "{rest}");
    }
}

#[test]
fn branches_are_left_out_and_what_follows_is_tuned_where_they_agree() {
    for (weight, kernels, left) in [
        ("w", vec!["before", "after"], vec!["yes", "no"]),
        // One branch gives 512 columns: only a run tells what is multiplied.
        ("wide", vec!["before"], vec!["yes", "no", "after"]),
    ] {
        let text = beginning()
            + &node("Switch", "Switch", &["before", "p"], "")
            + &node("yes", "MatMul", &["Switch:1", weight], "")
            + &node("no", "Relu", &["Switch"], "")
            + &node("Merge", "Merge", &["no", "yes"], "")
            + &node("after", "MatMul", &["Merge", "w"], "");
        let (stay, mut out) = split(&load(&text));
        out.sort_by_key(|(name, ..)| left.iter().position(|other| other == name));
        assert_eq!(stay, kernels, "{weight}");
        assert_eq!(out.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), left, "{weight}");
        assert!(out[..2].iter().all(|(_, cause, why)| *cause == Cause::Flow && why.contains("which branch runs")));
        assert!(out[2..].iter().all(|(_, cause, _)| *cause == Cause::Run), "{out:?}");
    }
}

/// A product with a variable, which has these attributes.
fn product_with(op: &str, attrs: &str) -> Graph {
    let read = if op == "VarHandleOp" { "read" } else { "v" };
    let mut text = beginning() + &node("v", op, &[], &(attr("dtype", "type: DT_FLOAT") + attrs));
    if read == "read" {
        text += &node("read", "ReadVariableOp", &["v"], &attr("dtype", "type: DT_FLOAT"));
    }
    load(&(text + &node("product", "MatMul", &["before", read], "")))
}

#[test]
fn variables_have_the_shape_that_they_state_and_are_told_how_to_state_one() {
    // A handle is a scalar of type resource; the variable is what it stands for.
    let of_handle = attr("_output_shapes", &format!("list {{ {} }}", shape(&[])));
    for op in ["VarHandleOp", "VariableV2", "Variable"] {
        let stated = attr("shape", &shape(&[256, 512]));
        for attrs in [stated.clone(), stated + &of_handle] {
            let graph = product_with(op, &attrs);
            let product = &graph.node(graph.find("product").unwrap()).outputs[0];
            assert_eq!((product.shape.to_string().as_str(), product.dtype), ("[128,512]", DataType::Float), "{op}");
            assert_eq!(split(&graph).1, [], "{op}");
        }
        let graph = product_with(op, "");
        let (kernels, out) = split(&graph);
        assert_eq!((kernels.as_slice(), out[0].1), (&["before".to_owned()][..], Cause::Undescribed), "{op}");
        let error = nothing_left(&graph, &split_static(graph.clone()).unwrap().left_out).unwrap().to_string();
        assert!(error.contains("`v`") && error.contains("attribute `shape`") && !error.contains("a run"), "{error}");
    }
}
