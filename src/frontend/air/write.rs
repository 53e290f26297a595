//! A graph to `ModelDef`: the same graph gives the same bytes.

use super::conform::conformed;
use super::proto::{self, Value, decode};
use super::tensor::{self, Parts};
use super::{CONSTANTS, CONTROL_INPUTS, CONTROL_OUTPUTS, INDEX, INPUTS, NET_OUTPUT};
use super::{ORIGIN_TYPE, SUBGRAPH_NAMES, SUBGRAPHS, UNMAPPED, attr, names};
use crate::frontend::content::Content;
use crate::graph::{Attr, Attrs, CONST, Constant, DATA, Format, Graph, Node, Port, Weight, infer};
use crate::status::{Error, Result};
use prost::Message;
use prost::bytes::Bytes;

/// Name of the node whose inputs are the outputs of the network.
const OUTPUT_NODE: &str = "Node_Output";

/// Where weights begin in an om file: the unit in which the device moves them.
const WEIGHT_ALIGNMENT: u64 = 512;

/// No protobuf message is larger.
pub const MAX_MESSAGE: u64 = i32::MAX as u64;

/// Numbers of the fields that are put together here, because they may hold a weight.
mod field {
    /// `ModelDef.graph`.
    pub const GRAPH: u32 = 7;
    /// `GraphDef.op`.
    pub const OP: u32 = 6;
    /// `OpDef.attr`.
    pub const ATTR: u32 = 10;
    /// An entry's key and value.
    pub const KEY: u32 = 1;
    pub const VALUE: u32 = 2;
    /// `AttrDef.t`.
    pub const TENSOR: u32 = 12;
    /// `TensorDef.desc` and `TensorDef.data`.
    pub const DESC: u32 = 1;
    pub const DATA: u32 = 2;
}

/// The `.air` file of a graph, in the form that GE compiles ([`conformed`]).
///
/// A constant whose value the graph does not have (because its file had none) has none in the file. Where the weights
/// make the file larger than protobuf can be, they are left out, which is said. Fails with [`Error::Graph`] for a graph
/// that is none, and where the rest alone is too large.
pub fn content(graph: &Graph) -> Result<Content> {
    let graph = &conformed(graph)?;
    let model = Writer { graph, weights: Weights::Inside }.model()?;
    if model.len() <= MAX_MESSAGE {
        return Ok(model);
    }
    let model = Writer { graph, weights: Weights::LeftOut }.model()?;
    if model.len() > MAX_MESSAGE {
        let reason = "takes more than 2 GiB in GE's IR, the limit of protobuf";
        return Err(Error::graph(format!("graph `{}`", graph.name), reason));
    }
    log::warn!(
        "graph `{}`: its weights take more than 2 GiB, the limit of an .air file; they are left out of it",
        graph.name
    );
    Ok(model)
}

/// As [`content`], with the values of constants apart: the model, and the weights that it refers to.
pub fn content_apart(graph: &Graph) -> Result<(Content, Content)> {
    let graph = conformed(graph)?;
    let mut writer = Writer { graph: &graph, weights: Weights::Apart(Content::default()) };
    let model = writer.model()?;
    Ok((model, if let Weights::Apart(weights) = writer.weights { weights } else { Content::default() }))
}

/// All the bytes of [`content`] in memory, for graphs of which that is not too much; fails with [`Error::Graph`], too, where
/// a weight is no longer where it was.
pub fn encode_model(graph: &Graph) -> Result<Vec<u8>> {
    content(graph)?.to_vec().map_err(|error| Error::graph(format!("graph `{}`", graph.name), error.to_string()))
}

/// The bytes of [`content_apart`].
#[cfg(test)]
pub fn encode_apart(graph: &Graph) -> Result<(Vec<u8>, Vec<u8>)> {
    let bytes = |content: Content| {
        content.to_vec().map_err(|error| Error::graph(format!("graph `{}`", graph.name), error.to_string()))
    };
    let (model, weights) = content_apart(graph)?;
    Ok((bytes(model)?, bytes(weights)?))
}

/// Where the values of constants go.
enum Weights {
    /// Into the model.
    Inside,
    /// Nowhere, as far as nobody has read them.
    LeftOut,
    /// Here, and the model says where.
    Apart(Content),
}

struct Writer<'a> {
    graph: &'a Graph,
    weights: Weights,
}

impl Writer<'_> {
    fn model(&mut self) -> Result<Content> {
        let head = proto::Model { name: self.graph.name.clone(), version: 1, ..Default::default() };
        let mut model = Content::from(head.encode_to_vec());
        for graph in self.graphs()? {
            model.field(field::GRAPH, graph);
        }
        Ok(model)
    }

    /// The graph itself, then those that its nodes choose among.
    fn graphs(&mut self) -> Result<Vec<Content>> {
        let graph = self.graph;
        let input = graph.inputs().map(|(_, node)| format!("{}:0", node.name)).collect();
        let output = graph.outputs().iter().map(|&port| self.reference(port)).collect();
        let mut attrs = graph.attrs.clone();
        attrs.remove(CONTROL_OUTPUTS);
        let kept = attrs.remove(SUBGRAPHS);
        let attr = attr::write_all(attrs.iter());
        let head = proto::Graph { name: graph.name.clone(), input, output, attr, ..Default::default() };
        let mut root = Content::from(head.encode_to_vec());
        let mut inputs = 0;
        for (id, node) in graph.iter() {
            inputs += usize::from(node.op_type == DATA);
            root.field(field::OP, self.op(node, id.index(), inputs));
        }
        // A graph built by hand may have the node already.
        if !graph.iter().any(|(_, node)| node.op_type == NET_OUTPUT) {
            root.field(field::OP, self.output_op());
        }
        let mut graphs = vec![root];
        if let Some(Attr::Opaque(bytes)) = kept {
            let place = || format!("graph `{}`, attribute `{SUBGRAPHS}`", graph.name);
            let list = decode::<Value>(bytes, place)?.list.unwrap_or_default();
            let called = decode::<proto::ListValue>(list, place)?.g;
            graphs.extend(called.into_iter().map(|graph| Content::from(Vec::from(graph))));
        }
        Ok(graphs)
    }

    fn reference(&self, port: Port) -> String {
        format!("{}:{}", self.graph.node(port.node).name, port.output)
    }

    /// References to data, then those to what is only waited for.
    fn inputs(&self, ports: impl Iterator<Item = Option<Port>>, waits: Option<&Attr>) -> Vec<String> {
        let data = ports.map(|port| port.map(|port| self.reference(port)).unwrap_or_default());
        let waits = if let Some(Attr::Strs(names)) = waits { names.as_slice() } else { &[] };
        data.chain(waits.iter().map(|name| format!("{name}:-1"))).collect()
    }

    /// What is read at these ports, in the formats that the reader states.
    fn described(&self, ports: impl Iterator<Item = Option<Port>>, format: impl Fn(usize) -> Format) -> Vec<Bytes> {
        let desc = |(index, port): (usize, Option<Port>)| {
            let mut desc = self.graph.desc(port?).clone();
            desc.format = Some(format(index)).filter(|format| *format != Format::Nd).unwrap_or(desc.format);
            Some(tensor::write(&desc, Parts::default()))
        };
        ports.enumerate().map(|port| desc(port).unwrap_or_default()).collect()
    }

    /// One operator; `inputs` counts the inputs of the graph up to it.
    fn op(&mut self, node: &Node, id: usize, inputs: usize) -> Content {
        let mut attrs = node.attrs.clone();
        let waits = attrs.remove(CONTROL_INPUTS);
        for noted in [infer::STATED_SHAPES, infer::BELIEVED_SHAPES] {
            attrs.remove(noted);
        }
        let subgraph_name = match attrs.remove(SUBGRAPH_NAMES) {
            Some(Attr::Strs(names)) => names,
            _ => Vec::new(),
        };
        let op_type = Self::own_type(node, &mut attrs);
        let (input, input_desc) = self.read_by(node, waits.as_ref());
        for (name, value) in names::attributes(node, &op_type, node.inputs.len().max(input_desc.len())) {
            attrs.set(name, value);
        }
        if node.op_type == DATA {
            attrs.set(INDEX, Attr::Int(inputs as i64 - 1));
        }
        // A framework's operator may have the same name.
        let kept = (node.op_type == CONST).then(|| attrs.remove(tensor::VALUE)).flatten();
        let value = if node.op_type == CONST { self.value(node, kept) } else { None };
        let head = proto::Op {
            name: node.name.clone(),
            op_type,
            input,
            attr: attr::write_all(attrs.iter()),
            has_out_attr: true,
            id: id as i64,
            input_desc,
            output_desc: node.outputs.iter().map(|desc| tensor::write(desc, Parts::default())).collect(),
            subgraph_name,
        };
        let mut op = Content::from(head.encode_to_vec());
        if let Some(value) = value {
            let mut entry = Content::default();
            entry.field(field::KEY, Content::from(tensor::VALUE.as_bytes().to_vec()));
            entry.field(field::VALUE, value);
            op.field(field::ATTR, entry);
        }
        op
    }

    /// What a node reads, and the descriptions of that. An input of the network reads nothing, and describes all the same
    /// what it is given: GE puts that into its first input.
    fn read_by(&self, node: &Node, waits: Option<&Attr>) -> (Vec<String>, Vec<Bytes>) {
        if node.op_type == DATA {
            let given = node.outputs.first().map(|desc| tensor::write(desc, Parts::default()));
            return (self.inputs(std::iter::once(None), waits), given.into_iter().collect());
        }
        let ports = || node.inputs.iter().copied();
        (self.inputs(ports(), waits), self.described(ports(), |index| node.stated_format(index)))
    }

    /// The operator type of a node; notes what else must be known of it.
    fn own_type(node: &Node, attrs: &mut Attrs) -> String {
        let origin = node.origin_type.as_str();
        let other_name = node.mapped
            && ((node.op_type == DATA && INPUTS[..4].contains(&origin))
                || (node.op_type == CONST && CONSTANTS.contains(&origin)));
        if other_name {
            return origin.to_owned();
        }
        if !node.mapped {
            attrs.set(UNMAPPED, Attr::Bool(true));
        }
        if node.origin_type != node.op_type {
            attrs.set(ORIGIN_TYPE, Attr::Str(node.origin_type.clone()));
        }
        node.op_type.clone()
    }

    /// The `AttrDef` with the value of a constant: the one read, that of the weight that went through unread, or `kept`,
    /// what its file had.
    fn value(&mut self, node: &Node, kept: Option<Attr>) -> Option<Content> {
        let desc = node.outputs.first()?;
        let read = node.value.as_ref().and_then(|value| value.to_bytes(desc.dtype));
        let data = match (read, &node.value, kept) {
            (Some(data), ..) => Weight::Bytes(data.into()),
            (None, ..) if matches!(self.weights, Weights::LeftOut) => return None,
            (None, Some(Constant::Stored(weight)), _) if Some(weight.len()) == desc.bytes() => weight.clone(),
            (None, _, Some(Attr::Opaque(bytes))) if matches!(self.weights, Weights::Inside) => {
                let mut value = Content::default();
                value.push_weight(Weight::Bytes(bytes));
                return Some(value);
            }
            (None, _, Some(Attr::Opaque(bytes))) => Weight::Bytes(data_of(&bytes)?),
            _ => return None,
        };
        let (parts, data) = self.store(data);
        let mut tensor = Content::default();
        tensor.field(field::DESC, Content::from(Vec::from(tensor::write(desc, parts))));
        if !data.is_empty() {
            tensor.field(field::DATA, data);
        }
        let mut value = Content::default();
        value.field(field::TENSOR, tensor);
        Some(value)
    }

    /// Puts elements where they go; answers where that is, and what stays in the model.
    fn store(&mut self, data: Weight) -> (Parts, Content) {
        let Weights::Apart(weights) = &mut self.weights else {
            let mut inside = Content::default();
            inside.push_weight(data);
            return (Parts::default(), inside);
        };
        weights.align(WEIGHT_ALIGNMENT);
        let parts = Parts { weight_size: data.len() as i64, data_offset: weights.len() as i64 };
        weights.push_weight(data);
        (parts, Content::default())
    }

    /// The node whose inputs are the outputs of the network.
    fn output_op(&self) -> Content {
        let mut name = OUTPUT_NODE.to_owned();
        while self.graph.find(&name).is_some() {
            name.push('_');
        }
        let ports = || self.graph.outputs().iter().copied().map(Some);
        let op = proto::Op {
            name,
            op_type: NET_OUTPUT.to_owned(),
            input: self.inputs(ports(), self.graph.attrs.get(CONTROL_OUTPUTS)),
            attr: attr::write_all(names::end_attributes(self.graph.outputs().len()).iter()),
            has_out_attr: true,
            id: self.graph.len() as i64,
            input_desc: self.described(ports(), |_| Format::Nd),
            ..Default::default()
        };
        Content::from(op.encode_to_vec())
    }
}

/// The elements in an attribute that holds a tensor.
fn data_of(attr: &Bytes) -> Option<Bytes> {
    let value: Value = decode(attr.clone(), String::new).ok()?;
    let tensor: proto::TensorDef = decode(value.t?, String::new).ok()?;
    Some(tensor.data)
}
