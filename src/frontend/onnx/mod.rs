//! ONNX models: `ModelProto` bytes to a [`Graph`] of Ascend operator types.
//!
//! | module | holds |
//! |---|---|
//! | [`proto`] | the messages |
//! | [`tensor`], [`external`] | descriptions and small constants; those in files beside the model |
//! | [`graphs`] | the graphs that a node holds, as the file has them |
//! | [`branches`] | what is wrong with such nodes |
//! | [`inline`], [`scope`] | functions of the model and chosen graphs of `If`s, laid out; names within them |
//! | [`choices`], [`truth`] | which graph an `If` chooses; constants that it may ask |
//! | [`held`], [`within`] | what the graphs give of nodes that stay; what was read for that |
//! | [`builder`], [`op`], [`map`] | the graph under construction; one node as a rule sees it; the rules |
//! | [`settle()`] | what has to wait for shapes |

mod branches;
mod builder;
mod choices;
mod external;
mod graphs;
mod held;
mod inline;
mod map;
mod op;
pub(super) mod proto;
mod scope;
mod settle;
mod tensor;
#[cfg(test)]
pub(in crate::frontend) mod tests;
mod truth;
mod within;

pub use settle::settle;

use super::{ModelOptions, unreadable};
use crate::graph::{Graph, NodeId, topology};
use crate::status::{Error, Result};
use builder::Builder;
use choices::Choices;
use held::Held;
use prost::bytes::Bytes;
use proto::{Functions, Parameters, decode};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use within::Within;

/// Oldest opset that is read.
pub const MIN_OPSET: i64 = 9;
/// Newest opset whose operators the mapping rules know.
pub const MAX_OPSET: i64 = 21;

/// Whether the bytes are an ONNX model: protobuf with an IR version and a graph.
pub fn is_model(data: &Bytes) -> bool {
    let model: Result<proto::Model> = decode(data.clone(), String::new);
    model.is_ok_and(|m| m.ir_version.is_some_and(|v| v > 0) && !m.graph.is_empty())
}

/// Reads a model. `name` becomes the graph's name where the file gives none; `base` is the directory
/// of the model file, where there is one; `inputs` is what the caller says of the inputs, whose sizes may decide
/// which graph an `If` runs.
///
/// The graph is as the file has it: inputs are not bound and shapes not inferred, except that
/// outputs carry what the file says of them.
pub fn read(data: Bytes, name: &str, base: Option<&Path>, inputs: &ModelOptions) -> Result<Graph> {
    read_counted(data, name, base, inputs).map(|(graph, _)| graph)
}

/// The same, and how many nodes of graphs within were read once more for what they tell of others.
fn read_counted(data: Bytes, name: &str, base: Option<&Path>, inputs: &ModelOptions) -> Result<(Graph, usize)> {
    let not_onnx = || format!("model `{name}`");
    let model = prost::Message::decode(data.clone());
    let model: proto::Model =
        model.map_err(|error| Error::graph(not_onnx(), unreadable::reason(&data, "an ONNX model", None, error)))?;
    drop(data);
    if model.graph.is_empty() {
        return Err(Error::graph(not_onnx(), "is not an ONNX model: there is no graph in it"));
    }
    let opset = opset(&model, name)?;
    let functions = functions(&model)?;
    let mut file = proto::Graph::default();
    for part in model.graph {
        prost::Message::merge(&mut file, part).map_err(|e| Error::graph(not_onnx(), e.to_string()))?;
    }
    branches::check(&file.node, &functions)?;
    let name = if file.name.is_empty() { name.to_owned() } else { std::mem::take(&mut file.name) };
    let nodes = functions.values().flat_map(|function| &function.node).chain(&file.node);
    let bytes = nodes.fold(0, |sum: usize, node| sum.saturating_add(node.len()));
    let (given, within) = (Parameters::default(), Within::new(bytes, inputs.gears.len()));
    let surroundings =
        Surroundings { base, opset, functions: &functions, given: &given, inputs, depth: 0, within: &within };
    let graph = read_all(&file, || Ok(Builder::new(name.clone(), base)), &surroundings)?;
    Ok((graph, within.spent()))
}

/// What a graph is read with.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    /// Directory of the model file, where there is one.
    base: Option<&'a Path>,
    /// Version of ONNX's own operator set.
    opset: i64,
    functions: &'a Functions,
    /// The parameters of functions around the graph.
    given: &'a Parameters,
    /// What the caller says of the model's inputs.
    inputs: &'a ModelOptions,
    /// Graphs around this one that are read.
    depth: usize,
    /// What is read once more for what it tells.
    within: &'a Within,
}

impl<'a> Surroundings<'a> {
    /// Those of a graph that a node of this one holds.
    fn within<'b>(&self, opset: i64, given: &'b Parameters, inputs: &'b ModelOptions) -> Surroundings<'b>
    where
        'a: 'b,
    {
        Surroundings { opset, given, inputs, depth: self.depth + 1, ..*self }
    }
}

/// Reads a graph, again and again while that tells which graphs its `If`s run.
fn read_all(
    file: &proto::Graph,
    begin: impl Fn() -> Result<Builder>,
    surroundings: &Surroundings<'_>,
) -> Result<Graph> {
    let mut choices = Choices::default();
    loop {
        let mut reading = read_graph(file, begin()?, surroundings, &choices)?;
        if !choices.follow(&mut reading, surroundings)? {
            return Ok(reading.graph);
        }
    }
}

/// The opset of ONNX's own operators.
fn opset(model: &proto::Model, name: &str) -> Result<i64> {
    let mut version = None;
    for bytes in &model.opset_import {
        let set: proto::OperatorSet = decode(bytes.clone(), || format!("model `{name}`, opset_import"))?;
        if matches!(set.domain.as_str(), "" | "ai.onnx") {
            version = Some(set.version);
        }
    }
    let Some(version) = version else {
        return Err(Error::graph(format!("model `{name}`"), "opset_import does not name an opset of ai.onnx"));
    };
    if version < MIN_OPSET {
        return Err(Error::Unsupported {
            what: format!("ONNX opset {version} (model `{name}`)"),
            reason: format!("opsets {MIN_OPSET} to {MAX_OPSET} are read; convert with onnx.version_converter"),
        });
    }
    if version > MAX_OPSET {
        log::warn!("model `{name}` has opset {version}; operators are read as of opset {MAX_OPSET}");
    }
    Ok(version)
}

/// The operators that the model defines itself.
fn functions(model: &proto::Model) -> Result<Functions> {
    let mut defined = Functions::default();
    for (index, bytes) in model.functions.iter().enumerate() {
        let function: proto::Function = decode(bytes.clone(), || format!("function {index}"))?;
        defined.insert((function.domain.clone(), function.name.clone()), function);
    }
    Ok(defined)
}

/// A graph, and the choices within that are open.
struct Reading {
    graph: Graph,
    /// `If`s that stay, with the tensors that are their conditions.
    open: Vec<choices::Asked>,
    /// Nodes that hold graphs and stay.
    held: Vec<(NodeId, Held)>,
}

fn read_graph(
    file: &proto::Graph,
    mut builder: Builder,
    surroundings: &Surroundings<'_>,
    choices: &Choices,
) -> Result<Reading> {
    for (index, bytes) in file.initializer.iter().enumerate() {
        builder.initializer(bytes.clone(), index)?;
    }
    for (index, bytes) in file.sparse_initializer.iter().enumerate() {
        builder.sparse_initializer(bytes.clone(), index)?;
    }
    for (index, bytes) in file.input.iter().enumerate() {
        builder.input(bytes.clone(), index)?;
    }
    for (index, bytes) in file.value_info.iter().enumerate() {
        builder.hint(bytes.clone(), index)?;
    }
    let mut outputs = Vec::with_capacity(file.output.len());
    for (index, bytes) in file.output.iter().enumerate() {
        let info: proto::ValueInfo = decode(bytes.clone(), || format!("output {index}"))?;
        builder.hint(bytes.clone(), index)?;
        outputs.push(info.name);
    }
    let laid = inline::lay_out(&file.node, &mut builder, surroundings, choices)?;
    let (nodes, opsets): (Vec<_>, Vec<_>) = laid.placed.into_iter().map(|placed| (placed.node, placed.opset)).unzip();
    add_nodes(&mut builder, &nodes, &outputs, &opsets)?;
    for output in &outputs {
        builder.output(output)?;
    }
    let open = choices::settle(&mut builder, laid.open, &laid.chosen)?;
    let mut held = Vec::with_capacity(laid.held.len());
    for node in laid.held {
        let output = node.node.output.iter().find(|name| !name.is_empty());
        let port = output.map(|name| builder.port(name)).transpose()?.flatten();
        held.extend(port.map(|port| (port.node, node)));
    }
    let graph = builder.into_graph();
    graph.validate()?;
    Ok(Reading { graph, open, held })
}

/// Maps the nodes in an order in which every producer comes first.
fn add_nodes(builder: &mut Builder, nodes: &[proto::Node], outputs: &[String], opsets: &[i64]) -> Result<()> {
    let names = claim_names(builder, nodes);
    let order = order(builder, nodes, &names)?;
    let used: FxHashSet<&str> =
        nodes.iter().flat_map(|n| &n.input).chain(outputs).map(String::as_str).filter(|n| !n.is_empty()).collect();
    for index in order.into_iter().map(|i| i as usize) {
        let node = &nodes[index];
        let mut op = op::Op::open(builder, node, names[index].clone(), &used, opsets[index])?;
        map::apply(&mut op, &node.domain, &node.op_type)?;
    }
    Ok(())
}

/// A unique name for every node: the file's own where it has one. Nodes that are named come first,
/// so that no generated name takes one of theirs.
fn claim_names(builder: &mut Builder, nodes: &[proto::Node]) -> Vec<String> {
    let mut names: Vec<String> =
        nodes.iter().map(|node| if node.name.is_empty() { String::new() } else { builder.claim(&node.name) }).collect();
    for (index, (name, node)) in names.iter_mut().zip(nodes).enumerate() {
        if name.is_empty() {
            *name = builder.claim(&format!("{}_{index}", node.op_type));
        } else if *name != node.name {
            log::warn!("node {index} is called `{name}`: the name `{}` is taken", node.name);
        }
    }
    names
}

/// Indices of the nodes, producers first; the file's order where that is one.
fn order(builder: &Builder, nodes: &[proto::Node], names: &[String]) -> Result<Vec<u32>> {
    let mut producers: FxHashMap<&str, u32> = FxHashMap::default();
    for (index, node) in nodes.iter().enumerate() {
        for tensor in node.output.iter().filter(|t| !t.is_empty()) {
            let reason = match producers.insert(tensor, index as u32) {
                Some(first) => format!("node `{}` writes a tensor of the same name", names[first as usize]),
                None if builder.is_given(tensor) => "an input or initializer has the same name".to_owned(),
                None => continue,
            };
            return Err(Error::graph(format!("node `{}`, output `{tensor}`", names[index]), reason));
        }
    }
    // Sources of each node, as ranges of one list.
    let mut sources = Vec::new();
    let mut ends = Vec::with_capacity(nodes.len());
    for (node, name) in nodes.iter().zip(names) {
        for (slot, tensor) in node.input.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
            match producers.get(tensor.as_str()) {
                Some(&producer) => sources.push(producer),
                None if builder.is_given(tensor) => {}
                None => {
                    let place = format!("node `{name}` ({}), input {slot}", node.op_type);
                    return Err(Error::graph(place, format!("no node writes tensor `{tensor}`")));
                }
            }
        }
        ends.push(sources.len());
    }
    let visit = |node: usize, visit: &mut dyn FnMut(usize)| {
        let start = if node == 0 { 0 } else { ends[node - 1] };
        sources[start..ends[node]].iter().for_each(|&source| visit(source as usize));
    };
    topology::order(nodes.len(), visit).map_err(|cycle| topology::cycle_error(&cycle, |node| &names[node]))
}
