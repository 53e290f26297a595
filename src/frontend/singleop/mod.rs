//! Descriptions of single operators (`--singleop`, ATC's JSON) to a [`Graph`].
//!
//! All operators of a file stand in one graph, side by side: each has inputs of its own, and each
//! output is one of the graph. Tuning finds every distinct one of them, and one result names them all.

mod json;
#[cfg(test)]
mod tests;

use crate::frontend::air::is_frame;
use crate::graph::op::prototype::{Count, Slot, prototype};
use crate::graph::{CONST, DATA, Graph, Node, Port};
use crate::status::{Error, Result};
use json::{Op, Reason, Tensor};
use prost::bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether the content is such a description: a JSON array that has a key which no other file has.
pub fn is_description(data: &Bytes) -> bool {
    let key = b"\"input_desc\"";
    let first = data.iter().find(|b| !b.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(b));
    first == Some(&b'[') && data.windows(key.len()).any(|part| part == key)
}

/// Reads the operators of a file; `name` becomes the graph's name.
///
/// Fails with [`Error::Graph`] that names the operator and the field.
pub fn read(data: &Bytes, name: &str) -> Result<Graph> {
    let text = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut json = serde_json::Deserializer::from_slice(text);
    let malformed = |field: String, reason: String| {
        let at = if field == "." { String::new() } else { format!(", {field}") };
        Error::graph(format!("single-operator file `{name}`{at}"), reason)
    };
    let ops: Vec<Op> = serde_path_to_error::deserialize(&mut json)
        .map_err(|e| malformed(e.path().to_string(), e.inner().to_string()))?;
    json.end().map_err(|e| malformed(".".to_owned(), e.to_string()))?;
    if ops.is_empty() {
        return Err(malformed(".".to_owned(), "it describes no operator".to_owned()));
    }
    let mut builder = Builder { graph: Graph::new(name), names: FxHashSet::default() };
    for (index, op) in ops.iter().enumerate() {
        builder.add(op, index)?;
    }
    builder.graph.validate()?;
    Ok(builder.graph)
}

/// The graph so far.
struct Builder {
    graph: Graph,
    names: FxHashSet<String>,
}

impl Builder {
    /// Adds an operator with inputs and constants of its own.
    fn add(&mut self, op: &Op, index: usize) -> Result<()> {
        let place = || format!("operator {index} ({})", op.op);
        let wrong = |reason: Reason| Error::graph(place(), reason);
        op.check().map_err(wrong)?;
        if is_frame(&op.op) {
            return Err(wrong("is part of the frame of a graph, no operator that could be tuned".to_owned()));
        }
        check_inputs(op).map_err(wrong)?;
        let name = self.claim(op, index).map_err(wrong)?;
        let mut node = Node::new(&name, &op.op);
        for (at, attr) in op.attr.iter().enumerate() {
            let wrong = |reason| Error::graph(format!("{}, attribute {at} `{}`", place(), attr.name), reason);
            if node.attrs.get(&attr.name).is_some() {
                return Err(wrong("is given twice".to_owned()));
            }
            node.attrs.set(&attr.name, attr.read().map_err(wrong)?);
        }
        let labels = labels(&op.input_desc);
        for (at, (tensor, label)) in op.input_desc.iter().zip(labels).enumerate() {
            let wrong = |reason| Error::graph(format!("{}, input {at}", place()), reason);
            let port = self.input(tensor, &format!("{name}/{label}"), &wrong)?;
            node.inputs.push(port);
        }
        node.outputs.clear();
        for (at, tensor) in op.output_desc.iter().enumerate() {
            let wrong = |reason| Error::graph(format!("{}, output {at}", place()), reason);
            node.outputs.push(tensor.desc().map_err(wrong)?);
        }
        let outputs = node.outputs.len() as u32;
        let id = self.graph.add(node)?;
        (0..outputs).for_each(|output| self.graph.add_output(Port { node: id, output }));
        Ok(())
    }

    /// A name that no other operator has: the given one, else ATC's.
    fn claim(&mut self, op: &Op, index: usize) -> Result<String, Reason> {
        let default = op.default_name(index)?;
        let name = match op.given_name()? {
            Some(name) if self.names.contains(name) => {
                log::warn!("operator {index} is called `{default}`: the name `{name}` is taken");
                default
            }
            Some(name) => name.to_owned(),
            None => default,
        };
        self.names.insert(name.clone());
        Ok(name)
    }

    /// The node that an input reads; `None` for one that is left out.
    fn input(&mut self, tensor: &Tensor, name: &str, wrong: &dyn Fn(Reason) -> Error) -> Result<Option<Port>> {
        if tensor.is_absent().map_err(wrong)? {
            return Ok(None);
        }
        let desc = tensor.desc().map_err(wrong)?;
        let value = tensor.constant(&desc).map_err(wrong)?;
        let mut node = Node::new(name, if value.is_some() { CONST } else { DATA }).with_outputs(vec![desc]);
        node.value = value;
        Ok(Some(Port::first(self.graph.add(node)?)))
    }
}

/// An operator whose prototype is known has no more inputs than that.
fn check_inputs(op: &Op) -> Result<(), Reason> {
    let is_single = |slot: &Slot| slot.count != Count::Dynamic;
    let count = op.input_desc.len();
    match prototype(&op.op) {
        Some(prototype) if count > prototype.inputs.len() && prototype.inputs.iter().all(is_single) => {
            let names: Vec<_> = prototype.inputs.iter().map(|slot| slot.name).collect();
            let (takes, names) = (names.len(), names.join(", "));
            Err(format!("`input_desc` has {count} inputs, the operator has {takes} ({names})"))
        }
        _ => Ok(()),
    }
}

/// Names for the inputs of an operator: their own, else the group's with a number, else a number. One that
/// is taken gives way to its place.
fn labels(tensors: &[Tensor]) -> Vec<String> {
    let mut groups = FxHashMap::<&str, usize>::default();
    let mut taken = FxHashSet::default();
    let mut labels = Vec::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter().enumerate() {
        let wish = match (tensor.name.as_deref().unwrap_or(""), tensor.dynamic_input.as_deref().unwrap_or("")) {
            ("", "") => format!("input{index}"),
            ("", group) => {
                let number = groups.entry(group).or_default();
                *number += 1;
                format!("{group}{}", *number - 1)
            }
            (name, _) => name.to_owned(),
        };
        let label = if taken.contains(&wish) { format!("{wish}@{index}") } else { wish };
        taken.insert(label.clone());
        labels.push(label);
    }
    labels
}
