//! What ONNX asks of nodes that hold graphs, as far as the file itself shows it.
//!
//! All of them are looked at before anything is read, however deep they stand: what is refused does not hang on which graphs
//! run, nor on when that is known.

use super::graphs::{BODY, BRANCHES, declared, graphs};
use super::proto::{self, Functions, decode};
use crate::graph::{DataType, TensorDesc};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::rc::Rc;

/// Nodes of one graph, and where it stands.
struct Level {
    nodes: Vec<Bytes>,
    place: Rc<str>,
}

/// Checks each node of a model that holds graphs: those of its graph, of its functions, and of what these hold.
///
/// Fails with [`Error::Graph`] that names the node.
pub fn check(nodes: &[Bytes], functions: &Functions) -> Result<()> {
    let mut names: Vec<_> = functions.keys().collect();
    names.sort_unstable();
    let of_function = |key: &&(String, String)| Level {
        nodes: functions[*key].node.clone(),
        place: format!(", in function {}::{}", key.0, key.1).into(),
    };
    let mut open: Vec<Level> = names.iter().rev().map(of_function).collect();
    open.push(Level { nodes: nodes.to_vec(), place: "".into() });
    while let Some(Level { nodes, place }) = open.pop() {
        for (index, bytes) in nodes.iter().enumerate() {
            // Most nodes hold none, and need not be read for that.
            let at = || format!("node {index}{place}");
            let head: proto::NodeHead = decode(bytes.clone(), at)?;
            if !["If", "Loop", "Scan"].contains(&head.op_type.as_str()) || !matches!(&*head.domain, "" | "ai.onnx") {
                continue;
            }
            let mut node: proto::Node = decode(bytes.clone(), at)?;
            node.domain.clear();
            let name = [&node.name].into_iter().chain(&node.output).find(|name| !name.is_empty());
            let name = name.map_or_else(|| index.to_string(), String::clone);
            for (within, graph) in check_one(&node, &name, &place)? {
                open.push(Level { nodes: graph.node, place: format!(", in `{within}` of `{name}`").into() });
            }
        }
    }
    Ok(())
}

/// Checks one node; answers the graphs that it holds.
fn check_one(node: &proto::Node, name: &str, place: &str) -> Result<Vec<(&'static str, proto::Graph)>> {
    let wrong = |reason: String| Error::graph(format!("node `{name}` ({}){place}", node.op_type), reason);
    let wanted: &'static [&'static str] = if node.op_type == "If" { &BRANCHES } else { &[BODY] };
    let held = graphs(node);
    // Within a function a graph may be a parameter: the calls say what it is.
    let attributes = node.attribute.iter().map(|bytes| decode::<proto::Attribute>(bytes.clone(), String::new));
    if attributes.flatten().any(|attr| wanted.contains(&attr.name.as_str()) && !attr.ref_attr_name.is_empty()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::with_capacity(wanted.len());
    for &wanted in wanted {
        let graph = held.iter().find(|(attribute, _)| attribute == wanted).map(|(_, graph)| graph.clone());
        let graph = graph.ok_or_else(|| wrong(format!("has no graph `{wanted}`, which ONNX requires: add it")))?;
        found.push((wanted, decode(graph, || format!("`{wanted}` of node `{name}`{place}"))?));
    }
    match node.op_type.as_str() {
        "If" => check_choice(node, &found, &wrong)?,
        "Loop" => check_body(&found, [node.input.len().max(2), node.output.len() + 1], &wrong)?,
        _ => check_body(&found, [node.input.len(), node.output.len()], &wrong)?,
    }
    Ok(found)
}

/// An `If` has one condition, and gives what its graphs give, as far as they say it themselves: so many tensors, of one type
/// each.
fn check_choice(node: &proto::Node, graphs: &[(&str, proto::Graph)], wrong: &dyn Fn(String) -> Error) -> Result<()> {
    if node.input.len() != 1 || node.input[0].is_empty() {
        let given = node.input.iter().filter(|name| !name.is_empty()).count();
        return Err(wrong(format!("has {given} conditions, and takes one: a bool of one element")));
    }
    let mut first: Option<Vec<i32>> = None;
    for (branch, graph) in graphs {
        let types = declared(graph);
        if types.len() != node.output.len() {
            return Err(wrong(format!("has {} outputs, its `{branch}` has {}", node.output.len(), types.len())));
        }
        let unlike = |first: &Vec<i32>| first.iter().zip(&types).position(|(a, b)| *a != 0 && *b != 0 && a != b);
        if let Some((first, at)) = first.as_ref().and_then(|first| Some((first, unlike(first)?))) {
            return Err(wrong(unlike_types(at, DataType::from_onnx(first[at]), DataType::from_onnx(types[at]))));
        }
        first = Some(types);
    }
    Ok(())
}

/// The graph of a loop takes and gives so many tensors.
fn check_body(graphs: &[(&str, proto::Graph)], wanted: [usize; 2], wrong: &dyn Fn(String) -> Error) -> Result<()> {
    for (body, graph) in graphs {
        let has = [graph.input.len(), graph.output.len()];
        // Results that nobody reads need no name at the node.
        if has[0] != wanted[0] || has[1] < wanted[1] {
            return Err(wrong(format!(
                "its `{body}` takes {} tensors and gives {}, and by the node's inputs and outputs has to take {} and give {}",
                has[0], has[1], wanted[0], wanted[1]
            )));
        }
    }
    Ok(())
}

/// Why a tensor can be no condition; `None` for one that can, as far as it is known.
pub fn wrong_condition(desc: &TensorDesc) -> Option<String> {
    let (DataType::Bool | DataType::Undefined) = desc.dtype else {
        let is = desc.dtype.name();
        return Some(format!("its condition is {is}, and has to be bool: compare it with 0, or cast it"));
    };
    let elements = desc.shape.elements().filter(|elements| *elements != 1)?;
    Some(format!("its condition has {elements} elements ({}), and has to have one", desc.shape))
}

/// Why graphs that give an output these types are refused.
pub fn unlike_types(at: usize, one: Option<DataType>, other: Option<DataType>) -> String {
    let name = |dtype: Option<DataType>| dtype.map_or("another type", DataType::name);
    format!(
        "its graphs give output {at} as {} and as {}, and have to give one type whichever runs: cast one of them",
        name(one),
        name(other)
    )
}
