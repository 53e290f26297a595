//! The one in-memory graph that every frontend fills and every tuner reads.
//!
//! Its shape is GE's: everything is a node. Graph inputs are `Data` nodes, constants are `Const`
//! nodes, and an edge is the [`Port`] (node, output index) that an input slot refers to. Operator
//! types are Ascend's; what the framework called the operator is kept beside it.
//!
//! A graph may be built in any order and may be wrong while it is built; [`Graph::validate`] says
//! whether it is one.
#![forbid(unsafe_code)]

mod attr;
mod constant;
mod control;
mod dtype;
mod format;
pub mod infer;
mod names;
mod node;
pub mod op;
mod tensor;
pub mod topology;
mod weight;

pub use attr::{Attr, Attrs};
pub use constant::Constant;
pub use dtype::DataType;
pub use format::Format;
pub use node::{Node, NodeId, Port, WHY_UNMAPPED};
pub use tensor::{Shape, TensorDesc, UNKNOWN_DIM};
pub use weight::Weight;

use aoe_base::status::{Error, Result};
use names::Names;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Operator type of a graph input.
pub const DATA: &str = "Data";
/// Operator type of a constant.
pub const CONST: &str = "Const";

/// A network: nodes, edges between them, and which outputs leave the graph.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Name of the network; result files and workspace folders bear it.
    pub name: String,
    /// Attributes of the graph as a whole.
    pub attrs: Attrs,
    /// Copies of a graph, of which a tuning has many, share the nodes that none of them changed.
    nodes: Vec<Arc<Node>>,
    outputs: Vec<Port>,
    by_name: Names,
    /// Tensors by the names that the model's file has for them, where it has such. Shared: copies of a graph are many.
    tensors: Arc<FxHashMap<String, Port>>,
}

impl Graph {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        Graph { name: name.into(), ..Graph::default() }
    }

    /// Adds a node; its name must be new and not empty.
    pub fn add(&mut self, node: Node) -> Result<NodeId> {
        if node.name.is_empty() {
            return Err(Error::graph(
                format!("node {} of type {}", self.nodes.len(), node.op_type),
                "the name is empty",
            ));
        }
        let id = NodeId(u32::try_from(self.nodes.len()).map_err(|_| Error::Memory { what: "graph nodes".into() })?);
        if self.by_name.find(&node.name, &self.nodes).is_some() {
            return Err(Error::graph(format!("node `{}`", node.name), "a second node has the same name"));
        }
        self.nodes.push(Arc::new(node));
        self.by_name.insert(id, &self.nodes);
        Ok(id)
    }

    /// Adds a graph input.
    pub fn add_input(&mut self, name: impl Into<String>, desc: TensorDesc) -> Result<Port> {
        Ok(Port::first(self.add(Node::new(name, DATA).with_outputs(vec![desc]))?))
    }

    /// Adds a constant.
    pub fn add_const(&mut self, name: impl Into<String>, desc: TensorDesc, value: Constant) -> Result<Port> {
        let mut node = Node::new(name, CONST).with_outputs(vec![desc]);
        node.value = Some(value);
        Ok(Port::first(self.add(node)?))
    }

    /// Marks an output of a node as an output of the graph.
    pub fn add_output(&mut self, port: Port) {
        self.outputs.push(port);
    }

    /// The outputs of the graph.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Replaces the outputs of the graph.
    pub fn set_outputs(&mut self, outputs: Vec<Port>) {
        self.outputs = outputs;
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes with their ids, in the order they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, n)| (NodeId(i as u32), &**n))
    }

    /// The node with this id. Ids come from this graph.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The node with this id, to change it. Its name must stay.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        Arc::make_mut(&mut self.nodes[id.index()])
    }

    /// Changes the node with this id, and leaves one that is shared with another graph as it is where nothing changes. Its
    /// name must stay.
    pub(crate) fn update(&mut self, id: NodeId, change: impl FnOnce(&mut Node)) {
        let shared = &mut self.nodes[id.index()];
        if let Some(node) = Arc::get_mut(shared) {
            return change(node);
        }
        let mut node = Node::clone(shared);
        change(&mut node);
        if node != **shared {
            *shared = Arc::new(node);
        }
    }

    /// Adds the next node of a graph that this one is the beginning of, without its name: nobody looks for it here.
    pub(crate) fn share(&mut self, whole: &Graph) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Arc::clone(&whole.nodes[id.index()]));
        id
    }

    /// Gives a node another name and answers the old one; `None` where a node has the name already.
    pub fn rename(&mut self, id: NodeId, name: &str) -> Option<String> {
        if self.find(name).is_some() {
            return None;
        }
        self.by_name.remove(id, &self.nodes);
        let old = std::mem::replace(&mut self.node_mut(id).name, name.to_owned());
        self.by_name.insert(id, &self.nodes);
        Some(old)
    }

    /// The node with this id, when there is one.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index()).map(|node| &**node)
    }

    /// The node with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.find(name, &self.nodes)
    }

    /// Description of the tensor at a port. The port comes from this graph.
    pub fn desc(&self, port: Port) -> &TensorDesc {
        &self.node(port.node).outputs[port.output as usize]
    }

    /// Name of the tensor at a port: the node's name, with the output's index where it has several.
    pub fn tensor_name(&self, port: Port) -> String {
        let node = self.node(port.node);
        if node.outputs.len() > 1 { format!("{}:{}", node.name, port.output) } else { node.name.clone() }
    }

    /// Says what the model's file calls the tensors, where it names them apart from the nodes.
    pub fn set_tensors(&mut self, tensors: FxHashMap<String, Port>) {
        self.tensors = Arc::new(tensors);
    }

    /// The tensor that the model's file calls by this name.
    pub fn tensor(&self, name: &str) -> Option<Port> {
        self.tensors.get(name).copied()
    }

    /// The names that the model's file has for tensors.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Takes nodes out: those whose entry in `keep` is false or missing. The others keep their order and get new
    /// ids. What stays must not read what goes; an input that does is left unconnected.
    pub fn retain(&mut self, keep: &[bool]) {
        let kept = |index: usize| keep.get(index) == Some(&true);
        if (0..self.nodes.len()).all(kept) {
            return;
        }
        let mut moved: Vec<Option<NodeId>> = Vec::with_capacity(self.nodes.len());
        let mut next = 0;
        for index in 0..self.nodes.len() {
            moved.push(kept(index).then_some(NodeId(next)));
            next += u32::from(kept(index));
        }
        let at = |port: Port| Some(Port { node: moved.get(port.node.index()).copied().flatten()?, ..port });
        let mut index = 0;
        self.nodes.retain(|_| {
            index += 1;
            kept(index - 1)
        });
        for node in self.nodes.iter_mut().filter(|node| !node.inputs.is_empty()) {
            Arc::make_mut(node).inputs.iter_mut().for_each(|input| *input = input.and_then(at));
        }
        self.outputs = self.outputs.iter().filter_map(|&port| at(port)).collect();
        let tensors = self.tensors.iter().filter_map(|(name, &port)| Some((name.clone(), at(port)?)));
        self.tensors = Arc::new(tensors.collect());
        self.by_name = Names::of(&self.nodes);
    }

    /// Graph inputs (`Data` nodes) in the order they were added.
    pub fn inputs(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.iter().filter(|(_, n)| n.op_type == DATA)
    }
}
