//! Nodes by their names, which stay where they are: a graph of a million nodes holds each once.

use super::{Node, NodeId};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The places of nodes in a list, found by their names.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(HashTable<NodeId>);

impl Names {
    /// Those of nodes whose names differ.
    pub fn of(nodes: &[Arc<Node>]) -> Names {
        let mut names = Names(HashTable::with_capacity(nodes.len()));
        (0..nodes.len() as u32).for_each(|id| names.insert(NodeId(id), nodes));
        names
    }

    /// The node with a name.
    pub fn find(&self, name: &str, nodes: &[Arc<Node>]) -> Option<NodeId> {
        self.0.find(hash(name), |id| nodes[id.index()].name == name).copied()
    }

    /// Takes in a node whose name is new.
    pub fn insert(&mut self, id: NodeId, nodes: &[Arc<Node>]) {
        self.0.insert_unique(hash(&nodes[id.index()].name), id, |id| hash(&nodes[id.index()].name));
    }

    /// Forgets a node, which still has the name that it was taken in with.
    pub fn remove(&mut self, id: NodeId, nodes: &[Arc<Node>]) {
        if let Ok(entry) = self.0.find_entry(hash(&nodes[id.index()].name), |other| *other == id) {
            entry.remove();
        }
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    hasher.finish()
}
