//! One ONNX node on its way into the graph: what a mapping rule sees of it and does with it.

mod attributes;
mod unmapped;

use super::builder::Builder;
use super::proto::{self, decode};
use crate::graph::op::{self, OpClass};
use crate::graph::{Attr, Constant, DataType, Node, NodeId, Port, Shape, TensorDesc};
use crate::status::{Error, Result};
use rustc_hash::FxHashSet;

/// A node being mapped.
pub struct Op<'a> {
    builder: &'a mut Builder,
    node: &'a proto::Node,
    attrs: Vec<proto::Attribute>,
    inputs: Vec<Option<Port>>,
    name: String,
    used: &'a FxHashSet<&'a str>,
    /// Version of the node's operator set.
    pub opset: i64,
}

impl<'a> Op<'a> {
    /// Opens a node whose producers are all in the graph. `name` is claimed; `used` holds the names
    /// of all tensors that someone reads.
    pub fn open(
        builder: &'a mut Builder,
        node: &'a proto::Node,
        name: String,
        used: &'a FxHashSet<&'a str>,
        opset: i64,
    ) -> Result<Self> {
        let mut inputs = Vec::with_capacity(node.input.len());
        for tensor in &node.input {
            inputs.push(if tensor.is_empty() { None } else { builder.port(tensor)? });
        }
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let mut op = Op { builder, node, attrs: Vec::with_capacity(node.attribute.len()), inputs, name, used, opset };
        for bytes in &node.attribute {
            let attr: proto::Attribute = decode(bytes.clone(), || op.place())?;
            if !attr.ref_attr_name.is_empty() {
                return Err(op.error(format!("attribute `{}` refers to a function's parameter", attr.name)));
            }
            op.attrs.push(attr);
        }
        Ok(op)
    }

    /// Where an error is.
    fn place(&self) -> String {
        format!("node `{}` ({})", self.name, self.node.op_type)
    }

    /// An error at this node.
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::graph(self.place(), reason)
    }

    /// The claimed name of the node.
    pub fn name(&self) -> &str {
        &self.name
    }

    // ---- inputs and outputs

    /// Number of inputs, trailing absent ones not counted.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// All inputs.
    pub fn inputs(&self) -> &[Option<Port>] {
        &self.inputs
    }

    /// An input, when it is connected.
    pub fn input(&self, index: usize) -> Option<Port> {
        self.inputs.get(index).copied().flatten()
    }

    /// An input that must be connected.
    pub fn required(&self, index: usize) -> Result<Port> {
        self.input(index).ok_or_else(|| self.error(format!("input {index} is missing")))
    }

    /// Every input, all of which must be connected, and at least one.
    pub fn all_inputs(&self) -> Result<Vec<Port>> {
        (0..self.input_count().max(1)).map(|i| self.required(i)).collect()
    }

    /// What is known so far of the tensor at a port.
    pub fn desc(&self, port: Port) -> &TensorDesc {
        self.builder.graph().desc(port)
    }

    /// Rank of an input, when it is known so far.
    pub fn rank(&self, index: usize) -> Option<usize> {
        self.desc(self.input(index)?).shape.rank()
    }

    /// What is known of the tensor at a port, by the file or by the operators before.
    pub fn told(&self, port: Port) -> TensorDesc {
        self.builder.told(port)
    }

    /// Rank of the tensor at an input, as far as the file or the operators before tell it.
    pub fn found_rank(&self, index: usize) -> Option<usize> {
        self.told(self.input(index)?).shape.rank()
    }

    /// What the framework calls the operator that makes a tensor.
    pub fn maker(&self, port: Port) -> &str {
        &self.builder.graph().node(port.node).origin_type
    }

    /// The value of a port that a `Const` node feeds.
    pub fn value(&self, port: Port) -> Option<&Constant> {
        self.builder.graph().node(port.node).value.as_ref()
    }

    /// Whether a port is fed by a constant that is 0 everywhere.
    pub fn is_zero(&self, port: Port) -> bool {
        match self.value(port) {
            Some(Constant::Ints(values)) => values.iter().all(|&value| value == 0),
            Some(Constant::Floats(values)) => values.iter().all(|&value| value == 0.0),
            _ => false,
        }
    }

    /// Element type of the tensor at a port as far as the file and the operators before tell it.
    pub fn element_type(&self, mut port: Port) -> DataType {
        let graph = self.builder.graph();
        // Nobody moves one tensor about more often than this; the bound keeps long chains cheap.
        for _ in 0..64 {
            let node = graph.node(port.node);
            let told = self.told(port).dtype;
            if told != DataType::Undefined {
                return told;
            }
            let keeps_type = matches!(op::class(&node.op_type), OpClass::Move | OpClass::None | OpClass::Reduce);
            match node.input(0).filter(|_| keeps_type && node.mapped) {
                Some(before) => port = before,
                None => break,
            }
        }
        DataType::Undefined
    }

    /// The integers of a port that a `Const` node feeds.
    pub fn const_ints(&self, port: Port) -> Option<&[i64]> {
        self.value(port)?.ints()
    }

    /// Number of outputs, trailing unnamed ones not counted.
    pub fn output_count(&self) -> usize {
        self.node.output.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1)
    }

    /// Whether anyone reads this output.
    pub fn is_used(&self, output: usize) -> bool {
        self.node.output.get(output).is_some_and(|name| self.used.contains(name.as_str()))
    }

    // ---- what becomes of the node

    /// A node of this Ascend type under the node's own name, with no inputs yet and all outputs.
    pub fn node(&self, op_type: &str) -> Node {
        let outputs = self.node.output.iter().take(self.output_count()).map(|name| self.builder.hinted(name).desc);
        let mut node = Node::new(&self.name, op_type).with_outputs(outputs.collect());
        node.origin_type.clone_from(&self.node.op_type);
        node
    }

    /// Adds the node that bears the node's name and takes its outputs.
    pub fn finish(&mut self, node: Node) -> Result<()> {
        let id = self.builder.add(node)?;
        for (output, name) in self.node.output.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            self.builder.bind(name, Port { node: id, output: output as u32 });
        }
        Ok(())
    }

    /// Adds the node that bears the node's name, whose outputs helpers go on with.
    pub fn core(&mut self, mut node: Node) -> Result<NodeId> {
        node.outputs.fill(TensorDesc::unknown());
        self.builder.add(node)
    }

    /// Adds a node of this Ascend type that helps to express this one.
    pub fn helper(&mut self, op_type: &str, inputs: &[Port], attrs: &[(&str, Attr)]) -> Result<Port> {
        let name = self.builder.claim(&format!("{}/{op_type}", self.name));
        let mut node = Node::new(name, op_type).with_inputs(inputs.iter().copied());
        node.origin_type.clone_from(&self.node.op_type);
        for (name, value) in attrs {
            node.attrs.set(*name, value.clone());
        }
        Ok(Port::first(self.builder.add(node)?))
    }

    /// Transposes a tensor.
    pub fn transposed(&mut self, x: Port, order: &[i64]) -> Result<Port> {
        let order = self.ints_input("perm", order.to_vec())?;
        self.helper("Transpose", &[x, order], &[])
    }

    /// Lets the first output be the tensor at this port.
    pub fn finish_with(&mut self, port: Port) {
        self.finish_output(0, port);
    }

    /// Lets an output be the tensor at this port.
    pub fn finish_output(&mut self, output: usize, port: Port) {
        let Some(name) = self.node.output.get(output).filter(|name| !name.is_empty()) else { return };
        let hint = self.builder.hinted(name);
        self.builder.describe(port, hint.desc);
        self.builder.bind(name, port);
    }

    /// Adds a constant list of integers, such as axes, that ONNX gives as an attribute.
    pub fn ints_input(&mut self, role: &str, values: Vec<i64>) -> Result<Port> {
        self.builder.ints(&format!("{}/{role}", self.name), values, false)
    }

    /// The axes that the node names: by an attribute in opsets before `since`, by its second input from that on.
    pub fn axes(&mut self, since: i64) -> Result<Option<Port>> {
        if self.opset >= since {
            return Ok(self.input(1));
        }
        self.ints("axes")?.map(|axes| self.ints_input("axes", axes)).transpose()
    }

    /// Adds a constant integer scalar.
    pub fn int_input(&mut self, role: &str, value: i64) -> Result<Port> {
        self.builder.ints(&format!("{}/{role}", self.name), vec![value], true)
    }

    /// Adds a constant scalar number of the element type of `like`, where that is known.
    pub fn number_input(&mut self, role: &str, value: f64, like: Port) -> Result<Port> {
        let dtype = match self.desc(like).dtype {
            DataType::Undefined => DataType::Float,
            known => known,
        };
        let constant =
            if dtype.is_float() { Constant::Floats(vec![value]) } else { Constant::Ints(vec![value as i64]) };
        let desc = TensorDesc::new(dtype, Shape::scalar());
        self.builder.constant(&format!("{}/{role}", self.name), desc, constant)
    }

    /// Adds any constant.
    pub fn constant_input(&mut self, role: &str, desc: TensorDesc, value: Constant) -> Result<Port> {
        self.builder.constant(&format!("{}/{role}", self.name), desc, value)
    }
}
