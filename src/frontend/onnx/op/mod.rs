//! One ONNX node on its way into the graph: what a mapping rule sees of it and does with it.

use super::builder::Builder;
use super::map::reasons;
use super::proto::{self, decode, kind};
use super::tensor;
use crate::frontend::DIM_NAMES;
use crate::graph::infer::{self, OF_ONNX, SHAPED_AS, SHAPES_OF_INPUTS};
use crate::graph::op::{self, OpClass};
use crate::graph::{Attr, Constant, DataType, Node, NodeId, Port, Shape, TensorDesc, WHY_UNMAPPED};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
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

    // ---- attributes

    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&proto::Attribute> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// The attribute when it is of this type; files older than IR version 2 leave the type out.
    fn typed(&self, name: &str, kind: i32, what: &str) -> Result<Option<&proto::Attribute>> {
        match self.attr(name) {
            Some(attr) if attr.kind == kind || attr.kind == 0 => Ok(Some(attr)),
            Some(_) => Err(self.error(format!("attribute `{name}` is not {what}"))),
            None => Ok(None),
        }
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.typed(name, kind::INT, "an integer")?.map(|a| a.i.unwrap_or(0)))
    }

    /// A truth value, which ONNX writes as an integer.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.int(name)?.map_or(default, |v| v != 0))
    }

    /// A floating-point attribute.
    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.typed(name, kind::FLOAT, "a number")?.map(|a| f64::from(a.f.unwrap_or(0.0))))
    }

    /// A string attribute.
    pub fn str(&self, name: &str) -> Result<Option<String>> {
        let Some(attr) = self.typed(name, kind::STRING, "a string")? else { return Ok(None) };
        let bytes = attr.s.as_deref().unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(self.error(format!("attribute `{name}` is not UTF-8"))),
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(self.typed(name, kind::INTS, "a list of integers")?.map(|a| a.ints.clone()))
    }

    /// A list of numbers.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let attr = self.typed(name, kind::FLOATS, "a list of numbers")?;
        Ok(attr.map(|a| a.floats.iter().map(|&v| f64::from(v)).collect()))
    }

    /// A list of strings.
    pub fn strs(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(attr) = self.typed(name, kind::STRINGS, "a list of strings")? else { return Ok(None) };
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec());
        match attr.strings.iter().map(text).collect() {
            Ok(list) => Ok(Some(list)),
            Err(_) => Err(self.error(format!("attribute `{name}` is not UTF-8"))),
        }
    }

    /// Description of a sparse tensor attribute.
    pub fn sparse_tensor(&self, name: &str) -> Result<Option<TensorDesc>> {
        let Some(bytes) = self.attr(name).and_then(|a| a.sparse_tensor.clone()) else { return Ok(None) };
        let place = || format!("{}, attribute `{name}`", self.place());
        tensor::read_sparse(bytes, &place).map(|(_, desc)| Some(desc))
    }

    /// A tensor attribute.
    pub fn tensor(&self, name: &str) -> Result<Option<(TensorDesc, Constant)>> {
        let Some(attr) = self.typed(name, kind::TENSOR, "a tensor")? else { return Ok(None) };
        let place = || format!("{}, attribute `{name}`", self.place());
        let tensor: proto::Tensor = decode(attr.t.clone().unwrap_or_default(), place)?;
        tensor::read(&tensor, self.builder.base(), &place).map(Some)
    }

    /// Copies every attribute that has a place in the graph, under its own name; tensors and
    /// subgraphs have none.
    pub fn copy_attrs(&self, node: &mut Node) -> Result<()> {
        for attr in &self.attrs {
            let name = attr.name.as_str();
            let value = match attr.kind {
                kind::INT => self.int(name)?.map(Attr::Int),
                kind::FLOAT => self.float(name)?.map(Attr::Float),
                kind::INTS => self.ints(name)?.map(Attr::Ints),
                kind::FLOATS => self.floats(name)?.map(Attr::Floats),
                kind::STRING => Some(text(attr.s.as_ref().unwrap_or(&Bytes::new()))),
                kind::STRINGS => Some(texts(&attr.strings)),
                _ => None,
            };
            if let Some(value) = value {
                node.attrs.set(name, value);
            }
        }
        Ok(())
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

    /// Keeps the operator as the framework knows it.
    pub fn keep_unmapped(&mut self) -> Result<()> {
        let node = self.unmapped()?;
        self.finish(node)
    }

    /// Keeps the operator as the framework knows it; its first result has this type.
    pub fn keep_typed(&mut self, dtype: DataType) -> Result<()> {
        let mut node = self.unmapped()?;
        if let Some(output) = node.outputs.first_mut().filter(|_| dtype != DataType::Undefined) {
            output.dtype = dtype;
        }
        self.finish(node)
    }

    /// An attribute that is the number of an element type; `None` where the node has none.
    pub fn type_attr(&self, name: &str) -> Result<Option<DataType>> {
        let Some(number) = self.int(name)? else { return Ok(None) };
        let place = || format!("{}, attribute `{name}`", self.place());
        tensor::data_type(i32::try_from(number).unwrap_or(-1), &place).map(Some)
    }

    /// Keeps the operator as the framework knows it; its first result has the shape of input 0, and this type.
    pub fn keep_like_input(&mut self, dtype: DataType) -> Result<()> {
        let node = self.like_input(dtype)?;
        self.finish(node)
    }

    /// The same for a reason of its own.
    pub fn keep_like_input_because(&mut self, dtype: DataType, why: impl Into<String>) -> Result<()> {
        let mut node = self.like_input(dtype)?;
        node.attrs.set(WHY_UNMAPPED, Attr::Str(why.into()));
        self.finish(node)
    }

    fn like_input(&self, dtype: DataType) -> Result<Node> {
        let mut node = self.unmapped()?;
        node.attrs.set(SHAPES_OF_INPUTS, Attr::Ints(vec![0]));
        if let Some(output) = node.outputs.first_mut() {
            output.dtype = dtype;
        }
        Ok(node)
    }

    /// Keeps the operator as the framework knows it; its result has this type, and the shape that the Ascend operator
    /// `like` would give it from the same inputs and attributes.
    pub fn keep_shaped_as(&mut self, like: &str, dtype: DataType) -> Result<()> {
        let node = self.shaped_as(like, dtype)?;
        self.finish(node)
    }

    /// A node as above, to be given the attributes that the Ascend operator has.
    pub fn shaped_as(&self, like: &str, dtype: DataType) -> Result<Node> {
        let mut node = self.unmapped()?;
        node.attrs.set(SHAPED_AS, Attr::Str(like.to_owned()));
        if let Some(output) = node.outputs.first_mut() {
            output.dtype = dtype;
        }
        Ok(node)
    }

    /// A node as the framework knows the operator.
    pub fn unmapped(&self) -> Result<Node> {
        let domain = self.node.domain.as_str();
        let op_type = match domain {
            "" | "ai.onnx" => self.node.op_type.clone(),
            _ => format!("{domain}::{}", self.node.op_type),
        };
        let mut node = self.node(&op_type);
        node.origin_type = op_type;
        node.mapped = false;
        node.inputs.clone_from(&self.inputs);
        self.copy_attrs(&mut node)?;
        if let Some(why) = reasons::why(&node.op_type) {
            node.attrs.set(WHY_UNMAPPED, Attr::Str(why.to_owned()));
        }
        if infer::tells_onnx(&node.op_type) {
            node.attrs.set(SHAPED_AS, Attr::Str(format!("{OF_ONNX}{}", node.op_type)));
        }
        // No rule will tell its shapes: what the file says must do, once its symbols are bound.
        let names: Vec<String> = self.node.output.iter().flat_map(|name| self.builder.hinted(name).symbols).collect();
        if names.iter().any(|name| !name.is_empty()) {
            node.attrs.set(DIM_NAMES, Attr::Strs(names));
        }
        Ok(node)
    }
}

/// A text; bytes that are none stay what they are, as GE's message of an attribute has them.
fn text(bytes: &Bytes) -> Attr {
    match String::from_utf8(bytes.to_vec()) {
        Ok(text) => Attr::Str(text),
        Err(_) => Attr::Opaque(field(AS_TEXT, bytes)),
    }
}

/// The same of a list.
fn texts(list: &[Bytes]) -> Attr {
    let read: std::result::Result<Vec<_>, _> = list.iter().map(|bytes| String::from_utf8(bytes.to_vec())).collect();
    let fields = || list.iter().flat_map(|bytes| field(AS_TEXT, bytes)).collect::<Vec<u8>>().into();
    read.map_or_else(|_| Attr::Opaque(field(AS_LIST, &fields())), Attr::Strs)
}

/// Numbers of the fields of `AttrDef` and of its list that hold texts, and of the one that holds the list.
const AS_TEXT: u32 = 2;
const AS_LIST: u32 = 1;

/// A field of a message with these bytes.
fn field(number: u32, bytes: &Bytes) -> Bytes {
    let mut message = Vec::with_capacity(bytes.len() + 12);
    prost::encoding::bytes::encode(number, bytes, &mut message);
    message.into()
}
