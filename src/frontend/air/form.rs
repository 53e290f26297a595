//! What the form of a file says beyond the graph that is read of it: whether operators describe and name their inputs, as
//! GE looks them up.

use super::names::{INPUT_KEYS, INPUT_VALUES, is_name};
use super::proto::{self, Tensor, decode};
use super::{INPUTS, NET_OUTPUT, UNMAPPED, attr, is_frame, layout::is_control};
use crate::graph::op::prototype::{Count, Prototype, prototype};
use crate::graph::{Attr, Attrs};
use crate::spelling::listed;
use crate::status::Result;
use prost::bytes::Bytes;
use rustc_hash::FxHashSet;

/// What is wrong with the form of one operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The operator's name.
    pub node: String,
    /// Its type.
    pub op_type: String,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub advice: String,
}

/// That graphs of a file, `others`, are called by nothing, in words; `first` is the one that counts.
pub fn uncalled(first: &str, others: &[&String]) -> String {
    let others: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
    let others = listed(&others.iter().map(String::as_str).collect::<Vec<_>>());
    format!(
        "nothing calls graph {others}: `{first}`, the first of the file, is the network; give another as a file of its own"
    )
}

/// The graphs of a model in binary form that nothing calls, behind the first, in the order of the file; and the first.
///
/// Fails with [`crate::status::Error::Graph`] where it is no model.
pub fn roots(data: Bytes) -> Result<(String, Vec<String>)> {
    let place = || "model".to_owned();
    let model: proto::Model = decode(data, place)?;
    let (mut names, mut called) = (Vec::new(), FxHashSet::default());
    for graph in model.graph {
        let graph: proto::Graph = decode(graph, place)?;
        names.push(graph.name);
        for op in graph.op {
            called.extend(decode::<proto::Op>(op, place)?.subgraph_name);
        }
    }
    let mut names = names.into_iter();
    let first = names.next().unwrap_or_default();
    Ok((first, names.filter(|name| !called.contains(name)).collect()))
}

/// The faults of a model in binary form, in the order of its operators.
///
/// Fails with [`crate::status::Error::Graph`] where it is no model.
pub fn faults(data: Bytes) -> Result<Vec<Fault>> {
    let place = || "model".to_owned();
    let model: proto::Model = decode(data, place)?;
    let mut found = Vec::new();
    for graph in model.graph {
        let graph: proto::Graph = decode(graph, place)?;
        for op in graph.op {
            let op: proto::Op = decode(op, place)?;
            if let Some((reason, advice)) = fault(&op)? {
                found.push(Fault { node: op.name, op_type: op.op_type, reason, advice });
            }
        }
    }
    Ok(found)
}

/// What is wrong with the inputs of an operator, and what to do.
fn fault(op: &proto::Op) -> Result<Option<(String, String)>> {
    let place = || format!("node `{}` ({})", op.name, op.op_type);
    let attrs = attr::read_all(&op.attr, &place)?;
    if attrs.bool(UNMAPPED) == Some(true) {
        return Ok(None);
    }
    let known = prototype(&op.op_type);
    let given = op.input.iter().filter(|reference| !reference.is_empty() && !is_control(reference)).count();
    let described = op.input_desc.len();
    if let Some(input) = known.filter(|_| INPUTS.contains(&op.op_type.as_str())).and_then(|known| known.inputs.first())
    {
        let reason = format!("does not describe its input `{}`, where GE puts what the network is given", input.name);
        let advice = format!("give it one input_desc, named `{}`, as its output is described", input.name);
        return Ok((described == 0).then_some((reason, advice)));
    }
    if described < given {
        let reason = format!("describes {described} of its {given} inputs");
        return Ok(Some((reason, "give each an input_desc, as the output that it reads is described".to_owned())));
    }
    let Some(known) = known.filter(|_| given > 0 && !is_frame(&op.op_type) && op.op_type != NET_OUTPUT) else {
        return Ok(None);
    };
    names_fault(op, &attrs, known, &place)
}

/// What is wrong with the names of inputs: in attributes, or in the descriptions, which some writers name.
fn names_fault(
    op: &proto::Op,
    attrs: &Attrs,
    known: &Prototype,
    place: &dyn Fn() -> String,
) -> Result<Option<(String, String)>> {
    let wanted = || {
        let many = |count| if count == Count::Dynamic { "0, ..." } else { "" };
        let names: Vec<String> = known.inputs.iter().map(|slot| format!("{}{}", slot.name, many(slot.count))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("the interface has {}", listed(&names))
    };
    let Some(Attr::Strs(keys)) = attrs.get(INPUT_KEYS) else {
        for desc in &op.input_desc {
            let desc: Tensor = decode(desc.clone(), place)?;
            if desc.name.is_empty() {
                let reason = format!("does not name its inputs ({INPUT_KEYS}), by which GE finds them");
                return Ok(Some((reason, format!("set {INPUT_KEYS} and {INPUT_VALUES}: {}", wanted()))));
            }
        }
        return Ok(None);
    };
    let is_one = |name: &&String| known.inputs.iter().any(|slot| is_name(name, slot.name, slot.count));
    let other = keys.iter().find(|name| !is_one(name));
    Ok(other.map(|name| (format!("names an input `{name}` ({INPUT_KEYS}), which it does not have"), wanted())))
}
