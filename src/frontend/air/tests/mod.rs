//! Files made message by message, and what becomes of them.

mod built;
mod calls;
mod hostile;
mod lists;
mod reading;
mod tuned;
mod writing;

use super::proto::{self, Entry, Value, encode};
use super::{attr, read, tensor};
use crate::graph::{Attr, DataType, Format, Graph, Node, Port, Shape, TensorDesc};
use crate::status::Result;
use prost::Message;
use prost::bytes::Bytes;

pub fn desc(dims: &[i64]) -> TensorDesc {
    TensorDesc { format: Format::Nchw, ..TensorDesc::new(DataType::Float16, Shape::new(dims)) }
}

/// A descriptor as GE writes it.
pub fn described(dims: &[i64]) -> Bytes {
    tensor::write(&desc(dims), tensor::Parts::default())
}

/// A descriptor of the device's view, with these attributes.
pub fn raw_desc(layout: &str, dims: &[i64], attrs: &[(&str, Attr)]) -> Bytes {
    encode(&proto::Tensor {
        dtype: DataType::Float16.proto_number(),
        shape: Some(proto::Shape { dim: dims.to_vec() }),
        layout: layout.to_owned(),
        attr: attrs.iter().map(|(name, value)| attr::entry(name, attr::write(value))).collect(),
        ..proto::Tensor::default()
    })
}

/// An operator with one output of these sizes.
pub fn op(name: &str, op_type: &str, inputs: &[&str], dims: &[i64]) -> proto::Op {
    proto::Op {
        name: name.to_owned(),
        op_type: op_type.to_owned(),
        input: inputs.iter().map(|&i| i.to_owned()).collect(),
        output_desc: vec![described(dims)],
        ..proto::Op::default()
    }
}

/// The same operator with an attribute more.
pub fn with(mut op: proto::Op, name: &str, value: &Attr) -> proto::Op {
    op.attr.push(attr::entry(name, attr::write(value)));
    op
}

pub fn net_output(inputs: &[&str]) -> proto::Op {
    proto::Op { output_desc: Vec::new(), ..op("out", "NetOutput", inputs, &[]) }
}

/// A call of one graph.
pub fn call(name: &str, inputs: &[&str], graph: &str) -> proto::Op {
    proto::Op { subgraph_name: vec![graph.to_owned()], ..op(name, "PartitionedCall", inputs, &[2, 4]) }
}

/// A constant's value attribute.
pub fn value(dtype: DataType, dims: &[i64], data: &[u8]) -> Bytes {
    let desc = tensor::write(&TensorDesc::new(dtype, Shape::new(dims)), tensor::Parts::default());
    let tensor = proto::TensorDef { desc, data: Bytes::copy_from_slice(data) };
    let value = encode(&Value { t: Some(encode(&tensor)), ..Value::default() });
    encode(&Entry { key: "value".to_owned(), value })
}

pub fn graph_def(name: &str, ops: &[proto::Op]) -> proto::Graph {
    proto::Graph { name: name.to_owned(), op: ops.iter().map(encode).collect(), ..proto::Graph::default() }
}

/// A file with these graphs, the first being the root.
pub fn file(graphs: &[proto::Graph]) -> Vec<u8> {
    proto::Model { name: "m".to_owned(), version: 1, graph: graphs.iter().map(encode).collect(), ..Default::default() }
        .encode_to_vec()
}

pub fn root(ops: &[proto::Op]) -> Result<Graph> {
    read(file(&[graph_def("g", ops)]).into(), "test")
}

#[track_caller]
pub fn refusal(ops: &[proto::Op], parts: &[&str]) {
    refused(&root(ops).expect_err("the file must be refused").to_string(), parts);
}

#[track_caller]
pub fn refused(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

pub fn node<'a>(graph: &'a Graph, name: &str) -> &'a Node {
    graph.node(graph.find(name).unwrap_or_else(|| panic!("no node {name}")))
}

/// Names of the nodes that a node reads, with their outputs.
pub fn sources(graph: &Graph, name: &str) -> Vec<String> {
    let of = |port: &Option<Port>| {
        port.map_or_else(String::new, |port| format!("{}:{}", graph.node(port.node).name, port.output))
    };
    node(graph, name).inputs.iter().map(of).collect()
}

pub fn outputs(graph: &Graph) -> Vec<String> {
    graph.outputs().iter().map(|port| format!("{}:{}", graph.node(port.node).name, port.output)).collect()
}
