//! The end of a network, where that is a node of it: GE's `NetOutput`.

use super::air::NET_OUTPUT;
use crate::graph::Graph;
use crate::status::{Error, Result};

/// Why nothing can be read from the end of a network of this name.
pub fn at(name: &str) -> String {
    format!("`{name}`, the end of the network (NetOutput), which gives nothing: read what that reads")
}

/// Makes what the ends of a network read its outputs, besides those that are stated.
///
/// Fails with [`Error::Graph`] that names a node which reads from an end.
pub fn note(graph: &mut Graph) -> Result<()> {
    check(graph)?;
    let mut outputs = graph.outputs().to_vec();
    for (_, node) in graph.iter().filter(|(_, node)| node.op_type == NET_OUTPUT) {
        for &port in node.inputs.iter().flatten() {
            if !outputs.contains(&port) {
                outputs.push(port);
            }
        }
    }
    graph.set_outputs(outputs);
    Ok(())
}

/// Fails with [`Error::Graph`] that names a node which reads from an end of the network.
pub fn check(graph: &Graph) -> Result<()> {
    for (_, node) in graph.iter() {
        for (slot, port) in node.inputs.iter().enumerate() {
            let source = port.and_then(|port| graph.get(port.node));
            if let Some(end) = source.filter(|source| source.op_type == NET_OUTPUT) {
                let place = format!("node `{}` ({}), input {slot}", node.name, node.op_type);
                return Err(Error::graph(place, format!("reads from {}", at(&end.name))));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check, note};
    use crate::frontend::air;
    use crate::graph::{DataType, Graph, Node, Port, Shape, TensorDesc};

    /// Two results, of which the end reads both, or the end's first output a third node.
    fn ended(is_read: bool) -> Graph {
        let desc = || TensorDesc::new(DataType::Float16, Shape::new([4, 8]));
        let mut graph = Graph::new("built");
        let x = graph.add_input("x", desc()).unwrap();
        let relu = |name: &str| Node::new(name, "Relu").with_inputs([x]).with_outputs(vec![desc()]);
        let ports = ["a", "b"].map(|name| Port::first(graph.add(relu(name)).unwrap()));
        let end = Node::new("end", "NetOutput").with_inputs(ports).with_outputs(vec![desc(); 2]);
        let end = graph.add(end).unwrap();
        if is_read {
            graph.add(Node::new("late", "Exp").with_inputs([Port::first(end)]).with_outputs(vec![desc()])).unwrap();
        }
        graph
    }

    #[test]
    fn what_the_end_of_a_network_reads_are_its_outputs() {
        let mut graph = ended(false);
        graph.add_output(Port::first(graph.find("b").unwrap()));
        note(&mut graph).unwrap();
        let names: Vec<_> = graph.outputs().iter().map(|&port| graph.tensor_name(port)).collect();
        assert_eq!(names, ["b", "a"]);
        let read = air::read(air::encode_model(&graph).unwrap().into(), "again").unwrap();
        assert_eq!(read.outputs().len(), 2);
    }

    #[test]
    fn who_reads_from_the_end_of_a_network_is_named() {
        let mut graph = ended(true);
        for message in [note(&mut graph).unwrap_err().to_string(), check(&graph).unwrap_err().to_string()] {
            assert!(message.contains("`late` (Exp), input 0") && message.contains("`end`"), "{message}");
        }
        // The same in a file.
        let model = air::encode_model(&graph).unwrap();
        let message = air::read(model.into(), "again").unwrap_err().to_string();
        assert!(message.contains("`late` (Exp), input 0") && message.contains("NetOutput"), "{message}");
    }
}
