//! What ONNX asks of nodes that hold graphs, whether or not it is known which graph runs.

use super::inlined::{branch, truth, with_functions};
use super::*;
use crate::frontend::onnx::read;

fn relu() -> Bytes {
    branch(&[node("Relu", &["x"], &["p"], &[])], &[], &["p"])
}

/// A graph that says that it gives an integer.
fn integer() -> Bytes {
    let cast = node("Cast", &["x"], &["p"], &[("to", Value::Int(7))]);
    let graph: proto::Graph = Message::decode(branch(&[cast], &[], &[])).unwrap();
    encode(&proto::Graph { output: vec![encode(&value_info("p", INT64, &[4.into()]))], ..graph })
}

/// The same with a number for a type.
fn real() -> Bytes {
    let graph: proto::Graph = Message::decode(branch(&[node("Relu", &["x"], &["p"], &[])], &[], &[])).unwrap();
    encode(&proto::Graph { output: vec![encode(&value_info("p", FLOAT, &[4.into()]))], ..graph })
}

fn choice(condition: &str, graphs: &[(&str, Bytes)]) -> proto::Node {
    let graphs: Vec<_> = graphs.iter().map(|(name, graph)| (*name, Value::Graph(graph.clone()))).collect();
    node("If", &[condition], &["y"], &graphs).named("if")
}

fn both(condition: &str) -> proto::Node {
    choice(condition, &[("then_branch", relu()), ("else_branch", relu())])
}

fn base() -> Model {
    Model::new(17).input("x", &[4.into()])
}

fn refused(model: &Model, parts: &[&str]) {
    let message = model.refusal();
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

/// A model with this node, its condition known to the file, known to nobody, and within a graph that does not run.
fn told_and_untold(choosing: &proto::Node) -> [Model; 3] {
    let known = base().initializer(&truth("c", true)).node(choosing).output("y");
    let open = base().flag("c").node(choosing).output("y");
    let other = [("then_branch", relu()), ("else_branch", branch(std::slice::from_ref(choosing), &[], &["y"]))];
    let around = choice("c", &other).named("around");
    let within = base().initializer(&truth("c", true)).node(&around).output("y");
    [known, open, within]
}

#[test]
fn a_choice_without_one_of_its_graphs_is_refused_whatever_is_known_of_its_condition() {
    for (has, lacks) in [("then_branch", "else_branch"), ("else_branch", "then_branch")] {
        for model in told_and_untold(&choice("c", &[(has, relu())])) {
            refused(&model, &["node `if` (If)", &format!("no graph `{lacks}`")]);
        }
    }
    refused(&told_and_untold(&choice("c", &[("then_branch", relu())]))[2], &["in `else_branch` of `around`"]);
}

#[test]
fn graphs_of_other_types_are_refused_whatever_is_known_of_the_condition() {
    for model in told_and_untold(&choice("c", &[("then_branch", real()), ("else_branch", integer())])) {
        refused(&model, &["node `if` (If)", "output 0 as float32 and as int64"]);
    }
    for model in told_and_untold(&choice("c", &[("then_branch", real()), ("else_branch", real())])) {
        model.read().unwrap();
    }
}

#[test]
fn a_graph_that_cannot_be_read_is_refused_whatever_is_known_of_the_condition() {
    let broken = Bytes::from_static(b"\x0a\xff");
    for model in told_and_untold(&choice("c", &[("then_branch", relu()), ("else_branch", broken)])) {
        refused(&model, &["`else_branch` of node `if`"]);
    }
}

#[test]
fn a_condition_is_one_truth_value() {
    let number = proto::Tensor { data_type: INT64, int64_data: vec![1], name: "c".to_owned(), ..Default::default() };
    let two = proto::Tensor { dims: vec![2], raw_data: Bytes::from_static(&[1, 1]), ..truth("c", true) };
    let made = |op: &str| base().node(&node(op, &["x"], &["c"], &[])).node(&both("c")).output("y");
    let is_float = ["node `if` (If)", "condition is float32", "bool"];
    refused(&base().input("c", &[]).node(&both("c")).output("y"), &is_float);
    refused(&base().initializer(&scalar("c", 1.0)).node(&both("c")).output("y"), &is_float);
    refused(&made("Exp"), &is_float);
    refused(&base().initializer(&number).node(&both("c")).output("y"), &["node `if` (If)", "is int64"]);
    let constant = node("Constant", &[], &["c"], &[("value", Value::Tensor(number))]);
    refused(&base().node(&constant).node(&both("c")).output("y"), &["node `if` (If)", "is int64"]);
    refused(&base().initializer(&two).node(&both("c")).output("y"), &["node `if` (If)", "2 elements ([2])"]);
    refused(&made("IsNaN"), &["node `if` (If)", "4 elements ([4])"]);
    refused(&base().node(&both("")).output("y"), &["node `if` (If)", "has 0 conditions"]);
    // Within a graph that is read by itself.
    let within = choice("b", &[("then_branch", branch(&[both("x")], &[], &["y"])), ("else_branch", relu())]);
    refused(&base().flag("b").node(&within).output("y"), &["(If)", "condition is float32"]);
    base().flag("c").node(&both("c")).output("y").read().unwrap();
}

#[test]
fn the_graph_of_a_loop_takes_and_gives_what_its_node_does() {
    let body = |inputs: &[&str], outputs: &[&str]| {
        let nodes = [node("Relu", &["s"], &["r"], &[]), node("Identity", &["go"], &["on"], &[])];
        let graph: proto::Graph = Message::decode(branch(&nodes, &[], outputs)).unwrap();
        let input = inputs.iter().map(|name| encode(&proto::ValueInfo { name: (*name).to_owned(), kind: None }));
        encode(&proto::Graph { input: input.collect(), ..graph })
    };
    let turns = |attribute: &str, graph: Bytes| {
        let turns = node("Loop", &["", "c", "x"], &["y"], &[(attribute, Value::Graph(graph))]).named("turns");
        base().flag("c").node(&turns).output("y")
    };
    turns("body", body(&["i", "go", "s"], &["on", "r"])).read().unwrap();
    turns("body", body(&["i", "go", "s"], &["on", "r", "s"])).read().unwrap();
    let wanted = "has to take 3 and give 2";
    refused(&turns("body", body(&["i", "go"], &["on", "r"])), &["node `turns` (Loop)", "takes 2", wanted]);
    refused(&turns("body", body(&["i", "go", "s"], &["on"])), &["node `turns` (Loop)", "gives 1", wanted]);
    refused(&turns("other", body(&["i", "go", "s"], &["on", "r"])), &["node `turns` (Loop)", "no graph `body`"]);
}

#[test]
fn graphs_of_functions_are_looked_at_but_for_those_that_are_parameters() {
    let named = |name: &str| vec![name.to_owned()];
    let function = |choice: proto::Node| proto::Function {
        name: "Pick".to_owned(),
        domain: "local".to_owned(),
        input: vec!["x".to_owned(), "c".to_owned()],
        output: named("y"),
        node: vec![encode(&choice)],
        ..proto::Function::default()
    };
    let mut call = node("Pick", &["x", "c"], &["z"], &[("given", Value::Graph(relu()))]);
    call.domain = "local".to_owned();
    let model = base().initializer(&truth("c", true)).node(&call).output("z");
    let read = |choice| read(with_functions(&model, &[function(choice)]), "test", None, &ModelOptions::default());
    let error = read(choice("c", &[("then_branch", relu())])).unwrap_err().to_string();
    assert!(error.contains("in function local::Pick") && error.contains("no graph `else_branch`"), "{error}");
    let mut taken = choice("c", &[("else_branch", relu())]);
    let parameter = proto::Attribute {
        name: "then_branch".to_owned(),
        ref_attr_name: "given".to_owned(),
        kind: 5,
        ..proto::Attribute::default()
    };
    taken.attribute.push(encode(&parameter));
    read(taken).unwrap();
}
