//! Nodes that hold graphs and stay: what their graphs take and give.

use super::inlined::{branch, truth};
use super::*;
use crate::frontend::{Gear, bind_inputs, load_memory};
use crate::graph::WHY_UNMAPPED;
use crate::graph::infer::{Cause, require_static, split_static};

fn load_with(model: &Model, options: &ModelOptions) -> Graph {
    load_memory(&model.bytes(), "test", None, options).unwrap()
}

fn load(model: &Model) -> Graph {
    load_with(model, &ModelOptions::default())
}

fn given(dims: &[i64]) -> ModelOptions {
    ModelOptions { shapes: vec![("x".to_owned(), dims.to_vec())], ..ModelOptions::default() }
}

/// A choice by a value between a product with a weight of these columns, and a sum with a tensor around it.
fn choice(columns: i64) -> proto::Node {
    let product = branch(&[node("MatMul", &["x", "w"], &["p"], &[])], &[weight("w", &[8, columns])], &["p"]);
    let sum = branch(&[node("Add", &["x", "around"], &["p"], &[])], &[], &["p"]);
    let graphs = [("then_branch", Value::Graph(product)), ("else_branch", Value::Graph(sum))];
    node("If", &["c"], &["y"], &graphs).named("if")
}

fn chosen(columns: i64, rows: Dim) -> Model {
    let model = Model::new(17).input("x", &[rows, 8.into()]).flag("c").initializer(&weight("around", &[1, 8]));
    model
        .initializer(&weight("v", &[8, 5]))
        .node(&choice(columns))
        .node(&node("MatMul", &["y", "v"], &["z"], &[]))
        .output("z")
}

fn shape_of(graph: &Graph, tensor: &str) -> String {
    graph.desc(graph.tensor(tensor).unwrap()).shape.to_string()
}

fn why<'g>(graph: &'g Graph, name: &str) -> &'g str {
    let node = graph.node(graph.find(name).unwrap());
    assert!(!node.mapped);
    node.attrs.str(WHY_UNMAPPED).unwrap()
}

#[test]
fn what_both_graphs_of_a_choice_give_alike_has_their_sizes_and_what_they_read_is_read() {
    let graph = load(&chosen(8, 4.into()));
    assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "z")], ["[4,8]", "[4,5]"]);
    assert_eq!(split_static(graph.clone()).unwrap().left_out, []);
    let why = why(&graph, "if");
    assert!(
        why.contains("values of input `c`") && why.contains("then_branch: MatMul; else_branch: Add")
            || why.contains("else_branch: Add; then_branch: MatMul"),
        "{why}"
    );
    let read: Vec<_> =
        graph.node(graph.find("if").unwrap()).inputs.iter().flatten().map(|port| graph.tensor_name(*port)).collect();
    assert_eq!(read, ["c", "x", "around"]);
}

#[test]
fn graphs_of_a_choice_that_give_other_sizes_are_why_nothing_behind_it_is_tuned() {
    let graph = load(
        &chosen(3, 4.into()).input("s", &[3.into(), 3.into()]).node(&node("Relu", &["s"], &["r"], &[])).output("r"),
    );
    assert_eq!(shape_of(&graph, "y"), "[?]");
    let left_out = split_static(graph.clone()).unwrap().left_out;
    let [one] = left_out.as_slice() else { panic!("{left_out:?}") };
    assert_eq!((one.cause, one.source.as_str()), (Cause::UnknownOperator, "if"));
    assert!(one.why.as_ref().unwrap().contains("other sizes, such as [4,3] and [4,8]"), "{one:?}");
    let error = require_static(&graph).unwrap_err().to_string();
    assert!(error.contains("other sizes, such as [4,3] and [4,8]") && !error.contains("no shape rule"), "{error}");
}

#[test]
fn what_was_found_holds_for_the_sizes_for_which_it_was_found() {
    // Given where the model is read, whether it is open or states others.
    for rows in ["n".into(), 4.into()] {
        let mut graph = load_with(&chosen(8, rows), &given(&[6, 8]));
        assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "z")], ["[6,8]", "[6,5]"]);
        bind_inputs(&mut graph, &given(&[6, 8])).unwrap();
        assert_eq!(shape_of(&graph, "z"), "[6,5]");
        bind_inputs(&mut graph, &given(&[7, 8])).unwrap();
        assert_eq!(shape_of(&graph, "y"), "[?]");
        bind_inputs(&mut graph, &given(&[6, 8])).unwrap();
        assert_eq!(shape_of(&graph, "z"), "[6,5]");
    }
    // Gears are sizes that will be given.
    let gears = [2, 5].map(Gear::Batch).to_vec();
    let mut graph = load_with(&chosen(8, "n".into()), &ModelOptions { gears, ..ModelOptions::default() });
    for rows in [5, 2] {
        bind_inputs(&mut graph, &given(&[rows, 8])).unwrap();
        assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "z")], [format!("[{rows},8]"), format!("[{rows},5]")]);
    }
    bind_inputs(&mut graph, &given(&[3, 8])).unwrap();
    assert_eq!(shape_of(&graph, "y"), "[?]");
    let open = load(&chosen(8, "n".into()));
    assert!(why(&open, "if").contains("not all sizes of what it reads are known"), "{}", why(&open, "if"));
}

#[test]
fn sizes_that_hang_on_a_value_around_are_found_for_that_value_alone() {
    // Both graphs make a tensor of as many elements as x has; the size comes in as a value.
    let made = || branch(&[node("ConstantOfShape", &["n"], &["p"], &[])], &[], &["p"]);
    let graphs = [("then_branch", Value::Graph(made())), ("else_branch", Value::Graph(made()))];
    let model = Model::new(17).input("x", &["n".into(), 8.into()]).flag("c").initializer(&ints("flat", &[-1]));
    let model = model
        .node(&node("Size", &["x"], &["s"], &[]))
        .node(&node("Reshape", &["s", "flat"], &["n"], &[]))
        .node(&node("If", &["c"], &["y"], &graphs).named("if"))
        .node(&node("Relu", &["y"], &["z"], &[]));
    let mut graph = load_with(&model.output("z"), &given(&[2, 8]));
    assert_eq!(shape_of(&graph, "z"), "[16]");
    bind_inputs(&mut graph, &given(&[3, 8])).unwrap();
    assert_eq!(shape_of(&graph, "z"), "[?]");
}

#[test]
fn a_choice_may_hang_on_the_sizes_of_one_that_stays() {
    let graphs = |op_type: &str| branch(&[node(op_type, &["y"], &["p"], &[])], &[], &["p"]);
    let second = [("then_branch", Value::Graph(graphs("Exp"))), ("else_branch", Value::Graph(graphs("Abs")))];
    let model = chosen(8, 4.into())
        .initializer(&ints("eight", &[8]))
        .initializer(&ints("at", &[1]))
        .node(&node("Shape", &["y"], &["sizes"], &[]))
        .node(&node("Gather", &["sizes", "at"], &["size"], &[]))
        .node(&node("Equal", &["size", "eight"], &["is_eight"], &[]))
        .node(&node("If", &["is_eight"], &["e"], &second).named("second"))
        .output("e");
    let graph = load(&model);
    assert_eq!(shape_of(&graph, "e"), "[4,8]");
    assert!(graph.iter().any(|(_, node)| node.op_type == "Exp"), "{graph:?}");
    assert!(graph.find("if").is_some() && graph.find("second").is_none());
}

/// A graph that doubles what is handed on and collects its first column; `ends` says how it goes on.
fn round(ends: &proto::Node, widens: bool) -> Bytes {
    let next = if widens {
        node("Concat", &["s", "s"], &["so"], &[("axis", Value::Int(0))])
    } else {
        node("Add", &["s", "around"], &["so"], &[])
    };
    let column =
        node("ReduceMax", &["so"], &["column"], &[("axes", Value::Ints(vec![1])), ("keepdims", Value::Int(0))]);
    let info = |name: &str| encode(&proto::ValueInfo { name: name.to_owned(), kind: None });
    encode(&proto::Graph {
        node: [&next, &column, ends].map(encode).to_vec(),
        input: ["i", "goes_on", "s"].map(info).to_vec(),
        output: ["again", "so", "column"].map(info).to_vec(),
        ..proto::Graph::default()
    })
}

fn looped(body: Bytes, rounds: Option<i64>) -> Graph {
    let model = Model::new(17).input("x", &[4.into(), 8.into()]).initializer(&weight("around", &[1, 8]));
    let model = match rounds {
        Some(rounds) => model.initializer(&ints("m", &[rounds])),
        None => model.input("m", &[]),
    };
    let node = node("Loop", &["m", "", "x"], &["y", "columns"], &[("body", Value::Graph(body))]).named("loop");
    load(&model.node(&node).output("y").output("columns"))
}

#[test]
fn what_a_loop_hands_on_keeps_its_sizes_and_what_it_collects_has_as_many_as_it_runs() {
    let always = node("Identity", &["goes_on"], &["again"], &[]);
    let graph = looped(round(&always, false), Some(6));
    assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "columns")], ["[4,8]", "[6,4]"]);
    assert!(why(&graph, "loop").contains("runs 6 times"), "{}", why(&graph, "loop"));
    // How often is an input's value, or what a round decides.
    assert_eq!(shape_of(&looped(round(&always, false), None), "columns"), "[?,4]");
    let asks = node("Cast", &["i"], &["again"], &[("to", Value::Int(9))]);
    let graph = looped(round(&asks, false), Some(6));
    assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "columns")], ["[4,8]", "[?,4]"]);
    let graph = looped(round(&always, true), Some(6));
    assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "columns")], ["[?]", "[?]"]);
    // What never runs gives what it begins with, whatever it would make of that.
    for (ends, rounds) in [(&always, 0), (&asks, 0), (&always, -3)] {
        let graph = looped(round(ends, true), Some(rounds));
        assert_eq!([shape_of(&graph, "y"), shape_of(&graph, "columns")], ["[4,8]", "[0,8]"]);
        assert!(why(&graph, "loop").contains("runs 0 times"), "{}", why(&graph, "loop"));
    }
}

#[test]
fn a_loop_that_does_not_begin_runs_no_round_and_one_that_may_not_is_not_counted() {
    let goes_on = node("Constant", &[], &["again"], &[("value", Value::Tensor(truth("", true)))]);
    let begun = |begins: Option<bool>| {
        let model = Model::new(17).input("x", &[4.into(), 8.into()]).initializer(&weight("around", &[1, 8]));
        let model = model.initializer(&ints("m", &[6]));
        let model = match begins {
            Some(begins) => model.initializer(&truth("begins", begins)),
            None => model.input("begins", &[]),
        };
        let body = ("body", Value::Graph(round(&goes_on, false)));
        let node = node("Loop", &["m", "begins", "x"], &["y", "columns"], &[body]).named("loop");
        shape_of(&load(&model.node(&node).output("y").output("columns")), "columns")
    };
    assert_eq!([Some(true), Some(false), None].map(begun), ["[6,4]", "[0,4]", "[?,4]"]);
}

#[test]
fn a_scan_collects_along_an_axis_what_it_takes_along_another() {
    let info = |name: &str| encode(&proto::ValueInfo { name: name.to_owned(), kind: None });
    let body = encode(&proto::Graph {
        node: [node("Add", &["s", "part"], &["so"], &[]), node("Relu", &["so"], &["out"], &[])]
            .each_ref()
            .map(encode)
            .to_vec(),
        input: ["s", "part"].map(info).to_vec(),
        output: ["so", "out"].map(info).to_vec(),
        ..proto::Graph::default()
    });
    let attrs = [
        ("body", Value::Graph(body)),
        ("num_scan_inputs", Value::Int(1)),
        ("scan_input_axes", Value::Ints(vec![1])),
        ("scan_output_axes", Value::Ints(vec![-1])),
    ];
    let scan = node("Scan", &["begin", "x"], &["end", "outs"], &attrs).named("scan");
    let model = Model::new(17).input("x", &[4.into(), 7.into(), 8.into()]).input("begin", &[4.into(), 8.into()]);
    let graph = load(&model.node(&scan).output("end").output("outs"));
    assert_eq!([shape_of(&graph, "end"), shape_of(&graph, "outs")], ["[4,8]", "[4,8,7]"]);
}

#[test]
fn parameters_of_a_function_around_count_within() {
    let mut cast = node("Cast", &["a"], &["p"], &[]);
    cast.attribute.push(encode(&proto::Attribute {
        name: "to".into(),
        ref_attr_name: "type".into(),
        kind: 2,
        ..Default::default()
    }));
    let graphs = [
        ("then_branch", Value::Graph(branch(&[cast.clone()], &[], &["p"]))),
        ("else_branch", Value::Graph(branch(&[cast], &[], &["p"]))),
    ];
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    let function = proto::Function {
        name: "Choose".into(),
        domain: "local".into(),
        input: names(&["a", "by"]),
        output: names(&["b"]),
        node: vec![encode(&node("If", &["by"], &["b"], &graphs).named("inner"))],
        ..proto::Function::default()
    };
    let mut call = node("Choose", &["x", "c"], &["y"], &[("type", Value::Int(10))]).named("call");
    call.domain = "local".into();
    let model = Model::new(17).input("x", &[4.into(), 8.into()]).flag("c").node(&call).output("y");
    let mut whole: proto::Model = Message::decode(model.bytes()).unwrap();
    whole.functions = vec![encode(&function)];
    let graph = load_memory(&encode(&whole), "test", None, &ModelOptions::default()).unwrap();
    let desc = graph.desc(graph.outputs()[0]);
    assert_eq!(format!("{} {}", desc.dtype.name(), desc.shape), "float16 [4,8]");
}

#[test]
fn open_choices_within_choices_and_broken_graphs_end_in_a_node_that_stays() {
    let nest = |inner: proto::Node, _| {
        let graph = branch(&[inner], &[], &["y"]);
        node(
            "If",
            &["c"],
            &["y"],
            &[("then_branch", Value::Graph(graph.clone())), ("else_branch", Value::Graph(graph))],
        )
    };
    let deep = |levels: usize| {
        let model = Model::new(17).input("x", &[4.into(), 8.into()]).flag("c");
        load(&model.node(&(0..levels).fold(node("Relu", &["x"], &["y"], &[]), nest)).output("y"))
    };
    assert_eq!(shape_of(&deep(6), "y"), "[4,8]");
    let graphs = ["then_branch", "else_branch"].map(|name| {
        // Nobody writes what is read within.
        (name, Value::Graph(branch(&[node("Relu", &["nobody"], &["p"], &[])], &[], &["p"])))
    });
    let model = Model::new(17).input("x", &[4.into()]).flag("c").initializer(&truth("unused", true));
    let graph = load(&model.node(&node("If", &["c"], &["y"], &graphs).named("if")).output("y"));
    assert!(why(&graph, "if").contains("does not tell"), "{}", why(&graph, "if"));
}
