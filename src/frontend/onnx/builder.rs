//! The graph under construction: names, tensors by their ONNX name, constants on demand.

use super::tensor::{self, Declared};
use super::{proto, proto::decode};
use crate::frontend::names::Names;
use crate::graph::infer::SoFar;
use crate::graph::{Attr, Constant, DataType, Graph, Node, NodeId, Port, Shape, TensorDesc, WHY_UNMAPPED};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// An initializer that no node has read yet.
struct Pending {
    desc: TensorDesc,
    value: Constant,
}

/// The graph so far and what is needed to add to it.
pub struct Builder {
    graph: Graph,
    /// Directory of the model file, where there is one.
    base: Option<PathBuf>,
    names: Names,
    tensors: FxHashMap<String, Port>,
    pending: FxHashMap<String, Pending>,
    hints: FxHashMap<String, Declared>,
    so_far: RefCell<SoFar>,
}

impl Builder {
    /// An empty graph of this name, from a model file in the directory `base`.
    pub fn new(name: impl Into<String>, base: Option<&Path>) -> Self {
        Builder {
            graph: Graph::new(name),
            base: base.map(Path::to_owned),
            names: Names::default(),
            tensors: FxHashMap::default(),
            pending: FxHashMap::default(),
            hints: FxHashMap::default(),
            so_far: RefCell::default(),
        }
    }

    /// The finished graph.
    pub fn into_graph(mut self) -> Graph {
        self.graph.set_tensors(self.tensors);
        self.graph
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What is known of the tensor at a port: what the file says of it, else what follows from the nodes before.
    pub fn told(&self, port: Port) -> TensorDesc {
        let mut told = self.graph.desc(port).clone();
        if told.dtype == DataType::Undefined || told.shape.dims().is_none() {
            let mut so_far = self.so_far.borrow_mut();
            let follows = so_far.desc(&self.graph, port);
            if told.dtype == DataType::Undefined {
                told.dtype = follows.dtype;
            }
            if told.shape.dims().is_none() {
                told.shape.clone_from(&follows.shape);
            }
        }
        told
    }

    /// Directory of the model file, where there is one.
    pub fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// Reserves a node name: the one wished for, or else that one with a number.
    pub fn claim(&mut self, wish: &str) -> String {
        self.names.claim(wish)
    }

    /// Takes an initializer of the file.
    pub fn initializer(&mut self, bytes: Bytes, index: usize) -> Result<()> {
        let tensor: proto::Tensor = decode(bytes, || format!("initializer {index}"))?;
        let (desc, value) = tensor::read(&tensor, self.base(), &|| format!("initializer `{}`", tensor.name))?;
        self.add_pending(tensor.name, desc, value, index)
    }

    /// Takes a sparse initializer of the file; its values are never needed.
    pub fn sparse_initializer(&mut self, bytes: Bytes, index: usize) -> Result<()> {
        let (name, desc) = tensor::read_sparse(bytes, &|| format!("sparse initializer {index}"))?;
        self.add_pending(name, desc, Constant::Opaque, index)
    }

    fn add_pending(&mut self, name: String, desc: TensorDesc, value: Constant, index: usize) -> Result<()> {
        if name.is_empty() {
            return Err(Error::graph(format!("initializer {index}"), "the name is empty"));
        }
        if self.pending.contains_key(&name) {
            return Err(Error::graph(format!("initializer `{name}`"), "a second initializer has the same name"));
        }
        self.pending.insert(name, Pending { desc, value });
        Ok(())
    }

    /// Takes a graph input, unless it only repeats an initializer.
    pub fn input(&mut self, bytes: Bytes, index: usize) -> Result<()> {
        let info: proto::ValueInfo = decode(bytes, || format!("input {index}"))?;
        if info.name.is_empty() {
            return Err(Error::graph(format!("input {index}"), "the name is empty"));
        }
        if self.pending.contains_key(&info.name) {
            return Ok(());
        }
        if self.tensors.contains_key(&info.name) {
            return Err(Error::graph(format!("input `{}`", info.name), "a second input has the same name"));
        }
        let name = self.claim(&info.name);
        if let Some(what) = info.kind.as_ref().and_then(proto::Type::other) {
            let port = self.graph.add_input(name, TensorDesc::unknown())?;
            let why = format!("an input of the model that is {what}, which no operator of Ascend's reads");
            self.note(port.node, WHY_UNMAPPED, Attr::Str(why));
            self.tensors.insert(info.name, port);
            return Ok(());
        }
        let declared = tensor::declared_input(&info)?;
        let port = self.graph.add_input(name, declared.desc)?;
        if declared.symbols.iter().any(|symbol| !symbol.is_empty()) {
            self.graph.node_mut(port.node).attrs.set(crate::frontend::DIM_NAMES, Attr::Strs(declared.symbols));
        }
        self.tensors.insert(info.name, port);
        Ok(())
    }

    /// Takes a tensor of the graph around the one that is read.
    pub fn outer(&mut self, tensor: &str, desc: TensorDesc, value: Option<Constant>) -> Result<()> {
        let port = if let Some(value) = value {
            self.constant(tensor, desc, value)?
        } else {
            let name = self.claim(tensor);
            self.graph.add_input(name, desc)?
        };
        self.tensors.insert(tensor.to_owned(), port);
        Ok(())
    }

    /// Takes what the file says of a tensor inside the graph.
    pub fn hint(&mut self, bytes: Bytes, index: usize) -> Result<()> {
        let info: proto::ValueInfo = decode(bytes, || format!("value_info {index}"))?;
        let declared = tensor::declared_value(&info);
        // A graph output often stands in value_info too, and may be without a type here or there.
        if declared.desc != TensorDesc::unknown() {
            self.hints.insert(info.name, declared);
        }
        Ok(())
    }

    /// What the file says of the tensor of this name.
    pub fn hinted(&self, tensor: &str) -> Declared {
        self.hints.get(tensor).cloned().unwrap_or_else(Declared::nothing)
    }

    /// Names of the inputs and initializers.
    pub fn given(&self) -> impl Iterator<Item = &String> {
        self.tensors.keys().chain(self.pending.keys())
    }

    /// Whether the tensor is an input or an initializer: something no node may write.
    pub fn is_given(&self, tensor: &str) -> bool {
        self.tensors.contains_key(tensor) || self.pending.contains_key(tensor)
    }

    /// An initializer that no node has read yet.
    pub fn pending(&self, tensor: &str) -> Option<(&TensorDesc, &Constant)> {
        self.pending.get(tensor).map(|pending| (&pending.desc, &pending.value))
    }

    /// The port of the tensor of this name; an initializer becomes a `Const` node on its first use.
    pub fn port(&mut self, tensor: &str) -> Result<Option<Port>> {
        if let Some(&port) = self.tensors.get(tensor) {
            return Ok(Some(port));
        }
        let Some(pending) = self.pending.remove(tensor) else { return Ok(None) };
        let port = self.constant(tensor, pending.desc, pending.value)?;
        self.tensors.insert(tensor.to_owned(), port);
        Ok(Some(port))
    }

    /// Describes the tensor at a port of which nothing is known yet.
    pub fn describe(&mut self, port: Port, desc: TensorDesc) {
        if let Some(output) = self.graph.node_mut(port.node).outputs.get_mut(port.output as usize)
            && *output == TensorDesc::unknown()
        {
            *output = desc;
        }
    }

    /// Notes an attribute at a node.
    pub fn note(&mut self, node: NodeId, name: &str, value: Attr) {
        self.graph.node_mut(node).attrs.set(name, value);
    }

    /// Names the tensor at a port.
    pub fn bind(&mut self, tensor: &str, port: Port) {
        self.tensors.insert(tensor.to_owned(), port);
    }

    /// Adds a node whose name is claimed already.
    pub fn add(&mut self, node: Node) -> Result<NodeId> {
        self.graph.add(node)
    }

    /// Adds a constant under this name or one like it.
    pub fn constant(&mut self, wish: &str, desc: TensorDesc, value: Constant) -> Result<Port> {
        let name = self.claim(wish);
        self.graph.add_const(name, desc, value)
    }

    /// Adds a constant of 64-bit integers; a list, or a scalar when `dims` is empty.
    pub fn ints(&mut self, wish: &str, values: Vec<i64>, scalar: bool) -> Result<Port> {
        let shape = if scalar { Shape::scalar() } else { Shape::new([values.len() as i64]) };
        self.constant(wish, TensorDesc::new(DataType::Int64, shape), Constant::Ints(values))
    }

    /// Marks a tensor as an output of the graph.
    pub fn output(&mut self, tensor: &str) -> Result<()> {
        let port = self.port(tensor)?;
        let port = port.ok_or_else(|| Error::graph(format!("output `{tensor}`"), "no node writes this tensor"))?;
        self.graph.add_output(port);
        Ok(())
    }
}
