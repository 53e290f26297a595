//! Sizes of what a node gives that holds graphs of its own, as its reader found them by inferring these graphs.
//!
//! They hold for what the node read then. With other sizes, or other values that follow from sizes, they do not count.

use super::call::Inferred;
use crate::{Attr, CONST, Constant, DataType, Graph, Node, NodeId, Shape, TensorDesc};
use rustc_hash::FxHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

/// Attribute of a node of an unknown operator: what it read, in the words of [`read_by`], once for each of the sizes for which
/// something was found ([`Attr::Strs`]).
const FOUND_FOR: &str = "_aoe_found_for";
/// Attribute of such a node: for each of those, the sizes of each output ([`Attr::IntLists`]), those of an output whose rank
/// is not known as [`UNKNOWN_RANK`].
const FOUND_SHAPES: &str = "_aoe_found_shapes";
const UNKNOWN_RANK: &[i64] = &[-2];

/// Notes what a node gives for what it reads in this graph, whose shapes are inferred; what was noted for the same gives
/// way. Types do not hang on sizes: they become those of its outputs.
pub fn note_found(graph: &mut Graph, inferred: &Graph, id: NodeId, results: &[TensorDesc]) {
    let read = read_by(inferred, inferred.node(id));
    let node = graph.node_mut(id);
    let (mut keys, mut shapes) =
        noted(node).map_or_else(Default::default, |(keys, shapes)| (keys.to_vec(), shapes.to_vec()));
    if let Some(at) = keys.iter().position(|key| *key == read) {
        keys.remove(at);
        shapes.drain(at * results.len()..(at + 1) * results.len());
    }
    keys.push(read);
    shapes.extend(results.iter().map(|desc| desc.shape.dims().unwrap_or(UNKNOWN_RANK).to_vec()));
    node.attrs.set(FOUND_FOR, Attr::Strs(keys));
    node.attrs.set(FOUND_SHAPES, Attr::IntLists(shapes));
    for (output, found) in node.outputs.iter_mut().zip(results) {
        if output.dtype == DataType::Undefined {
            output.dtype = found.dtype;
        }
    }
}

/// What is noted at a node, where it is as many sizes as the node has outputs for each key.
fn noted(node: &Node) -> Option<(&[String], &[Vec<i64>])> {
    let (Some(Attr::Strs(keys)), Some(Attr::IntLists(shapes))) =
        (node.attrs.get(FOUND_FOR), node.attrs.get(FOUND_SHAPES))
    else {
        return None;
    };
    (shapes.len() == keys.len() * node.outputs.len()).then_some((keys, shapes))
}

/// What was found of a node's outputs, where it reads the same now.
pub(super) fn found(graph: &Graph, node: &Node) -> Option<Inferred> {
    let (keys, shapes) = noted(node)?;
    let read = read_by(graph, node);
    let at = keys.iter().position(|key| *key == read)?;
    let shape =
        |dims: &Vec<i64>| if dims == UNKNOWN_RANK { Shape::unknown_rank() } else { Shape::new(dims.as_slice()) };
    let outputs = shapes.iter().skip(at * node.outputs.len()).zip(&node.outputs);
    let outputs = outputs.map(|(dims, output)| TensorDesc::new(output.dtype, shape(dims))).collect();
    Some(Inferred { outputs, attrs: Vec::new() })
}

/// The sizes of what a node reads, and the values among them that follow from others; those of constants never change.
fn read_by(graph: &Graph, node: &Node) -> String {
    let mut text = String::new();
    for port in node.inputs.iter().flatten() {
        let source = graph.node(port.node);
        let mut hasher = FxHasher::default();
        match &source.value {
            Some(Constant::Ints(values)) => values.hash(&mut hasher),
            Some(Constant::Floats(values)) => values.iter().for_each(|value| value.to_bits().hash(&mut hasher)),
            Some(Constant::Stored(_) | Constant::Opaque) | None => {}
        }
        let value = if source.op_type == CONST { 0 } else { hasher.finish() };
        // Writing to a string does not fail.
        let _ = write!(text, "{}#{value:x};", graph.desc(*port).shape);
    }
    text
}
