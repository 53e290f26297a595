//! Graphs in the place of nodes: functions of the model, and branches that a constant chooses. What shapes choose stands in
//! `chosen`.

use super::*;
use crate::frontend::onnx::read;

/// A model with functions, in bytes.
pub(super) fn with_functions(model: &Model, functions: &[proto::Function]) -> Bytes {
    let mut whole: proto::Model = Message::decode(model.bytes()).unwrap();
    whole.functions = functions.iter().map(encode).collect();
    encode(&whole)
}

fn load(model: &Model, functions: &[proto::Function]) -> Result<Graph> {
    let mut graph = read(with_functions(model, functions), "test", None, &ModelOptions::default())?;
    crate::graph::infer::infer(&mut graph)?;
    Ok(graph)
}

fn function(name: &str, input: &[&str], output: &[&str], nodes: &[proto::Node]) -> proto::Function {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    proto::Function {
        name: name.into(),
        domain: "local".into(),
        input: names(input),
        output: names(output),
        node: nodes.iter().map(encode).collect(),
        ..proto::Function::default()
    }
}

fn call(name: &str, op_type: &str, inputs: &[&str], outputs: &[&str], attrs: &[(&str, Value)]) -> proto::Node {
    let mut call = node(op_type, inputs, outputs, attrs).named(name);
    call.domain = "local".into();
    call
}

/// An attribute that takes the value of a parameter.
fn taken(name: &str, parameter: &str) -> Bytes {
    encode(&proto::Attribute { name: name.into(), ref_attr_name: parameter.into(), kind: 2, ..Default::default() })
}

/// A product with a weight and a bend, as a function with a parameter.
fn block() -> proto::Function {
    let mut softmax = node("Softmax", &["p"], &["y"], &[]);
    softmax.attribute.push(taken("axis", "along"));
    let mut block = function("Block", &["x", "w"], &["y"], &[node("MatMul", &["x", "w"], &["p"], &[]), softmax]);
    block.attribute_proto.push(encode(&attribute("along", Value::Int(-1))));
    block
}

fn names(graph: &Graph) -> Vec<&str> {
    graph
        .iter()
        .filter(|(_, node)| !["Data", "Const"].contains(&node.op_type.as_str()))
        .map(|(_, n)| n.name.as_str())
        .collect()
}

#[test]
fn a_function_of_the_model_stands_in_the_place_of_each_call() {
    let model = Model::new(17)
        .input("x", &[4.into(), 8.into()])
        .initializer(&weight("w", &[8, 8]))
        .node(&call("first", "Block", &["x", "w"], &["a"], &[]))
        .node(&call("second", "Block", &["a", "w"], &["b"], &[("along", Value::Int(0))]))
        .output("b");
    let graph = load(&model, &[block()]).unwrap();
    assert_eq!(names(&graph), ["first/MatMul_0", "first/Softmax_1", "second/MatMul_0", "second/Softmax_1"]);
    let axes = |name: &str| graph.node(graph.find(name).unwrap()).attrs.ints("axes").map(<[i64]>::to_vec);
    assert_eq!((axes("first/Softmax_1"), axes("second/Softmax_1")), (Some(vec![-1]), Some(vec![0])));
    assert_eq!(graph.desc(graph.outputs()[0]).shape.to_string(), "[4,8]");
}

#[test]
fn functions_that_call_each_other_without_end_or_too_often_are_refused() {
    let model = Model::new(17).input("x", &[4.into()]).node(&call("c", "F0", &["x"], &["y"], &[])).output("y");
    let circle = function("F0", &["a"], &["b"], &[call("", "F0", &["a"], &["b"], &[])]);
    let message = load(&model, &[circle]).unwrap_err().to_string();
    assert!(message.contains("function local::F0: calls itself") && message.contains("as a Loop"), "{message}");
    let to = |name: &str, other: &str| function(name, &["a"], &["b"], &[call("", other, &["a"], &["b"], &[])]);
    let message = load(&model, &[to("F0", "F1"), to("F1", "F2"), to("F2", "F1")]).unwrap_err().to_string();
    let circle = ["function local::F1: calls itself", "(local::F1 -> local::F2 -> local::F1)"];
    assert!(circle.iter().all(|part| message.contains(part)), "{message}");
    // One after the other is no circle.
    let twice = [call("", "F1", &["a"], &["m"], &[]), call("", "F1", &["m"], &["b"], &[])];
    let relu = function("F1", &["a"], &["b"], &[node("Relu", &["a"], &["b"], &[])]);
    load(&model, &[function("F0", &["a"], &["b"], &twice), relu]).unwrap();
    // Each calls the next twice: 2^40 nodes.
    let doubling = |at: usize| {
        let next = format!("F{}", at + 1);
        let twice = [call("", &next, &["a"], &["m"], &[]), call("", &next, &["m"], &["b"], &[])];
        function(&format!("F{at}"), &["a"], &["b"], &twice)
    };
    let functions: Vec<_> = (0..40).map(doubling).collect();
    let message = load(&model, &functions).unwrap_err().to_string();
    assert!(message.contains("memory"), "{message}");
    let message = load(&model, &[function("F0", &[], &["b"], &[])]).unwrap_err().to_string();
    assert!(message.contains("reads 1 tensors"), "{message}");
}

/// The graph of a branch.
pub(super) fn branch(nodes: &[proto::Node], initializers: &[proto::Tensor], outputs: &[&str]) -> Bytes {
    let output = |name: &&str| encode(&proto::ValueInfo { name: (*name).to_owned(), kind: None });
    encode(&proto::Graph {
        node: nodes.iter().map(encode).collect(),
        initializer: initializers.iter().map(encode).collect(),
        output: outputs.iter().map(output).collect(),
        ..proto::Graph::default()
    })
}

/// A choice between a product with a weight of its own, and the tensor around it as it is.
pub(super) fn choice() -> proto::Node {
    let chosen = branch(&[node("MatMul", &["x", "w"], &["p"], &[])], &[weight("w", &[8, 3])], &["p"]);
    let other = branch(&[], &[], &["x"]);
    node("If", &["c"], &["y"], &[("then_branch", Value::Graph(chosen)), ("else_branch", Value::Graph(other))])
        .named("if")
}

pub(super) fn truth(name: &str, value: bool) -> proto::Tensor {
    proto::Tensor {
        name: name.into(),
        data_type: 9,
        raw_data: Bytes::from(vec![u8::from(value)]),
        ..Default::default()
    }
}

#[test]
fn the_branch_that_a_constant_chooses_stands_in_the_place_of_the_choice() {
    let model = |value: bool, by_node: bool| {
        let model = Model::new(17).input("x", &[4.into(), 8.into()]);
        let model = if by_node {
            model.node(&node("Constant", &[], &["c"], &[("value", Value::Tensor(truth("", value)))]))
        } else {
            model.initializer(&truth("c", value))
        };
        load(&model.node(&choice()).node(&node("Relu", &["y"], &["z"], &[])).output("z"), &[]).unwrap()
    };
    for by_node in [false, true] {
        let (chosen, other) = (model(true, by_node), model(false, by_node));
        assert_eq!(chosen.desc(chosen.outputs()[0]).shape.to_string(), "[4,3]");
        assert_eq!(other.desc(other.outputs()[0]).shape.to_string(), "[4,8]");
        assert!(chosen.find("if/MatMul_0").is_some() && other.find("if/MatMul_0").is_none());
    }
}
