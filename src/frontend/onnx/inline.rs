//! Nodes that stand for a graph, laid out in its place: calls of the model's own functions, and `If` whose condition is
//! known ([`choices`](super::choices)).
//!
//! Tensors and nodes of such a graph get names of their own, which begin with the name of the node that it stands for;
//! what it takes and gives bears the names that are used outside.

use super::Surroundings;
use super::builder::Builder;
use super::choices::{Choices, Chosen, Open};
use super::graphs::{BRANCHES, graphs, taken};
use super::held::Held;
use super::proto::{self, Functions, Parameters, decode};
use super::scope::{Scope, parameters, substituted};
use super::truth::{attribute_truth, truth};
use crate::frontend::names::Names;
use crate::status::{Error, Result};
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Calls within calls; exporters nest a handful.
const MAX_DEPTH: usize = 64;
/// Bytes that graphs laid out may take in all, besides eight times the file's own nodes: a short file may call so often
/// that no memory holds the result.
const MAX_BYTES: usize = 16 << 20;
/// What a node takes besides its bytes.
const NODE_COST: usize = 64;

/// A node and the opset of ONNX's own operators that it is of.
pub struct Placed {
    pub node: proto::Node,
    pub opset: i64,
}

/// The nodes of a model without those that stand for a graph, as far as that is known.
#[derive(Default)]
pub struct Laid {
    pub placed: Vec<Placed>,
    /// `If`s that stay, because their condition is not known yet.
    pub open: Vec<Open>,
    /// Nodes that hold graphs and stay.
    pub held: Vec<Held>,
    /// Conditions that the sizes of inputs decided.
    pub chosen: Vec<Chosen>,
}

/// Lays out the nodes of a model's graph, whose inputs and initializers the builder has.
pub fn lay_out(
    nodes: &[Bytes],
    builder: &mut Builder,
    surroundings: &Surroundings<'_>,
    choices: &Choices,
) -> Result<Laid> {
    let Surroundings { functions, opset, given, .. } = *surroundings;
    let file = functions.values().flat_map(|function| &function.node).chain(nodes);
    let size = file.fold(0, |sum: usize, node| sum.saturating_add(node.len()));
    let budget = MAX_BYTES.saturating_add(size.saturating_mul(8));
    let (names, truths, laid) = (Names::default(), FxHashMap::default(), Laid::default());
    let nodes = decoded(nodes, "")?;
    let tensors = tensors(&nodes, builder, functions);
    let calls = Vec::new();
    let mut layer = Layer { builder, functions, choices, budget, names, tensors, truths, calls, laid };
    layer.lay(nodes, &Scope { opset, given: given.clone(), ..Scope::default() }, 0)?;
    let Layer { mut laid, builder, .. } = layer;
    take_from_around(&mut laid, builder);
    Ok(laid)
}

/// Makes what the graphs of nodes that stay take from around them inputs of these nodes, so that who makes it is known to
/// be read. What nobody makes is left out: of what is within nothing is read.
fn take_from_around(laid: &mut Laid, builder: &Builder) {
    if laid.held.is_empty() {
        return;
    }
    let made: FxHashSet<&String> = laid.placed.iter().flat_map(|placed| &placed.node.output).collect();
    for held in &mut laid.held {
        let (own, node) = (held.own, &mut held.node);
        let exists = |name: &String| builder.is_given(name) || made.contains(name) && !node.output.contains(name);
        let kept: Vec<bool> = node.input[own..].iter().map(exists).collect();
        let mut keep = kept.iter().copied();
        held.taken.retain(|_| keep.next() == Some(true));
        let mut keep = std::iter::repeat_n(true, own).chain(kept);
        node.input.retain(|_| keep.next() == Some(true));
    }
    for held in &laid.held {
        laid.placed[held.at].node.input.clone_from(&held.node.input);
    }
}

/// Names of the tensors of a model's graph, where there may be others to be laid out in it.
fn tensors(nodes: &[proto::Node], builder: &Builder, functions: &Functions) -> BTreeSet<String> {
    if functions.is_empty() && nodes.iter().all(|node| Open::of(node).is_none()) {
        return BTreeSet::new();
    }
    nodes.iter().flat_map(|node| &node.output).chain(builder.given()).cloned().collect()
}

/// Decodes the nodes of a graph; `place` says which, where it is not the model's.
fn decoded(encoded: &[Bytes], place: &str) -> Result<Vec<proto::Node>> {
    let mut nodes = Vec::with_capacity(encoded.len());
    for (index, bytes) in encoded.iter().enumerate() {
        let mut node: proto::Node = decode(bytes.clone(), || format!("{place}node {index}"))?;
        let at = |node: &proto::Node| format!("{place}node {index} `{}` ({})", node.name, node.op_type);
        if node.op_type.is_empty() {
            return Err(Error::graph(at(&node), "the operator type is empty"));
        }
        if node.output.iter().all(String::is_empty) {
            return Err(Error::graph(at(&node), "the node has no output"));
        }
        if node.domain == "ai.onnx" {
            node.domain.clear();
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// The nodes so far.
struct Layer<'a> {
    builder: &'a mut Builder,
    functions: &'a Functions,
    choices: &'a Choices,
    /// Bytes that graphs may still take.
    budget: usize,
    /// Names of the nodes that graphs stand for.
    names: Names,
    /// Names that tensors have in the end.
    tensors: BTreeSet<String>,
    /// Tensors that are one truth value, by the names that they have in the end.
    truths: FxHashMap<String, bool>,
    /// The functions that are being laid out, each called by the one before.
    calls: Vec<&'a (String, String)>,
    laid: Laid,
}

impl<'a> Layer<'a> {
    /// Lays out the nodes of one graph.
    fn lay(&mut self, nodes: Vec<proto::Node>, scope: &Scope<'_>, depth: usize) -> Result<()> {
        self.note_truths(&nodes, scope);
        for (index, mut node) in nodes.into_iter().enumerate() {
            for name in node.input.iter_mut().chain(&mut node.output).filter(|name| !name.is_empty()) {
                *name = scope.name(name);
            }
            if scope.inside.is_some() {
                node.attribute = substituted(&node.attribute, scope)?;
                // A parameter's value stands in each node that takes it.
                self.take(&node.attribute, &node.op_type)?;
                if node.name.is_empty() {
                    node.name = format!("{}_{index}", node.op_type);
                }
            }
            if !node.name.is_empty() {
                node.name = scope.own(&node.name);
            }
            let called = self.functions.get_key_value(&(node.domain.clone(), node.op_type.clone()));
            if let Some((name, function)) = called {
                self.begin_call(name)?;
                self.call(&node, function, scope, depth)?;
                self.calls.pop();
            } else if let Some(branch) = self.branch(&node, scope)? {
                self.choose(&node, branch, scope, depth)?;
            } else {
                self.laid.open.extend(Open::of(&node));
                self.hold(&node, scope);
                self.laid.placed.push(Placed { node, opset: scope.opset });
            }
        }
        Ok(())
    }

    /// Notes a node that holds graphs and stays.
    fn hold(&mut self, node: &proto::Node, scope: &Scope<'_>) {
        if graphs(node).is_empty() {
            return;
        }
        let mut given = Parameters::default();
        for scope in scope.outward() {
            for (name, value) in &scope.given {
                given.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        // Each such node keeps what functions around it were given: many of them large values would fill the memory.
        let cost = given.values().fold(0, |sum: usize, value| sum.saturating_add(value.encoded_len() + NODE_COST));
        let Some(left) = self.budget.checked_sub(cost) else { return };
        self.budget = left;
        let (taken, own) = (taken(node), node.input.len());
        let mut node = node.clone();
        node.input.extend(taken.iter().map(|name| scope.name(name)));
        self.laid.held.push(Held { node, own, taken, given, opset: scope.opset, at: self.laid.placed.len() });
    }

    /// Notes the constants of a graph that may decide an `If`. What is wrong with one is told where it is read.
    fn note_truths(&mut self, nodes: &[proto::Node], scope: &Scope<'_>) {
        for node in nodes.iter().filter(|node| node.domain.is_empty() && node.op_type == "Constant") {
            let truth = node.attribute.iter().find_map(|bytes| attribute_truth(bytes.clone()));
            if let ([output], Some(truth)) = (node.output.as_slice(), truth) {
                self.truths.insert(scope.name(output), truth);
            }
        }
    }

    /// Takes what parts of a graph need from the budget.
    fn take(&mut self, parts: &[Bytes], name: &str) -> Result<()> {
        let cost = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len() + NODE_COST));
        self.budget = self.budget.checked_sub(cost).ok_or_else(|| {
            let reason = "functions are called so often that the whole does not fit into memory";
            Error::graph(format!("node `{name}`"), reason)
        })?;
        Ok(())
    }

    /// Begins a graph with these nodes.
    fn enter(&mut self, nodes: &[Bytes], name: &str, depth: usize) -> Result<()> {
        if depth >= MAX_DEPTH {
            let reason = format!("graphs are nested more than {MAX_DEPTH} deep: let the exporter write functions out");
            return Err(Error::graph(format!("node `{name}`"), reason));
        }
        self.take(nodes, name)
    }

    /// Notes that a function is laid out; fails where that is so already.
    fn begin_call(&mut self, called: &'a (String, String)) -> Result<()> {
        if let Some(first) = self.calls.iter().position(|&outer| outer == called) {
            let circle = self.calls[first..].iter().chain([&called]);
            let circle: Vec<String> = circle.map(|(domain, name)| format!("{domain}::{name}")).collect();
            let reason = "calls itself, which ONNX does not allow: write it out, or as a Loop";
            let through = if circle.len() > 2 { format!(" ({})", circle.join(" -> ")) } else { String::new() };
            return Err(Error::graph(format!("function {}::{}", called.0, called.1), format!("{reason}{through}")));
        }
        self.calls.push(called);
        Ok(())
    }

    /// Lays out a function of the model in the place of a call.
    fn call(&mut self, call: &proto::Node, function: &proto::Function, outer: &Scope<'_>, depth: usize) -> Result<()> {
        let name = self.name_of(call, outer);
        self.enter(&function.node, &name, depth)?;
        let place = format!("function {}::{}, ", function.domain, function.name);
        if call.input.len() > function.input.len() || call.output.len() > function.output.len() {
            let reason = format!(
                "reads {} tensors and writes {}, its function has {} and {}",
                call.input.len(),
                call.output.len(),
                function.input.len(),
                function.output.len()
            );
            return Err(Error::graph(format!("node `{name}` ({})", call.op_type), reason));
        }
        let nodes = decoded(&function.node, &place)?;
        let given = parameters(call, function, &place)?;
        let mut scope = Scope { inside: Some(name), given, opset: outer.opset, ..Scope::default() };
        for bytes in &function.opset_import {
            let set: proto::OperatorSet = decode(bytes.clone(), || format!("{place}opset_import"))?;
            if matches!(set.domain.as_str(), "" | "ai.onnx") {
                scope.opset = set.version;
            }
        }
        for (at, formal) in function.input.iter().enumerate() {
            // An optional input that the call leaves out is left out within.
            scope.names.insert(formal.clone(), call.input.get(at).cloned().unwrap_or_default());
        }
        self.bind(&mut scope, &nodes, &[], &function.output, &call.output);
        self.lay(nodes, &scope, depth + 1)
    }

    /// The graph that an `If` runs every time, where its condition is known.
    fn branch(&mut self, node: &proto::Node, scope: &Scope<'_>) -> Result<Option<Bytes>> {
        let Some(open) = Open::of(node) else { return Ok(None) };
        let truth = match (self.constant_truth(&open.condition), self.choices.truth(&open)) {
            (Some(truth), _) => truth,
            (None, Some(truth)) => {
                self.laid.chosen.push(Chosen { condition: open.condition, truth });
                truth
            }
            (None, None) => return Ok(None),
        };
        let place = || format!("{}node `{}` (If)", scope.place(), node.name);
        let wanted = BRANCHES[usize::from(!truth)];
        for bytes in &node.attribute {
            let attr: proto::Attribute = decode(bytes.clone(), place)?;
            if let Some(graph) = attr.g.filter(|_| attr.name == wanted) {
                return Ok(Some(graph));
            }
        }
        Err(Error::graph(place(), format!("its condition is {truth}, and it has no `{wanted}`")))
    }

    /// What a constant of the file says of a condition.
    fn constant_truth(&self, condition: &str) -> Option<bool> {
        let stored = || truth(self.builder.pending(condition)?);
        self.truths.get(condition).copied().or_else(stored)
    }

    /// Lays out the branch of an `If` in its place.
    fn choose(&mut self, node: &proto::Node, branch: Bytes, outer: &Scope<'_>, depth: usize) -> Result<()> {
        let name = self.name_of(node, outer);
        let place = format!("graph of `{name}`");
        let graph: proto::Graph = decode(branch, || place.clone())?;
        self.enter(&graph.node, &name, depth)?;
        self.take(&graph.initializer, &name)?;
        self.take(&graph.value_info, &name)?;
        self.take(&graph.sparse_initializer, &name)?;
        let nodes = decoded(&graph.node, &format!("{place}, "))?;
        let mut names = Vec::with_capacity(graph.output.len());
        for bytes in graph.output {
            names.push(decode::<proto::ValueInfo>(bytes, || format!("{place}, an output"))?.name);
        }
        if names.len() != node.output.len() {
            let reason = format!("has {} outputs, its graph has {}", node.output.len(), names.len());
            return Err(Error::graph(format!("node `{name}` (If)"), reason));
        }
        // What the graph does not make itself is the tensor of that name around it.
        let mut scope = Scope { around: Some(outer), inside: Some(name), opset: outer.opset, ..Scope::default() };
        let own = self.initializers(graph.initializer, graph.sparse_initializer, &scope, &place)?;
        self.bind(&mut scope, &nodes, &own, &names, &node.output);
        for (index, bytes) in graph.value_info.into_iter().enumerate() {
            let mut info: proto::ValueInfo = decode(bytes, || format!("{place}, value_info {index}"))?;
            info.name = scope.name(&info.name);
            self.builder.hint(info.encode_to_vec().into(), index)?;
        }
        self.lay(nodes, &scope, depth + 1)
    }

    /// Takes the initializers of a branch, and answers their names in it.
    fn initializers(
        &mut self,
        dense: Vec<Bytes>,
        sparse: Vec<Bytes>,
        scope: &Scope<'_>,
        place: &str,
    ) -> Result<Vec<String>> {
        let mut own = Vec::with_capacity(dense.len() + sparse.len());
        for (index, bytes) in dense.into_iter().enumerate() {
            let mut tensor: proto::Tensor = decode(bytes, || format!("{place}, initializer {index}"))?;
            let name = scope.own(&tensor.name);
            own.push(std::mem::replace(&mut tensor.name, name));
            self.builder.initializer(tensor.encode_to_vec().into(), index)?;
        }
        for (index, bytes) in sparse.into_iter().enumerate() {
            let at = || format!("{place}, sparse initializer {index}");
            let mut tensor: proto::SparseTensor = decode(bytes, at)?;
            let mut values: proto::Tensor = decode(tensor.values, at)?;
            let name = scope.own(&values.name);
            own.push(std::mem::replace(&mut values.name, name));
            tensor.values = values.encode_to_vec().into();
            self.builder.sparse_initializer(tensor.encode_to_vec().into(), index)?;
        }
        Ok(own)
    }

    /// Gives what a graph makes its names: those that are used outside to its outputs, and own ones to the rest. An
    /// output that is no node's, or the second of the same name, is a copy.
    fn bind(
        &mut self,
        scope: &mut Scope<'_>,
        nodes: &[proto::Node],
        given: &[String],
        outputs: &[String],
        outside: &[String],
    ) {
        let made: FxHashSet<&String> =
            nodes.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty()).collect();
        for name in made.iter().copied().chain(given) {
            let own = scope.own(name);
            self.tensors.insert(own.clone());
            scope.names.insert(name.clone(), own);
        }
        let mut bound = FxHashSet::default();
        let mut copies = Vec::new();
        for (output, outside) in outputs.iter().zip(outside).filter(|(_, outside)| !outside.is_empty()) {
            if made.contains(output) && bound.insert(output) {
                scope.names.insert(output.clone(), outside.clone());
            } else {
                copies.push((output, outside));
            }
        }
        for (output, outside) in copies {
            let node = proto::Node {
                name: format!("{}/{outside}", scope.inside.as_deref().unwrap_or_default()),
                op_type: "Identity".to_owned(),
                input: vec![scope.name(output)],
                output: vec![outside.clone()],
                ..proto::Node::default()
            };
            self.laid.placed.push(Placed { node, opset: scope.opset });
        }
    }

    /// A name for what is laid out in the place of a node, with which no other name begins.
    fn name_of(&mut self, node: &proto::Node, outer: &Scope<'_>) -> String {
        let wish = if node.name.is_empty() { outer.own(&node.op_type) } else { node.name.clone() };
        loop {
            let name = self.names.claim(&wish);
            let begin = format!("{name}/");
            let next = self.tensors.range(begin.clone()..).next();
            if !next.is_some_and(|tensor| tensor.starts_with(&begin)) {
                return name;
            }
        }
    }
}
