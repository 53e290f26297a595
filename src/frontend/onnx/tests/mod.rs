//! Small models made message by message, and what the reader makes of them.

mod branches;
mod chosen;
mod grown;
mod held;
mod hostile;
mod inlined;
mod integer;
mod mapping;
mod own;
mod reading;
mod shapes;

use super::proto;
use crate::frontend::ModelOptions;
use crate::graph::{Graph, Node};
use crate::status::Result;
use prost::Message;
use prost::bytes::Bytes;

/// ONNX numbers of element types.
pub const FLOAT: i32 = 1;
pub const INT64: i32 = 7;
pub const BOOL: i32 = 9;

pub fn encode(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// A model under construction.
#[derive(Clone)]
pub struct Model {
    pub opset: i64,
    pub graph: proto::Graph,
}

/// A size or a symbol.
#[derive(Clone, Copy)]
pub enum Dim {
    Size(i64),
    Symbol(&'static str),
}

impl From<i64> for Dim {
    fn from(size: i64) -> Self {
        Dim::Size(size)
    }
}

impl From<&'static str> for Dim {
    fn from(symbol: &'static str) -> Self {
        Dim::Symbol(symbol)
    }
}

pub fn value_info(name: &str, elem_type: i32, dims: &[Dim]) -> proto::ValueInfo {
    let dim = |dim: &Dim| match *dim {
        Dim::Size(size) => proto::Dimension { dim_value: Some(size), dim_param: None },
        Dim::Symbol(name) => proto::Dimension { dim_value: None, dim_param: Some(name.to_owned()) },
    };
    let shape = proto::TensorShape { dim: dims.iter().map(|d| encode(&dim(d))).collect() };
    let tensor = proto::TensorType { elem_type, shape: Some(shape) };
    proto::ValueInfo {
        name: name.to_owned(),
        kind: Some(proto::Type { tensor: Some(tensor), ..proto::Type::default() }),
    }
}

pub fn ints(name: &str, values: &[i64]) -> proto::Tensor {
    proto::Tensor {
        name: name.to_owned(),
        dims: vec![values.len() as i64],
        data_type: INT64,
        int64_data: values.to_vec(),
        ..proto::Tensor::default()
    }
}

pub fn scalar(name: &str, value: f32) -> proto::Tensor {
    proto::Tensor { name: name.to_owned(), data_type: FLOAT, float_data: vec![value], ..proto::Tensor::default() }
}

pub fn weight(name: &str, dims: &[i64]) -> proto::Tensor {
    proto::Tensor {
        name: name.to_owned(),
        dims: dims.to_vec(),
        data_type: FLOAT,
        data_location: 1,
        ..proto::Tensor::default()
    }
}

/// Entries that place a tensor at the beginning of a file.
pub fn location(file: &str) -> Vec<Bytes> {
    vec![encode(&proto::Entry { key: "location".to_owned(), value: file.to_owned() })]
}

/// Value of an attribute.
#[derive(Clone)]
pub enum Value {
    Int(i64),
    Float(f32),
    Str(&'static str),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Tensor(proto::Tensor),
    Graph(Bytes),
}

pub fn attribute(name: &str, value: Value) -> proto::Attribute {
    let mut attr = proto::Attribute { name: name.to_owned(), ..proto::Attribute::default() };
    match value {
        Value::Float(v) => (attr.kind, attr.f) = (1, Some(v)),
        Value::Int(v) => (attr.kind, attr.i) = (2, Some(v)),
        Value::Str(v) => (attr.kind, attr.s) = (3, Some(Bytes::from_static(v.as_bytes()))),
        Value::Tensor(v) => (attr.kind, attr.t) = (4, Some(encode(&v))),
        Value::Graph(v) => (attr.kind, attr.g) = (5, Some(v)),
        Value::Floats(v) => (attr.kind, attr.floats) = (6, v),
        Value::Ints(v) => (attr.kind, attr.ints) = (7, v),
    }
    attr
}

pub fn node(op_type: &str, inputs: &[&str], outputs: &[&str], attrs: &[(&str, Value)]) -> proto::Node {
    let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
    proto::Node {
        input: owned(inputs),
        output: owned(outputs),
        op_type: op_type.to_owned(),
        attribute: attrs.iter().map(|(name, value)| encode(&attribute(name, value.clone()))).collect(),
        ..proto::Node::default()
    }
}

impl proto::Node {
    /// The same node under this name.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }
}

impl Model {
    pub fn new(opset: i64) -> Self {
        Model { opset, graph: proto::Graph::default() }
    }

    pub fn input(mut self, name: &str, dims: &[Dim]) -> Self {
        self.graph.input.push(encode(&value_info(name, FLOAT, dims)));
        self
    }

    /// An input of one truth value.
    pub fn flag(mut self, name: &str) -> Self {
        self.graph.input.push(encode(&value_info(name, BOOL, &[])));
        self
    }

    pub fn initializer(mut self, tensor: &proto::Tensor) -> Self {
        self.graph.initializer.push(encode(tensor));
        self
    }

    pub fn node(mut self, node: &proto::Node) -> Self {
        self.graph.node.push(encode(node));
        self
    }

    pub fn output(mut self, name: &str) -> Self {
        self.graph.output.push(encode(&proto::ValueInfo { name: name.to_owned(), kind: None }));
        self
    }

    /// The model's bytes.
    pub fn bytes(&self) -> Bytes {
        let opset = proto::OperatorSet { domain: String::new(), version: self.opset };
        encode(&proto::Model {
            ir_version: Some(8),
            graph: vec![encode(&self.graph)],
            opset_import: vec![encode(&opset)],
            functions: Vec::new(),
        })
    }

    /// What the reader makes of it.
    pub fn read(&self) -> Result<Graph> {
        super::read(self.bytes(), "test", None, &ModelOptions::default())
    }

    /// The reader's message of refusal.
    pub fn refusal(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

/// A model of one operator whose inputs x, y, z of shape [2,3,8,8] feed it as named; what is an
/// initializer is added by the caller.
pub fn single(opset: i64, op: &proto::Node, initializers: &[proto::Tensor]) -> Model {
    let mut model = Model::new(opset).node(op);
    for tensor in initializers {
        model = model.initializer(tensor);
    }
    for name in op.input.iter().filter(|n| ["x", "y", "z"].contains(&n.as_str())) {
        model = model.input(name, &[2.into(), 3.into(), 8.into(), 8.into()]);
    }
    for output in op.output.iter().filter(|n| !n.is_empty()) {
        model = model.output(output);
    }
    model
}

/// The node of this type; there is one.
pub fn only<'g>(graph: &'g Graph, op_type: &str) -> &'g Node {
    let mut found = graph.iter().filter(|(_, n)| n.op_type == op_type);
    let (_, node) = found.next().unwrap_or_else(|| panic!("no {op_type} in {graph:?}"));
    assert!(found.next().is_none(), "more than one {op_type}");
    node
}

/// The integers that feed an input of a node.
pub fn fed<'g>(graph: &'g Graph, node: &Node, input: usize) -> &'g [i64] {
    let port = node.input(input).unwrap_or_else(|| panic!("input {input} of {node:?} is absent"));
    graph.node(port.node).value.as_ref().and_then(|v| v.ints()).unwrap()
}
