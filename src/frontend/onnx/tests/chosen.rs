//! `If` whose condition follows from static shapes, as exporters write it.

use super::inlined::{branch, choice, truth};
use super::*;
use crate::frontend::{bind_inputs, load_memory};
use crate::graph::WHY_UNMAPPED;

/// Whether a size of `x` is one, as PyTorch asks it before it squeezes; `name` is the condition.
fn is_one(x: &str, axis: &str, name: &str) -> Vec<proto::Node> {
    let [shape, size, equal] = ["shape", "size", "equal"].map(|part| format!("{name}_{part}"));
    vec![
        node("Shape", &[x], &[&shape], &[]),
        node("Gather", &[&shape, axis], &[&size], &[]),
        node("Equal", &[&size, "one"], &[&equal], &[]).named(&equal),
        node("Cast", &[&equal], &[name], &[("to", Value::Int(9))]),
    ]
}

/// A tensor without its axis 0 if that is of size one, else as it is.
fn squeezed(x: &str, condition: &str, output: &str) -> proto::Node {
    let one = branch(&[node("Squeeze", &[x, "zero"], &["s"], &[])], &[], &["s"]);
    let other = branch(&[node("Identity", &[x], &["s"], &[])], &[], &["s"]);
    let graphs = [("then_branch", Value::Graph(one)), ("else_branch", Value::Graph(other))];
    node("If", &[condition], &[output], &graphs).named(&format!("if_{output}"))
}

fn numbers(model: Model) -> Model {
    model.initializer(&ints("zero", &[0])).initializer(&ints("one", &[1]))
}

fn squeezing(size: Dim) -> Model {
    let model = numbers(Model::new(17)).input("x", &[size, 8.into()]);
    let model = is_one("x", "zero", "c").iter().fold(model, Model::node);
    model.node(&squeezed("x", "c", "y")).node(&node("Relu", &["y"], &["z"], &[])).output("z")
}

fn given(dims: &[i64]) -> ModelOptions {
    ModelOptions { shapes: vec![("x".to_owned(), dims.to_vec())], ..ModelOptions::default() }
}

fn load_with(model: &Model, options: &ModelOptions) -> Graph {
    load_memory(&model.bytes(), "test", None, options).unwrap()
}

fn result(graph: &Graph) -> String {
    graph.desc(graph.outputs()[0]).shape.to_string()
}

/// Why the `If` of this name stands in the graph.
fn why<'g>(graph: &'g Graph, name: &str) -> &'g str {
    let node = graph.node(graph.find(name).unwrap());
    assert!(!node.mapped && node.attrs.get("then_branch").is_none());
    node.attrs.str(WHY_UNMAPPED).unwrap()
}

#[test]
fn static_shapes_choose_and_the_sizes_that_a_caller_gives_count() {
    let graph = load_with(&squeezing(1.into()), &ModelOptions::default());
    assert_eq!(result(&graph), "[8]");
    assert!(graph.find("if_y/Squeeze_0").is_some() && graph.find("if_y").is_none());
    assert_eq!(result(&load_with(&squeezing(3.into()), &ModelOptions::default())), "[3,8]");
    assert_eq!(result(&load_with(&squeezing(3.into()), &given(&[1, 8]))), "[8]");
    assert_eq!(result(&load_with(&squeezing("n".into()), &given(&[1, 8]))), "[8]");
    let open = load_with(&squeezing("n".into()), &ModelOptions::default());
    assert!(why(&open, "if_y").contains("sizes of `x`"), "{}", why(&open, "if_y"));
}

#[test]
fn sizes_that_choose_otherwise_later_are_refused() {
    let mut graph = load_with(&squeezing(1.into()), &ModelOptions::default());
    bind_inputs(&mut graph, &given(&[1, 8])).unwrap();
    let message = bind_inputs(&mut graph, &given(&[2, 8])).unwrap_err().to_string();
    assert!(
        message.contains("Cast") && message.contains("make it true") && message.contains("now it is false"),
        "{message}"
    );
}

#[test]
fn a_choice_may_hang_on_what_an_earlier_one_made() {
    let model = numbers(Model::new(17)).input("x0", &[1.into(), 1.into(), 1.into(), 5.into()]);
    let step = |model: Model, at: usize| {
        let (x, next, condition) = (format!("x{at}"), format!("x{}", at + 1), format!("c{at}"));
        let model = is_one(&x, "zero", &condition).iter().fold(model, Model::node);
        model.node(&squeezed(&x, &condition, &next))
    };
    let graph = load_with(&(0..40).fold(model, step).output("x40"), &ModelOptions::default());
    assert_eq!(result(&graph), "[5]");
    assert!(graph.iter().all(|(_, node)| node.mapped));
}

#[test]
fn a_branch_may_choose_again_with_tensors_of_its_own_and_of_those_around() {
    // The inner condition compares a size of a tensor of the outer branch with an initializer there.
    let inner = node("MatMul", &["p", "w"], &["q"], &[]);
    let inner = branch(&[inner], &[weight("w", &[8, 3])], &["q"]);
    let other = branch(&[], &[], &["x"]);
    let graphs = [("then_branch", Value::Graph(inner)), ("else_branch", Value::Graph(other.clone()))];
    let nodes = [
        node("Relu", &["x"], &["p"], &[]),
        node("Size", &["p"], &["n"], &[]),
        node("Greater", &["n", "few"], &["more"], &[]),
        node("Not", &["more"], &["c"], &[]),
        node("If", &["c"], &["r"], &graphs).named("inner"),
    ];
    let outer = branch(&nodes, &[ints("few", &[100])], &["r"]);
    let graphs = [("then_branch", Value::Graph(outer)), ("else_branch", Value::Graph(other))];
    let model = numbers(Model::new(17)).input("x", &[4.into(), 8.into()]);
    let model = is_one("x", "one", "unlike").iter().fold(model, Model::node);
    let model =
        model.node(&node("Not", &["unlike"], &["c"], &[])).node(&node("If", &["c"], &["y"], &graphs).named("outer"));
    let graph = load_with(&model.output("y"), &ModelOptions::default());
    assert_eq!(result(&graph), "[4,3]");
    assert!(graph.find("outer/inner/MatMul_0").is_some(), "{graph:?}");
    assert!(graph.iter().all(|(_, node)| node.mapped));
}

#[test]
fn a_branch_may_have_a_sparse_weight() {
    let sparse = proto::SparseTensor { values: encode(&scalar("w", 1.0)), dims: vec![8, 3] };
    let whole = proto::Graph {
        node: vec![encode(&node("MatMul", &["x", "w"], &["p"], &[]))],
        sparse_initializer: vec![encode(&sparse)],
        output: vec![encode(&proto::ValueInfo { name: "p".to_owned(), kind: None })],
        ..proto::Graph::default()
    };
    let other = branch(&[node("Relu", &["x"], &["p"], &[])], &[], &["p"]);
    let graphs = [("then_branch", Value::Graph(encode(&whole))), ("else_branch", Value::Graph(other))];
    let model = Model::new(17).input("x", &[4.into(), 8.into()]).initializer(&truth("c", true));
    let chooser = node("If", &["c"], &["y"], &graphs);
    assert_eq!(result(&load_with(&model.node(&chooser).output("y"), &ModelOptions::default())), "[4,3]");
}

#[test]
fn a_choice_that_a_run_makes_stays_one_node_and_says_why() {
    let model = Model::new(17).input("x", &[4.into(), 8.into()]).flag("c");
    let graph = load_with(&model.clone().node(&choice()).output("y"), &ModelOptions::default());
    assert!(why(&graph, "if").contains("values of input `c`"), "{}", why(&graph, "if"));
    let model = Model::new(17).input("x", &[4.into(), 8.into()]).node(&node("Mystery", &["x"], &["c"], &[]).named("m"));
    let graph = load_with(&model.node(&choice()).output("y"), &ModelOptions::default());
    assert!(why(&graph, "if").contains("`m` (Mystery)"), "{}", why(&graph, "if"));
}

#[test]
fn choices_within_choices_without_end_are_refused() {
    let deep = |levels: usize| {
        let model = Model::new(17).input("x", &[4.into(), 8.into()]).initializer(&truth("c", true));
        let nest = |inner: proto::Node, _| {
            let other = branch(&[node("Abs", &["x"], &["y"], &[])], &[], &["y"]);
            let graphs = [("then_branch", branch(&[inner], &[], &["y"])), ("else_branch", other)];
            let graphs = graphs.map(|(name, graph)| (name, Value::Graph(graph)));
            node("If", &["c"], &["y"], &graphs)
        };
        model.node(&(0..levels).fold(node("Relu", &["x"], &["y"], &[]), nest)).output("y")
    };
    assert_eq!(result(&load_with(&deep(60), &ModelOptions::default())), "[4,8]");
    let message = deep(70).refusal();
    assert!(message.contains("nested more than"), "{message}");
}

#[test]
fn a_choice_of_which_only_a_later_result_is_read_is_laid_out_too() {
    let graph_of = |op_type: &str| {
        branch(&[node("Neg", &["x"], &["a"], &[]), node(op_type, &["x"], &["b"], &[])], &[], &["a", "b"])
    };
    let graphs = [("then_branch", Value::Graph(graph_of("Exp"))), ("else_branch", Value::Graph(graph_of("Abs")))];
    for first in ["unread", ""] {
        let model = numbers(Model::new(17)).input("x", &[1.into(), 8.into()]);
        let model = is_one("x", "zero", "c").iter().fold(model, Model::node);
        let model = model.node(&node("If", &["c"], &[first, "y"], &graphs).named("if"));
        let graph = load_with(&model.node(&node("Relu", &["y"], &["z"], &[])).output("z"), &ModelOptions::default());
        assert!(graph.iter().any(|(_, n)| n.op_type == "Exp") && graph.find("if").is_none(), "{first:?} {graph:?}");
    }
}

#[test]
fn a_condition_that_is_not_followed_though_its_sizes_are_static_is_not_said_to_hang_on_them() {
    let model = numbers(Model::new(17)).input("x", &[1.into(), 8.into()]);
    let model = is_one("x", "zero", "c0").iter().fold(model, Model::node);
    let parts = ["not", "c0"];
    let model = model
        .node(&node("Not", &["c0"], &["not"], &[]))
        .node(&node("Concat", &parts, &["both"], &[("axis", Value::Int(0))]))
        .node(&node("Split", &["both"], &["p", "c"], &[("axis", Value::Int(0))]));
    let graph = load_with(&model.node(&squeezed("x", "c", "y")).output("y"), &ModelOptions::default());
    let why = why(&graph, "if_y");
    assert!(why.starts_with("its condition is computed, and its value is not followed;"), "{why}");
}
