//! GE's ONNX-shaped view of a graph (`ge_onnx_*.pbtxt`) back to the `ModelDef` that it shows.
//!
//! A node has the operator's type after `ge:`, its edges as GE's own files have them, and everything else as attributes:
//! those of the operator, and in `input_desc_shape:0` and their like the descriptions of its tensors. What the view leaves out
//! stays out: who calls a subgraph, truth values as such (they are numbers), and, where CANN was not asked for all
//! (`DUMP_GE_GRAPH=1`), values and texts.

use super::schema;
use crate::frontend::air::proto::{self as ge, encode, kind};
use crate::frontend::air::{CALLS, attr, tensor};
use crate::frontend::onnx::proto::{self as onnx, decode, kind as onnx_kind};
use crate::frontend::prototext::wire;
use crate::graph::op::prototype::{AttrKind, prototype};
use crate::graph::{Attr, Format};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use prost::encoding::{WireType, encode_key, encode_varint};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::Read;

/// Operator type of a node that is a whole graph.
const SUBGRAPH: &str = "subgraph";
/// What GE puts before an operator's type.
const PREFIX: &str = "ge:";
/// Attributes that are fields of GE's message, and none of a tuner's business.
const BOOKKEEPING: &[&str] = &[
    "stream_id",
    "input_name",
    "src_name",
    "src_index",
    "dst_name",
    "dst_index",
    "input_i",
    "output_i",
    "workspace",
    "workspace_bytes",
    "is_input_const",
    "send_event_id_list",
    "recv_event_id_list",
];

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
    let mut message = root.finish();
    put_before(&mut message, GRAPH, 0);
    for graph in rest.subgraphs {
        let (start, graph) = (message.len(), graph.finish());
        message.extend_from_slice(&graph);
        put_before(&mut message, GRAPH, start);
    }
    Ok(message.into())
}

/// Number of the nodes in a graph of the view.
const NODE: u32 = 1;
/// Number of the graphs in a `ModelDef`.
const GRAPH: u32 = 7;
/// Number of the operators in a `GraphDef`.
const OP: u32 = 6;

/// Makes what stands from `start` on a field of this number.
fn put_before(message: &mut Vec<u8>, number: u32, start: usize) {
    let mut head = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut head);
    encode_varint((message.len() - start) as u64, &mut head);
    message.splice(start..start, head);
}

/// A graph of the view.
#[derive(Default)]
struct Shown {
    name: String,
    /// Its operators but for those that call graphs, as fields of a `GraphDef`.
    ops: Vec<u8>,
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
        } else {
            let start = self.ops.len();
            self.ops.extend_from_slice(&encode(&op));
            put_before(&mut self.ops, OP, start);
        }
        Ok(())
    }

    /// The `GraphDef`.
    fn finish(self) -> Vec<u8> {
        let mut graph = self.ops;
        for (place, op) in self.calls.iter().rev() {
            let mut call = encode(op).to_vec();
            put_before(&mut call, OP, 0);
            graph.splice(*place..*place, call);
        }
        let name = encode(&ge::Graph { name: self.name, ..ge::Graph::default() });
        graph.splice(0..0, name);
        graph
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

/// A tensor as the attributes describe it.
#[derive(Default)]
struct Shape {
    dtype: i32,
    dims: Vec<i64>,
    layout: String,
    origin_dims: Vec<i64>,
    origin_layout: String,
    device_type: String,
    data: Bytes,
    attr: Vec<Bytes>,
}

/// What the attributes of a node say.
#[derive(Default)]
struct Node {
    id: i64,
    attr: Vec<Bytes>,
    inputs: BTreeMap<usize, Shape>,
    outputs: BTreeMap<usize, Shape>,
    /// Attributes that are tensors.
    tensors: BTreeMap<String, Shape>,
    /// Whether the view has descriptions at all.
    is_described: bool,
    /// An attribute of text that is not there, though GE's operators have all of them.
    without: Option<&'static str>,
}

impl Node {
    fn read(node: &onnx::Node, op_type: &str, place: &dyn Fn() -> String) -> Result<Node> {
        let prototype = prototype(op_type);
        let attributes = node.attribute.iter().map(|bytes| decode::<onnx::Attribute>(bytes.clone(), place));
        let attributes: Vec<_> = attributes.collect::<Result<_>>()?;
        let mut read = Node::default();
        let texts = prototype.iter().flat_map(|known| &known.attrs);
        let mut texts = texts.filter(|rule| matches!(rule.kind, AttrKind::Str | AttrKind::Strs));
        if let Some(rule) = texts.find(|rule| !attributes.iter().any(|given| given.name == rule.name)) {
            if rule.required {
                let reason = format!("its attribute `{}` is not there; have the view written with {ALL}", rule.name);
                return Err(Error::graph(place(), reason));
            }
            read.without = Some(rule.name);
        }
        for attribute in &attributes {
            if let Some(name) = attribute.name.strip_suffix("_desc_dtype") {
                read.tensors.insert(name.to_owned(), Shape::default());
            }
        }
        let most = attributes.len();
        for attribute in attributes {
            let name = attribute.name.clone();
            let at = || format!("{}, attribute `{name}`", place());
            if let Some(rest) = name.strip_prefix("input_desc_") {
                read.is_described = true;
                describe(&mut read.inputs, rest, attribute, most, &at)?;
            } else if let Some(rest) = name.strip_prefix("output_desc_") {
                read.is_described = true;
                describe(&mut read.outputs, rest, attribute, most, &at)?;
            } else if name == "id" {
                read.id = attribute.i.unwrap_or(0);
            } else if !BOOKKEEPING.contains(&name.as_str()) && !read.tensor_part(&name, &attribute, &at)? {
                let wanted = prototype.and_then(|known| known.attr(&name)).map(|rule| rule.kind);
                read.attr.push(attr::entry(&name, value(attribute, wanted, &at)?));
            }
        }
        Ok(read)
    }

    /// Takes an attribute that is a part of one that is a tensor.
    fn tensor_part(&mut self, name: &str, attribute: &onnx::Attribute, place: &dyn Fn() -> String) -> Result<bool> {
        let parts = [("_desc_dtype", "dtype"), ("_desc_shape", "shape"), ("_desc_layout", "layout"), ("_data", "data")];
        let parts = parts.into_iter().chain([("_desc_device_type", "device_type")]);
        let mut found = parts.filter_map(|(suffix, part)| Some((name.strip_suffix(suffix)?, part)));
        let Some((tensor, part)) = found.find(|(tensor, _)| self.tensors.contains_key(*tensor)) else {
            return Ok(false);
        };
        if let Some(shape) = self.tensors.get_mut(tensor) {
            shape.set(part, attribute, place)?;
        }
        Ok(true)
    }

    fn finish(self, node: &onnx::Node, op_type: String, place: &dyn Fn() -> String) -> Result<ge::Op> {
        if !self.is_described {
            let reason = format!("the view does not describe its tensors; have it written with {ALL}, not 3");
            return Err(Error::graph(place(), reason));
        }
        let mut attr = self.attr;
        for (name, tensor) in self.tensors {
            let data = tensor.data.clone();
            // Without sizes it is a scalar where it has a value, and else nothing is known of it.
            let is_meant = !tensor.dims.is_empty() || !data.is_empty();
            let desc = tensor.descriptor(is_meant);
            let value = ge::Value { t: Some(encode(&ge::TensorDef { desc, data })), ..ge::Value::default() };
            attr.push(attr::entry(&name, encode(&value)));
        }
        let descriptors = |shapes: BTreeMap<usize, Shape>| {
            let count = shapes.keys().next_back().map_or(0, |last| last + 1);
            let mut shapes: FxHashMap<usize, Shape> = shapes.into_iter().collect();
            (0..count).map(|index| shapes.remove(&index).unwrap_or_default().descriptor(false)).collect()
        };
        Ok(ge::Op {
            name: node.name.clone(),
            op_type,
            input: node.input.clone(),
            attr,
            has_out_attr: true,
            id: self.id,
            input_desc: descriptors(self.inputs),
            output_desc: descriptors(self.outputs),
            subgraph_name: Vec::new(),
        })
    }
}

/// Takes what an attribute says of one of several tensors: `shape:0`, or `attr_NAME:0` for an attribute of its own.
fn describe(
    tensors: &mut BTreeMap<usize, Shape>,
    part: &str,
    attribute: onnx::Attribute,
    most: usize,
    place: &dyn Fn() -> String,
) -> Result<()> {
    // How many there are shows by those that are described.
    let Some((part, index)) = part.rsplit_once(':') else { return Ok(()) };
    let Some(own) = part.strip_prefix("attr_").map(str::to_owned) else {
        let index = index.parse().ok().filter(|&index: &usize| index < most);
        let index = index.ok_or_else(|| Error::graph(place(), "describes no tensor that there can be"))?;
        return tensors.entry(index).or_default().set(part, &attribute, place);
    };
    // A list of lists has a number of its own behind the tensor's; tuning reads none of those.
    if let Some(index) = index.parse().ok().filter(|&index: &usize| index < most) {
        let value = value(attribute, None, place)?;
        tensors.entry(index).or_default().attr.push(attr::entry(&own, value));
    }
    Ok(())
}

impl Shape {
    fn set(&mut self, part: &str, attribute: &onnx::Attribute, place: &dyn Fn() -> String) -> Result<()> {
        let text = || {
            let text = std::str::from_utf8(attribute.s.as_deref().unwrap_or_default());
            text.map(str::to_owned).map_err(|_| Error::graph(place(), "is no text, for its bytes are not UTF-8"))
        };
        match part {
            "dtype" => {
                let name = text()?;
                self.dtype = schema::data_type(&name)
                    .ok_or_else(|| Error::graph(place(), format!("`{name}` is no element type of GE's")))?;
            }
            "shape" => self.dims.clone_from(&attribute.ints),
            "origin_shape" => self.origin_dims.clone_from(&attribute.ints),
            "layout" => self.layout = text()?,
            "origin_layout" => self.origin_layout = text()?,
            "device_type" => self.device_type = text()?,
            "data" => self.data = attribute.s.clone().unwrap_or_default(),
            _ => {}
        }
        Ok(())
    }

    /// The descriptor; `is_meant` says that the shape is one, though it has no sizes.
    fn descriptor(self, is_meant: bool) -> Bytes {
        let mut attrs = self.attr;
        let mut set = |name: &str, value: Attr| attrs.push(attr::entry(name, attr::write(&value)));
        // A format may have a number behind a colon, that of the groups of a convolution.
        let plain = |name: &str| name.split(':').next().and_then(Format::from_name);
        if let Some(format) = plain(&self.layout) {
            set(tensor::FORMAT, Attr::Int(i64::from(format.ge_number())));
        }
        if let Some(format) = plain(&self.origin_layout) {
            set(tensor::ORIGIN_FORMAT, Attr::Int(i64::from(format.ge_number())));
            set(tensor::ORIGIN_FORMAT_NAME, Attr::Str(format.name().to_owned()));
        }
        let is_set = is_meant || !self.origin_dims.is_empty();
        let origin = if is_meant && self.origin_dims.is_empty() { self.dims.clone() } else { self.origin_dims };
        if is_set {
            set(tensor::ORIGIN_SHAPE, Attr::Ints(origin));
        }
        set(tensor::ORIGIN_SHAPE_SET, Attr::Bool(is_set));
        encode(&ge::Tensor {
            dtype: self.dtype,
            shape: Some(ge::Shape { dim: self.dims }),
            layout: plain(&self.layout).map_or(self.layout, |format| format.name().to_owned()),
            attr: attrs,
            has_out_attr: true,
            device_type: self.device_type,
            ..ge::Tensor::default()
        })
    }
}

/// The `AttrDef` of an attribute; `wanted` is its kind where the operator is known, for truth values are numbers in a view.
fn value(attribute: onnx::Attribute, wanted: Option<AttrKind>, place: &dyn Fn() -> String) -> Result<Bytes> {
    let list = |list: ge::ListValue| ge::Value { list: Some(encode(&list)), ..ge::Value::default() };
    let of = |val_type: i32| ge::ListValue { val_type, ..ge::ListValue::default() };
    Ok(encode(&match attribute.kind {
        onnx_kind::FLOAT => ge::Value { f: Some(attribute.f.unwrap_or(0.0)), ..ge::Value::default() },
        onnx_kind::INT if wanted == Some(AttrKind::Bool) => {
            ge::Value { b: Some(attribute.i.unwrap_or(0) != 0), ..ge::Value::default() }
        }
        onnx_kind::INTS if wanted == Some(AttrKind::Bools) => {
            list(ge::ListValue { b: attribute.ints.iter().map(|&i| i != 0).collect(), ..of(kind::BOOL) })
        }
        onnx_kind::INT => ge::Value { i: Some(attribute.i.unwrap_or(0)), ..ge::Value::default() },
        onnx_kind::STRING => ge::Value { s: Some(attribute.s.unwrap_or_default()), ..ge::Value::default() },
        onnx_kind::FLOATS => list(ge::ListValue { f: attribute.floats, ..of(kind::FLOAT) }),
        onnx_kind::INTS => list(ge::ListValue { i: attribute.ints, ..of(kind::INT) }),
        onnx_kind::STRINGS => list(ge::ListValue { s: attribute.strings, ..of(kind::STRING) }),
        other => return Err(Error::graph(place(), format!("is of kind {other}, which no view of GE's has"))),
    }))
}
