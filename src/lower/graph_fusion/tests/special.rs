//! Special cases that have operators of their own.

use super::{Line, text, types};
use crate::graph::{Attr, Node, Port};
use crate::lower::Switches;

const PARTS: [&str; 4] = ["Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9589"];

fn on(line: &Line, part: &str) -> Vec<String> {
    types(&line.fused_on(part, &Switches::default())).iter().map(|t| (*t).to_owned()).collect()
}

#[test]
fn a_convolution_with_as_many_groups_as_channels_is_a_depthwise_one_on_every_part() {
    let grouped = |groups: i64| {
        let mut line = Line::new(&[1, 16, 8, 8]);
        let filter = line.weight("filter", &[16, 16 / groups, 3, 3]);
        let [strides, pads] = [1, 1].map(|n| Attr::Ints(vec![n; 4]));
        let attrs =
            [("strides", strides), ("pads", pads), ("groups", Attr::Int(groups)), ("data_format", text("NCHW"))];
        line.then("c", "Conv2D", &[filter], &attrs);
        line
    };
    for part in PARTS {
        assert_eq!(on(&grouped(16), part), ["DepthwiseConv2D"], "{part}");
        assert_eq!(on(&grouped(4), part), ["Conv2D"], "{part}");
    }
    assert_eq!(types(&grouped(16).fused_on("Ascend910B2", &Switches::closed())), ["Conv2D"]);
}

#[test]
fn a_product_of_one_term_is_a_multiplication_where_cann_has_the_pass() {
    let product = |inner: i64, flags: &[(&str, Attr)]| {
        let mut line = Line::new(&[4, 32, inner]);
        let row = line.weight("row", &[4, inner, 64]);
        line.then("m", "BatchMatMulV2", &[row], flags);
        line
    };
    assert_eq!(on(&product(1, &[]), "Ascend910B2"), ["Mul"]);
    assert_eq!(on(&product(1, &[]), "Ascend310P3"), ["BatchMatMulV2"]);
    assert_eq!(on(&product(2, &[]), "Ascend910B2"), ["BatchMatMulV2"]);
}

#[test]
fn halves_that_meet_behind_a_gelu_are_one_kernel() {
    let gated = |width: i64| {
        let mut line = Line::new(&[8, width]);
        let mut split = Node::new("s", "SplitD").with_inputs([line.end]);
        split.attrs.set("split_dim", Attr::Int(1));
        split.attrs.set("num_split", Attr::Int(2));
        split.outputs = vec![crate::graph::TensorDesc::unknown(); 2];
        let split = line.graph.add(split).unwrap();
        let right = Port { node: split, output: 1 };
        line.end = Port::first(split);
        line.then("g", "Gelu", &[], &[]).then("m", "Mul", &[right], &[]);
        line
    };
    for part in ["Ascend910B2", "Ascend310P3"] {
        assert_eq!(on(&gated(1024), part), ["GeGluV2"], "{part}");
        assert_eq!(on(&gated(512), part).len(), 3, "{part}: too short");
    }
    assert_eq!(on(&gated(1024), "Ascend910A").len(), 3);
}
