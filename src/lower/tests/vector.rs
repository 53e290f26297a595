//! Elementwise work, reductions, exchange.

use super::{Case, Settings, op, shapes};
use crate::graph::{Attr, DataType};
use crate::workload::{CollectiveKind, Workload};

#[track_caller]
fn rows(case: Case) -> [u64; 3] {
    match case.one() {
        Workload::Reduce(r) => [r.outer, r.axis, r.inner],
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn operands(case: Case) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    match case.one() {
        Workload::Vector(v) => (shapes(&v.inputs), shapes(&v.outputs)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn equal_elementwise_work_is_equal_whatever_its_axes() {
    assert_eq!(op("Relu").x(&[8, 64, 56, 56]).one(), op("Relu").x(&[8 * 64, 56 * 56]).one());
    assert_eq!(op("Add").x(&[2, 3, 4]).x(&[2, 3, 4]).one(), op("Add").x(&[24]).x(&[24]).one());
    assert_eq!(op("Add").x(&[8, 24]).w(&[24]).one(), op("Add").w(&[24]).x(&[8, 24]).one());
    assert_ne!(op("Sub").x(&[8, 24]).w(&[24]).one(), op("Sub").w(&[24]).x(&[8, 24]).one());
    assert_ne!(op("Add").x(&[24]).x(&[24]).one(), op("Mul").x(&[24]).x(&[24]).one());
}

#[test]
fn broadcast_operands_keep_their_smaller_sizes() {
    let (inputs, outputs) = operands(op("Add").x(&[8, 128, 768]).w(&[768]));
    assert_eq!((inputs, outputs), (vec![vec![1024, 768], vec![768]], vec![vec![1024, 768]]));
    let (inputs, _) = operands(op("Mul").x(&[8, 64, 56, 56]).x(&[8, 64, 1, 1]));
    assert_eq!(inputs, [vec![512, 3136], vec![512, 1]]);
    let (inputs, _) = operands(op("Mul").x(&[4, 4]).w(&[]));
    assert_eq!(inputs, [vec![16], vec![1]]);
}

#[test]
fn channel_parameters_lie_along_the_channels() {
    let nchw = op("BNInfer").x(&[2, 16, 4, 4]).w(&[16]).w(&[16]).text("data_format", "NCHW");
    assert_eq!(operands(nchw).0, [vec![2, 16, 16], vec![16, 1], vec![16, 1]]);
    let nhwc = op("BiasAdd").x(&[2, 4, 4, 16]).w(&[16]).text("data_format", "NHWC");
    assert_eq!(operands(nhwc).0, [vec![32, 16], vec![16]]);
}

#[test]
fn batch_norm_is_elementwise_unless_it_trains() {
    let case = || op("BatchNorm").x(&[2, 16, 4, 4]).w(&[16]).w(&[16]).w(&[16]).w(&[16]).text("data_format", "NCHW");
    assert!(matches!(case().set("is_training", Attr::Bool(false)).one(), Workload::Vector(_)));
    assert_eq!(rows(case().set("is_training", Attr::Bool(true))), [1, 2 * 4 * 4, 16]);
}

#[test]
fn a_reduction_over_no_axes_copies() {
    let sum = || op("ReduceSum").x(&[5, 7]).ints(&[]);
    assert!(matches!(sum().one(), Workload::Move(copy) if copy.outputs.len() == 1), "{:?}", sum().one());
    assert_eq!(rows(sum().set("noop_with_empty_axes", Attr::Bool(false))), [1, 35, 1]);
}

/// The rows alone would be those of one axis of as many terms, which is dealt to the cores in another way.
#[test]
fn a_reduction_has_the_axes_that_it_keeps_between_others() {
    let sizes = |axes: &[i64]| match op("ReduceSum").x(&[4, 6, 1, 8, 5]).ints(axes).one() {
        Workload::Reduce(sum) => (shapes(&sum.inputs), shapes(&sum.outputs), [sum.outer, sum.axis, sum.inner]),
        other => panic!("{other:?}"),
    };
    assert_eq!(sizes(&[0, 3]), (vec![vec![4, 6, 8, 5]], vec![vec![1, 6, 1, 5]], [6, 32, 5]));
    assert_eq!(sizes(&[1, 3]), (vec![vec![960]], vec![vec![20]], [4, 48, 5]));
    let flat = op("ReduceSum").x(&[24, 40]).ints(&[1]).one();
    assert_eq!(op("ReduceSum").x(&[4, 6, 8, 5]).ints(&[2, 3]).one(), flat);
}

#[test]
fn casts_run_only_where_the_type_changes_on_the_device() {
    let cast = |to| op("Cast").x(&[16]).set("dst_type", Attr::Type(to));
    assert_eq!(cast(DataType::Float16).on("Ascend910B2", Settings::default()).unwrap(), []);
    assert!(matches!(cast(DataType::Int32).one(), Workload::Vector(_)));
    let keep = super::settings(super::Precision::MustKeepOriginDtype);
    assert_eq!(cast(DataType::Float16).on("Ascend910B2", keep).unwrap().len(), 1);
}

#[test]
fn parameters_of_resizing_are_not_read() {
    let mut case = op("Resize").x(&[1, 8, 16, 16]).absent().absent();
    case = case.ints(&[1, 8, 32, 32]);
    let (inputs, outputs) = operands(case);
    assert_eq!((inputs, outputs), (vec![vec![2048]], vec![vec![8192]]));
}

#[test]
fn reductions_are_rows_elements_and_lanes() {
    assert_eq!(rows(op("ReduceMean").x(&[8, 128, 768]).ints(&[-1])), [1024, 768, 1]);
    assert_eq!(rows(op("ReduceSum").x(&[8, 128, 768]).ints(&[0, 1])), [1, 1024, 768]);
    assert_eq!(rows(op("ReduceMax").x(&[8, 16, 7, 7]).ints(&[2, 3])), [128, 49, 1]);
    assert_eq!(rows(op("ReduceSum").x(&[5, 7])), [1, 35, 1]);
    assert_eq!(
        rows(op("ReduceSum").x(&[6, 8]).typed(DataType::Int64, &[1]).flag("keep_dims").outputs(1).known(&[6, 1])),
        [6, 8, 1]
    );
    assert_eq!(rows(op("L2Loss").x(&[5, 7])), [1, 35, 1]);
    assert_eq!(rows(op("SoftmaxV2").x(&[8, 12, 128, 128]).list("axes", &[-1])), [12288, 128, 1]);
    assert_eq!(rows(op("SoftmaxV2").x(&[8, 10, 49]).list("axes", &[1])), [8, 10, 49]);
    assert_eq!(
        rows(op("LayerNorm").x(&[8, 128, 768]).w(&[768]).w(&[768]).set("begin_norm_axis", Attr::Int(-1))),
        [1024, 768, 1]
    );
    assert_eq!(rows(op("RmsNorm").x(&[8, 128, 4096]).w(&[4096])), [1024, 4096, 1]);
    assert_eq!(rows(op("ArgMaxV2").x(&[8, 10]).ints(&[1])), [8, 10, 1]);
    assert_eq!(rows(op("TopK").x(&[8, 1000]).ints(&[5]).outputs(2)), [8, 1000, 1]);
    assert_eq!(rows(op("Cumsum").x(&[8, 10, 3]).ints(&[1])), [8, 10, 3]);
}

#[test]
fn images_are_reduced_with_channels_as_lanes() {
    let pool = op("MaxPoolV3").x(&[8, 64, 112, 112]).list("ksize", &[1, 1, 3, 3]).list("strides", &[1, 1, 2, 2]);
    assert_eq!(rows(pool.list("pads", &[1, 1, 1, 1])), [8 * 56 * 56, 9, 64]);
    assert_eq!(rows(op("GlobalAveragePool").x(&[8, 2048, 7, 7])), [8, 49, 2048]);
    assert_eq!(
        rows(op("InstanceNorm").x(&[2, 32, 64, 64]).w(&[32]).w(&[32]).text("data_format", "NCHW")),
        [64, 4096, 1]
    );
    assert_eq!(rows(op("GroupNorm").x(&[2, 32, 8, 8]).w(&[32]).w(&[32]).set("num_groups", Attr::Int(4))), [8, 512, 1]);
    assert_eq!(rows(op("LRN").x(&[1, 64, 55, 55]).set("depth_radius", Attr::Int(2))), [3025, 5, 64]);
    assert_eq!(rows(op("BNTrainingReduce").x(&[8, 64, 7, 7]).text("data_format", "NCHW").outputs(2)), [1, 392, 64]);
    assert_eq!(rows(op("BiasAddGrad").x(&[128, 768]).text("data_format", "NHWC")), [1, 128, 768]);
    assert_eq!(rows(op("AvgPoolGradD").x(&[1, 8, 8, 8]).list("orig_input_shape", &[1, 8, 16, 16])), [512, 4, 1]);
}

#[test]
fn gradients_of_norms_reduce_what_the_norm_did() {
    let base = |name: &str| op(name).x(&[8, 128, 768]).x(&[8, 128, 768]).x(&[8, 128, 1]).x(&[8, 128, 1]).w(&[768]);
    assert_eq!(rows(base("LayerNormXBackprop")), [1024, 768, 1]);
    assert_eq!(rows(base("LayerNormGrad").outputs(3)), [1024, 768, 1]);
    let params = op("LayerNormBetaGammaBackpropV2").x(&[8, 128, 768]).x(&[8, 128, 768]).outputs(2);
    assert_eq!(rows(params.list("shape_gamma", &[768])), [1, 1024, 768]);
}

#[test]
fn equal_reductions_are_equal_whatever_their_axes() {
    let a = op("SoftmaxV2").x(&[8, 12, 128, 128]).list("axes", &[-1]).one();
    let b = op("SoftmaxV2").x(&[96, 128, 128]).list("axes", &[2]).one();
    assert_eq!(a, b);
}

#[test]
fn exchange_counts_the_bytes_of_one_device() {
    for (op_type, kind) in [
        ("HcomAllReduce", CollectiveKind::AllReduce),
        ("HcomAllGather", CollectiveKind::AllGather),
        ("HcomReduceScatter", CollectiveKind::ReduceScatter),
        ("HcomBroadcast", CollectiveKind::Broadcast),
        ("HcomAllToAll", CollectiveKind::AllToAll),
    ] {
        let Workload::Collective(c) = op(op_type).typed(DataType::Float16, &[1024, 8]).one() else { panic!() };
        assert_eq!((c.kind, c.bytes), (kind, 16384));
    }
}

#[test]
fn an_exchange_has_the_type_that_the_graph_states_whatever_the_precision_of_operators() {
    let bytes = |workload| match workload {
        Workload::Collective(exchange) => exchange.bytes,
        other => panic!("{other}"),
    };
    let float = |op_type: &str| op(op_type).typed(DataType::Float, &[1024, 8]).one();
    assert_eq!(bytes(float("HcomAllReduce")), 32768);
    // The precision without a word is force_fp16, as the operator beside it has it.
    let Workload::Vector(relu) = float("Relu") else { panic!() };
    assert_eq!(relu.inputs[0].bytes(), 16384);
}
