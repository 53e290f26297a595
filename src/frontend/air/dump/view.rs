//! GE's ONNX-shaped view of a graph (`ge_onnx_*.pbtxt`) back to the `ModelDef` that it shows.
//!
//! A node has the operator's type after `ge:`, its edges as GE's own files have them, and everything else as attributes:
//! those of the operator, and in `input_desc_shape:0` and their like the descriptions of its tensors. What the view leaves out
//! stays out: who calls a subgraph, truth values as such (they are numbers), and, where CANN was not asked for all
//! (`DUMP_GE_GRAPH=1`), values and texts.

mod node;

use super::schema;
use crate::frontend::air::CALLS;
use crate::frontend::air::proto::{self as ge, encode};
use crate::frontend::onnx::proto::{self as onnx, decode, kind as onnx_kind};
use crate::frontend::prototext::wire;
use crate::status::{Error, Result};
use node::Node;
use prost::bytes::Bytes;
use std::io::Read;

/// Operator type of a node that is a whole graph.
const SUBGRAPH: &str = "subgraph";
/// What GE puts before an operator's type.
const PREFIX: &str = "ge:";
/// What has CANN write all that a view can have.
const ALL: &str = "DUMP_GE_GRAPH=1";

/// The `ModelDef` that a view shows, from its text; `place` names it in errors. Each node is turned into an operator as
/// soon as it was read: memory goes with the result.
///
/// Fails with [`Error::Graph`] as [`wire::encode`] does, where it is another ONNX model, where CANN was asked for names and
/// edges alone (`DUMP_GE_GRAPH=3`), and where a node calls a graph and the view does not say which.
pub fn model_of(text: impl Read, place: &str) -> Result<Bytes> {
    let mut rest = Rest { subgraphs: Vec::new(), is_whole: true };
    let mut root = Shown::default();
    let mut take = |node: &[u8]| root.take(Bytes::copy_from_slice(node), place, &mut rest);
    let view = wire::encode_without(text, &schema::VIEW, place, NODE, &mut take)?;
    let model: onnx::Model = decode(view.into(), || place.to_owned())?;
    let Some(graph) = model.graph.into_iter().next() else {
        return Err(Error::graph(place, "there is no graph in it"));
    };
    root.name = decode::<onnx::Graph>(graph, || place.to_owned())?.name;
    link(&mut root, &rest.subgraphs, place)?;
    let graph = std::iter::once(root).chain(rest.subgraphs).map(Shown::finish).collect();
    Ok(encode(&ge::Model { graph, ..ge::Model::default() }))
}

/// Number of the nodes in a graph of the view.
const NODE: u32 = 1;

/// A graph of the view.
#[derive(Default)]
struct Shown {
    name: String,
    /// Its operators; nothing in the place of those that call graphs.
    ops: Vec<Bytes>,
    /// Those, each with its place in `ops`.
    calls: Vec<(usize, ge::Op)>,
    /// Nodes read.
    count: usize,
}

/// What is gathered while graphs are read.
struct Rest {
    subgraphs: Vec<Shown>,
    /// Whether nothing was found to be missing.
    is_whole: bool,
}

fn graph_of(bytes: Bytes, place: &str, rest: &mut Rest) -> Result<Shown> {
    let graph: onnx::Graph = decode(bytes, || place.to_owned())?;
    let mut shown = Shown { name: graph.name, ..Shown::default() };
    graph.node.into_iter().try_for_each(|node| shown.take(node, place, rest))?;
    Ok(shown)
}

impl Shown {
    /// Takes in a node: an operator, or a whole graph.
    fn take(&mut self, bytes: Bytes, place: &str, rest: &mut Rest) -> Result<()> {
        let node: onnx::Node = decode(bytes, || format!("{place}, node {}", self.count))?;
        self.count += 1;
        let at = || format!("{place}, node `{}` ({})", node.name, node.op_type);
        if node.op_type == SUBGRAPH {
            for bytes in &node.attribute {
                let attribute: onnx::Attribute = decode(bytes.clone(), at)?;
                if let Some(graph) = attribute.g.filter(|_| attribute.kind == onnx_kind::GRAPH) {
                    let mut shown = graph_of(graph, &format!("{place}, graph `{}`", node.name), rest)?;
                    shown.name.clone_from(&node.name);
                    rest.subgraphs.push(shown);
                }
            }
            return Ok(());
        }
        let Some(op_type) = node.op_type.strip_prefix(PREFIX) else {
            let reason = "the type of an operator in a view of GE's begins with `ge:`; where this is an ONNX model as text, \
                          give it in binary form (.onnx)";
            return Err(Error::graph(at(), reason));
        };
        let read = Node::read(&node, op_type, &at)?;
        if let Some(name) = read.without.filter(|_| std::mem::replace(&mut rest.is_whole, false)) {
            log::warn!(
                "{}: attribute `{name}` is not there, and others may be missing; a view written with {ALL} has all",
                at()
            );
        }
        let op = read.finish(&node, op_type.to_owned(), &at)?;
        if CALLS.contains(&op.op_type.as_str()) {
            self.calls.push((self.ops.len(), op));
            self.ops.push(Bytes::new());
        } else {
            self.ops.push(encode(&op));
        }
        Ok(())
    }

    /// The `GraphDef`.
    fn finish(mut self) -> Bytes {
        for (place, op) in &self.calls {
            self.ops[*place] = encode(op);
        }
        encode(&ge::Graph { name: self.name, op: self.ops, ..ge::Graph::default() })
    }
}

/// Gives calls the graphs that they call, as far as there is no doubt.
fn link(root: &mut Shown, subgraphs: &[Shown], place: &str) -> Result<()> {
    let mut calls = root.calls.iter_mut().map(|(_, op)| op);
    match (calls.next(), calls.next(), subgraphs) {
        (None, ..) => {
            if let Some(first) = subgraphs.first() {
                let count = subgraphs.len();
                log::warn!(
                    "{place}: the view does not say which nodes run graph `{}` and others, {count} in all",
                    first.name
                );
            }
            Ok(())
        }
        (Some(call), None, [graph]) => {
            call.subgraph_name = vec![graph.name.clone()];
            Ok(())
        }
        (Some(call), ..) => {
            let reason = "runs a graph, and the view does not say which; give the ge_proto file of the same graph";
            Err(Error::graph(format!("{place}, node `{}` ({})", call.name, call.op_type), reason))
        }
    }
}
