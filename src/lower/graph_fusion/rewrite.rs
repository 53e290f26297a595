//! A graph while passes rewrite it: who reads what, what stands for what is gone, and the questions that patterns ask.

use super::{FUSED_NODES, STATED_TYPE};
use crate::graph::infer::{Call, Values};
use crate::graph::{Attr, Attrs, Constant, Graph, Node, NodeId, Port, TensorDesc};
use crate::lower::Precision;
use rustc_hash::{FxHashMap, FxHashSet};

/// A graph while it is fused.
pub(super) struct Fusion<'g> {
    pub graph: &'g mut Graph,
    pub precision: Precision,
    /// How often each tensor is read; an output of the graph is a reading.
    readings: FxHashMap<Port, u32>,
    /// By node, the tensor that now stands for its first output.
    stands_for: Vec<Option<Port>>,
    /// By node, whether it stays.
    keep: Vec<bool>,
    /// Nodes that read what they stand for.
    views: FxHashSet<NodeId>,
    /// Makers of what elementwise work reads, where somebody asked.
    followed: Option<FxHashSet<NodeId>>,
    /// By operator type, a bit for each pass that looks at nodes of it.
    looked_at: FxHashMap<&'static str, u64>,
    /// By node, those of its type.
    looks: Vec<u64>,
    /// Nodes whose names [`FUSED_NODES`] lists, by the node that does their work.
    fused: FxHashMap<NodeId, Vec<String>>,
}

impl<'g> Fusion<'g> {
    pub fn of(graph: &'g mut Graph, precision: Precision) -> Self {
        let mut readings: FxHashMap<Port, u32> = FxHashMap::default();
        let read = graph.iter().flat_map(|(_, node)| node.inputs.iter().flatten()).chain(graph.outputs());
        read.for_each(|&port| *readings.entry(port).or_default() += 1);
        let (stands_for, keep) = (vec![None; graph.len()], vec![true; graph.len()]);
        let (views, fused) = (FxHashSet::default(), FxHashMap::default());
        let (looked_at, looks) = (FxHashMap::default(), Vec::new());
        Fusion { graph, precision, readings, stands_for, keep, views, followed: None, looked_at, looks, fused }
    }

    /// Says which passes look at nodes of which types, once for all of them: networks have a million nodes.
    pub fn look_out(&mut self, looked_at: FxHashMap<&'static str, u64>) {
        let looks = |node: &Node| looked_at.get(node.op_type.as_str()).copied().unwrap_or(0);
        self.looks = self.graph.iter().map(|(_, node)| looks(node)).collect();
        self.looked_at = looked_at;
    }

    /// Whether the pass of this bit looks at a node.
    pub fn is_anchor(&self, id: NodeId, bit: usize) -> bool {
        self.looks.get(id.index()).is_some_and(|looks| looks >> bit & 1 == 1)
    }

    /// Whether a node is there to be worked on.
    pub fn is_live(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        self.keep[id.index()] && node.mapped && node.value.is_none()
    }

    /// The tensor that stands for another now.
    fn resolved(&self, mut port: Port) -> Port {
        while let Some(now) = self.stands_for[port.node.index()].filter(|_| port.output == 0) {
            port = now;
        }
        port
    }

    /// Lets a node read what stands for its inputs.
    pub fn follow(&mut self, id: NodeId) {
        if self.views.contains(&id) {
            return;
        }
        for index in 0..self.graph.node(id).inputs.len() {
            if let Some(port) = self.graph.node(id).inputs[index] {
                let now = self.resolved(port);
                if now != port {
                    self.graph.node_mut(id).inputs[index] = Some(now);
                }
            }
        }
    }

    /// The node that makes a tensor, where it is of one of these types and nothing else reads the tensor.
    pub fn made(&mut self, port: Port, types: &[&str]) -> Option<NodeId> {
        self.has_one_reader(port).then(|| self.maker(port, types)).flatten()
    }

    /// The node that makes a tensor, where it is of one of these types.
    pub fn maker(&mut self, port: Port, types: &[&str]) -> Option<NodeId> {
        let id = port.node;
        if port.output != 0 || !self.is_live(id) || !types.contains(&self.graph.node(id).op_type.as_str()) {
            return None;
        }
        self.follow(id);
        Some(id)
    }

    /// The two inputs of a node of two.
    pub fn pair(&self, id: NodeId) -> Option<[Port; 2]> {
        match self.graph.node(id).inputs.as_slice() {
            &[Some(a), Some(b)] => Some([a, b]),
            _ => None,
        }
    }

    /// Of a node of two inputs the one, in either order, of which `test` says something, and the other.
    pub fn either<T>(&mut self, id: NodeId, mut test: impl FnMut(&mut Self, Port) -> Option<T>) -> Option<(T, Port)> {
        let [a, b] = self.pair(id)?;
        test(self, a).map(|found| (found, b)).or_else(|| test(self, b).map(|found| (found, a)))
    }

    /// Of a node of two inputs the one that is not a scalar constant, where the other is this number.
    pub fn beside(&mut self, id: NodeId, number: f64) -> Option<Port> {
        let is = |value: f64| (value - number).abs() <= 1e-5;
        self.either(id, |this, port| this.scalar(port).filter(|&value| is(value))).map(|(_, other)| other)
    }

    /// The value of a scalar constant: of rank 0 or shape \[1\].
    pub fn scalar(&self, port: Port) -> Option<f64> {
        if !matches!(self.dims(port), Some([] | [1])) {
            return None;
        }
        match self.graph.node(port.node).value.as_ref().filter(|_| port.output == 0)? {
            Constant::Ints(values) => values.first().map(|&value| value as f64),
            Constant::Floats(values) => values.first().copied(),
            Constant::Stored(_) | Constant::Opaque => None,
        }
    }

    /// Sizes of a tensor, where they are known.
    pub fn dims(&self, port: Port) -> Option<&[i64]> {
        self.graph.desc(port).shape.known()
    }

    /// Whether nothing but one reader sees this tensor.
    pub fn has_one_reader(&self, port: Port) -> bool {
        self.read(port) == 1
    }

    /// How often a tensor is read; an output of the graph is a reading.
    pub fn read(&self, port: Port) -> u32 {
        self.readings.get(&port).copied().unwrap_or(0)
    }

    /// Whether none but the first output of a node is read.
    pub fn only_first_output_read(&self, id: NodeId) -> bool {
        (1..self.graph.node(id).outputs.len()).all(|output| self.read(Port { node: id, output: output as u32 }) == 0)
    }

    /// Whether an input is there and constant.
    pub fn is_constant(&self, port: Option<Port>) -> bool {
        port.is_some_and(|port| self.graph.node(port.node).value.is_some())
    }

    /// Asks a question that shape inference knows the answer to.
    pub fn ask<T>(&self, node: &Node, question: impl FnOnce(&Call<'_>) -> T) -> T {
        question(&Call::new(self.graph, node, &Values::default()))
    }

    /// Gives a node other inputs.
    pub fn set_inputs(&mut self, id: NodeId, inputs: Vec<Option<Port>>) {
        let before = std::mem::replace(&mut self.graph.node_mut(id).inputs, inputs);
        for port in before.into_iter().flatten() {
            self.unread(port);
        }
        for index in 0..self.graph.node(id).inputs.len() {
            if let Some(port) = self.graph.node(id).inputs[index] {
                *self.readings.entry(port).or_default() += 1;
            }
        }
    }

    fn unread(&mut self, port: Port) {
        if let Some(count) = self.readings.get_mut(&port) {
            *count = count.saturating_sub(1);
        }
    }

    /// Lets a tensor stand for a node's first output, whoever reads that.
    pub fn replace(&mut self, id: NodeId, by: Port) {
        let readings = self.readings.remove(&Port::first(id)).unwrap_or(0);
        *self.readings.entry(by).or_default() += readings;
        self.stands_for[id.index()] = Some(by);
    }

    /// Takes out a node that does no work.
    pub fn leave_out(&mut self, id: NodeId) {
        self.keep[id.index()] = false;
        for port in self.graph.node(id).inputs.clone().into_iter().flatten() {
            self.unread(port);
        }
    }

    /// Takes out a node whose work `host` does.
    pub fn take_out(&mut self, id: NodeId, host: NodeId) {
        self.leave_out(id);
        let mut names = vec![self.graph.node(id).name.clone()];
        names.extend(self.fused.remove(&id).unwrap_or_default());
        self.fused.entry(host).or_default().extend(names);
    }

    /// Makes of a node the operator that does its work and that of the others, which go.
    pub fn become_one(&mut self, id: NodeId, op_type: &str, attrs: Attrs, inputs: Vec<Option<Port>>, gone: &[NodeId]) {
        self.graph.node_mut(id).attrs = attrs;
        // They are of inputs at other places.
        self.graph.node_mut(id).formats.clear();
        self.rename(id, op_type);
        self.set_inputs(id, inputs);
        for &other in gone {
            self.take_out(other, id);
        }
    }

    /// Calls a node as CANN's pass does; its own name goes with those that are fused into it.
    pub fn call(&mut self, id: NodeId, name: &str) {
        if let Some(own) = self.graph.rename(id, name) {
            self.fused.entry(id).or_default().push(own);
        }
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) -> Option<NodeId> {
        let inputs = node.inputs.clone();
        let id = self.graph.add(node).ok()?;
        inputs.into_iter().flatten().for_each(|port| *self.readings.entry(port).or_default() += 1);
        self.keep.push(true);
        self.stands_for.push(None);
        Some(id)
    }

    /// Whether an operator that is often fused with what it reads reads a node's result: looked up once for the graph.
    pub fn is_followed(&mut self, id: NodeId) -> bool {
        let followed = self.followed.take().unwrap_or_else(|| {
            let readers = self.graph.iter().filter(|(id, node)| {
                self.keep[id.index()] && matches!(node.op_type.as_str(), "Add" | "AddN" | "Mul" | "Relu")
            });
            let read = readers.flat_map(|(_, node)| node.inputs.iter().flatten());
            read.map(|&port| self.resolved(port).node).collect()
        });
        self.followed.insert(followed).contains(&id)
    }

    /// A view of a tensor, by a new node.
    pub fn view(&mut self, name: String, of: Port, seen: TensorDesc) -> Option<Port> {
        self.add(Node::new(name, "Reshape").with_inputs([of]).with_outputs(vec![seen])).map(Port::first)
    }

    /// Lets everyone see a node's first result, which from now on is `made`, as what it was.
    pub fn view_result(&mut self, id: NodeId, name: String, made: TensorDesc) -> Option<()> {
        if self.graph.find(&name).is_some() {
            return None;
        }
        let readings = self.readings.remove(&Port::first(id)).unwrap_or(0);
        let seen = std::mem::replace(self.graph.node_mut(id).outputs.first_mut()?, made);
        let view = self.view(name, Port::first(id), seen)?;
        self.readings.insert(view, readings);
        self.stands_for[id.index()] = Some(view);
        self.views.insert(view.node);
        Some(())
    }

    /// Gives a node the operator type that means the same.
    pub fn rename(&mut self, id: NodeId, op_type: &str) {
        let node = self.graph.node_mut(id);
        if node.op_type != op_type {
            if let Some(looks) = self.looks.get_mut(id.index()) {
                *looks = self.looked_at.get(op_type).copied().unwrap_or(0);
            }
            let stated = std::mem::replace(&mut node.op_type, op_type.to_owned());
            if node.attrs.get(STATED_TYPE).is_none() {
                node.attrs.set(STATED_TYPE, Attr::Str(stated));
            }
        }
    }

    /// Ends: what is gone goes, and everything reads what stands for it.
    pub fn finish(mut self) {
        if self.stands_for.iter().any(Option::is_some) {
            (0..self.graph.len()).for_each(|index| self.follow(NodeId(index as u32)));
            let outputs = self.graph.outputs().to_vec().into_iter().map(|port| self.resolved(port)).collect();
            self.graph.set_outputs(outputs);
        }
        for (id, names) in self.fused {
            self.graph.node_mut(id).attrs.set(FUSED_NODES, Attr::Strs(names));
        }
        if self.keep.contains(&false) {
            self.graph.retain(&self.keep);
        }
    }
}
