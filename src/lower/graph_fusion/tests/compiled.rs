//! Graphs that a compiler has worked on already.

use super::*;
use crate::frontend::{ModelOptions, load_file};
use crate::lower::with_conversions;

#[test]
fn a_conversion_that_a_compiler_put_in_is_the_tensor_that_it_converts() {
    let mut line = Line::new(&[1, 64, 8, 8]);
    let to = |format: &str| [("dst_format", text(format))];
    line.then("in", "TransData", &[], &to("NC1HWC0")).then("work", "Sigmoid", &[], &[]);
    line.then("out", "TransData", &[], &to("NCHW"));
    let fused = line.fused();
    assert_eq!(types(&fused), ["Sigmoid"]);
    let work = fused.node(fused.find("work").unwrap());
    assert_eq!(fused.node(work.input(0).unwrap().node).name, "x");
    assert_eq!(fused.node(fused.outputs()[0].node).name, "work");
}

#[test]
fn a_dump_from_after_compilation_has_the_kernels_of_the_one_from_before() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let kernels = |stage: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/dumps/pid_4711_deviceid_0/");
        let path = format!("{folder}{stage}");
        let graph = load_file(path.as_ref(), None, &ModelOptions::default()).unwrap();
        let (graph, _) = graph_fusion(graph, &soc, &Settings::default(), &Switches::default()).unwrap();
        let (graph, lowered) = with_conversions(graph, &soc, &Settings::default()).unwrap();
        let types = lowered.kernels.iter().map(|kernel| graph.node(kernel.node).op_type.clone());
        // After compilation Relu is part of the convolution and not seen any more.
        types.filter(|op_type| op_type != "Relu").collect::<Vec<_>>()
    };
    let before = kernels("ge_proto_00000000_graph_0_PreRunBegin.txt");
    assert_eq!(before, kernels("ge_onnx_00000000_graph_0_PreRunBegin.pbtxt"));
    assert_eq!(before, kernels("ge_proto_00000031_graph_0_Build.txt"));
    assert_eq!(before, ["TransData", "Conv2D", "TransData"]);
}
