//! The two graphs of an `If`: whichever runs, the node gives the same number of tensors, each of one type.

use super::held::graphs;
use super::proto::{self, decode};
use crate::graph::DataType;
use crate::status::{Error, Result};
use prost::bytes::Bytes;

/// The graphs of an `If`.
pub const BRANCHES: [&str; 2] = ["then_branch", "else_branch"];

/// Fails where an `If` does not give what its graphs give, as far as they say it themselves: so many tensors, of one type each.
/// `name` is the node's.
pub fn check(node: &proto::Node, name: &str) -> Result<()> {
    let wrong = |reason: String| Err(Error::graph(format!("node `{name}` (If)"), reason));
    let mut first: Option<Vec<i32>> = None;
    for (branch, graph) in graphs(node).into_iter().filter(|(branch, _)| BRANCHES.contains(&branch.as_str())) {
        let Some(types) = declared(&graph) else { continue };
        if types.len() != node.output.len() {
            return wrong(format!("has {} outputs, its `{branch}` has {}", node.output.len(), types.len()));
        }
        let unlike = |first: &Vec<i32>| first.iter().zip(&types).position(|(a, b)| *a != 0 && *b != 0 && a != b);
        if let Some((first, at)) = first.as_ref().and_then(|first| Some((first, unlike(first)?))) {
            return wrong(unlike_types(at, DataType::from_onnx(first[at]), DataType::from_onnx(types[at])));
        }
        first = Some(types);
    }
    Ok(())
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

/// ONNX's numbers of the types that a graph says of its outputs, 0 where it says none; `None` for what is no graph.
pub fn declared(graph: &Bytes) -> Option<Vec<i32>> {
    let graph: proto::Graph = decode(graph.clone(), String::new).ok()?;
    let info = |bytes: &Bytes| decode::<proto::ValueInfo>(bytes.clone(), String::new).ok()?.kind?.tensor;
    Some(graph.output.iter().map(|bytes| info(bytes).map_or(0, |tensor| tensor.elem_type)).collect())
}
