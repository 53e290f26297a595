//! TensorFlow's frozen graphs: a `GraphDef`, in binary form or as text, to a [`Graph`] of Ascend operator types.
//!
//! [`proto`] holds the messages, [`text`] makes them of a text, [`tensor`] reads shapes and constants, [`map`] the rules. Nodes come in any order and
//! refer to each other by name; control edges say nothing about speed and are not kept.

mod map;
mod proto;
mod tensor;
#[cfg(test)]
mod tests;
mod text;

use crate::frontend::miscount::miscounted;
use crate::frontend::unreadable;
use crate::graph::{Attr, CONST, DATA, DataType, Format, Graph, Node, NodeId, Port, Shape, TensorDesc};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use tensor::{Reason, decode};

/// More outputs than any operator has.
const MAX_OUTPUTS: i64 = 1 << 16;

/// Operators that run nothing and give nothing.
const DROPPED: &[&str] = &["NoOp", "Assert", "ControlTrigger"];

/// The bytes as text, where they are: the tag of a node's operator type is a control character.
fn as_text(data: &Bytes) -> Option<&str> {
    let text = std::str::from_utf8(data).ok()?;
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    (text.contains('{') && text.chars().all(is_text)).then_some(text)
}

/// Whether the bytes are a graph: the text of one, or protobuf whose first nodes have a name and an operator type.
pub fn is_graph(data: &Bytes) -> bool {
    if let Some(text) = as_text(data) {
        return text::is_graph(text);
    }
    let Ok(file) = decode::<proto::Graph>(data.clone()) else { return false };
    let is_node = |bytes: &Bytes| {
        let Ok(node) = decode::<proto::Node>(bytes.clone()) else { return false };
        let is_type = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '>' | '.');
        !node.name.is_empty() && !node.op.is_empty() && node.op.chars().all(is_type)
    };
    !file.node.is_empty() && file.node.iter().take(8).all(is_node)
}

/// Reads a frozen graph in either form, which gets this name.
///
/// Inputs are not bound and shapes not inferred; tensors carry what `_output_shapes` says of them. Fails with
/// [`Error::Graph`] that names the node whose attributes or inputs make no sense.
pub fn read(data: Bytes, name: &str) -> Result<Graph> {
    let fail = |reason: &str| {
        let advice = "a frozen GraphDef is read, in binary form or as text: freeze a SavedModel first";
        Error::graph(format!("graph `{name}`"), format!("{reason}; {advice}"))
    };
    let file = match as_text(&data) {
        Some(text) => text::read(text, &format!("graph `{name}`"))?,
        None => decode(data.clone())
            .map_err(|error| fail(&unreadable::reason(&data, "a GraphDef", Some("a GraphDef"), error)))?,
    };
    drop(data);
    let mut nodes = Vec::with_capacity(file.node.len());
    for (index, bytes) in file.node.into_iter().enumerate() {
        let node: proto::Node = decode(bytes).map_err(|reason| fail(&format!("node {index}: {reason}")))?;
        if node.name.is_empty() || node.op.is_empty() {
            return Err(fail(&format!("node {index} has no name or no operator type")));
        }
        nodes.push(node);
    }
    if nodes.iter().all(|node| DROPPED.contains(&node.op.as_str())) {
        return Err(fail("there is no operator in it"));
    }
    let mut graph = Graph::new(name);
    let wired = Wiring::of(&nodes)?;
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| !DROPPED.contains(&node.op.as_str())) {
        let built = build(node, &wired, index).map_err(|reason| Error::graph(place(node), reason))?;
        graph.add(built)?;
    }
    mark_filters(&mut graph);
    let open = |node: &Node| node.op_type != DATA && node.op_type != CONST;
    let read = &wired.read;
    let unread = graph.iter().filter(|(id, node)| open(node) && !read.contains(id));
    let outputs = unread.map(|(id, _)| Port::first(id)).collect();
    graph.set_outputs(outputs);
    graph.validate()?;
    Ok(graph)
}

fn place(node: &proto::Node) -> String {
    format!("node `{}` ({})", node.name, node.op)
}

/// Who reads what.
struct Wiring {
    /// Data inputs of each node of the file.
    inputs: Vec<Vec<Port>>,
    /// Nodes that someone reads.
    read: FxHashSet<NodeId>,
    /// How many outputs of a node are asked for, where that is more than one.
    asked: FxHashMap<String, i64>,
}

impl Wiring {
    fn of(nodes: &[proto::Node]) -> Result<Wiring> {
        let mut ids: FxHashMap<&str, NodeId> = FxHashMap::default();
        let mut dropped: FxHashSet<&str> = FxHashSet::default();
        for node in nodes {
            if DROPPED.contains(&node.op.as_str()) {
                dropped.insert(&node.name);
                continue;
            }
            let id = NodeId(ids.len() as u32);
            if ids.insert(&node.name, id).is_some() {
                return Err(Error::graph(place(node), "a second node has the same name"));
            }
        }
        let mut wiring =
            Wiring { inputs: Vec::with_capacity(nodes.len()), read: FxHashSet::default(), asked: FxHashMap::default() };
        for node in nodes {
            let mut ports = Vec::with_capacity(node.input.len());
            for input in node.input.iter().filter(|input| !input.starts_with('^')) {
                let (source, output) = reference(input);
                let Some(&id) = ids.get(source) else {
                    let what = if dropped.contains(source) { "gives no tensor" } else { "does not exist" };
                    return Err(Error::graph(place(node), format!("it reads `{input}`, which {what}")));
                };
                let Some(output) = output.filter(|&output| output < MAX_OUTPUTS) else {
                    return Err(Error::graph(place(node), format!("it reads `{input}`, which is no output")));
                };
                wiring.read.insert(id);
                if output > 0 {
                    let asked = wiring.asked.entry(source.to_owned()).or_default();
                    *asked = (*asked).max(output + 1);
                }
                ports.push(Port { node: id, output: output as u32 });
            }
            wiring.inputs.push(ports);
        }
        Ok(wiring)
    }
}

/// Name and output of an input's `name` or `name:output`.
fn reference(input: &str) -> (&str, Option<i64>) {
    match input.rsplit_once(':') {
        Some((name, output)) => (name, output.parse().ok().filter(|output| *output >= 0)),
        None => (input, Some(0)),
    }
}

/// A node of the graph from one of the file.
fn build(node: &proto::Node, wiring: &Wiring, index: usize) -> Result<Node, Reason> {
    let mut attrs = FxHashMap::default();
    for bytes in &node.attr {
        let entry: proto::Entry = decode(bytes.clone())?;
        attrs.insert(entry.key, entry.value.unwrap_or_default());
    }
    let mut built = Node::new(&node.name, &node.op);
    match node.op.as_str() {
        "Const" => {
            let tensor = attrs.get("value").and_then(|value| value.tensor.clone());
            let (desc, value) = tensor::constant(tensor.ok_or("it has no attribute `value`")?)?;
            built.value = Some(value);
            return Ok(built.with_outputs(vec![desc]));
        }
        "Placeholder" | "PlaceholderV2" | "PlaceholderWithDefault" => {
            DATA.clone_into(&mut built.op_type);
            let dtype = attrs.get("dtype").and_then(|value| value.kind).ok_or("it has no attribute `dtype`")?;
            let shape = match attrs.get("shape").and_then(|value| value.shape.clone()) {
                Some(shape) => tensor::shape(shape, true)?,
                None => Shape::unknown_rank(),
            };
            return Ok(built.with_outputs(vec![TensorDesc::new(tensor::data_type(dtype)?, shape)]));
        }
        _ => {}
    }
    for (name, value) in &attrs {
        if let Some(value) = attribute(value).map_err(|reason| format!("attribute `{name}`: {reason}"))?
            && !name.starts_with('_')
        {
            built.attrs.set(name.as_str(), value);
        }
    }
    built = built.with_inputs(wiring.inputs[index].iter().copied());
    map::apply(&mut built)?;
    if let Some(wrong) = miscounted(&built) {
        return Err(wrong.reason);
    }
    let count = map::outputs(&built).max(wiring.asked.get(node.name.as_str()).copied().unwrap_or(1));
    if !(1..MAX_OUTPUTS).contains(&count) {
        return Err(format!("it has {count} outputs"));
    }
    built.outputs = stated_outputs(&attrs, count as usize);
    Ok(built)
}

/// The outputs, with what the file says of their shapes.
fn stated_outputs(attrs: &FxHashMap<String, proto::Value>, count: usize) -> Vec<TensorDesc> {
    let list = attrs.get("_output_shapes").and_then(|value| value.list.clone());
    let stated = list.and_then(|list| decode::<proto::List>(list).ok()).unwrap_or_default().shape;
    let shape = |index: usize| stated.get(index).and_then(|bytes| tensor::shape(bytes.clone(), false).ok());
    let desc = |index| TensorDesc::new(DataType::Undefined, shape(index).unwrap_or(Shape::unknown_rank()));
    (0..count).map(desc).collect()
}

/// An attribute that has a place in the graph.
fn attribute(value: &proto::Value) -> Result<Option<Attr>, Reason> {
    Ok(if let Some(bytes) = &value.list {
        let list: proto::List = decode(bytes.clone())?;
        match (list.i.is_empty(), list.f.is_empty()) {
            (false, _) => Some(Attr::Ints(list.i)),
            (true, false) => Some(Attr::Floats(list.f.into_iter().map(f64::from).collect())),
            (true, true) => None,
        }
    } else if let Some(text) = &value.s {
        std::str::from_utf8(text).ok().map(|text| Attr::Str(text.to_owned()))
    } else if let Some(kind) = value.kind {
        DataType::from_tensorflow(kind).map(Attr::Type)
    } else if let Some(shape) = &value.shape {
        tensor::shape(shape.clone(), false)?.dims().map(|dims| Attr::Ints(dims.to_vec()))
    } else {
        let number = value.i.map(Attr::Int).or(value.f.map(|f| Attr::Float(f64::from(f))));
        number.or(value.b.map(Attr::Bool))
    })
}

/// Filters lie as HWCN (DHWCN), whatever the layout of the images: says so along the way from the constant.
fn mark_filters(graph: &mut Graph) {
    for index in 0..graph.len() {
        let node = graph.node(NodeId(index as u32));
        let format = match node.op_type.as_str() {
            "Conv2D" | "DepthwiseConv2D" | "Conv2DBackpropInput" => Format::Hwcn,
            "Conv3D" => Format::Dhwcn,
            _ => continue,
        };
        let mut at = node.input(1);
        // A filter marked before ends the walk, so that all walks together stay short.
        while let Some(port) = at {
            let source = graph.node_mut(port.node);
            let Some(output) = source.outputs.get_mut(port.output as usize).filter(|o| o.format != format) else {
                break;
            };
            output.format = format;
            at = if source.op_type == "Identity" { source.input(0) } else { None };
        }
    }
}
