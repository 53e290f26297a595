//! A graph to `ModelDef`: the same graph gives the same bytes.

use super::proto::{self, Value, decode, encode};
use super::tensor::{self, Parts};
use super::{CONSTANTS, CONTROL_INPUTS, CONTROL_OUTPUTS, INDEX, INPUTS, NET_OUTPUT};
use super::{ORIGIN_TYPE, SUBGRAPH_NAMES, SUBGRAPHS, UNMAPPED, attr, names};
use crate::graph::{Attr, Attrs, CONST, DATA, Format, Graph, Node, Port, infer};
use crate::status::{Error, Result};
use prost::Message;
use prost::bytes::Bytes;

/// Name of the node whose inputs are the outputs of the network.
const OUTPUT_NODE: &str = "Node_Output";

/// Where weights begin in an om file: the unit in which the device moves them.
const WEIGHT_ALIGNMENT: usize = 512;

/// The bytes of the `.air` file of a graph.
///
/// A constant whose value the graph does not have (because its file had none, or because its framework's
/// reader left it where it was) has none in the file. Fails with [`Error::Graph`] for a graph that is
/// none, and where the result is larger than protobuf can be.
pub fn encode_model(graph: &Graph) -> Result<Vec<u8>> {
    Writer { graph, weights: None }.model()
}

/// As [`encode_model`], with the values of constants apart: the model, and the weights that it refers to.
pub fn encode_apart(graph: &Graph) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut writer = Writer { graph, weights: Some(Vec::new()) };
    let model = writer.model()?;
    Ok((model, writer.weights.unwrap_or_default()))
}

struct Writer<'a> {
    graph: &'a Graph,
    /// The values of the constants, where they do not stand in the model.
    weights: Option<Vec<u8>>,
}

impl Writer<'_> {
    fn model(&mut self) -> Result<Vec<u8>> {
        self.graph.validate()?;
        let model =
            proto::Model { name: self.graph.name.clone(), version: 1, graph: self.graphs()?, ..Default::default() };
        if model.encoded_len() > i32::MAX as usize {
            let reason = "takes more than 2 GiB in GE's IR, the limit of protobuf";
            return Err(Error::graph(format!("graph `{}`", self.graph.name), reason));
        }
        Ok(model.encode_to_vec())
    }

    /// The graph itself, then those that its nodes choose among.
    fn graphs(&mut self) -> Result<Vec<Bytes>> {
        let graph = self.graph;
        let mut ops = Vec::with_capacity(graph.len() + 1);
        let mut input = Vec::new();
        for (id, node) in graph.iter() {
            if node.op_type == DATA {
                input.push(format!("{}:0", node.name));
            }
            ops.push(self.op(node, id.index(), input.len()));
        }
        // A graph built by hand may have the node already.
        if !graph.iter().any(|(_, node)| node.op_type == NET_OUTPUT) {
            ops.push(self.output_op());
        }
        let output = graph.outputs().iter().map(|&port| self.reference(port)).collect();
        let mut attrs = graph.attrs.clone();
        attrs.remove(CONTROL_OUTPUTS);
        let kept = attrs.remove(SUBGRAPHS);
        let attr = attr::write_all(attrs.iter());
        let mut graphs = vec![encode(&proto::Graph { name: graph.name.clone(), input, output, op: ops, attr })];
        if let Some(Attr::Opaque(bytes)) = kept {
            let place = || format!("graph `{}`, attribute `{SUBGRAPHS}`", graph.name);
            let list = decode::<Value>(bytes, place)?.list.unwrap_or_default();
            graphs.extend(decode::<proto::ListValue>(list, place)?.g);
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
    fn op(&mut self, node: &Node, id: usize, inputs: usize) -> Bytes {
        let mut attrs = node.attrs.clone();
        let waits = attrs.remove(CONTROL_INPUTS);
        for noted in [infer::STATED_SHAPES, infer::BELIEVED_SHAPES] {
            attrs.remove(noted);
        }
        let subgraph_name = match attrs.remove(SUBGRAPH_NAMES) {
            Some(Attr::Strs(names)) => names,
            _ => Vec::new(),
        };
        for (name, value) in names::attributes(node) {
            attrs.set(name, value);
        }
        if node.op_type == DATA {
            attrs.set(INDEX, Attr::Int(inputs as i64 - 1));
        }
        let op_type = Self::own_type(node, &mut attrs);
        if node.op_type == CONST
            && let Some(value) = self.value(node, &attrs)
        {
            attrs.set(tensor::VALUE, Attr::Opaque(value));
        }
        encode(&proto::Op {
            name: node.name.clone(),
            op_type,
            input: self.inputs(node.inputs.iter().copied(), waits.as_ref()),
            attr: attr::write_all(attrs.iter()),
            has_out_attr: true,
            id: id as i64,
            input_desc: self.described(node.inputs.iter().copied(), |index| node.stated_format(index)),
            output_desc: node.outputs.iter().map(|desc| tensor::write(desc, Parts::default())).collect(),
            subgraph_name,
        })
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

    /// The value of a constant: the one read, or the one that went through unread.
    fn value(&mut self, node: &Node, attrs: &Attrs) -> Option<Bytes> {
        let desc = node.outputs.first()?;
        let data = match node.value.as_ref().and_then(|value| value.to_bytes(desc.dtype)) {
            Some(data) => Bytes::from(data),
            None => match attrs.get(tensor::VALUE)? {
                Attr::Opaque(bytes) if self.weights.is_none() => return Some(bytes.clone()),
                Attr::Opaque(bytes) => data_of(bytes)?,
                _ => return None,
            },
        };
        let (parts, data) = self.store(data);
        let tensor = proto::TensorDef { desc: tensor::write(desc, parts), data };
        Some(encode(&Value { t: Some(encode(&tensor)), ..Value::default() }))
    }

    /// Puts elements where they go; answers where that is, and what stays in the model.
    fn store(&mut self, data: Bytes) -> (Parts, Bytes) {
        let Some(weights) = &mut self.weights else { return (Parts::default(), data) };
        weights.resize(weights.len().next_multiple_of(WEIGHT_ALIGNMENT), 0);
        let parts = Parts { weight_size: data.len() as i64, data_offset: weights.len() as i64 };
        weights.extend_from_slice(&data);
        (parts, Bytes::new())
    }

    /// The node whose inputs are the outputs of the network.
    fn output_op(&self) -> Bytes {
        let mut name = OUTPUT_NODE.to_owned();
        while self.graph.find(&name).is_some() {
            name.push('_');
        }
        let ports = || self.graph.outputs().iter().copied().map(Some);
        encode(&proto::Op {
            name,
            op_type: NET_OUTPUT.to_owned(),
            input: self.inputs(ports(), self.graph.attrs.get(CONTROL_OUTPUTS)),
            has_out_attr: true,
            id: self.graph.len() as i64,
            input_desc: self.described(ports(), |_| Format::Nd),
            ..Default::default()
        })
    }
}

/// The elements in an attribute that holds a tensor.
fn data_of(attr: &Bytes) -> Option<Bytes> {
    let value: Value = decode(attr.clone(), String::new).ok()?;
    let tensor: proto::TensorDef = decode(value.t?, String::new).ok()?;
    Some(tensor.data)
}
