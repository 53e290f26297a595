//! Views beside transposes.

use super::{Line, types};
use crate::graph::{Attr, Port, Shape, infer};
use crate::lower::Switches;

const PARTS: [&str; 2] = ["Ascend310P3", "Ascend910A"];

/// A view of the input, and a transpose of that.
fn apart(dims: &[i64], shape: &[i64], order: &[i64]) -> Line {
    let mut line = Line::new(dims);
    let shape = line.ints("shape", shape);
    line.then("view", "Reshape", &[shape], &[]).then("turn", "Transpose", &[], &[("perm", Attr::Ints(order.to_vec()))]);
    line
}

/// A transpose of the input, and a view of that.
fn together(dims: &[i64], order: &[i64], shape: &[i64]) -> Line {
    let mut line = Line::new(dims);
    let shape = line.ints("shape", shape);
    line.then("turn", "Transpose", &[], &[("perm", Attr::Ints(order.to_vec()))]).then("view", "Reshape", &[shape], &[]);
    line
}

#[test]
fn a_view_and_a_transpose_of_whole_fractals_are_one_operator_of_the_same_result() {
    let heads = apart(&[1, 128, 768], &[1, 128, 12, 64], &[0, 2, 1, 3]);
    let keys = apart(&[1, 128, 768], &[1, 128, 12, 64], &[0, 2, 3, 1]);
    let rows = together(&[1, 12, 128, 64], &[0, 2, 1, 3], &[128, 768]);
    for soc in PARTS {
        for (line, dims, first) in
            [(&heads, vec![1, 12, 128, 64], false), (&keys, vec![1, 12, 64, 128], false), (&rows, vec![128, 768], true)]
        {
            let mut fused = line.fused_on(soc, &Switches::default());
            assert_eq!(types(&fused), ["ConfusionTransposeD"], "{soc}");
            let end = fused.outputs()[0];
            assert_eq!(fused.node(end.node).name, "turn");
            assert_eq!(fused.node(end.node).attrs.bool("transpose_first"), Some(first));
            // What its interface says of its sizes is what was there.
            fused.node_mut(end.node).outputs[0].shape = Shape::unknown_rank();
            infer::infer(&mut fused).unwrap();
            assert_eq!(fused.desc(end).shape.known(), Some(dims.as_slice()), "{soc}");
        }
    }
}

#[test]
fn rows_of_broken_fractals_other_readers_and_other_parts_keep_the_transpose() {
    let broken = [
        apart(&[1, 100, 768], &[1, 100, 12, 64], &[0, 2, 1, 3]),
        apart(&[1, 128, 480], &[1, 128, 12, 40], &[0, 2, 1, 3]),
        together(&[1, 12, 128, 40], &[0, 2, 1, 3], &[128, 480]),
    ];
    for line in &broken {
        assert_eq!(types(&line.fused_on("Ascend310P3", &Switches::default())), ["Transpose"]);
    }
    let whole = apart(&[1, 128, 768], &[1, 128, 12, 64], &[0, 2, 1, 3]);
    assert_eq!(types(&whole.fused_on("Ascend910B2", &Switches::default())), ["Transpose"]);
    assert_eq!(types(&whole.fused_on("Ascend310P3", &Switches::closed())), ["Transpose"]);
    let mut read_twice = apart(&[1, 128, 768], &[1, 128, 12, 64], &[0, 2, 1, 3]);
    let view = read_twice.graph.find("view").unwrap();
    read_twice.graph.add_output(Port::first(view));
    assert_eq!(types(&read_twice.fused_on("Ascend310P3", &Switches::default())), ["Transpose"]);
}

#[test]
fn a_transpose_of_axes_of_size_1_is_left_to_be_a_view() {
    let line = apart(&[128, 768], &[128, 1, 768], &[1, 0, 2]);
    assert_eq!(types(&line.fused_on("Ascend310P3", &Switches::default())), ["Transpose"]);
}
