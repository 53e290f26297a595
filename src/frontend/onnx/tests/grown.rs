//! Models whose graphs within, or whose nodes, are many: the work goes with the size of the file. And graphs of one `If` that
//! contradict each other.

use super::inlined::{branch, truth, with_functions};
use super::*;
use crate::frontend::onnx::read_counted;

/// The graph, and how many nodes were read once more.
fn counted(bytes: Bytes) -> (Graph, usize) {
    read_counted(bytes, "test", None, &ModelOptions::default()).unwrap()
}

fn ifs(graph: &Graph) -> usize {
    graph.iter().filter(|(_, node)| node.op_type == "If").count()
}

#[test]
fn a_node_with_very_many_inputs_is_inferred_once_however_many_ask() {
    // Each for each would be two thousand million inputs.
    const MANY: usize = 45_000;
    let inputs = vec!["x"; MANY];
    let mut model = Model::new(17).input("x", &[4.into()]);
    model = model.node(&node("Concat", &inputs, &["joined"], &[("axis", Value::Int(0))]));
    let reader = |at: usize| node("CastLike", &["x", "joined"], &[&format!("y{at}")], &[]);
    model.graph.node.extend((0..MANY).map(|at| encode(&reader(at))));
    let graph = model.output("y7").read().unwrap();
    assert_eq!(graph.iter().filter(|(_, node)| node.op_type == "Cast").count(), MANY);
}

/// An `If` by `c` both of whose graphs call a function of the model.
fn calling(function: &str, output: &str) -> proto::Node {
    let mut call = node(function, &["x", "c"], &["z"], &[]);
    call.domain = "local".into();
    let graph = Value::Graph(branch(&[call], &[], &["z"]));
    node("If", &["c"], &[output], &[("then_branch", graph.clone()), ("else_branch", graph)])
}

#[test]
fn functions_that_call_themselves_in_an_open_choice_are_looked_into_so_deep_and_no_wider() {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    let function = |name: &str, nodes: Vec<proto::Node>| proto::Function {
        name: name.into(),
        domain: "local".into(),
        input: names(&["x", "c"]),
        output: names(&["z0"]),
        node: nodes.iter().map(encode).collect(),
        ..proto::Function::default()
    };
    let model = |wanted: usize| {
        let nodes: Vec<_> = (0..wanted).map(|at| calling("F", &format!("z{at}"))).collect();
        let mut call = node("F", &["x", "c"], &["y"], &[]).named("call");
        call.domain = "local".into();
        let model = Model::new(17).input("x", &[4.into()]).flag("c").node(&call).output("y");
        with_functions(&model, &[function("F", nodes)])
    };
    for (choices, most) in [(1, 200), (40, 4000)] {
        let (graph, nodes) = counted(model(choices));
        assert!(ifs(&graph) >= 1 && nodes < most, "{nodes} nodes were read for {choices} choices");
    }
}

#[test]
fn choices_that_hang_on_one_another_are_followed_at_once() {
    const MANY: usize = 1500;
    let mut model = Model::new(17).input("x", &[4.into(), 8.into()]);
    model = model.initializer(&ints("zero", &[0])).initializer(&ints("four", &[4]));
    let mut last = "x".to_owned();
    for at in 0..MANY {
        let names = ["s", "d", "is", "y"].map(|name| format!("{name}{at}"));
        let [sizes, size, is, output] = names.each_ref().map(String::as_str);
        let graph = |op_type: &str| Value::Graph(branch(&[node(op_type, &[&last], &["w"], &[])], &[], &["w"]));
        let graphs = [("then_branch", graph("Relu")), ("else_branch", graph("Transpose"))];
        model = model
            .node(&node("Shape", &[&last], &[sizes], &[]))
            .node(&node("Gather", &[sizes, "zero"], &[size], &[]))
            .node(&node("Equal", &[size, "four"], &[is], &[]))
            .node(&node("If", &[is], &[output], &graphs));
        last = output.to_owned();
    }
    let (graph, nodes) = counted(model.output(&last).bytes());
    let relus = graph.iter().filter(|(_, node)| node.op_type == "Relu").count();
    assert_eq!((ifs(&graph), relus), (0, MANY));
    assert!(nodes < 20 * MANY, "{nodes} nodes were read");
}

#[test]
fn a_choice_may_hang_on_the_value_that_another_gives() {
    let constant = |value: i64| {
        let tensor = proto::Tensor { name: String::new(), ..ints("", &[value]) };
        Value::Graph(branch(&[node("Constant", &[], &["w"], &[("value", Value::Tensor(tensor))])], &[], &["w"]))
    };
    let mut model =
        Model::new(17).input("x", &[4.into()]).initializer(&ints("n0", &[0])).initializer(&ints("zero", &[0]));
    let graphs = [("then_branch", constant(0)), ("else_branch", constant(1))];
    for at in 0..600 {
        let (is, next) = (format!("is{at}"), format!("n{}", at + 1));
        model = model.node(&node("Equal", &[&format!("n{at}"), "zero"], &[&is], &[])).node(&node(
            "If",
            &[&is],
            &[&next],
            &graphs,
        ));
    }
    let model = model.node(&node("Reshape", &["x", "flat"], &["y"], &[])).initializer(&ints("flat", &[-1]));
    let (graph, _) = counted(model.output("y").output("n600").bytes());
    assert_eq!(ifs(&graph), 0);
}

#[test]
fn names_of_the_network_that_look_like_ours_within_a_choice_are_told_apart() {
    // `if/p` is what the tensor of the chosen graph would be called, and `if_1/p` what it would be called then.
    let chosen = branch(&[node("Relu", &["x"], &["p"], &[]), node("Exp", &["p"], &["q"], &[])], &[], &["q"]);
    let other = branch(&[node("Neg", &["x"], &["q"], &[])], &[], &["q"]);
    let graphs = [("then_branch", Value::Graph(chosen)), ("else_branch", Value::Graph(other))];
    let model = Model::new(17)
        .input("x", &[4.into()])
        .initializer(&truth("c", true))
        .node(&node("Abs", &["x"], &["if/p"], &[]))
        .node(&node("Sqrt", &["if/p"], &["if_1/p"], &[]))
        .node(&node("If", &["c"], &["y"], &graphs).named("if"))
        .output("y")
        .output("if_1/p");
    let graph = model.read().unwrap();
    assert!(graph.find("if_2/Relu_0").is_some(), "{graph:?}");
    let makes = |tensor: &str| graph.node(graph.tensor(tensor).unwrap().node).op_type.clone();
    assert_eq!([makes("if/p"), makes("if_1/p"), makes("y")], ["Abs", "Sqrt", "Exp"]);
}

/// An `If` by a value, whose graphs are these.
fn choice(then: Bytes, other: Bytes) -> Model {
    let graphs = [("then_branch", Value::Graph(then)), ("else_branch", Value::Graph(other))];
    let choice = node("If", &["c"], &["y"], &graphs).named("if");
    Model::new(17).input("x", &[4.into()]).flag("c").node(&choice).output("y")
}

fn typed(nodes: &[proto::Node], output: &str, elem_type: i32) -> Bytes {
    let graph: proto::Graph = Message::decode(branch(nodes, &[], &[])).unwrap();
    encode(&proto::Graph { output: vec![encode(&value_info(output, elem_type, &[4.into()]))], ..graph })
}

#[test]
fn graphs_of_one_choice_that_give_another_number_of_tensors_or_other_types_are_refused_by_name() {
    let relu = || branch(&[node("Relu", &["x"], &["p"], &[])], &[], &["p"]);
    let two = branch(&[node("Relu", &["x"], &["p"], &[]), node("Abs", &["x"], &["q"], &[])], &[], &["p", "q"]);
    let cast = |to: i64| node("Cast", &["x"], &["p"], &[("to", Value::Int(to))]);
    let refused = |model: &Model, parts: &[&str]| {
        let message = model.refusal();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    choice(relu(), relu()).read().unwrap();
    refused(&choice(relu(), two), &["node `if` (If)", "has 1 outputs", "`else_branch` has 2"]);
    refused(&choice(branch(&[], &[], &[]), relu()), &["node `if` (If)", "has 1 outputs", "`then_branch` has 0"]);
    let parts = ["node `if` (If)", "output 0", "float32", "int64"];
    refused(&choice(relu(), branch(&[cast(7)], &[], &["p"])), &parts);
    // Whole numbers of another length are CANN's way of counting.
    choice(branch(&[cast(6)], &[], &["p"]), branch(&[cast(7)], &[], &["p"])).read().unwrap();
    let said = |elem_type| typed(&[node("Mystery", &["x"], &["p"], &[])], "p", elem_type);
    refused(&choice(said(1), said(7)), &parts);
    choice(said(7), said(7)).read().unwrap();
    // Within a choice that is as it should be.
    let inner = choice(relu(), branch(&[cast(7)], &[], &["p"])).graph.node.remove(0);
    let inner: proto::Node = Message::decode(inner).unwrap();
    let around = branch(&[inner], &[], &["y"]);
    refused(&choice(around, relu()), &["(If)", "float32", "int64"]);
}

#[test]
fn scales_along_an_axis_are_laid_by_what_the_operators_before_tell() {
    let model = |dims: Option<&[Dim]>| {
        let mut model = Model::new(17).initializer(&weight("s", &[3])).initializer(&scalar("one", 1.0));
        let mut input = value_info("x", FLOAT, dims.unwrap_or_default());
        if let Some(tensor) = input.kind.as_mut().and_then(|kind| kind.tensor.as_mut()).filter(|_| dims.is_none()) {
            tensor.shape = None;
        }
        model.graph.input.push(encode(&input));
        let zero = proto::Tensor { data_type: 3, ..weight("z", &[3]) };
        model
            .initializer(&zero)
            .node(&node("Relu", &["x"], &["r"], &[]))
            .node(&node("Exp", &["r"], &["e"], &[]))
            .node(&node("QuantizeLinear", &["e", "s", "z"], &["q"], &[("axis", Value::Int(1))]).named("q"))
            .node(&node("DequantizeLinear", &["q", "s", "z"], &["y"], &[("axis", Value::Int(1))]).named("dq"))
            .output("y")
    };
    // Neither the quantised tensor nor the one before is described by the file.
    let graph = model(Some(&["n".into(), 3.into(), 8.into()])).read().unwrap();
    assert!(graph.iter().all(|(_, node)| node.mapped), "{graph:?}");
    let shapes: Vec<_> = graph.iter().filter(|(_, node)| node.op_type == "Reshape").map(|(_, node)| node).collect();
    assert_eq!(shapes.len(), 2);
    assert!(shapes.iter().all(|node| fed(&graph, node, 1) == [-1, 1]));
    let graph = model(None).read().unwrap();
    let left = graph.node(graph.find("dq").unwrap());
    let why = left.attrs.str(crate::graph::WHY_UNMAPPED).unwrap();
    assert!(!left.mapped && why.contains("along axis 1") && why.contains("number of axes"), "{why}");
}
