//! Rules against the shapes that ONNX's and TensorFlow's specifications give.

mod border;
mod chains;
mod cube;
mod detection;
mod images;
mod language;
mod moving;
mod reducing;
mod served;
mod shaping;
mod torch;
mod training;

use super::{infer, require_static};
use crate::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc};
use aoe_base::status::Result;

/// An input of the operator under test.
#[derive(Debug, Clone)]
pub(super) enum In {
    /// A float32 tensor of these sizes that is known only at run time; -1 is an open size.
    T(Vec<i64>),
    /// The same in another type.
    Typed(DataType, Vec<i64>),
    /// A tensor of unknown rank.
    Open,
    /// A constant list of integers.
    Ints(Vec<i64>),
    /// A constant integer.
    Int(i64),
    /// A constant list of numbers.
    Floats(Vec<f64>),
    /// An optional input left out.
    Absent,
}

pub(super) fn t(dims: impl Into<Vec<i64>>) -> In {
    In::T(dims.into())
}

pub(super) fn ints(values: impl Into<Vec<i64>>) -> In {
    In::Ints(values.into())
}

/// The node named `op` with its inputs, inferred.
pub(super) fn graph_of(op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], outputs: usize) -> Graph {
    let mut graph = Graph::new("test");
    let mut node = Node::new("op", op_type).with_outputs(vec![TensorDesc::unknown(); outputs]);
    for (i, input) in inputs.iter().enumerate() {
        node.inputs.push(add_input(&mut graph, &format!("in{i}"), input));
    }
    for (name, value) in attrs {
        node.attrs.set(*name, value.clone());
    }
    let op = graph.add(node).unwrap();
    graph.add_output(Port::first(op));
    graph
}

fn add_input(graph: &mut Graph, name: &str, input: &In) -> Option<Port> {
    let list = |n: usize| Shape::new([n as i64]);
    let constant = |graph: &mut Graph, dtype, shape, value| {
        Some(graph.add_const(name, TensorDesc::new(dtype, shape), value).unwrap())
    };
    match input {
        In::T(dims) => Some(graph.add_input(name, TensorDesc::new(DataType::Float, Shape::new(dims.clone()))).unwrap()),
        In::Typed(dtype, dims) => {
            Some(graph.add_input(name, TensorDesc::new(*dtype, Shape::new(dims.clone()))).unwrap())
        }
        In::Open => Some(graph.add_input(name, TensorDesc::new(DataType::Float, Shape::unknown_rank())).unwrap()),
        In::Ints(v) => constant(graph, DataType::Int64, list(v.len()), Constant::Ints(v.clone())),
        In::Int(v) => constant(graph, DataType::Int64, Shape::scalar(), Constant::Ints(vec![*v])),
        In::Floats(v) => constant(graph, DataType::Float, list(v.len()), Constant::Floats(v.clone())),
        In::Absent => None,
    }
}

/// Shapes of the outputs, or the error's text.
pub(super) fn shapes(op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], outputs: usize) -> Result<String, String> {
    let mut graph = graph_of(op_type, inputs, attrs, outputs);
    infer(&mut graph).map_err(|e| e.to_string())?;
    let node = graph.node(graph.find("op").unwrap());
    Ok(node.outputs.iter().map(|d| d.shape.to_string()).collect::<Vec<_>>().join(" "))
}

/// Asserts the shape of one output.
#[track_caller]
pub(super) fn one(op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], expected: &str) {
    assert_eq!(shapes(op_type, inputs, attrs, 1).as_deref(), Ok(expected), "{op_type} {inputs:?} {attrs:?}");
}

/// Asserts that inference refuses the node, names it, and says this.
#[track_caller]
pub(super) fn refused(op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], reason: &str) {
    let message = shapes(op_type, inputs, attrs, 1).unwrap_err();
    assert!(message.contains("node `op`") && message.contains(op_type), "the node is not named: {message}");
    assert!(message.contains(reason), "`{reason}` is not in: {message}");
}

pub(super) fn list(values: &[i64]) -> Attr {
    Attr::Ints(values.to_vec())
}

pub(super) fn text(value: &str) -> Attr {
    Attr::Str(value.to_owned())
}

#[test]
fn what_the_rule_leaves_open_the_old_description_fills_in() {
    let mut graph = graph_of("Reshape", &[t([4, 6]), In::Typed(DataType::Int64, vec![2])], &[], 1);
    let op = graph.find("op").unwrap();
    graph.node_mut(op).outputs[0] = TensorDesc::new(DataType::Float, Shape::new([-1, 8]));
    infer(&mut graph).unwrap();
    assert_eq!(graph.node(op).outputs[0].shape.to_string(), "[?,8]");
}

#[test]
fn what_the_rule_knows_wins_over_an_old_description() {
    let mut graph = graph_of("Relu", &[t([4, 6])], &[], 1);
    let op = graph.find("op").unwrap();
    graph.node_mut(op).outputs[0] = TensorDesc::new(DataType::Float, Shape::new([1, 6]));
    infer(&mut graph).unwrap();
    assert_eq!(graph.node(op).outputs[0].shape.to_string(), "[4,6]");
}

#[test]
fn an_open_dimension_is_named_with_its_symbol() {
    let mut graph = graph_of("Relu", &[t([-1, 128])], &[], 1);
    let input = graph.find("in0").unwrap();
    graph.node_mut(input).attrs.set(super::DIM_NAMES, Attr::Strs(vec!["batch".into(), String::new()]));
    infer(&mut graph).unwrap();
    let message = require_static(&graph).unwrap_err().to_string();
    assert!(message.contains("`in0`") && message.contains("[?,128]") && message.contains("`batch`"), "{message}");
}

#[test]
fn an_operator_without_a_rule_keeps_what_the_file_says_and_is_named_where_that_is_nothing() {
    let mut graph = graph_of("MyOwnOperator", &[t([4])], &[], 1);
    let op = graph.find("op").unwrap();
    graph.node_mut(op).mapped = false;
    infer(&mut graph).unwrap();
    require_static(&graph).unwrap();
    graph.add(Node::new("reader", "Relu").with_inputs([Port::first(op)])).unwrap();
    infer(&mut graph).unwrap();
    let message = require_static(&graph).unwrap_err().to_string();
    assert!(message.contains("`op`") && message.contains("MyOwnOperator"), "{message}");
    graph.node_mut(op).outputs[0] = TensorDesc::new(DataType::Float, Shape::new([9]));
    infer(&mut graph).unwrap();
    require_static(&graph).unwrap();
}

#[test]
fn outputs_that_nobody_reads_may_stay_unknown() {
    let mut graph = graph_of("MyOwnOperator", &[t([4])], &[], 2);
    let op = graph.find("op").unwrap();
    graph.node_mut(op).outputs[0] = TensorDesc::new(DataType::Float, Shape::new([9]));
    infer(&mut graph).unwrap();
    require_static(&graph).unwrap();
    let reader = Node::new("reader", "Relu").with_inputs([Port { node: op, output: 1 }]);
    graph.add(reader).unwrap();
    infer(&mut graph).unwrap();
    assert!(require_static(&graph).unwrap_err().to_string().contains("`op:1`"));
}
