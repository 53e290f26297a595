//! Whether GE would compile a graph: judged by the interfaces of its operators and by what its shapes say.
//!
//! What is judged is a graph as its file has it, before anything is inferred. A finding names the node, the rule and what
//! to do; `operator` holds the rules for one node.

mod operands;
mod operator;

pub use operands::tell;
pub use operator::{lacking, misnamed};
#[cfg(test)]
mod tests;

use super::registry::{Framework, Source};
use super::{ModelOptions, air, file};
use crate::graph::op::{self, OpClass};
use crate::graph::{CONST, Constant, DATA, Graph, Node, NodeId, Shape, infer};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::path::Path;

/// Which rule a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The file is a graph whose edges and descriptions make sense.
    Graph,
    /// The operator type is one that GE has.
    Operator,
    /// Inputs are those of the interface.
    Input,
    /// Outputs are those of the interface.
    Output,
    /// Attributes have the kinds of the interface, and required ones are there.
    Attribute,
    /// Every constant has its elements.
    Value,
    /// Shapes agree with each other.
    Shape,
    /// Element types are among those of the interface.
    Type,
}

impl Rule {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Graph => "graph",
            Rule::Operator => "operator",
            Rule::Input => "input",
            Rule::Output => "output",
            Rule::Attribute => "attribute",
            Rule::Value => "value",
            Rule::Shape => "shape",
            Rule::Type => "type",
        }
    }
}

/// What is not as GE wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The node's name; empty for the graph as a whole.
    pub node: String,
    /// Its operator type.
    pub op: String,
    /// The rule.
    pub rule: Rule,
    /// Whether the graph would not compile because of it; else it is something to look at.
    pub blocks: bool,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub advice: String,
}

/// A graph that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Number of nodes; 0 where the file could not be read as a graph.
    pub nodes: usize,
    /// What was found, in the order of the nodes.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// Whether nothing was found because of which GE would not compile the graph.
    pub fn compiles(&self) -> bool {
        self.findings.iter().all(|finding| !finding.blocks)
    }
}

/// Judges the graph in a file; `framework` counts before suffix and content.
///
/// Fails with [`Error::File`] where the file cannot be read, and with [`Error::Unsupported`] for a model that is not
/// GE's. A file that is GE's and makes no sense is a finding.
pub fn judge_file(path: &Path, framework: Option<Framework>) -> Result<Judgement> {
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let damaged = |error: Error| {
        let advice = "mend the program that wrote the file, or write it again".to_owned();
        Judgement { nodes: 0, findings: vec![of_graph(Rule::Graph, error.to_string(), advice)] }
    };
    let (data, framework) = match file::read_model(path, &name, framework) {
        // A text that CANN dumped, and that is none.
        Err(error @ Error::Graph { .. }) => return Ok(damaged(error)),
        read => read?,
    };
    if !framework.is_ges() {
        return Err(Error::Unsupported {
            what: format!("judging {} as a graph of GE", path.display()),
            reason: format!("it is a model of {}; tune it, and judge the .air that comes out", framework.name()),
        });
    }
    match framework.read(Source {
        data: data.clone(),
        name: &name,
        base: path.parent(),
        options: &ModelOptions::default(),
    }) {
        Ok(graph) => Ok(judge_read(&graph, (framework == Framework::Air).then_some(data))),
        Err(error @ Error::Graph { .. }) => Ok(damaged(error)),
        Err(error) => Err(error),
    }
}

/// Judges a graph as it was read from a model in binary form, and that model where it says more.
fn judge_read(graph: &Graph, model: Option<Bytes>) -> Judgement {
    let mut judgement = judge(graph);
    let roots = model.clone().and_then(|model| air::form::roots(model).ok());
    if let Some((first, others)) = roots.filter(|(_, others)| !others.is_empty()) {
        let reason = air::form::uncalled(&first, &others.iter().collect::<Vec<_>>());
        let advice = "keep the graphs that nodes call, and the network before them".to_owned();
        judgement.findings.push(Finding { blocks: false, ..of_graph(Rule::Graph, reason, advice) });
    }
    // What is no model was found to be none when it was read.
    for fault in model.and_then(|model| air::form::faults(model).ok()).into_iter().flatten() {
        let air::form::Fault { node, op_type: op, reason, advice } = fault;
        judgement.findings.push(Finding { node, op, rule: Rule::Input, blocks: true, reason, advice });
    }
    judgement
}

/// Judges a graph of GE as it was read.
pub fn judge(graph: &Graph) -> Judgement {
    let mut findings = Vec::new();
    for (_, node) in graph.iter() {
        operator::judge(graph, node, &mut findings);
    }
    findings.extend(shared_places(graph));
    // What the rules for single operators found would only be told once more.
    if findings.iter().all(|finding: &Finding| !finding.blocks || finding.rule == Rule::Value) {
        judge_shapes(graph.clone(), &mut findings);
    }
    Judgement { nodes: graph.len(), findings }
}

/// The inputs of the network that say they have the place of another among its inputs: each has one's own.
fn shared_places(graph: &Graph) -> Vec<Finding> {
    let mut taken: FxHashMap<i64, &str> = FxHashMap::default();
    let mut found = Vec::new();
    for (_, node) in graph.iter().filter(|(_, node)| node.op_type == DATA) {
        let Some(index) = node.attrs.int(air::INDEX) else { continue };
        let Some(first) = taken.get(&index) else {
            taken.insert(index, &node.name);
            continue;
        };
        found.push(Finding {
            node: node.name.clone(),
            op: node.op_type.clone(),
            rule: Rule::Attribute,
            blocks: true,
            reason: format!("has attribute `index` {index}, as input `{first}` has: both would get the same tensor"),
            advice: "number the inputs from 0, each with a number of its own".to_owned(),
        });
    }
    found
}

/// Judges shapes, as GE infers them: without attributes that it does not look at.
fn judge_shapes(mut graph: Graph, findings: &mut Vec<Finding>) {
    let stated = graph.clone();
    for index in 0..graph.len() {
        let node = graph.node_mut(NodeId(index as u32));
        for (name, _) in misnamed(node) {
            node.attrs.remove(&name);
        }
    }
    if let Err(error) = infer::infer(&mut graph) {
        let advice = "mend the shapes or parameters of this node, or of those that it reads".to_owned();
        findings.push(of_graph(Rule::Shape, error.to_string(), advice));
        return;
    }
    for (_, node) in graph.iter().filter(|(_, node)| node.attrs.get(infer::BELIEVED_SHAPES).is_some()) {
        // Of other operators GE's own rules may know more than the ones here.
        let blocks = matches!(op::kind(&node.op_type).class(), OpClass::MatMul | OpClass::Conv | OpClass::Elementwise);
        findings.push(Finding {
            node: node.name.clone(),
            op: node.op_type.clone(),
            rule: Rule::Shape,
            blocks,
            reason: "states another shape for its result than follows from what it reads".to_owned(),
            advice: "mend the shape of its output, or of its inputs".to_owned(),
        });
    }
    judge_results(&stated, &graph, findings);
    findings.extend(operands::mixed(&graph));
}

/// Judges what operators that work element by element state of their results, be it noted as inferred or not; `inferred` is
/// the graph with what follows from its inputs.
fn judge_results(stated: &Graph, inferred: &Graph, findings: &mut Vec<Finding>) {
    for ((_, said), (_, node)) in stated.iter().zip(inferred.iter()) {
        if !node.mapped || !op::is_by_element(&node.op_type) || node.attrs.get(infer::BELIEVED_SHAPES).is_some() {
            continue;
        }
        let pairs = said.outputs.iter().zip(&node.outputs).map(|(said, is)| (&said.shape, &is.shape));
        let unlike =
            |(said, is): &(&Shape, &Shape)| said.known().is_some() && is.known().is_some() && !said.accepts(is);
        let Some((said, is)) = pairs.into_iter().find(unlike) else { continue };
        findings.push(Finding {
            node: node.name.clone(),
            op: node.op_type.clone(),
            rule: Rule::Shape,
            blocks: true,
            reason: format!("states {said} for its result, and what it reads makes it {is}"),
            advice: "mend the shape of its output, or of its inputs".to_owned(),
        });
    }
}

/// A finding about the graph as a whole.
fn of_graph(rule: Rule, reason: String, advice: String) -> Finding {
    Finding { node: String::new(), op: String::new(), rule, blocks: true, reason, advice }
}

/// Whether a constant has no elements, neither read nor kept for the file.
pub fn is_without_value(node: &Node) -> bool {
    let is_empty = || node.outputs.first().is_some_and(|output| output.shape.elements() == Some(0));
    node.op_type == CONST
        && matches!(node.value, None | Some(Constant::Opaque))
        && node.attrs.get(air::VALUE).is_none()
        && !is_empty()
}

/// Why GE cannot compile what is written of a graph, where that is known without asking the checker: for an operator of
/// another framework, or for want of its weights.
pub fn hindrance(graph: &Graph) -> Option<String> {
    let mut foreign = graph.iter().map(|(_, node)| node).filter(|node| !node.mapped);
    let Some(first) = foreign.next() else { return without_weights(graph) };
    let others = and_more(foreign.count());
    Some(format!(
        "node `{}` ({}){others} is no operator of Ascend's, which GE cannot compile; `aoe model check` of the .air lists all",
        first.name, first.origin_type
    ))
}

/// How many there are besides the first, which is named.
fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" and {count} more") }
}

/// The same for want of its weights alone.
fn without_weights(graph: &Graph) -> Option<String> {
    let mut missing = graph.iter().filter(|(_, node)| is_without_value(node));
    let first = missing.next()?.1;
    let others = and_more(missing.count());
    Some(format!(
        "the model was read without the values of its constants (`{}`{others}), which GE needs to compile it; tune it with \
         its weights",
        first.name
    ))
}
