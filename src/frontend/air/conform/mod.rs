//! A graph in the form that GE compiles.
//!
//! Readers of other frameworks make graphs in which an operator has what tuning needs. GE asks for more: each operator
//! as its interface declares it ([`crate::graph::op::prototype`]), with its attributes in their kinds, all of its outputs,
//! and those of its parameters as inputs that are inputs there.

pub mod attributes;
mod operators;

use super::tuned::{INPUT_FORMATS, OUTPUT_FORMATS};
use crate::graph::infer;
use crate::graph::op::prototype::{Count, Prototype, prototype};
use crate::graph::{Attr, CONST, Constant, DATA, DataType, Format, Graph, Node, NodeId, Port, Shape, TensorDesc};
use crate::status::Result;
use rustc_hash::FxHashSet;

/// The graph with every operator as its interface declares it. What has none, and what cannot be brought into its form,
/// stays as it is.
///
/// Fails with [`crate::status::Error::Graph`] for a graph that is none.
pub fn conformed(graph: &Graph) -> Result<Graph> {
    graph.validate()?;
    let mut form = Form { graph: graph.clone() };
    for index in 0..graph.len() {
        form.settle(NodeId(index as u32))?;
    }
    Ok(form.graph)
}

/// Attribute of a node: how many outputs the network has of it; the others are there because its interface asks for them.
const GIVEN_OUTPUTS: &str = "_aoe_given_outputs";

/// Attribute of a node: its attributes that are there because its interface has defaults for them.
const GIVEN_DEFAULTS: &str = "_aoe_given_defaults";

/// Takes away again what [`conformed`] gave to operators, attributes and outputs that nobody reads: the network is what
/// it was.
pub fn settle(graph: &mut Graph) {
    let inputs = graph.iter().flat_map(|(_, node)| node.inputs.iter().flatten().copied());
    let read: FxHashSet<Port> = inputs.chain(graph.outputs().iter().copied()).collect();
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        let node = graph.node_mut(id);
        if let Some(Attr::Strs(names)) = node.attrs.remove(GIVEN_DEFAULTS) {
            for name in names {
                node.attrs.remove(&name);
            }
        }
        // A file may say it of inputs and constants, too, which are never without an output.
        let is_source = [DATA, CONST].contains(&node.op_type.as_str());
        let Some(Attr::Int(given)) = node.attrs.remove(GIVEN_OUTPUTS).filter(|_| !is_source) else { continue };
        let Ok(given) = usize::try_from(given) else { continue };
        let is_read = |output: usize| read.contains(&Port { node: id, output: output as u32 });
        if given < node.outputs.len() && !(given..node.outputs.len()).any(is_read) {
            node.outputs.truncate(given);
            if let Some(Attr::Strs(mut formats)) = node.attrs.remove(OUTPUT_FORMATS) {
                formats.truncate(given);
                node.attrs.set(OUTPUT_FORMATS, Attr::Strs(formats));
            }
        }
    }
}

/// The graph while its operators are brought into form.
struct Form {
    graph: Graph,
}

impl Form {
    /// One operator.
    fn settle(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph.node(id);
        if !node.mapped || [DATA, CONST].contains(&node.op_type.as_str()) {
            return Ok(());
        }
        let before = node.inputs.clone();
        operators::rewrite(self, id)?;
        self.restate_formats(id, &before);
        let Some(prototype) = prototype(&self.graph.node(id).op_type) else { return Ok(()) };
        self.complete_outputs(id, prototype);
        self.settle_attributes(id, prototype);
        Ok(())
    }

    /// Attributes in their kinds, and defaults for those that are absent, unless these make other outputs of it than the
    /// network has: there an absent one meant something else.
    fn settle_attributes(&mut self, id: NodeId, prototype: &Prototype) {
        let image = self.format_of(id);
        let attrs = &mut self.graph.node_mut(id).attrs;
        attributes::convert(attrs, prototype);
        let bare = attrs.clone();
        let before = infer::describe(&self.graph, id);
        let given = attributes::complete(&mut self.graph.node_mut(id).attrs, prototype, image);
        if infer::describe(&self.graph, id) != before {
            self.graph.node_mut(id).attrs = bare;
        } else if !given.is_empty() && self.node(id).attrs.get(GIVEN_DEFAULTS).is_none() {
            self.set(id, GIVEN_DEFAULTS, Attr::Strs(given));
        }
    }

    /// Says of a tuned node's inputs, which were those before, in which formats they are; a new one is a parameter.
    fn restate_formats(&mut self, id: NodeId, before: &[Option<Port>]) {
        // Most are as they were, and stay those of the graph that was given.
        let node = self.graph.node(id);
        let Some(Attr::Strs(formats)) = node.attrs.get(INPUT_FORMATS).filter(|_| node.inputs != before) else { return };
        let old =
            |port: &Option<Port>| before.iter().position(|was| was == port).and_then(|at| formats.get(at)).cloned();
        let plain = || Format::Nd.name().to_owned();
        let format = |port: &Option<Port>| port.map_or_else(String::new, |_| old(port).unwrap_or_else(plain));
        let restated = node.inputs.iter().map(format).collect();
        self.graph.node_mut(id).attrs.set(INPUT_FORMATS, Attr::Strs(restated));
    }

    /// Layout of an operator's first input, else of its output.
    fn format_of(&self, id: NodeId) -> Format {
        let node = self.graph.node(id);
        let inputs = node.inputs.iter().flatten().map(|&port| self.graph.desc(port).format);
        inputs.chain(node.outputs.first().map(|output| output.format)).find(|&f| f != Format::Nd).unwrap_or(Format::Nd)
    }

    /// Adds the outputs that nobody reads: the operator has them all the same.
    fn complete_outputs(&mut self, id: NodeId, prototype: &Prototype) {
        let slots = &prototype.outputs;
        let given = self.graph.node(id).outputs.len();
        // What has no output at all in the network is none of GE's operators.
        if given == 0 || given >= slots.len() || slots.iter().any(|slot| slot.count == Count::Dynamic) {
            return;
        }
        let before = infer::describe(&self.graph, id);
        self.graph.node_mut(id).outputs.resize(slots.len(), TensorDesc::unknown());
        let described = infer::describe(&self.graph, id);
        let node = self.graph.node_mut(id);
        // Which outputs the network has of it is not told by their number.
        if before.iter().zip(&described).take(given).any(|(was, is)| was != is) {
            node.outputs.truncate(given);
            return;
        }
        node.attrs.set(GIVEN_OUTPUTS, Attr::Int(given as i64));
        if let Some(Attr::Strs(mut formats)) = node.attrs.remove(OUTPUT_FORMATS) {
            formats.resize(slots.len(), Format::Nd.name().to_owned());
            node.attrs.set(OUTPUT_FORMATS, Attr::Strs(formats));
        }
        for (index, output) in node.outputs.iter_mut().enumerate().skip(given) {
            if let Some(desc) = described.get(index) {
                output.clone_from(desc);
            }
        }
    }

    /// The node.
    fn node(&self, id: NodeId) -> &Node {
        self.graph.node(id)
    }

    /// The node, to change it.
    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.graph.node_mut(id)
    }

    /// What an input reads.
    fn input(&self, id: NodeId, input: usize) -> Option<Port> {
        self.node(id).input(input)
    }

    /// Rank of an input, where it is known.
    fn rank(&self, id: NodeId, input: usize) -> Option<usize> {
        self.graph.desc(self.input(id, input)?).shape.rank()
    }

    /// The integers of an input that is a constant, or was folded into one.
    fn ints_of(&self, id: NodeId, input: usize) -> Option<Vec<i64>> {
        let port = self.input(id, input).filter(|port| port.output == 0)?;
        self.node(port.node).value.as_ref()?.ints().map(<[i64]>::to_vec)
    }

    /// Adds a constant for an operator, named after it and its role.
    fn constant(&mut self, id: NodeId, role: &str, desc: TensorDesc, value: Constant) -> Result<Port> {
        let mut name = format!("{}/{role}", self.node(id).name);
        while self.graph.find(&name).is_some() {
            name.push('_');
        }
        self.graph.add_const(name, desc, value)
    }

    /// Adds a list of 64-bit integers.
    fn ints(&mut self, id: NodeId, role: &str, values: Vec<i64>) -> Result<Port> {
        let desc = TensorDesc::new(DataType::Int64, Shape::new([values.len() as i64]));
        self.constant(id, role, desc, Constant::Ints(values))
    }

    /// Adds a 32-bit integer.
    fn int(&mut self, id: NodeId, role: &str, value: i64) -> Result<Port> {
        let desc = TensorDesc::new(DataType::Int32, Shape::scalar());
        self.constant(id, role, desc, Constant::Ints(vec![value]))
    }

    /// Sets an attribute.
    fn set(&mut self, id: NodeId, name: &str, value: Attr) {
        self.node_mut(id).attrs.set(name, value);
    }
}
