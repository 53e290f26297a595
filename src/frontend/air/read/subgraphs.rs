//! The graphs of a file after its first.

use super::Reader;
use crate::frontend::air::proto::{self, Value, decode, encode, kind};
use crate::frontend::air::{SUBGRAPH_NAMES, SUBGRAPHS, form};
use crate::graph::Attr;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};

/// The graphs after the first, by name.
pub(super) fn by_name(graphs: impl Iterator<Item = Bytes>) -> Result<FxHashMap<String, Bytes>> {
    let mut named = FxHashMap::default();
    for (index, bytes) in graphs.enumerate() {
        let graph: proto::Graph = decode(bytes.clone(), || format!("graph {}", index + 1))?;
        if named.insert(graph.name.clone(), bytes).is_some() {
            return Err(Error::graph(format!("graph `{}`", graph.name), "a second graph has the same name"));
        }
    }
    Ok(named)
}

impl Reader<'_> {
    /// The graphs that nodes choose among, and those that these call, go with the graph.
    pub(super) fn keep_subgraphs(&mut self) -> Result<()> {
        let mut open: Vec<(String, String)> = Vec::new();
        for (_, node) in self.graph.iter() {
            let Some(Attr::Strs(names)) = node.attrs.get(SUBGRAPH_NAMES) else { continue };
            open.extend(names.iter().map(|name| (name.clone(), format!("node `{}` ({})", node.name, node.op_type))));
        }
        // What comes first is taken first.
        open.reverse();
        let mut kept = Vec::new();
        let mut seen = FxHashSet::default();
        while let Some((name, place)) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(bytes) = self.subgraphs.get(&name) else {
                return Err(Error::graph(place, format!("refers to graph `{name}`, which is not in the file")));
            };
            let graph: proto::Graph = decode(bytes.clone(), || format!("graph `{name}`"))?;
            for (index, op) in graph.op.into_iter().enumerate() {
                let place = format!("graph `{name}`, node {index}");
                let op: proto::Op = decode(op, || place.clone())?;
                open.extend(op.subgraph_name.into_iter().rev().map(|called| (called, place.clone())));
            }
            kept.push(bytes.clone());
        }
        self.tell_uncalled(&seen);
        if !kept.is_empty() {
            let list = proto::ListValue { g: kept, val_type: kind::GRAPH, ..proto::ListValue::default() };
            let value = Value { list: Some(encode(&list)), ..Value::default() };
            self.graph.attrs.set(SUBGRAPHS, Attr::Opaque(encode(&value)));
        }
        Ok(())
    }

    /// Says which graphs of the file nothing calls: of a file with several roots, the first is the network.
    fn tell_uncalled(&self, kept: &FxHashSet<String>) {
        let is_uncalled = |name: &&String| !kept.contains(*name) && !self.layout.called.contains(*name);
        let mut names: Vec<&String> = self.subgraphs.keys().filter(is_uncalled).collect();
        names.sort_unstable();
        if !names.is_empty() {
            log::warn!("{}", form::uncalled(&self.graph.name, &names));
        }
    }
}
