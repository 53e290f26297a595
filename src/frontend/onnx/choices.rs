//! Which graph an `If` runs, where its condition follows from constants and static shapes.
//!
//! Exporters write such conditions as chains of `Shape`, `Gather`, `Equal`, `Cast`, ..: shape inference folds them. So
//! the model is read, its shapes are inferred, and it is read again with what was learnt, until that is nothing more:
//! what a graph chosen before holds may decide the next.

use super::builder::Builder;
use super::{Reading, proto, settle as settle_graph};
use crate::frontend::{ModelOptions, bind_inputs, chooses};
use crate::graph::{Attr, DATA, Graph, NodeId, Port, WHY_UNMAPPED, infer};
use crate::status::Result;
use rustc_hash::{FxHashMap, FxHashSet};

/// Readings of a model of any size; exporters nest a handful.
const MIN_READINGS: usize = 16;
/// Nodes that all readings may have together beyond that.
const MAX_NODES: usize = 1 << 21;
/// Nodes before a condition that are looked through for what keeps it from being known.
const MAX_LOOK: usize = 4096;

/// An `If` whose condition is not known.
pub struct Open {
    /// The first tensor that it writes, which no other node does.
    output: String,
    /// The tensor that decides.
    pub condition: String,
}

impl Open {
    /// An `If` of ONNX's own; `None` for other nodes.
    pub fn of(node: &proto::Node) -> Option<Open> {
        let is_choice = node.op_type == "If" && node.domain.is_empty();
        let output = node.output.iter().find(|name| !name.is_empty()).filter(|_| is_choice)?;
        Some(Open { output: output.clone(), condition: node.input.first().cloned().unwrap_or_default() })
    }
}

/// A condition by which a graph was chosen.
pub struct Chosen {
    /// The tensor.
    pub condition: String,
    /// Its value.
    pub truth: bool,
}

/// An open `If` in the graph.
pub struct Asked {
    output: String,
    node: NodeId,
    condition: Option<Port>,
}

/// Finds the tensors of choices in the finished graph, and notes at those that decided what they were.
pub fn settle(builder: &mut Builder, open: Vec<Open>, chosen: &[Chosen]) -> Result<Vec<Asked>> {
    for Chosen { condition, truth } in chosen {
        if let Some(port) = builder.port(condition)? {
            builder.note(port.node, chooses::CHOOSES, Attr::Bool(*truth));
        }
    }
    let mut asked = Vec::with_capacity(open.len());
    for Open { output, condition } in open {
        if let Some(port) = builder.port(&output)? {
            asked.push(Asked { output, node: port.node, condition: builder.port(&condition)? });
        }
    }
    Ok(asked)
}

/// What is known of the conditions so far.
#[derive(Default)]
pub struct Choices {
    /// By the first output of the `If`.
    truths: FxHashMap<String, bool>,
    readings: usize,
    nodes: usize,
}

impl Choices {
    /// The value of an `If`'s condition.
    pub fn truth(&self, open: &Open) -> Option<bool> {
        self.truths.get(&open.output).copied()
    }

    /// Folds the conditions that are open. Whether there is something new, so that the model is to be read again; if
    /// not, the open nodes say what keeps them so.
    pub fn follow(&mut self, reading: &mut Reading, inputs: &ModelOptions) -> bool {
        if reading.open.is_empty() {
            return false;
        }
        let known = inferred(&reading.graph, inputs);
        self.readings += 1;
        self.nodes = self.nodes.saturating_add(known.len());
        let may_go_on = self.readings < MIN_READINGS || self.nodes < MAX_NODES;
        let mut is_new = false;
        for Asked { output, node, condition } in &reading.open {
            let source = condition.filter(|port| port.output == 0).map(|port| known.node(port.node));
            let why = match source.and_then(chooses::truth) {
                Some(truth) if may_go_on => {
                    is_new |= self.truths.insert(output.clone(), truth).is_none();
                    continue;
                }
                Some(_) => format!("more than {} choices hang on one another", self.readings),
                None => why_open(&known, *condition),
            };
            reading.graph.node_mut(*node).attrs.set(WHY_UNMAPPED, Attr::Str(why));
        }
        is_new
    }
}

/// The graph as far as its shapes can be told. What is wrong with it, or with the options, is told where they count.
fn inferred(graph: &Graph, inputs: &ModelOptions) -> Graph {
    let mut known = graph.clone();
    let bound = bind_inputs(&mut known, inputs).and_then(|()| settle_graph(&mut known));
    if let Err(error) = bound.and_then(|()| infer::infer(&mut known)) {
        log::debug!("conditions are followed up to where the graph fails: {error}");
    }
    known
}

/// What keeps a condition from being known, in words.
fn why_open(graph: &Graph, condition: Option<Port>) -> String {
    let (mut next, mut seen, mut sizes) = (Vec::from_iter(condition), FxHashSet::default(), None);
    while let Some(port) = next.pop().filter(|_| seen.len() < MAX_LOOK) {
        let node = graph.node(port.node);
        if node.value.is_some() || !seen.insert(port.node) {
            continue;
        }
        match node.op_type.as_str() {
            DATA => {
                return format!("its condition hangs on the values of input `{}`, which only a run tells", node.name);
            }
            "Shape" | "ShapeN" | "Size" | "Rank" => {
                let is_open = |port: &Port| graph.desc(*port).shape.known().is_none();
                sizes = node.input(0).filter(is_open).or(sizes);
            }
            _ if !node.mapped => {
                return format!("its condition hangs on `{}` ({}), which is left out itself", node.name, node.op_type);
            }
            _ => next.extend(node.inputs.iter().rev().flatten()),
        }
    }
    match sizes.map(|port| graph.tensor_name(port)) {
        Some(tensor) => format!(
            "its condition hangs on the sizes of `{tensor}`, which are open: give those of the inputs where the model \
             is read (input_shape)"
        ),
        None => "its condition is computed, and its value is not followed".to_owned(),
    }
}
