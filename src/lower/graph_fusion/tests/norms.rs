//! Normalisations out of their parts, and transposes before products.

use super::products::{inputs, node};
use super::{Line, text, types};
use crate::graph::{Attr, Graph, Node, Port, TensorDesc};
use crate::lower::{Precision, Settings, Switches, graph_fusion, lower};
use crate::soc::Soc;

const KEEP: (&str, Attr) = ("keep_dims", Attr::Bool(true));

impl Line {
    fn mean(&mut self, name: &str, axis: i64) -> &mut Line {
        let axes = self.ints(&format!("{name}/axes"), &[axis]);
        self.then(name, "ReduceMean", &[axes], &[KEEP])
    }
}

/// Layer normalisation as exporters write it out; `square` is how the difference is squared.
fn layer_norm(square: &str, axis: i64, parameters: usize) -> Line {
    let mut line = Line::new(&[1, 8, 64]);
    let x = line.then("in", "Relu", &[], &[]).end;
    let mean = line.mean("m1", axis).end;
    line.end = x;
    let centred = line.then("c", "Sub", &[mean], &[]).end;
    match square {
        "Pow" => line.by("q", "Pow", 2.0),
        "Mul" => line.then("q", "Mul", &[centred], &[]),
        _ => line.then("q", "Square", &[], &[]),
    };
    line.mean("m2", axis).by("a", "Add", 1e-5).then("s", "Sqrt", &[], &[]);
    let deviation = std::mem::replace(&mut line.end, centred);
    line.then("d", "Div", &[deviation], &[]);
    for (name, op_type) in [("g", "Mul"), ("b", "Add")].into_iter().take(parameters) {
        line.norm(name, op_type, 64, 1, &[]);
    }
    line
}

#[test]
fn a_layer_norm_written_out_is_one_operator() {
    for (square, parameters, last) in
        [("Pow", 2, "b"), ("Mul", 2, "b"), ("Square", 2, "b"), ("Pow", 1, "g"), ("Pow", 0, "d")]
    {
        let fused = layer_norm(square, -1, parameters).fused();
        assert_eq!(types(&fused), ["Relu", "LayerNorm"], "{square} {parameters}");
        assert_eq!(inputs(&fused, last).len(), 1 + parameters);
        assert_eq!(inputs(&fused, last)[0], "in");
    }
}

#[test]
fn a_layer_norm_over_other_axes_or_seen_inside_stays() {
    assert!(!types(&layer_norm("Pow", 1, 2).fused()).contains(&"LayerNorm"));
    assert!(!types(&layer_norm("Pow", -2, 2).fused()).contains(&"LayerNorm"));
    for inner in ["m1", "c", "q", "m2", "a", "s"] {
        let mut line = layer_norm("Pow", -1, 2);
        line.graph.add_output(Port::first(line.graph.find(inner).unwrap()));
        assert!(!types(&line.fused()).contains(&"LayerNorm"), "{inner}");
    }
}

#[test]
fn tensorflows_layer_norm_is_one_operator_on_a_910b() {
    let written = || {
        let mut line = Line::new(&[1, 8, 64]);
        let x = line.then("in", "Relu", &[], &[]).end;
        let mean = line.mean("m1", -1).end;
        line.end = x;
        line.then("q", "SquaredDifference", &[mean], &[]).mean("m2", -1).by("a", "Add", 1e-5).then(
            "r",
            "Rsqrt",
            &[],
            &[],
        );
        let factor = line.norm("g", "Mul", 64, 1, &[]).end;
        line.end = mean;
        let shift = line.then("ms", "Mul", &[factor], &[]).end;
        line.end = line.weight("beta", &[64]);
        let shift = line.then("sub", "Sub", &[shift], &[]).end;
        line.end = x;
        line.then("xs", "Mul", &[factor], &[]).then("y", "Add", &[shift], &[]);
        line
    };
    let fused = written().fused_on("Ascend910B2", &Switches::default());
    assert_eq!(types(&fused), ["Relu", "LayerNorm"]);
    assert_eq!(inputs(&fused, "y"), ["in", "g/0", "beta"]);
    assert!(!types(&written().fused_on("Ascend310P3", &Switches::default())).contains(&"LayerNorm"));
    let mut seen = written();
    seen.graph.add_output(Port::first(seen.graph.find("m1").unwrap()));
    assert!(!types(&seen.fused_on("Ascend910B2", &Switches::default())).contains(&"LayerNorm"));
}

/// A sum of two tensors and its layer norm; the summand's sizes, and whether others read the sum.
fn sum_and_norm(dims: &[i64], begin: i64, read: bool) -> Line {
    let mut line = Line::new(&[1, 8, 64]);
    line.then("in", "Relu", &[], &[]);
    let other = line.weight("other", dims);
    let sum = line.then("sum", "Add", &[other], &[]).end;
    let sizes = if begin == -1 { vec![64] } else { vec![8, 64] };
    let [gamma, beta] = ["gamma", "beta"].map(|name| line.weight(name, &sizes));
    line.then("n", "LayerNorm", &[gamma, beta], &[("begin_norm_axis", Attr::Int(begin))]);
    if read {
        line.then("out", "Add", &[sum], &[]);
    }
    line
}

#[test]
fn a_sum_and_its_layer_norm_are_one_kernel_that_hands_out_the_sum() {
    for part in ["Ascend910B2", "Ascend950PR_9589"] {
        let fused = sum_and_norm(&[1, 8, 64], -1, true).fused_on(part, &Switches::default());
        assert_eq!(types(&fused), ["Relu", "AddLayerNorm", "Add"], "{part}");
        assert_eq!(inputs(&fused, "n"), ["in", "other", "gamma", "beta"]);
        let norm = fused.find("n").unwrap();
        assert_eq!(node(&fused, "out").input(1), Some(Port { node: norm, output: 3 }));
        let alone = sum_and_norm(&[1, 8, 64], -1, false).fused_on(part, &Switches::default());
        assert_eq!(node(&alone, "n").outputs[3].shape.known(), None, "nobody reads the sum");
    }
}

#[test]
fn a_bias_beside_the_summands_is_the_norms() {
    let summed = |bias_first: bool, columns: i64| {
        let mut line = Line::new(&[1, 8, 64]);
        line.then("in", "Relu", &[], &[]);
        let other = line.weight("other", &[1, 8, 64]);
        let bias = line.weight("bias", &[columns]);
        let [first, second] = if bias_first { [bias, other] } else { [other, bias] };
        line.then("inner", "Add", &[first], &[]).then("sum", "Add", &[second], &[]);
        let [gamma, beta] = ["gamma", "beta"].map(|name| line.weight(name, &[64]));
        line.then("n", "LayerNorm", &[gamma, beta], &[("begin_norm_axis", Attr::Int(-1))]);
        line
    };
    for bias_first in [true, false] {
        let fused = summed(bias_first, 64).fused_on("Ascend910B2", &Switches::default());
        assert_eq!(types(&fused), ["Relu", "AddLayerNorm"], "{bias_first}");
        assert_eq!(inputs(&fused, "n"), ["in", "other", "gamma", "beta", "bias"], "{bias_first}");
        let mut seen = summed(bias_first, 64);
        seen.graph.add_output(Port::first(seen.graph.find("inner").unwrap()));
        let fused = seen.fused_on("Ascend910B2", &Switches::default());
        let left =
            if bias_first { vec!["Relu", "Add", "AddLayerNorm"] } else { vec!["Relu", "Add", "Add", "LayerNorm"] };
        assert_eq!(types(&fused), left, "others read the inner sum");
    }
    let fused = summed(true, 1).fused_on("Ascend910B2", &Switches::default());
    assert_eq!(types(&fused), ["Relu", "Add", "AddLayerNorm"], "one number is no bias");
}

/// A sum of two tensors and its RMS norm; the summand's sizes, and whether others read the sum and the deviation.
fn sum_and_rms_norm(dims: &[i64], [sum_read, deviation_read]: [bool; 2]) -> Line {
    let mut line = Line::new(&[1, 8, 64]);
    line.then("in", "Relu", &[], &[]);
    let other = line.weight("other", dims);
    let sum = line.then("sum", "Add", &[other], &[]).end;
    let gamma = line.weight("gamma", &[64]);
    let mut norm = Node::new("n", "RmsNorm").with_inputs([sum, gamma]);
    norm.outputs = vec![TensorDesc::unknown(); 2];
    let norm = line.graph.add(norm).unwrap();
    line.end = Port::first(norm);
    if sum_read {
        line.then("out", "Add", &[sum], &[]);
    }
    if deviation_read {
        line.graph.add_output(Port { node: norm, output: 1 });
    }
    line
}

#[test]
fn a_sum_and_its_rms_norm_are_one_kernel_in_place_where_nobody_reads_the_deviation() {
    for part in ["Ascend910B2", "Ascend910_9391", "Ascend950PR_9589"] {
        let fused = sum_and_rms_norm(&[1, 8, 64], [true, false]).fused_on(part, &Switches::default());
        assert_eq!(types(&fused), ["Relu", "InplaceAddRmsNorm", "Add"], "{part}");
        assert_eq!(inputs(&fused, "n"), ["in", "other", "gamma"]);
        let norm = fused.find("n").unwrap();
        assert_eq!(node(&fused, "out").input(1), Some(Port { node: norm, output: 2 }));
        let read = sum_and_rms_norm(&[1, 8, 64], [false, true]).fused_on(part, &Switches::default());
        assert_eq!(types(&read), ["Relu", "AddRmsNorm"], "{part}");
        assert_eq!(node(&read, "n").outputs[2].shape.known(), None, "nobody reads the sum");
        let other = sum_and_rms_norm(&[8, 64], [true, false]).fused_on(part, &Switches::default());
        assert_eq!(types(&other), ["Relu", "Add", "RmsNorm", "Add"], "{part}: other sizes");
        let soc = Soc::find(part).unwrap();
        lower(&fused, &soc, &Settings::default()).unwrap();
    }
    for part in ["Ascend310P3", "Ascend910A"] {
        let fused = sum_and_rms_norm(&[1, 8, 64], [true, false]).fused_on(part, &Switches::default());
        assert_eq!(types(&fused), ["Relu", "Add", "RmsNorm", "Add"], "{part}");
    }
}

#[test]
fn sums_of_other_shapes_other_axes_wide_types_and_other_parts_stay() {
    let stays = |line: &Line, part: &str| !types(&line.fused_on(part, &Switches::default())).contains(&"AddLayerNorm");
    assert!(stays(&sum_and_norm(&[8, 64], -1, true), "Ascend910B2"));
    assert!(stays(&sum_and_norm(&[1, 8, 64], 1, true), "Ascend910B2"));
    for part in ["Ascend310P3", "Ascend910A", "Ascend910_9391"] {
        assert!(stays(&sum_and_norm(&[1, 8, 64], -1, true), part), "{part}");
    }
    let settings = Settings { precision: Precision::MustKeepOriginDtype, ..Settings::default() };
    let soc = Soc::find("Ascend910B2").unwrap();
    let (graph, _) =
        graph_fusion(sum_and_norm(&[1, 8, 64], -1, true).done(), &soc, &settings, &Switches::default()).unwrap();
    assert!(!types(&graph).contains(&"AddLayerNorm"), "float32");
}

/// Group normalisation as exporters write it, with a factor of these sizes.
fn group_norm(factor: &[i64], groups: i64) -> Line {
    let mut line = Line::new(&[2, 32, 4, 6]);
    line.then("in", "Relu", &[], &[]);
    let [to, back] =
        [("to", vec![2, groups, -1]), ("back", vec![2, 32, 4, 6])].map(|(name, dims)| line.ints(name, &dims));
    line.then("v", "Reshape", &[to], &[]);
    let attrs = [("data_format", text("NCHW")), ("epsilon", Attr::Float(1e-5))];
    line.norm("i", "InstanceNorm", groups, 2, &attrs).then("w", "Reshape", &[back], &[]);
    for (name, op_type) in [("g", "Mul"), ("b", "Add")] {
        let parameter = line.weight(&format!("{name}/p"), factor);
        line.then(name, op_type, &[parameter], &[]);
    }
    line
}

#[test]
fn a_group_norm_written_out_is_one_operator() {
    for factor in [&[32, 1, 1][..], &[1, 32, 1, 1]] {
        for part in ["Ascend310P3", "Ascend910A", "Ascend910B2"] {
            let fused = group_norm(factor, 8).fused_on(part, &Switches::default());
            assert_eq!(types(&fused), ["Relu", "GroupNorm"], "{factor:?} on {part}");
            assert_eq!(node(&fused, "g/GroupNorm").attrs.int("num_groups"), Some(8));
            assert_eq!(inputs(&fused, "g/GroupNorm"), ["in", "g/p", "b/p"]);
        }
        assert!(
            !types(&group_norm(factor, 8).fused_on("Ascend950PR_9589", &Switches::default())).contains(&"GroupNorm")
        );
    }
    for factor in [&[6][..], &[1], &[4, 1], &[2, 32, 1, 1]] {
        assert!(!types(&group_norm(factor, 8).fused()).contains(&"GroupNorm"), "{factor:?}");
    }
}

/// A transposed operand of a product, its axes in this order.
fn transposed(dims: &[i64], order: &[i64], right: bool, leaves: bool) -> Graph {
    let mut line = Line::new(dims);
    let order_of = line.ints("perm", order);
    let turned = line.then("t", "Transpose", &[order_of], &[]).end;
    if leaves {
        line.graph.add_output(turned);
    }
    let sizes: Vec<i64> = order.iter().map(|&axis| dims[axis as usize]).collect();
    let rank = sizes.len();
    let mut other = sizes.clone();
    let (rows, columns) = (sizes[rank - 2], sizes[rank - 1]);
    other.splice(rank - 2.., if right { [5, rows] } else { [columns, 5] });
    let other = line.weight("o", &other);
    line.then("m", "BatchMatMulV2", &[other], &[]);
    if right {
        line.graph.node_mut(line.end.node).inputs.reverse();
    }
    line.fused()
}

#[test]
fn a_transpose_of_the_last_two_axes_goes_into_the_product() {
    for (right, name) in [(false, "adj_x1"), (true, "adj_x2")] {
        for (dims, order) in [(&[6, 4][..], &[1, 0][..]), (&[2, 6, 4], &[0, 2, 1]), (&[2, 3, 6, 4], &[0, 1, 3, 2])] {
            let fused = transposed(dims, order, right, false);
            assert_eq!(types(&fused), ["BatchMatMulV2"], "{order:?}");
            assert_eq!(node(&fused, "m").attrs.bool(name), Some(true));
        }
        assert_eq!(types(&transposed(&[2, 3, 6, 4], &[0, 1, 3, 2], right, true)).len(), 2, "it leaves the graph");
        for order in [&[0, 2, 3, 1][..], &[0, 2, 1, 3], &[1, 0, 3, 2], &[0, 1, 2, 3]] {
            assert_eq!(types(&transposed(&[2, 3, 6, 4], order, right, false)).len(), 2, "{order:?}");
        }
    }
}

#[test]
fn a_stack_of_few_rows_is_one_plain_product_between_views() {
    let product = |dims: &[i64], follows: bool| {
        let mut line = Line::new(dims);
        let weights = line.weight("w", &[32, 10]);
        line.then("m", "BatchMatMulV2", &[weights], &[]).then("n", if follows { "Relu" } else { "Exp" }, &[], &[]);
        line.fused_on("Ascend910B2", &Switches::default())
    };
    for (dims, follows) in [(&[60, 8, 32][..], true), (&[5000, 8, 32], false), (&[2, 1, 32], false)] {
        let fused = product(dims, follows);
        let m = node(&fused, "m");
        assert!(m.op_type.starts_with("MatMulV"), "{dims:?}: {}", m.op_type);
        assert_eq!(m.outputs[0].shape.known(), Some(&[dims[0] * dims[1], 10][..]));
        assert_eq!(inputs(&fused, "n"), ["m/stacked"]);
        assert_eq!(node(&fused, "m/stacked").outputs[0].shape.known(), Some(&[dims[0], dims[1], 10][..]));
    }
    for (dims, follows) in
        [(&[60, 8, 32][..], false), (&[60, 32, 32], true), (&[1, 1, 32], true), (&[2, 60, 8, 32], true)]
    {
        assert_eq!(node(&product(dims, follows), "m").op_type, "BatchMatMulV2", "{dims:?}");
    }
}

#[test]
fn products_of_two_matrices_are_version_3_on_a_910b_and_all_are_on_a_950() {
    let types_on = |part: &str, op_type: &str, dims: &[i64]| {
        let mut line = Line::new(dims);
        let weights = line.weight("w", &[32, 10]);
        line.then("m", op_type, &[weights], &[]);
        let fused = line.fused_on(part, &Switches::default());
        node(&fused, "m").op_type.clone()
    };
    for (part, plain, stack) in [
        ("Ascend910B2", "MatMulV3", "BatchMatMulV2"),
        ("Ascend910_9391", "MatMulV2", "BatchMatMulV2"),
        ("Ascend310P3", "MatMulV2", "BatchMatMulV2"),
        ("Ascend910A", "MatMulV2", "BatchMatMulV2"),
        ("Ascend950PR_9589", "MatMulV3", "BatchMatMulV3"),
    ] {
        assert_eq!(types_on(part, "MatMulV2", &[8, 32]), plain, "{part}");
        assert_eq!(types_on(part, "BatchMatMulV2", &[2, 8, 32]), stack, "{part}");
        assert_eq!(types_on(part, "BatchMatMulV3", &[2, 8, 32]), "BatchMatMulV3", "{part}: so the graph says");
    }
    assert_eq!(types_on("Ascend910B2", "MatMulV2", &[32]), "MatMulV2", "a vector");
}
