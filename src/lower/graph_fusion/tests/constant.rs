//! What is computed when the network is compiled.

use super::Line;
use crate::graph::{Attr, Graph, Port};
use crate::lower::{Settings, Switches, lower};
use crate::soc::Soc;

/// Types of the kernels that are left of a graph on a 910B2.
fn left(graph: &Graph) -> Vec<String> {
    let lowered = lower(graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    lowered.kernels.iter().map(|kernel| graph.node(kernel.node).op_type.clone()).collect()
}

/// The table of a rotary embedding, as exporters write it, times the input.
fn rotary() -> Line {
    let mut line = Line::new(&[1, 16, 32]);
    let x = line.end;
    let (frequencies, positions) = (line.weight("frequencies", &[1, 32, 1]), line.weight("positions", &[1, 1, 16]));
    line.end = frequencies;
    line.then("angles", "BatchMatMulV2", &[positions], &[]);
    line.then("rows", "Transpose", &[], &[("perm", Attr::Ints(vec![0, 2, 1]))]);
    line.then("cos", "Cos", &[], &[]);
    line.then("turned", "Mul", &[x], &[]);
    line
}

#[test]
fn what_reads_constants_alone_runs_no_kernel() {
    let fused = rotary().fused_on("Ascend910B2", &Switches::default());
    assert_eq!(left(&fused), ["Mul"]);
    // Not even where every pass that has a switch is closed: GE folds by itself.
    assert_eq!(left(&rotary().fused_on("Ascend910B2", &Switches::closed())), ["Mul"]);
}

#[test]
fn what_differs_from_run_to_run_is_computed_in_each() {
    let mut line = Line::new(&[1, 16, 32]);
    let x = line.end;
    line.end = line.weight("like", &[1, 16, 32]);
    line.then("noise", "RandomNormalLike", &[], &[]).then("cos", "Cos", &[], &[]).then("sum", "Mul", &[x], &[]);
    let fused = line.fused_on("Ascend910B2", &Switches::default());
    assert_eq!(left(&fused), ["RandomNormalLike", "Cos", "Mul"]);
}

#[test]
fn a_shape_that_is_known_is_no_reader() {
    let mut line = Line::new(&[1, 128, 768]);
    let shape = line.ints("shape", &[1, 128, 12, 64]);
    line.then("heads", "Reshape", &[shape], &[]);
    let heads = line.end;
    line.then("sizes", "Shape", &[], &[]);
    line.end = heads;
    line.then("turn", "Transpose", &[], &[("perm", Attr::Ints(vec![0, 2, 1, 3]))]);
    let fused = line.fused_on("Ascend310P3", &Switches::default());
    assert!(fused.iter().any(|(_, node)| node.op_type == "ConfusionTransposeD"));
}

#[test]
fn an_output_that_is_constant_stays_one() {
    let mut line = Line::new(&[4]);
    line.end = line.weight("table", &[4]);
    line.then("root", "Sqrt", &[], &[]);
    let fused = line.fused_on("Ascend910B2", &Switches::default());
    assert_eq!(left(&fused), [""; 0]);
    assert_eq!(fused.outputs(), [Port::first(fused.find("root").unwrap())]);
}
