//! Which conversions are put in.

use super::{Converted, flows, lower};
use crate::graph::{DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::Settings;
use crate::soc::Soc;

#[test]
fn each_input_of_a_node_is_looked_at_once_however_many_it_has() {
    const MANY: usize = 500;
    for is_one in [true, false] {
        let mut graph = Graph::new("wide");
        let x = graph.add_input("x", TensorDesc::new(DataType::Float, Shape::new([4, 8]))).unwrap();
        let made = |graph: &mut Graph, at: usize| {
            Port::first(graph.add(Node::new(format!("r{at}"), "Relu").with_inputs([x])).unwrap())
        };
        let ports: Vec<Port> = (0..MANY).map(|at| if is_one { x } else { made(&mut graph, at) }).collect();
        let sum = graph.add(Node::new("sum", "AddN").with_inputs(ports)).unwrap();
        graph.add_output(Port::first(sum));
        infer::infer(&mut graph).unwrap();
        let (soc, settings) = (Soc::find("Ascend910B2").unwrap(), Settings::default());
        let lowered = lower(&graph, &soc, &settings).unwrap();
        let flows = flows(&graph, &lowered, &soc, &settings);
        let inputs: usize = graph.iter().map(|(_, node)| node.inputs.len()).sum();
        let converted = Converted::new(graph, settings.precision, &lowered, &flows);
        let (graph, _, looked) = converted.run_counted().unwrap();
        assert_eq!(looked, inputs);
        let read = &graph.node(graph.find("sum").unwrap()).inputs;
        // The caller's float32 meets a network in 16 bits.
        let name = |port: &Option<Port>| graph.node(port.unwrap().node).name.clone();
        assert_eq!(
            (name(&read[0]).starts_with("trans_Cast"), name(&read[MANY - 1]) == name(&read[0])),
            (is_one, is_one)
        );
    }
}
