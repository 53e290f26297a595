//! What a file says of a tensor more than once: where it is made, and where it is read.

use super::Reader;
use crate::frontend::air::layout::is_control;
use crate::frontend::air::tensor;
use crate::graph::{Attr, CONST, Constant, Format, Node, NodeId, Port, Shape, infer};
use crate::spelling;
use crate::status::{Error, Result};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Attribute of a node while a file is read: a layout of its tensors that is no format's name.
pub(super) const UNKNOWN_LAYOUT: &str = "_aoe_unknown_layout";

/// Attribute of a node that was just read: its inputs that it describes otherwise than who makes them, in words
/// ([`Attr::Strs`]).
pub const DESCRIBED_OTHERWISE: &str = "_aoe_described_otherwise";
/// Operators whose inputs GE describes in other axes than who makes them.
const RESHAPING: [&str; 2] = ["FullyConnection", "FullyConnectionCompress"];

/// What an operator states of one of its inputs.
pub(super) struct Input {
    pub(super) format: Format,
    /// Which of its descriptions it is, and the sizes there.
    pub(super) described: Option<(usize, Vec<i64>)>,
}

/// An input whose description does not say just what the node says that makes it, as far as that was read.
pub(super) struct Doubt {
    /// The node's place in the layout.
    place: usize,
    /// Which of its inputs.
    slot: usize,
    /// Which of its descriptions.
    described: usize,
    /// Who makes it.
    port: Port,
}

/// Notes that a tensor has a layout which is no format's name.
pub(super) fn note_unknown_layout(node: &mut Node, layout: Option<String>) {
    if let Some(layout) = layout {
        node.attrs.set(UNKNOWN_LAYOUT, Attr::Str(layout));
    }
}

impl Reader<'_> {
    /// The inputs of a node whose descriptions are not just what was read of the node that makes them: few, so that their attributes
    /// are looked at once all is read.
    pub(super) fn doubts_of(&self, place: usize, inputs: &[Option<Port>], stated: &[Input]) -> Vec<Doubt> {
        let doubt = |(slot, (port, stated)): (usize, (&Option<Port>, &Input))| {
            let ((described, own), port) = (stated.described.as_ref()?, (*port)?);
            let made = self.graph.get(port.node).and_then(|node| node.outputs.get(port.output as usize));
            let is_same = made.and_then(|desc| desc.shape.dims()) == Some(own);
            (!is_same).then_some(Doubt { place, slot, described: *described, port })
        };
        inputs.iter().zip(stated).enumerate().filter_map(doubt).collect()
    }

    /// Gives constants that neither have a value nor say their shape the one that GE set where they are read, and says that
    /// the file was written without values.
    pub(super) fn complete_constants(&mut self, order: &[usize]) -> Result<()> {
        let is_open = |node: &Node| {
            node.op_type == CONST
                && node.attrs.get(tensor::VALUE).is_none()
                && node.value == Some(Constant::Opaque)
                && node.outputs.iter().all(|output| output.shape.dims().is_none())
        };
        let open: FxHashSet<NodeId> = self.graph.iter().filter(|(_, node)| is_open(node)).map(|(id, _)| id).collect();
        if open.is_empty() {
            return Ok(());
        }
        self.describe_as_read(&open, order)?;
        let mut names: Vec<&str> = open.iter().map(|&id| self.graph.node(id).name.as_str()).collect();
        names.sort_unstable();
        log::warn!(
            "{} are constants without a value: the file was written without values (DUMP_GE_GRAPH=1 writes them); their \
             shapes are those that GE noted where they are read, and what reads others is left out",
            spelling::listed(&names)
        );
        Ok(())
    }

    /// Gives results of operators without a rule, which say no shape of them, the one that GE set where they are read.
    pub(super) fn complete_results(&mut self, order: &[usize]) -> Result<()> {
        let is_open = |node: &Node| {
            !infer::has_rule(node)
                && node.inputs.iter().flatten().next().is_some()
                && node.outputs.iter().any(|output| output.shape.dims().is_none())
        };
        let open: FxHashSet<NodeId> = self.graph.iter().filter(|(_, node)| is_open(node)).map(|(id, _)| id).collect();
        if open.is_empty() { Ok(()) } else { self.describe_as_read(&open, order) }
    }

    /// Gives outputs of these nodes that say no shape the one that who reads them states.
    fn describe_as_read(&mut self, open: &FxHashSet<NodeId>, order: &[usize]) -> Result<()> {
        for &place in order {
            let placed = &self.layout.nodes[place];
            let data = placed.op.input.iter().filter(|reference| !is_control(reference));
            for (reference, desc) in data.zip(&placed.op.input_desc).filter(|(reference, _)| !reference.is_empty()) {
                let at = || format!("node `{}` ({})", placed.name, placed.op.op_type);
                let port = self.port(placed.scope, reference).map_err(|reason| Error::graph(at(), reason))?;
                let Some(port) = port.filter(|port| open.contains(&port.node)) else { continue };
                let read = tensor::read(desc.clone(), &at)?;
                let desc = read.desc.filter(|desc| read.is_set && desc.shape.known().is_some());
                let output = self.graph.node_mut(port.node).outputs.get_mut(port.output as usize);
                if let (Some(desc), Some(output)) = (desc, output.filter(|output| output.shape.dims().is_none())) {
                    *output = desc;
                }
            }
        }
        Ok(())
    }

    /// Notes the inputs that are described otherwise than by the node that makes them.
    pub(super) fn note_described(&mut self) {
        for Doubt { place, slot, described, port } in std::mem::take(&mut self.doubts) {
            let made = self.graph.node(port.node).outputs.get(port.output as usize);
            let Some(made) = made.and_then(|desc| desc.shape.dims()) else { continue };
            let desc = &self.layout.nodes[place].op.input_desc[described];
            let Some(other) = tensor::described_otherwise(desc, made) else { continue };
            // GE's inference gives what these read the axes of an image, and who makes it keeps its own.
            let is_reshaped = other.elements() == Shape::new(made).elements();
            if is_reshaped && RESHAPING.contains(&self.layout.nodes[place].op.op_type.as_str()) {
                continue;
            }
            let (made, maker) = (Shape::new(made), self.graph.tensor_name(port));
            let said = format!("input {slot} as {other}, and `{maker}` gives it as {made}");
            let attrs = &mut self.graph.node_mut(self.places[place]).attrs;
            let mut list = match attrs.remove(DESCRIBED_OTHERWISE) {
                Some(Attr::Strs(list)) => list,
                _ => Vec::new(),
            };
            list.push(said);
            attrs.set(DESCRIBED_OTHERWISE, Attr::Strs(list));
        }
    }

    /// Says which tensors count as ND because nothing tells their format.
    pub(super) fn tell_unknown_layouts(&mut self) {
        let noted = self.graph.iter().filter(|(_, node)| node.attrs.get(UNKNOWN_LAYOUT).is_some());
        let noted: Vec<NodeId> = noted.map(|(id, _)| id).collect();
        let mut nodes = BTreeMap::<String, Vec<String>>::new();
        for id in noted {
            let node = self.graph.node_mut(id);
            if let Some(Attr::Str(layout)) = node.attrs.remove(UNKNOWN_LAYOUT) {
                nodes.entry(layout).or_default().push(node.name.clone());
            }
        }
        for (layout, names) in nodes {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            log::warn!(
                "layout `{layout}` is no format that is known, and no origin format stands beside it: it counts as ND at {}",
                spelling::listed(&names)
            );
        }
    }
}
