//! The graphs that a node holds, as they stand in the file.

use super::proto::{self, decode};
use prost::bytes::Bytes;
use rustc_hash::FxHashSet;

/// The graphs of an `If`.
pub const BRANCHES: [&str; 2] = ["then_branch", "else_branch"];
/// The graph of a `Loop` or `Scan`.
pub const BODY: &str = "body";

/// Graphs within graphs that are looked into.
pub const MAX_DEPTH: usize = 16;

/// The graphs of a node by the names of the attributes; none of a node that holds none or is of another domain.
pub fn graphs(node: &proto::Node) -> Vec<(String, Bytes)> {
    if !node.domain.is_empty() || !matches!(node.op_type.as_str(), "If" | "Loop" | "Scan") {
        return Vec::new();
    }
    // What is wrong with an attribute is told where the node is mapped.
    let attrs = node.attribute.iter().filter_map(|bytes| decode::<proto::Attribute>(bytes.clone(), String::new).ok());
    attrs.filter_map(|attr| Some((attr.name, attr.g?))).collect()
}

/// Names of the tensors that the graphs of a node take from around it, each once.
pub fn taken(node: &proto::Node) -> Vec<String> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    for (_, graph) in graphs(node) {
        found.extend(free(&graph, 0).into_iter().filter(|name| seen.insert(name.clone())));
    }
    found
}

/// Names of the tensors that a graph reads and does not make.
fn free(graph: &Bytes, depth: usize) -> Vec<String> {
    let Ok(graph) = decode::<proto::Graph>(graph.clone(), String::new) else { return Vec::new() };
    let mut own = FxHashSet::default();
    own.extend(names(&graph.input));
    for bytes in &graph.initializer {
        own.extend(decode::<proto::Tensor>(bytes.clone(), String::new).map(|tensor| tensor.name));
    }
    for bytes in &graph.sparse_initializer {
        let sparse = decode::<proto::SparseTensor>(bytes.clone(), String::new);
        let values = sparse.and_then(|sparse| decode::<proto::Tensor>(sparse.values, String::new));
        own.extend(values.map(|tensor| tensor.name));
    }
    let nodes = || graph.node.iter().filter_map(|bytes| decode::<proto::Node>(bytes.clone(), String::new).ok());
    own.extend(nodes().flat_map(|node| node.output));
    let mut read = Vec::new();
    for node in nodes() {
        let within = if depth < MAX_DEPTH { graphs(&node) } else { Vec::new() };
        read.extend(node.input);
        read.extend(within.iter().flat_map(|(_, graph)| free(graph, depth + 1)));
    }
    read.extend(names(&graph.output));
    read.retain(|name| !name.is_empty() && !own.contains(name));
    read
}

/// Names of inputs or outputs of a graph.
pub fn names(infos: &[Bytes]) -> Vec<String> {
    let named = |bytes: &Bytes| decode::<proto::ValueInfo>(bytes.clone(), String::new).ok().map(|info| info.name);
    infos.iter().map(|bytes| named(bytes).unwrap_or_default()).collect()
}

/// ONNX's numbers of the types that a graph says of its outputs, 0 where it says none.
pub fn declared(graph: &proto::Graph) -> Vec<i32> {
    let info = |bytes: &Bytes| decode::<proto::ValueInfo>(bytes.clone(), String::new).ok()?.kind?.tensor;
    graph.output.iter().map(|bytes| info(bytes).map_or(0, |tensor| tensor.elem_type)).collect()
}
