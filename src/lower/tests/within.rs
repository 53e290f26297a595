//! Products whose kernel does more.

use super::{Case, op};
use crate::graph::{Attr, DataType};
use crate::workload::{Collective, CollectiveKind, MatMul, MatMulKernel, Workload};

const HALF: DataType = DataType::Float16;
const INT8: DataType = DataType::Int8;

/// The product that a case is, and what its kernel does besides.
#[track_caller]
fn parts(case: Case) -> (MatMul, Vec<Workload>) {
    let mut parts = match case.one() {
        Workload::Fused(parts) => parts,
        single => vec![single],
    };
    let Workload::MatMul(product) = parts.remove(0) else { panic!("no product leads") };
    (product, parts)
}

fn sizes(m: &MatMul) -> [u64; 4] {
    [m.batch, m.m, m.k, m.n]
}

fn half(op_type: &str, shapes: &[&[i64]]) -> Case {
    shapes.iter().fold(op(op_type), |case, dims| case.typed(HALF, dims))
}

/// Kinds and bytes of exchanges.
fn exchanges(parts: &[Workload]) -> Vec<(CollectiveKind, u64)> {
    let exchange = |part: &Workload| match part {
        Workload::Collective(Collective { kind, bytes }) => Some((*kind, *bytes)),
        _ => None,
    };
    parts.iter().filter_map(exchange).collect()
}

#[test]
fn products_are_exchanged_before_or_after() {
    let number = |case: Case, name: &str, value: i64| case.set(name, Attr::Int(value));
    let (m, rest) = parts(half("MatmulAllReduce", &[&[256, 512], &[512, 128]]));
    assert_eq!((sizes(&m), m.kernel), ([1, 256, 512, 128], MatMulKernel::Fused));
    assert_eq!(exchanges(&rest), [(CollectiveKind::AllReduce, 256 * 128 * 2)]);
    let (m, rest) = parts(number(half("AllGatherMatmul", &[&[256, 512], &[512, 128]]).outputs(2), "rank_size", 8));
    assert_eq!((sizes(&m), exchanges(&rest)), ([1, 2048, 512, 128], vec![(CollectiveKind::AllGather, 256 * 512 * 2)]));
    let (m, rest) = parts(number(half("MatmulReduceScatter", &[&[256, 512], &[512, 128]]), "rank_size", 8));
    assert_eq!(
        (sizes(&m), exchanges(&rest)),
        ([1, 256, 512, 128], vec![(CollectiveKind::ReduceScatter, 256 * 128 * 2)])
    );
    let (m, rest) = parts(number(half("AlltoAllMatmul", &[&[256, 512], &[1024, 128]]).outputs(2), "world_size", 2));
    assert_eq!((sizes(&m), exchanges(&rest)), ([1, 128, 1024, 128], vec![(CollectiveKind::AllToAll, 256 * 512 * 2)]));
    let stack = half("AlltoAllAllGatherBatchMatMul", &[&[8, 16, 64], &[2, 128, 32]]).outputs(3);
    let (m, rest) = parts(number(number(stack, "ep_world_size", 4), "tp_world_size", 2));
    assert_eq!((sizes(&m), exchanges(&rest).len()), ([2, 64, 128, 32], 2));
}

#[test]
fn a_product_that_is_reduced_may_be_normed_and_says_its_transposes() {
    let case = half("MatmulAllReduceAddRmsNorm", &[&[256, 512], &[128, 512]]).absent().typed(HALF, &[256, 128]);
    let (m, rest) = parts(case.typed(HALF, &[128]).flag("is_trans_b").outputs(2));
    assert_eq!((sizes(&m), m.trans_b), ([1, 256, 512, 128], true));
    let Workload::Reduce(norm) = &rest[1] else { panic!("{rest:?}") };
    assert_eq!((norm.op_type.as_str(), norm.outer, norm.axis), ("AddRmsNorm", 256, 128));
}

#[test]
fn rows_are_dealt_out_to_groups_that_have_some() {
    let grouped = |rows: i64| parts(half("GroupedMatmul", &[&[rows, 512], &[8, 512, 128]]));
    let (m, rest) = grouped(4096);
    assert_eq!(
        (sizes(&m), m.kernel, m.op_type(), rest.len()),
        ([8, 512, 512, 128], MatMulKernel::Grouped, "GroupedMatmul", 0)
    );
    assert_eq!(sizes(&grouped(3).0), [3, 1, 512, 128]);
    // Weights of their own, and rows of one tensor.
    let names = ["x0", "weight0", "weight1", "weight2"].map(str::to_owned).to_vec();
    let case = half("GroupedMatmul", &[&[30, 512], &[512, 128], &[512, 128], &[512, 128]]);
    let case = case.set("_input_name_key", Attr::Strs(names)).list("_input_name_value", &[0, 1, 2, 3]);
    assert_eq!(sizes(&parts(case.set("group_type", Attr::Int(0))).0), [3, 10, 512, 128]);
    let gated = op("GroupedMatmulSwigluQuant").typed(INT8, &[64, 512]).typed(INT8, &[8, 512, 256]).outputs(2);
    let (m, rest) = parts(gated);
    assert_eq!((sizes(&m), m.dtype, rest.len()), ([8, 8, 512, 256], INT8, 1));
}

#[test]
fn rows_that_a_kernel_quantises_are_multiplied_in_the_weights_type() {
    let (m, _) = parts(op("QuantMatmulDequant").typed(HALF, &[64, 512]).typed(INT8, &[128, 512]));
    assert_eq!((sizes(&m), m.dtype, m.trans_b), ([1, 64, 512, 128], INT8, true));
}

#[test]
fn a_weight_is_as_wide_as_it_lies_in_memory() {
    let stored = |op_type: &str, x: DataType, weight: DataType, shapes: [&[i64]; 2]| {
        let (m, _) = parts(op(op_type).typed(x, shapes[0]).typed(weight, shapes[1]));
        (m.dtype, m.b_dtype)
    };
    let (int4, groups): (DataType, [&[i64]; 2]) = (DataType::Int4, [&[64, 512], &[8, 512, 128]]);
    assert_eq!(stored("GroupedMatmul", HALF, int4, groups), (HALF, Some(int4)));
    assert_eq!(stored("GroupedMatmul", HALF, HALF, groups), (HALF, None));
    assert_eq!(stored("MatmulAllReduce", HALF, INT8, [&[64, 512], &[512, 128]]), (HALF, Some(INT8)));
    assert_eq!(stored("WeightQuantBatchMatmulV2", HALF, int4, [&[64, 512], &[512, 128]]), (HALF, Some(int4)));
    assert_eq!(stored("QuantBatchMatmulV4", INT8, int4, [&[64, 512], &[512, 128]]), (INT8, Some(int4)));
    // Rows are quantised to the weight's type, and no weight is wider than what the cube multiplies.
    assert_eq!(stored("QuantMatmulDequant", HALF, INT8, [&[64, 512], &[128, 512]]), (INT8, None));
    let second = op("GroupedMatmulSwigluQuantV2").typed(INT8, &[64, 512]).typed(DataType::Float, &[64]);
    let second = second.typed(DataType::Int64, &[8]).typed(int4, &[8, 512, 256]).outputs(2);
    assert_eq!(parts(second).0.b_dtype, Some(int4));
    let block = half("FFN", &[&[64, 512]]).typed(int4, &[512, 1024]).typed(int4, &[1024, 512]);
    let (first, rest) = parts(block);
    let [Workload::MatMul(second)] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!([first.b_dtype, second.b_dtype], [Some(int4); 2]);
}

#[test]
fn a_feed_forward_block_is_its_two_products_and_what_bends_between() {
    let block = |activation: &str, wide: i64| {
        parts(half("FFN", &[&[2, 32, 512], &[512, wide], &[1024, 512]]).text("activation", activation))
    };
    for (activation, wide) in [("gelu", 1024), ("swiglu", 2048)] {
        let (first, rest) = block(activation, wide);
        assert_eq!(sizes(&first), [1, 64, 512, wide as u64]);
        let [Workload::Vector(bend), Workload::MatMul(second)] = &rest[..] else { panic!("{rest:?}") };
        assert_eq!(bend.outputs[0].elements(), 64 * 1024, "{activation}");
        assert_eq!(sizes(second), [1, 64, 1024, 512]);
    }
    // 3 rows have 3 of 8 experts.
    let experts = half("FFN", &[&[3, 512], &[8, 512, 1024], &[8, 1024, 256]]);
    let (first, rest) = parts(experts);
    let [Workload::MatMul(second)] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!([sizes(&first), sizes(second)], [[3, 1, 512, 1024], [3, 1, 1024, 256]]);
}

#[test]
fn a_fused_product_ends_with_what_its_attribute_names() {
    let fused = |name: &str| parts(half("FusedMatMul", &[&[64, 512], &[512, 128]]).text("fused_op_type", name));
    assert!(fused("").1.is_empty() && fused("").0.op_type() == "FusedMatMul");
    assert_eq!(fused("relu").1[0].op_type(), "Relu");
    let case = op("QuantMatmulReduceSum").typed(INT8, &[4, 64, 512]).typed(INT8, &[4, 512, 128]);
    let (m, rest) = parts(case);
    assert!(matches!(&rest[..], [Workload::Reduce(sum)] if (sum.axis, sum.inner) == (4, 64 * 128)), "{rest:?}");
    assert_eq!(sizes(&m), [4, 64, 512, 128]);
}
