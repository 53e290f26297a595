//! Gradients beside operators that nobody knows, and options without effect.

use super::{IDLE, OF_A_GRAPH, known_kernels};
use crate::graph::{Attr, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower;
use crate::session::options::find;
use crate::soc::Soc;
use crate::status::Error;
use crate::tune::gdat::Backward;

/// Two products whose results are exchanged, and a node of an unknown operator that reads this tensor. What it gives
/// goes into a third product; `exchanged`: which is exchanged, too.
fn training(reads: &str, exchanged: bool) -> Graph {
    let mut graph = Graph::new("training");
    let x = TensorDesc::new(DataType::Float16, Shape::new([64, 64]));
    graph.add_input("x", x).unwrap();
    let mut add = |name: &str, op_type: &str, inputs: &[&str]| {
        let inputs: Vec<Port> = inputs.iter().map(|name| Port::first(graph.find(name).unwrap())).collect();
        let mut node = Node::new(name, op_type).with_inputs(inputs);
        if op_type == "HcomAllReduce" {
            node.attrs.set("reduction", Attr::Str("sum".to_owned()));
            node.attrs.set("fusion", Attr::Int(1));
        }
        let id = graph.add(node).unwrap();
        graph.add_output(Port::first(id));
    };
    add("first", "MatMulV2", &["x", "x"]);
    add("second", "MatMulV2", &["first", "x"]);
    add("first/allreduce", "HcomAllReduce", &["first"]);
    add("odd", "NoSuchOperator", &[reads]);
    add("third", "MatMulV2", &["odd", "x"]);
    add("second/allreduce", "HcomAllReduce", &["second"]);
    if exchanged {
        add("third/allreduce", "HcomAllReduce", &["third"]);
    }
    infer::infer(&mut graph).unwrap();
    graph
}

#[test]
fn gradients_are_tuned_beside_an_unknown_operator() {
    let soc = Soc::find("Ascend910B2").unwrap();
    // A step of the optimiser, behind an exchange, or a branch of the forward pass.
    for reads in ["first/allreduce", "x"] {
        let graph = training(reads, false);
        let (lowered, left_out) = known_kernels(&graph, &soc, &lower::Settings::default()).unwrap();
        let names: Vec<&str> = left_out.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["third"], "{reads}");
        let backward = Backward::of(&graph, &lowered).unwrap();
        let training = backward.training(&backward.times(|_| (1.0, true))).unwrap();
        let exchanged = training.gradients.iter().map(|gradient| gradient.all_reduce.as_str());
        assert_eq!(exchanged.collect::<Vec<_>>(), ["first/allreduce", "second/allreduce"]);
    }
}

#[test]
fn a_gradient_of_unknown_size_leaves_no_split_to_be_found() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let graph = training("x", true);
    let (lowered, left_out) = known_kernels(&graph, &soc, &lower::Settings::default()).unwrap();
    assert_eq!(left_out.len(), 2);
    match Backward::of(&graph, &lowered) {
        Err(Error::Dynamic { tensor, .. }) => assert_eq!(tensor, "third"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_that_are_said_to_have_no_effect_are_options() {
    for name in IDLE.iter().chain(&OF_A_GRAPH) {
        assert!(find(name).is_some(), "{name}");
    }
}
