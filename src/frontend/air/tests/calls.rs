//! Graphs that nodes call, and graphs that they choose among.

use super::*;
use crate::frontend::air::{SUBGRAPH_NAMES, encode_model};

fn argument(name: &str, index: i64) -> proto::Op {
    with(op(name, "Data", &[], &[2, 4]), "_parent_node_index", &Attr::Int(index))
}

fn load(graphs: &[proto::Graph]) -> Result<Graph> {
    read(file(graphs).into(), "test")
}

fn body(name: &str) -> proto::Graph {
    graph_def(
        name,
        &[
            argument("in1", 1),
            argument("in0", 0),
            op("sub", "Sub", &["in0:0", "in1:0"], &[2, 4]),
            proto::Op { name: "end".into(), ..net_output(&["sub:0"]) },
        ],
    )
}

#[test]
fn a_called_graph_stands_in_the_place_of_its_call() {
    let main = graph_def(
        "main",
        &[
            op("x", "Data", &[], &[2, 4]),
            op("sub", "Relu", &["x:0"], &[2, 4]),
            call("first", &["x:0", "sub:0"], "body"),
            call("second", &["first:0", "x:0"], "body"),
            net_output(&["second:0"]),
        ],
    );
    let graph = load(&[main, body("body")]).unwrap();
    assert_eq!(graph.len(), 4);
    assert_eq!(sources(&graph, "first/sub"), ["x:0", "sub:0"]);
    assert_eq!(sources(&graph, "second/sub"), ["first/sub:0", "x:0"]);
    assert_eq!(outputs(&graph), ["second/sub:0"]);
}

#[test]
fn an_unconnected_input_of_a_call_is_one_of_its_operators() {
    let main = graph_def("main", &[op("x", "Data", &[], &[2]), call("c", &["x:0", ""], "body"), net_output(&["c:0"])]);
    assert_eq!(sources(&load(&[main, body("body")]).unwrap(), "sub"), ["x:0", ""]);
}

#[test]
fn outputs_of_a_call_follow_what_the_called_graph_says() {
    let marked = |index: i64| raw_desc("ND", &[2, 4], &[("_parent_node_index", Attr::Int(index))]);
    let swapped = graph_def(
        "body",
        &[
            argument("in", 0),
            op("a", "Relu", &["in:0"], &[2, 4]),
            op("b", "Relu", &["in:0"], &[2, 4]),
            proto::Op { input_desc: vec![marked(1), marked(0)], ..net_output(&["a:0", "b:0"]) },
        ],
    );
    let main =
        graph_def("main", &[op("x", "Data", &[], &[2]), call("c", &["x:0"], "body"), net_output(&["c:0", "c:1"])]);
    assert_eq!(outputs(&load(&[main, swapped]).unwrap()), ["b:0", "a:0"]);
}

#[test]
fn a_node_that_chooses_keeps_its_graphs_through_a_file() {
    let inner = graph_def("inner", &[argument("p", 0), net_output(&["p:0"])]);
    let branch = graph_def("then", &[argument("p", 0), call("deep", &["p:0"], "inner"), net_output(&["deep:0"])]);
    let other = graph_def("else", &[argument("p", 0), net_output(&["p:0"])]);
    let choice =
        proto::Op { subgraph_name: vec!["then".into(), "else".into()], ..op("choice", "If", &["x:0", "x:0"], &[2, 4]) };
    let unused = graph_def("unused", &[]);
    let main = graph_def("main", &[op("x", "Data", &[], &[2, 4]), choice, net_output(&["choice:0"])]);
    let graph = load(&[main, inner.clone(), branch.clone(), other.clone(), unused]).unwrap();
    let names = Attr::Strs(vec!["then".into(), "else".into()]);
    assert_eq!(node(&graph, "choice").attrs.get(SUBGRAPH_NAMES), Some(&names));
    let written = encode_model(&graph).unwrap();
    let model = proto::Model::decode(&written[..]).unwrap();
    assert_eq!(model.graph[1..], [encode(&branch), encode(&inner), encode(&other)]);
    let again = read(written.clone().into(), "again").unwrap();
    assert_eq!(encode_model(&again).unwrap(), written);
}

#[test]
fn calls_that_lead_nowhere_are_named() {
    let x = || op("x", "Data", &[], &[2]);
    let main = |call: proto::Op| graph_def("main", &[x(), call, net_output(&["c:0"])]);
    let none = graph_def("body", &[argument("p", 0)]);
    let bare = graph_def("body", &[op("p", "Data", &[], &[2]), net_output(&["p:0"])]);
    let twice = proto::Op { subgraph_name: vec!["body".into(); 2], ..call("c", &["x:0"], "body") };
    for (graphs, parts) in [
        (vec![main(call("c", &["x:0"], "gone"))], vec!["`c`", "`gone`", "not in the file"]),
        (vec![main(call("c", &["x:0"], "body")), none], vec!["`main`, output 0", "output 0 of call `c`"]),
        (vec![main(call("c", &["x:0"], "body")), bare], vec!["`p`", "_parent_node_index"]),
        (vec![main(call("c", &["x:0"], "body")), body("body")], vec!["`sub`, input 1", "no input 1"]),
        (vec![main(twice), body("body")], vec!["`c`", "2 graphs"]),
        (vec![main(call("c", &["x:0"], "body")), body("body"), body("body")], vec!["graph `body`", "second graph"]),
    ] {
        let message = load(&graphs).expect_err("the call must be refused").to_string();
        let parts: Vec<_> = parts.into_iter().map(|p| p.replace("`sub`, input 1", "`sub` (Sub), input 1")).collect();
        refused(&message, &parts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn a_graph_that_calls_itself_is_refused() {
    let own = graph_def("body", &[argument("p", 0), call("again", &["p:0"], "body"), net_output(&["again:0"])]);
    let main = graph_def("main", &[op("x", "Data", &[], &[2]), call("c", &["x:0"], "body"), net_output(&["c:0"])]);
    refused(&load(&[main, own]).unwrap_err().to_string(), &["`again`", "nested"]);
}

#[test]
fn calls_that_multiply_without_end_are_refused() {
    let level = |k: usize| {
        let (a, b) = (format!("l{}", k + 1), "p:0");
        graph_def(&format!("l{k}"), &[argument("p", 0), call("a", &[b], &a), call("b", &[b], &a), net_output(&["a:0"])])
    };
    let mut graphs = vec![graph_def("main", &[op("x", "Data", &[], &[2]), call("c", &["x:0"], "l0")])];
    graphs.extend((0..40).map(level));
    graphs.push(graph_def("l40", &[argument("p", 0), op("r", "Relu", &["p:0"], &[2]), net_output(&["r:0"])]));
    refused(&load(&graphs).unwrap_err().to_string(), &["called so often"]);
}

#[test]
fn calls_that_feed_each_other_are_a_cycle() {
    let pass = graph_def("pass", &[argument("p", 0), net_output(&["p:0"])]);
    let main = graph_def(
        "main",
        &[
            call("a", &["b:0"], "pass"),
            call("b", &["a:0"], "pass"),
            op("r", "Relu", &["a:0"], &[2]),
            net_output(&["r:0"]),
        ],
    );
    refused(&load(&[main, pass]).unwrap_err().to_string(), &["`r`", "circle"]);
}
