//! Where a network stops being static: tensors whose sizes nothing tells.

use super::entry::comes_from_outside;
use super::walk::{dynamic, follows_from_values, has_rule, require_static};
use crate::control::{Flow, flows};
use crate::{DATA, Graph, Node, NodeId, Port, WHY_UNMAPPED, op};
use aoe_base::spelling::listed;
use aoe_base::status::{Error, Result};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// A graph up to where its sizes are known.
#[derive(Debug)]
pub struct Static {
    /// The nodes whose tensors have known sizes. What they take over from behind the border are inputs, what they leave
    /// to it are outputs.
    pub graph: Graph,
    /// Nodes behind the border that run a kernel, in the order in which they run.
    pub left_out: Vec<LeftOut>,
}

/// A node that reads or writes a tensor whose sizes are not known, or of which only a run tells how often it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// What the framework calls its operator.
    pub origin_type: String,
    /// Why the sizes are not known.
    pub cause: Cause,
    /// The node whose result has no known sizes, from which this one's have none; it may be the node itself.
    pub source: String,
    /// What the framework calls the operator of that node.
    pub source_type: String,
    /// Why that operator stayed the framework's, where its reader said it, or which loop or conditional it is part of.
    pub why: Option<String>,
}

impl LeftOut {
    /// The node from which this one has no sizes, and why it gives none, in words.
    fn at_fault(&self) -> String {
        let why = self.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        format!("`{}` ({}{why})", self.source, self.source_type)
    }
}

/// Why sizes are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// An operator of an unknown type makes them, and nobody states them.
    #[serde(rename = "unknown operator")]
    UnknownOperator,
    /// A tensor that comes from outside is not described.
    #[serde(rename = "undescribed input")]
    Undescribed,
    /// Only a run tells them: they follow from values.
    #[serde(rename = "only a run tells")]
    Run,
    /// Only a run tells how often the node runs, or whether: it is in or behind a loop or a conditional of TensorFlow 1.
    #[serde(rename = "control flow")]
    Flow,
}

impl Cause {
    /// Every one.
    pub const ALL: [Cause; 4] = [Cause::UnknownOperator, Cause::Undescribed, Cause::Run, Cause::Flow];

    /// The word for it in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::UnknownOperator => "unknown operator",
            Cause::Undescribed => "undescribed input",
            Cause::Run => "only a run tells",
            Cause::Flow => "control flow",
        }
    }
}

/// Takes out of a graph the nodes that read or write a tensor whose sizes are not known, and those of which only a run
/// tells how often they run. A tensor of known sizes that such a node gives to others becomes an input.
///
/// Fails with [`Error::Dynamic`] that names an input of the graph that something reads though some of
/// its sizes are left open: these a caller can tell.
pub fn split_static(mut graph: Graph) -> Result<Static> {
    let order = graph.validated_order()?;
    let flows = flows(&graph, &order);
    let mut behind: Vec<Option<(Cause, NodeId)>> = vec![None; graph.len()];
    for &id in &order {
        let unknown = why_behind(&graph, id, &behind)?;
        behind[id.index()] = flows[id.index()].map(|_| (Cause::Flow, id)).or(unknown);
    }
    if behind.iter().all(Option::is_none) {
        return Ok(Static { graph, left_out: Vec::new() });
    }
    let left_out = named(&graph, &order, &behind, &flows);
    let is_behind = |port: &Port| behind[port.node.index()].is_some();
    let mut taken_over = FxHashSet::default();
    let mut outputs: Vec<Port> = graph.outputs().iter().copied().filter(|port| !is_behind(port)).collect();
    for (id, node) in graph.iter() {
        let here = behind[id.index()].is_some();
        for &port in node.inputs.iter().flatten() {
            if !here && is_behind(&port) {
                taken_over.insert(port.node);
            } else if here && !is_behind(&port) && graph.node(port.node).value.is_none() {
                outputs.push(port);
            }
        }
    }
    let mut seen = FxHashSet::default();
    outputs.retain(|&port| seen.insert(port));
    for &id in &taken_over {
        let node = graph.node_mut(id);
        DATA.clone_into(&mut node.op_type);
        node.mapped = true;
        node.inputs.clear();
    }
    let keep: Vec<bool> =
        graph.iter().map(|(id, _)| behind[id.index()].is_none() || taken_over.contains(&id)).collect();
    graph.set_outputs(outputs);
    graph.retain(&keep);
    Ok(Static { graph, left_out })
}

/// Why a node is behind the border, and which node is at fault: it reads a tensor of unknown sizes, or writes one though
/// its operator is known. `None` for one that is not. `behind` has the answers of the nodes that it reads.
fn why_behind(graph: &Graph, id: NodeId, behind: &[Option<(Cause, NodeId)>]) -> Result<Option<(Cause, NodeId)>> {
    let node = graph.node(id);
    let is_unknown = |port: &&Port| graph.desc(**port).shape.known().is_none();
    if let Some(&port) = node.inputs.iter().flatten().find(is_unknown) {
        let source = graph.node(port.node);
        // Sizes that are left open ask for a value; where there is no shape at all, the program may not have one.
        if source.op_type == DATA && graph.desc(port).shape.rank().is_some() {
            return Err(dynamic(graph, port));
        }
        let own = || match follows_from_values(source) || op::gives_what_it_finds(&source.op_type) {
            false => Cause::UnknownOperator,
            true if is_no_tensor(source) => Cause::UnknownOperator,
            true if comes_from_outside(source) => Cause::Undescribed,
            true => Cause::Run,
        };
        return Ok(Some(behind[port.node.index()].unwrap_or_else(|| (own(), port.node))));
    }
    let writes = node.outputs.first().is_some_and(|output| output.shape.known().is_none());
    let runs = has_rule(node) && node.value.is_none() && !comes_from_outside(node);
    let cause = if follows_from_values(node) { Cause::Run } else { Cause::UnknownOperator };
    Ok((writes && runs).then_some((cause, id)))
}

/// Whether a node is an input of the model that is no tensor.
fn is_no_tensor(node: &Node) -> bool {
    node.op_type == DATA && node.attrs.get(WHY_UNMAPPED).is_some()
}

/// The error of a graph of which nothing known is left. It names the node from which the first tensor without sizes has none;
/// where this is an operator of an unknown type or part of a loop or a conditional of TensorFlow 1, that it is no graph to
/// tune ([`Error::Graph`]). [`None`] where nothing was left out.
pub fn nothing_left(graph: &Graph, left_out: &[LeftOut]) -> Option<Error> {
    let error = require_static(graph).err();
    let is_named = |node: &&LeftOut| matches!(&error, Some(Error::Dynamic { tensor, .. }) if *tensor == node.name);
    let Some(node) = left_out.iter().find(is_named).or(left_out.first()) else { return error };
    let place = format!("node `{}` ({})", node.source, node.source_type);
    if let (Cause::Flow, Some(why)) = (node.cause, &node.why) {
        return Some(Error::graph(place, format!("leaves nothing to tune: it is {why}, and there is no other kernel")));
    }
    let error = unknown_output(graph, &node.source).map(|port| dynamic(graph, port)).or(error)?;
    Some(match node.cause {
        Cause::UnknownOperator => Error::graph(place, format!("leaves nothing to tune: {error}")),
        Cause::Undescribed | Cause::Run | Cause::Flow => error,
    })
}

/// The first output of a node whose sizes are not known.
fn unknown_output(graph: &Graph, name: &str) -> Option<Port> {
    let node = graph.find(name)?;
    let output = graph.node(node).outputs.iter().position(|output| output.shape.known().is_none())?;
    Some(Port { node, output: output as u32 })
}

/// What is left out in words: how many nodes for which reason, and their names; one text for each reason.
pub fn in_words(left_out: &[LeftOut]) -> Vec<String> {
    let said = |why: &str, nodes: &[&LeftOut]| {
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        format!("left out, because {why}: {}", listed(&names))
    };
    let mut texts = Vec::new();
    for cause in Cause::ALL {
        let nodes: Vec<&LeftOut> = left_out.iter().filter(|node| node.cause == cause).collect();
        let mut sources: Vec<String> = nodes.iter().map(|node| node.at_fault()).collect();
        sources.dedup();
        let sources = listed(&sources.iter().map(String::as_str).collect::<Vec<_>>());
        let why = match cause {
            _ if nodes.is_empty() => continue,
            Cause::UnknownOperator => {
                format!("their sizes follow from operators and inputs that are not known, {sources}")
            }
            Cause::Undescribed => format!("their sizes follow from inputs without a shape, {sources}"),
            Cause::Run => "only a run tells their sizes".to_owned(),
            Cause::Flow => {
                for why in [Flow::Loop, Flow::Conditional].map(Flow::why) {
                    let of_it = nodes.iter().copied().filter(|node| node.why.as_deref() == Some(why));
                    let of_it: Vec<&LeftOut> = of_it.collect();
                    texts.extend((!of_it.is_empty()).then(|| said(&format!("they are {why}"), &of_it)));
                }
                continue;
            }
        };
        texts.push(said(&why, &nodes));
    }
    texts
}

/// The nodes behind the border that run a kernel, in the order in which they run.
fn named(graph: &Graph, order: &[NodeId], behind: &[Option<(Cause, NodeId)>], flows: &[Option<Flow>]) -> Vec<LeftOut> {
    let left_out = |id: &NodeId| {
        let (node, (cause, source)) = (graph.node(*id), behind[id.index()]?);
        if node.mapped && op::kind(&node.op_type) == op::Kind::None {
            return None;
        }
        let flow = flows[source.index()].map(Flow::why);
        let source = graph.node(source);
        Some(LeftOut {
            name: node.name.clone(),
            origin_type: node.origin_type.clone(),
            cause,
            source: source.name.clone(),
            source_type: source.origin_type.clone(),
            why: flow
                .or(source.attrs.str(WHY_UNMAPPED).filter(|_| !source.mapped || is_no_tensor(source)))
                .map(str::to_owned),
        })
    };
    order.iter().filter_map(left_out).collect()
}
