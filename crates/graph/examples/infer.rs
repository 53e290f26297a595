//! Builds a linear layer with its activation and prints the shape of each tensor.

use aoe_graph::{DATA, DataType, Graph, Node, Port, Shape, TensorDesc, infer};

fn main() -> aoe_base::status::Result<()> {
    let mut graph = Graph::new("linear");
    let half = |dims: [i64; 2]| vec![TensorDesc::new(DataType::Float16, Shape::new(dims))];
    let x = graph.add(Node::new("x", DATA).with_outputs(half([8, 256])))?;
    let w = graph.add(Node::new("w", DATA).with_outputs(half([256, 1024])))?;
    let first = |node| Port { node, output: 0 };
    let unknown = || vec![TensorDesc::unknown()];
    let product =
        graph.add(Node::new("product", "MatMulV2").with_inputs([first(x), first(w)]).with_outputs(unknown()))?;
    graph.add(Node::new("gelu", "Gelu").with_inputs([first(product)]).with_outputs(unknown()))?;
    infer::infer(&mut graph)?;
    for (_, node) in graph.iter() {
        println!("{} {}: {:?}", node.op_type, node.name, node.outputs[0].shape);
    }
    Ok(())
}
