//! What a `Cast` in a vector chain makes of the chain.

use crate::graph::{Attr, DataType, Graph, Node, Port, Shape, TensorDesc};
use crate::lower::{Settings, lower};
use crate::soc::Soc;
use crate::tune::sgat::fused;

/// Members of each kernel of a `Sqrt` and an `Exp` of float16, with a `Cast` to this type between them.
fn members(cast_to: Option<DataType>) -> Vec<usize> {
    let of = |dtype| vec![TensorDesc::new(dtype, Shape::new(vec![128, 4096]))];
    let mut graph = Graph::new("chain");
    let mut end = graph.add_input("x", of(DataType::Float16).remove(0)).unwrap();
    let mut dtype = DataType::Float16;
    let mut add = |node: Node, dtype| {
        end = Port::first(graph.add(node.with_inputs([end]).with_outputs(of(dtype))).unwrap());
    };
    add(Node::new("root", "Sqrt"), dtype);
    if let Some(to) = cast_to {
        let mut cast = Node::new("cast", "Cast");
        cast.attrs.set("dst_type", Attr::Int(i64::from(to.ge_number())));
        dtype = to;
        add(cast, dtype);
    }
    add(Node::new("exp", "Exp"), dtype);
    graph.add_output(end);
    let (soc, settings) = (Soc::find("Ascend910B2").unwrap(), Settings::default());
    let lowered = lower(&graph, &soc, &settings).unwrap();
    let kernels = fused(&graph, &lowered, &soc, &settings).unwrap().kernels;
    kernels.iter().map(|kernel| kernel.workload.parts().len()).collect()
}

#[test]
fn a_cast_to_the_type_that_is_there_is_no_kernel_and_divides_no_chain() {
    assert_eq!(members(None), [2]);
    assert_eq!(members(Some(DataType::Float16)), [2]);
    // The mode forces float16 on all that runs, so the file's float32 is none here either.
    assert_eq!(members(Some(DataType::Float)), [2]);
    assert_ne!(members(Some(DataType::Int32)), [2], "it is work");
}
