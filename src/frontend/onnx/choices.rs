//! Which graph an `If` runs, where its condition follows from constants and static shapes.
//!
//! Exporters write such conditions as chains of `Shape`, `Gather`, `Equal`, `Cast`, ..: shape inference folds them. So
//! the model is read, its shapes are inferred, and it is read again with what was learnt, until that is nothing more:
//! what a graph chosen before holds may decide the next, and what an `If` gives that stays.

use super::branches;
use super::builder::Builder;
use super::held::Held;
use super::{Reading, Surroundings, proto, settle as settle_graph};
use crate::frontend::{ModelOptions, bind_inputs, chooses};
use crate::graph::{Attr, DATA, Graph, NodeId, Port, WHY_UNMAPPED, infer};
use crate::status::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

/// Readings of a model of any size; exporters nest a handful.
const MIN_READINGS: usize = 16;
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
}

impl Choices {
    /// The value of an `If`'s condition.
    pub fn truth(&self, open: &Open) -> Option<bool> {
        self.truths.get(&open.output).copied()
    }

    /// Folds the conditions that are open. Whether there is something new, so that the model is to be read again; if
    /// not, the open nodes say what keeps them so.
    ///
    /// Fails with [`Error::Graph`] where the graphs of a node contradict each other.
    pub fn follow(&mut self, reading: &mut Reading, surroundings: &Surroundings<'_>) -> Result<bool> {
        if reading.open.is_empty() && reading.held.is_empty() {
            return Ok(false);
        }
        let Inferred { known, said } = told(reading, surroundings);
        refuse_conditions(reading, &known, surroundings);
        if surroundings.depth == 0
            && let Some(error) = surroundings.within.wrong()
        {
            return Err(error);
        }
        self.readings += 1;
        // Those of graphs within are as many as there are such graphs.
        let is_free = surroundings.depth == 0 && self.readings < MIN_READINGS;
        let may_go_on = is_free || surroundings.within.spend(known.len());
        let mut is_new = false;
        for Asked { output, node, condition } in &reading.open {
            let why = match condition.and_then(|port| chooses::truth_of(&known, port)) {
                Some(truth) if may_go_on => {
                    is_new |= self.truths.insert(output.clone(), truth).is_none();
                    continue;
                }
                Some(_) => format!("more than {} choices hang on one another", self.readings),
                None => why_open(&known, *condition),
            };
            let said = said.get(node).map_or_else(String::new, |said| format!("; {said}"));
            reading.graph.node_mut(*node).attrs.set(WHY_UNMAPPED, Attr::Str(why + &said));
        }
        // Of the others it is known what decides: they run their graphs anyhow.
        let asked: FxHashSet<NodeId> = reading.open.iter().map(|asked| asked.node).collect();
        for (id, said) in said.into_iter().filter(|(id, _)| !asked.contains(id)) {
            reading.graph.node_mut(id).attrs.set(WHY_UNMAPPED, Attr::Str(said));
        }
        Ok(is_new)
    }
}

/// Notes the `If`s whose condition can be none.
fn refuse_conditions(reading: &Reading, known: &Graph, surroundings: &Surroundings<'_>) {
    for asked in &reading.open {
        if let Some(reason) = asked.condition.and_then(|port| branches::wrong_condition(known.desc(port))) {
            let name = &known.node(asked.node).name;
            surroundings.within.refuse(Error::graph(format!("node `{name}` (If)"), reason));
        }
    }
}

/// A graph whose shapes are inferred, and what there is to say of nodes that hold graphs.
struct Inferred {
    known: Graph,
    said: FxHashMap<NodeId, String>,
}

/// Infers the shapes of a graph, with those of what its nodes give that hold graphs too: for the sizes that are given, and for
/// those that will be.
fn told(reading: &mut Reading, surroundings: &Surroundings<'_>) -> Inferred {
    let inputs = surroundings.inputs;
    let mut told = inferred(reading, inputs, surroundings);
    for gear in &inputs.gears {
        let inputs = ModelOptions { gear: Some(gear.clone()), gears: Vec::new(), ..inputs.clone() };
        told.said.extend(inferred(reading, &inputs, surroundings).said);
    }
    told
}

/// The graph as far as its shapes can be told for these inputs, in one walk: what a node gives that holds graphs, others may
/// take. What is wrong with it, or with the options, is told where they count.
fn inferred(reading: &mut Reading, inputs: &ModelOptions, surroundings: &Surroundings<'_>) -> Inferred {
    let Reading { graph, open, held } = reading;
    let held: FxHashMap<NodeId, &Held> = held.iter().map(|(id, held)| (*id, held)).collect();
    let conditions: FxHashMap<NodeId, Port> =
        open.iter().filter_map(|asked| Some((asked.node, asked.condition?))).collect();
    let (mut found, mut said) = (Vec::new(), FxHashMap::default());
    let mut why = "not all sizes of what it reads are known where the model is read (input_shape)";
    let mut ask = |graph: &Graph, id: NodeId| {
        let (held, node) = (held.get(&id)?, graph.node(id));
        let is_known = |port: &Port| graph.desc(*port).shape.known().is_some();
        if !node.inputs.iter().flatten().all(is_known) {
            return None;
        }
        if surroundings.within.is_spent() {
            why = "the model has more graphs within than are looked into";
            return None;
        }
        let truth = conditions.get(&id).and_then(|&condition| chooses::truth_of(graph, condition));
        let results = held.results(graph, node, truth, surroundings);
        said.insert(id, results.said);
        let outputs: Vec<_> = results.outputs.iter().map(|given| given.desc.clone()).collect();
        found.push((id, outputs));
        Some(results.outputs.into_iter().map(|given| (given.desc, given.value)).collect())
    };
    let mut known = graph.clone();
    let bound = bind_inputs(&mut known, inputs).and_then(|()| settle_graph(&mut known));
    if let Err(error) = bound.and_then(|()| infer::infer_asking(&mut known, &mut ask)) {
        log::debug!("conditions are followed up to where the graph fails: {error}");
    }
    for (id, outputs) in found {
        infer::note_found(graph, &known, id, &outputs);
    }
    for (&id, held) in &held {
        said.entry(id).or_insert_with(|| format!("{}, and {why}", held.contents()));
    }
    Inferred { known, said }
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
