//! Whether a graph is one: edges that exist, no cycle without a loop's operators, an order to walk it in.

use super::control::goes_back;
use super::{Graph, NodeId};
use aoe_base::status::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Graph {
    /// Checks every edge and output, and that there is no cycle but loops of TensorFlow 1.
    ///
    /// Fails with [`Error::Graph`] that names the node at fault.
    pub fn validate(&self) -> Result<()> {
        self.validated_order().map(|_| ())
    }

    /// [`Graph::topological_order`] of a graph that may be wrong: checks what [`Graph::validate`] does.
    pub fn validated_order(&self) -> Result<Vec<NodeId>> {
        for (_, node) in self.iter() {
            for (slot, port) in node.inputs.iter().enumerate() {
                let Some(port) = port else { continue };
                let source = self.get(port.node);
                if source.is_none_or(|s| s.outputs.len() <= port.output as usize) {
                    let place = format!("node `{}`, input {slot}", node.name);
                    let what = source.map_or_else(
                        || "a node that does not exist".to_owned(),
                        |s| {
                            format!(
                                "output {} of `{}`, which does not exist: it has {}",
                                port.output,
                                s.name,
                                s.outputs.len()
                            )
                        },
                    );
                    return Err(Error::graph(place, format!("refers to {what}")));
                }
            }
        }
        for port in self.outputs() {
            if self.get(port.node).is_none_or(|n| n.outputs.len() <= port.output as usize) {
                let place = format!("graph `{}`, outputs", self.name);
                return Err(Error::graph(place, "an output refers to a tensor that does not exist"));
            }
        }
        self.topological_order()
    }

    /// The nodes that a node reads and that come before it: all but where a loop of TensorFlow 1 goes back, from a
    /// `NextIteration` to a `Merge`.
    pub fn sources(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(id);
        let ports = node.inputs.iter().flatten();
        ports.map(|port| port.node).filter(move |&source| !goes_back(self.node(source), node))
    }

    /// Nodes in an order in which every input comes before its use, except where a loop goes back ([`Graph::sources`]);
    /// among equals, the order in which they were added. Edges must exist (see [`Graph::validate`]).
    ///
    /// Fails with [`Error::Graph`] that names a node on a cycle.
    pub fn topological_order(&self) -> Result<Vec<NodeId>> {
        let sources = |node: usize, visit: &mut dyn FnMut(usize)| {
            self.sources(NodeId(node as u32)).for_each(|source| visit(source.index()));
        };
        match order(self.len(), sources) {
            Ok(order) => Ok(order.into_iter().map(NodeId).collect()),
            Err(cycle) => Err(cycle_error(&cycle, |node| &self.nodes[node].name)),
        }
    }
}

/// The numbers `0..count` in an order in which the sources of each come before it; among equals,
/// ascending. `sources` calls its visitor with each source of a number, all below `count`.
///
/// Fails with the numbers on a cycle, each a source of the one after it.
pub fn order(
    count: usize,
    sources: impl Fn(usize, &mut dyn FnMut(usize)),
) -> std::result::Result<Vec<u32>, Vec<usize>> {
    // Most graphs are written in such an order.
    let is_in_order = |i: usize| {
        let mut is = true;
        sources(i, &mut |source| is &= source < i);
        is
    };
    if (0..count).all(is_in_order) {
        return Ok((0..count as u32).collect());
    }
    // Users of each number, as ranges of one list: graphs have a million nodes.
    let mut waiting = vec![0u32; count];
    let mut starts = vec![0u32; count + 1];
    for (i, waits) in waiting.iter_mut().enumerate() {
        sources(i, &mut |source| {
            *waits += 1;
            starts[source + 1] += 1;
        });
    }
    for i in 0..count {
        starts[i + 1] += starts[i];
    }
    let mut users = vec![0u32; starts[count] as usize];
    let mut next = starts.clone();
    for i in 0..count {
        sources(i, &mut |source| {
            users[next[source] as usize] = i as u32;
            next[source] += 1;
        });
    }
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..count).filter(|&i| waiting[i] == 0).map(|i| Reverse(i as u32)).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &user in &users[starts[i as usize] as usize..starts[i as usize + 1] as usize] {
            waiting[user as usize] -= 1;
            if waiting[user as usize] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if order.len() == count { Ok(order) } else { Err(cycle(&waiting, sources)) }
}

/// One cycle among the numbers that still wait.
fn cycle(waiting: &[u32], sources: impl Fn(usize, &mut dyn FnMut(usize))) -> Vec<usize> {
    let mut at = waiting.iter().position(|&w| w > 0).unwrap_or(0);
    let mut step_of = vec![None; waiting.len()];
    let mut path = Vec::new();
    while step_of[at].is_none() {
        step_of[at] = Some(path.len());
        path.push(at);
        // What waits has a source that waits; following it must come back.
        let mut blocked = at;
        sources(at, &mut |source| {
            if waiting[source] > 0 {
                blocked = source;
            }
        });
        at = blocked;
    }
    let mut cycle = path.split_off(step_of[at].unwrap_or(0));
    cycle.reverse();
    cycle
}

/// The error that names the nodes on a cycle.
pub fn cycle_error<'n>(cycle: &[usize], name: impl Fn(usize) -> &'n String) -> Error {
    let names: Vec<_> = cycle.iter().take(8).map(|&i| format!("`{}`", name(i))).collect();
    Error::graph(format!("nodes {}", names.join(" -> ")), "the nodes form a cycle")
}

#[cfg(test)]
mod tests {
    use crate::{DataType, Graph, Node, Port, Shape, TensorDesc};

    fn chain() -> Graph {
        let mut g = Graph::new("chain");
        let x = g.add_input("x", TensorDesc::new(DataType::Float16, Shape::new([4]))).unwrap();
        let a = g.add(Node::new("a", "Relu").with_inputs([x])).unwrap();
        let b = g.add(Node::new("b", "Relu").with_inputs([Port::first(a)])).unwrap();
        g.add_output(Port::first(b));
        g
    }

    #[test]
    fn order_puts_producers_before_consumers() {
        let g = chain();
        let names: Vec<_> = g.topological_order().unwrap().iter().map(|&n| g.node(n).name.clone()).collect();
        assert_eq!(names, ["x", "a", "b"]);
    }

    #[test]
    fn a_cycle_is_an_error_that_names_its_nodes() {
        let mut g = chain();
        let (a, b) = (g.find("a").unwrap(), g.find("b").unwrap());
        g.node_mut(a).inputs[0] = Some(Port::first(b));
        let message = g.validate().unwrap_err().to_string();
        assert!(message.contains("`a`") && message.contains("`b`") && message.contains("cycle"), "{message}");
    }

    #[test]
    fn an_edge_to_nowhere_is_an_error_that_names_its_node() {
        let mut g = chain();
        let a = g.find("a").unwrap();
        g.node_mut(a).inputs[0] = Some(Port { node: a, output: 7 });
        assert!(g.validate().unwrap_err().to_string().contains("node `a`, input 0"));
    }

    #[test]
    fn duplicate_and_empty_names_are_refused() {
        let mut g = chain();
        assert!(g.add(Node::new("a", "Relu")).unwrap_err().to_string().contains("`a`"));
        assert!(g.add(Node::new("", "Relu")).is_err());
        assert_eq!(g.find("a").map(|id| g.node(id).name.as_str()), Some("a"), "the first one stays");
    }
}
