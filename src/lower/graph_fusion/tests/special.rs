//! Special cases that have operators of their own.

use super::products::node;
use super::{Line, text, types};
use crate::graph::{Attr, Node, Port};
use crate::lower::{Settings, Switches, lower};
use crate::soc::Soc;
use crate::workload::{MatMulKernel, Workload};

const PARTS: [&str; 4] = ["Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9589"];

fn on(line: &Line, part: &str) -> Vec<String> {
    types(&line.fused_on(part, &Switches::default())).iter().map(|t| (*t).to_owned()).collect()
}

#[test]
fn a_convolution_with_as_many_groups_as_channels_is_a_depthwise_one_on_every_part() {
    let grouped = |groups: i64, stated: i64| {
        let mut line = Line::new(&[1, 16, 8, 8]);
        let filter = line.weight("filter", &[16, 16 / groups, 3, 3]);
        let [strides, pads] = [1, 1].map(|n| Attr::Ints(vec![n; 4]));
        let attrs =
            [("strides", strides), ("pads", pads), ("groups", Attr::Int(stated)), ("data_format", text("NCHW"))];
        line.then("c", "Conv2D", &[filter], &attrs);
        line
    };
    for part in PARTS {
        // Stated, or read off the channels, as GE does with those that no one states.
        for stated in [16, 1] {
            assert_eq!(on(&grouped(16, stated), part), ["DepthwiseConv2D"], "{part}");
        }
        let own = if part == "Ascend950PR_9589" { "Conv2DV2" } else { "Conv2D" };
        for stated in [4, 1] {
            assert_eq!(on(&grouped(4, stated), part), [own], "{part}");
        }
    }
    assert_eq!(types(&grouped(16, 16).fused_on("Ascend910B2", &Switches::closed())), ["Conv2D"]);
}

#[test]
fn convolutions_have_the_name_of_the_part_s_kernel() {
    let mut images = Line::new(&[2, 16, 8, 8]);
    images.conv("c", 16, 16, 3);
    let mut volumes = Line::new(&[2, 16, 8, 8, 8]);
    let filter = volumes.weight("filter", &[16, 16, 3, 3, 3]);
    let [strides, pads] = [(1, 5), (0, 6)].map(|(n, count)| Attr::Ints(vec![n; count]));
    let attrs = [("strides", strides), ("pads", pads), ("data_format", text("NCDHW"))];
    volumes.then("c", "Conv3D", &[filter], &attrs);
    let names = PARTS.map(|part| [on(&images, part).concat(), on(&volumes, part).concat()]);
    let [first, second, fifth] = [["Conv2D", "Conv3D"], ["Conv2D", "Conv3DV2"], ["Conv2DV2", "Conv3D"]];
    assert_eq!(names, [first, first, second, fifth]);
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
    assert_eq!(on(&product(1, &[]), "Ascend950PR_9589"), ["BatchMatMulV3"], "batched ones stay");
}

#[test]
fn a_product_of_one_term_and_two_matrices_is_a_multiplication_turned_over_or_not() {
    let product = |turned: [bool; 2], rows: [i64; 2], columns: [i64; 2]| {
        let mut line = Line::new(&rows);
        let row = line.weight("row", &columns);
        let [a, b] = turned.map(Attr::Bool);
        line.then("m", "MatMulV2", &[row], &[("transpose_x1", a), ("transpose_x2", b)]);
        line
    };
    for part in ["Ascend910B2", "Ascend910_9391", "Ascend950PR_9589"] {
        for (turned, rows, columns) in [
            ([false, false], [32, 1], [1, 64]),
            ([true, false], [1, 32], [1, 64]),
            ([false, true], [32, 1], [64, 1]),
            ([true, true], [1, 32], [64, 1]),
        ] {
            let fused = product(turned, rows, columns).fused_on(part, &Switches::default());
            assert_eq!(types(&fused), ["Mul"], "{part} {turned:?}");
            let read: Vec<_> =
                node(&fused, "m").inputs.iter().map(|port| fused.desc(port.unwrap()).shape.known()).collect();
            assert_eq!(read, [Some(&[32, 1][..]), Some(&[1, 64][..])], "{part} {turned:?}");
        }
        assert_ne!(types(&product([true, false], [32, 1], [32, 64]).fused_on(part, &Switches::default())), ["Mul"]);
    }
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

#[test]
fn a_convolution_over_all_of_its_image_is_a_fully_connection() {
    let squeezed = |edge: i64, kernel: i64| {
        let mut line = Line::new(&[2, 16, edge, edge]);
        line.conv("c", 16, 32, kernel).then("r", "Relu", &[], &[]);
        line
    };
    for part in ["Ascend910A", "Ascend310P3", "Ascend910B2"] {
        assert_eq!(on(&squeezed(1, 1), part), ["FullyConnection", "Relu"], "{part}");
        assert_eq!(on(&squeezed(7, 7), part), ["FullyConnection", "Relu"], "{part}");
        assert_eq!(on(&squeezed(7, 3), part), ["Conv2D", "Relu"], "{part}");
    }
    assert_eq!(on(&squeezed(1, 1), "Ascend950PR_9589"), ["Conv2DV2", "Relu"]);
    // SiLU: the convolution has two readers.
    let mut twice = Line::new(&[2, 16, 1, 1]);
    twice.conv("c", 16, 32, 1);
    let made = twice.end;
    twice.then("s", "Sigmoid", &[], &[]).then("m", "Mul", &[made], &[]);
    assert_eq!(on(&twice, "Ascend910B2"), ["Conv2D", "Sigmoid", "Mul"]);
}

#[test]
fn a_fully_connection_computes_what_its_convolution_did() {
    let mut line = Line::new(&[2, 16, 7, 7]);
    line.conv("c", 16, 32, 7);
    let graph = line.fused_on("Ascend910B2", &Switches::default());
    let soc = Soc::find("Ascend910B2").unwrap();
    let lowered = lower(&graph, &soc, &Settings::default()).unwrap();
    let Workload::MatMul(product) = &lowered.kernels[0].workload else { panic!("{:?}", lowered.kernels) };
    assert_eq!((product.batch, product.m, product.k, product.n), (1, 2, 16 * 7 * 7, 32));
    assert_eq!(product.kernel, MatMulKernel::Tbe);
}

#[test]
fn a_product_between_transposes_of_its_batch_is_one_kernel() {
    let heads = |k: i64, n: i64, order: &[i64], attrs: &[(&str, Attr)]| {
        let mut line = Line::new(&[32, 16, k]);
        let order = line.ints("order", order);
        let weights = line.weight("w", &[16, k, n]);
        line.then("before", "Transpose", &[order], &[]).then("m", "BatchMatMulV2", &[weights], attrs);
        line.then("after", "Transpose", &[order], &[]);
        line
    };
    let swap = [1, 0, 2];
    for part in ["Ascend910B2", "Ascend910_9391"] {
        let fused = heads(512, 128, &swap, &[]).fused_on(part, &Switches::default());
        assert_eq!(types(&fused), ["TransposeBatchMatMul"], "{part}");
        let soc = Soc::find(part).unwrap();
        let lowered = lower(&fused, &soc, &Settings::default()).unwrap();
        let Workload::MatMul(product) = &lowered.kernels[0].workload else { panic!("{part}") };
        assert_eq!((product.batch, product.m, product.k, product.n), (16, 32, 512, 128), "{part}");
        assert_eq!(lowered.kernels[0].workload.op_type(), "TransposeBatchMatMul");
    }
    assert_eq!(on(&heads(512, 128, &swap, &[]), "Ascend310P3").len(), 3, "no such pass");
    assert_eq!(on(&heads(500, 128, &swap, &[]), "Ascend910B2").len(), 3, "k is no multiple of 128");
    assert_eq!(on(&heads(8192, 128, &swap, &[]), "Ascend910B2").len(), 1, "long rows, short k");
    assert_eq!(on(&heads(65536, 128, &swap, &[]), "Ascend910B2").len(), 3, "k is too long");
}
