//! Whether a graph is one: edges that exist, no cycle, an order to walk it in.

use super::{Graph, NodeId};
use crate::status::{Error, Result};

impl Graph {
    /// Checks every edge and output, and that there is no cycle.
    ///
    /// Fails with [`Error::Graph`] that names the node at fault.
    pub fn validate(&self) -> Result<()> {
        for (_, node) in self.iter() {
            for (slot, port) in node.inputs.iter().enumerate() {
                let Some(port) = port else { continue };
                let source = self.get(port.node);
                if source.is_none_or(|s| s.outputs.len() <= port.output as usize) {
                    let place = format!("node `{}`, input {slot}", node.name);
                    return Err(Error::graph(place, "refers to an output that does not exist"));
                }
            }
        }
        for port in self.outputs() {
            if self.get(port.node).is_none_or(|n| n.outputs.len() <= port.output as usize) {
                let place = format!("graph `{}`, outputs", self.name);
                return Err(Error::graph(place, "an output refers to a tensor that does not exist"));
            }
        }
        self.topological_order().map(|_| ())
    }

    /// Nodes in an order in which every input comes before its use; among equals, the order in
    /// which they were added. Edges must exist (see [`Graph::validate`]).
    ///
    /// Fails with [`Error::Graph`] that names a node on a cycle.
    pub fn topological_order(&self) -> Result<Vec<NodeId>> {
        let mut waiting = vec![0u32; self.len()];
        let mut users: Vec<Vec<NodeId>> = vec![Vec::new(); self.len()];
        for (id, node) in self.iter() {
            for port in node.inputs.iter().flatten() {
                waiting[id.index()] += 1;
                users[port.node.index()].push(id);
            }
        }
        let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<NodeId>> =
            self.iter().filter(|(id, _)| waiting[id.index()] == 0).map(|(id, _)| std::cmp::Reverse(id)).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(std::cmp::Reverse(id)) = ready.pop() {
            order.push(id);
            for &user in &users[id.index()] {
                waiting[user.index()] -= 1;
                if waiting[user.index()] == 0 {
                    ready.push(std::cmp::Reverse(user));
                }
            }
        }
        if order.len() == self.len() {
            return Ok(order);
        }
        Err(Error::graph(self.cycle_through(&waiting), "the nodes form a cycle"))
    }

    /// Names of the nodes on one cycle among those still waiting for an input.
    fn cycle_through(&self, waiting: &[u32]) -> String {
        let mut at = waiting.iter().position(|&w| w > 0).unwrap_or(0);
        let mut step_of = vec![None; self.len()];
        let mut path = Vec::new();
        while step_of[at].is_none() {
            step_of[at] = Some(path.len());
            path.push(at);
            let blocked = self.nodes[at].inputs.iter().flatten().map(|p| p.node.index());
            // A node that waits has an input that waits; following it must come back.
            at = blocked.into_iter().find(|&i| waiting[i] > 0).unwrap_or(at);
        }
        let names: Vec<_> = path[step_of[at].unwrap_or(0)..]
            .iter()
            .rev()
            .take(8)
            .map(|&i| format!("`{}`", self.nodes[i].name))
            .collect();
        format!("nodes {}", names.join(" -> "))
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::{DataType, Graph, Node, Port, Shape, TensorDesc};

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
