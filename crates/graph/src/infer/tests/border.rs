//! Networks whose sizes are not known from some point on.

use crate::infer::{Cause, LeftOut, in_words, infer, split_static};
use crate::{Constant, DataType, Graph, Node, Port, Shape, TensorDesc};
use aoe_base::status::Error;

fn tensor(dims: &[i64]) -> TensorDesc {
    TensorDesc::new(DataType::Float16, Shape::new(dims))
}

/// A product, whose result is looked through for what is not zero: `NonZero` gives as many columns as it finds. What is
/// made of them is reshaped to a known size, and goes on from there.
fn detector() -> Graph {
    let mut graph = Graph::new("detector");
    let x = graph.add_input("x", tensor(&[4, 8])).unwrap();
    let weight = graph.add_const("w", tensor(&[8, 6]), Constant::Opaque).unwrap();
    let scores = Port::first(graph.add(Node::new("scores", "MatMulV2").with_inputs([x, weight])).unwrap());
    let found = Port::first(graph.add(Node::new("found", "NonZero").with_inputs([scores])).unwrap());
    let cast = Port::first(graph.add(Node::new("cast", "Cast").with_inputs([found])).unwrap());
    let flat = TensorDesc::new(DataType::Int64, Shape::new([2]));
    let flat = graph.add_const("flat", flat, Constant::Ints(vec![2, 8])).unwrap();
    let kept = Port::first(graph.add(Node::new("kept", "Reshape").with_inputs([cast, flat])).unwrap());
    let boxes = Port::first(graph.add(Node::new("boxes", "MatMulV2").with_inputs([kept, weight])).unwrap());
    let labels = Port::first(graph.add(Node::new("labels", "Relu").with_inputs([scores])).unwrap());
    for port in [boxes, labels, cast] {
        graph.add_output(port);
    }
    graph
}

#[test]
fn what_lies_behind_unknown_sizes_is_named_and_the_rest_stays_whole() {
    let mut graph = detector();
    infer(&mut graph).unwrap();
    let split = split_static(graph).unwrap();
    let told = split.left_out.iter().map(|node| (node.name.as_str(), node.cause, node.source.as_str()));
    assert_eq!(told.collect::<Vec<_>>(), [("found", Cause::Run, "found"), ("cast", Cause::Run, "found")]);
    split.graph.validate().unwrap();
    crate::infer::require_static(&split.graph).unwrap();
    let inputs: Vec<_> = split.graph.inputs().map(|(_, node)| node.name.as_str()).collect();
    assert_eq!(inputs, ["x", "kept"], "what the border gives back is an input");
    let outputs: Vec<_> = split.graph.outputs().iter().map(|&port| split.graph.tensor_name(port)).collect();
    assert_eq!(outputs, ["boxes", "labels", "scores"], "what is left to the border is an output");
}

#[test]
fn a_network_of_known_sizes_stays_as_it_is() {
    let mut graph = Graph::new("whole");
    let x = graph.add_input("x", tensor(&[4, 8])).unwrap();
    let relu = graph.add(Node::new("r", "Relu").with_inputs([x])).unwrap();
    graph.add_output(Port::first(relu));
    infer(&mut graph).unwrap();
    let split = split_static(graph).unwrap();
    assert_eq!((split.graph.len(), split.left_out.len(), split.graph.outputs().len()), (2, 0, 1));
}

#[test]
fn an_input_without_sizes_is_an_error_that_asks_for_them() {
    let mut graph = Graph::new("open");
    let x = graph.add_input("x", tensor(&[-1, 8])).unwrap();
    graph.add(Node::new("r", "Relu").with_inputs([x])).unwrap();
    infer(&mut graph).unwrap();
    let error = split_static(graph).unwrap_err();
    assert!(matches!(error, Error::Dynamic { .. }) && error.to_string().contains("input_shape"), "{error}");
}

#[test]
fn an_unknown_operator_whose_result_nobody_knows_is_in_front_of_the_border() {
    let mut graph = Graph::new("odd");
    let x = graph.add_input("x", tensor(&[4, 8])).unwrap();
    let mut odd = Node::new("odd", "Odd").with_inputs([x]);
    odd.mapped = false;
    let odd = Port::first(graph.add(odd).unwrap());
    graph.add(Node::new("r", "Relu").with_inputs([odd])).unwrap();
    infer(&mut graph).unwrap();
    let split = split_static(graph).unwrap();
    let expected = LeftOut {
        name: "r".into(),
        origin_type: "Relu".into(),
        cause: Cause::UnknownOperator,
        source: "odd".into(),
        source_type: "Odd".into(),
        why: None,
    };
    assert_eq!(split.left_out, [expected]);
    assert!(split.graph.find("odd").is_some());
}

#[test]
fn what_follows_from_an_input_without_a_shape_is_left_out_and_the_rest_is_not() {
    let mut graph = Graph::new("late");
    let late = graph.add_input("late", TensorDesc::unknown()).unwrap();
    let x = graph.add_input("x", tensor(&[4, 8])).unwrap();
    graph.add(Node::new("a", "Relu").with_inputs([late])).unwrap();
    graph.add(Node::new("b", "Relu").with_inputs([x])).unwrap();
    infer(&mut graph).unwrap();
    let split = split_static(graph).unwrap();
    let told: Vec<_> =
        split.left_out.iter().map(|node| (node.name.as_str(), node.cause, node.source.as_str())).collect();
    assert_eq!(told, [("a", Cause::Undescribed, "late")]);
    assert!(split.graph.find("b").is_some());
    let words = in_words(&split.left_out);
    assert!(words.len() == 1 && words[0].contains("inputs without a shape, `late`"), "{words:?}");
}

#[test]
fn what_follows_from_the_same_unknown_node_by_several_ways_has_one_cause() {
    let mut graph = Graph::new("deep");
    let x = graph.add_input("x", tensor(&[4, 8])).unwrap();
    let odd = Port::first(graph.add(Node::new("odd", "NoSuchOperator").with_inputs([x])).unwrap());
    let a = Port::first(graph.add(Node::new("a", "Relu").with_inputs([odd])).unwrap());
    let second = Port::first(graph.add(Node::new("second", "NoSuchOperatorEither").with_inputs([a])).unwrap());
    graph.add(Node::new("c", "Add").with_inputs([x, second])).unwrap();
    infer(&mut graph).unwrap();
    let left_out = split_static(graph).unwrap().left_out;
    assert_eq!(left_out.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["a", "second", "c"]);
    assert!(left_out.iter().all(|node| node.source == "odd" && node.cause == Cause::UnknownOperator), "{left_out:?}");
}

/// `Enter`, a head without `LoopCond`, as hand-made graphs have it, and a branch within the loop that reads what is around it.
#[test]
fn loops_and_conditionals_within_each_other_end_where_they_end() {
    let mut graph = Graph::new("nested");
    let x = graph.add_input("x", tensor(&[4, 4])).unwrap();
    let is_more = graph.add_input("more", TensorDesc::new(DataType::Bool, Shape::scalar())).unwrap();
    let add = |graph: &mut Graph, name: &str, op: &str, inputs: &[Port]| {
        let outputs = if ["Switch", "Merge"].contains(&op) { 2 } else { 1 };
        let node = Node::new(name, op).with_inputs(inputs.iter().copied());
        Port::first(graph.add(node.with_outputs(vec![TensorDesc::unknown(); outputs])).unwrap())
    };
    let entered = add(&mut graph, "enter", "Enter", &[x]);
    let head = add(&mut graph, "head", "Merge", &[entered, entered]);
    let leaves = add(&mut graph, "leaves", "Switch", &[head, is_more]);
    let stays = Port { output: 1, ..leaves };
    let branch = add(&mut graph, "branch", "Switch", &[stays, is_more]);
    let one = add(&mut graph, "one", "Relu", &[branch]);
    let joined = add(&mut graph, "joined", "Merge", &[one, branch]);
    let body = add(&mut graph, "body", "Relu", &[joined]);
    let next = add(&mut graph, "next", "NextIteration", &[body]);
    let exit = add(&mut graph, "exit", "Exit", &[leaves]);
    let after = add(&mut graph, "after", "Relu", &[exit]);
    graph.node_mut(head.node).inputs[1] = Some(next);
    graph.node_mut(head.node).outputs[0] = tensor(&[4, 4]);
    graph.add_output(after);
    infer(&mut graph).unwrap();
    let split = split_static(graph).unwrap();
    let told: Vec<_> = split.left_out.iter().map(|node| (node.name.as_str(), node.cause)).collect();
    assert_eq!(told, [("one", Cause::Flow), ("body", Cause::Flow)]);
    assert!(split.left_out.iter().all(|node| node.why.as_ref().is_some_and(|why| why.contains("loop"))));
    assert!(split.graph.find("after").is_some());
}
