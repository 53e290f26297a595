//! Nets of a few layers, and what becomes of them.

mod hostile;
mod layers;
mod weights;

use crate::frontend::{Framework, ModelOptions, load_memory};
use crate::graph::{Graph, Node};
use crate::status::Result;

pub fn load(text: &str) -> Result<Graph> {
    load_memory(text.as_bytes(), "test", Some(Framework::Caffe), &ModelOptions::default())
}

pub fn refusal(text: &str) -> String {
    load(text).expect_err("the net must be refused").to_string()
}

pub fn named<'g>(graph: &'g Graph, name: &str) -> &'g Node {
    graph.node(graph.find(name).unwrap_or_else(|| panic!("no node `{name}`")))
}

/// Shape of a node's first output.
pub fn shape(graph: &Graph, name: &str) -> String {
    named(graph, name).outputs[0].shape.to_string()
}

/// A net with one input `x` of this shape, and these layers.
pub fn net(dims: &[i64], layers: &str) -> String {
    format!("layer {{ name: 'x' type: 'Input' top: 'x' input_param {{ shape {{ dim: {dims:?} }} }} }}\n{layers}")
}

/// One layer `y` that reads `x` and writes `y`.
pub fn layer(kind: &str, fields: &str) -> String {
    format!("layer {{ name: \"y\" type: \"{kind}\" bottom: \"x\" top: \"y\" {fields} }}\n")
}
