//! Operators of torch's graphs: sizes as the documentation of torch's functions gives them.

use super::{In, ints, shapes, t};
use crate::infer::infer;
use crate::{Attr, DataType};

fn int(value: i64) -> Attr {
    Attr::Int(value)
}

#[test]
fn lists_of_tensors_go_through_one_by_one() {
    let lists = [t([2, 3]), t([5]), t([2, 3]), t([5])];
    assert_eq!(shapes("ForeachAddList", &lists, &[], 2).unwrap(), "[2,3] [5]");
}

#[test]
fn what_is_made_of_nothing_has_the_sizes_asked_for() {
    assert_eq!(shapes("StatelessRandomNormalV2", &[ints([2, 7]), t([1]), t([2])], &[], 1).unwrap(), "[2,7]");
    assert_eq!(shapes("Empty", &[ints([4])], &[], 1).unwrap(), "[4]");
    assert_eq!(shapes("Randperm", &[], &[("n", int(9))], 1).unwrap(), "[9]");
    let eye = [("num_rows", int(3)), ("num_columns", int(5)), ("batch_shape", Attr::Ints(vec![2]))];
    assert_eq!(shapes("Eye", &[], &eye, 1).unwrap(), "[2,3,5]");
    assert_eq!(shapes("Eye", &[], &eye[..1], 1).unwrap(), "[3,3]");
    assert_eq!(shapes("LinSpace", &[t([]), t([]), In::Int(12)], &[], 1).unwrap(), "[12]");
    assert_eq!(shapes("Histogram", &[t([100])], &[("bins", int(7))], 1).unwrap(), "[7]");
}

#[test]
fn rows_are_picked_and_repeated() {
    assert_eq!(shapes("Embedding", &[t([100, 16]), t([2, 9])], &[], 1).unwrap(), "[2,9,16]");
    let rows = [("axis", int(0))];
    assert_eq!(shapes("RepeatInterleave", &[t([3, 4]), In::Int(2)], &rows, 1).unwrap(), "[6,4]");
    assert_eq!(shapes("RepeatInterleave", &[t([3, 4]), ints([1, 0, 5])], &rows, 1).unwrap(), "[6,4]");
    assert_eq!(shapes("RepeatInterleave", &[t([3, 4]), In::Int(2)], &[], 1).unwrap(), "[24]");
    assert!(shapes("RepeatInterleave", &[t([3]), ints([1, -1, 2])], &rows, 1).unwrap_err().contains("negative"));
    // x[:, i, j] keeps the place of neighbours; x[i, :, j] does not.
    let pick =
        |marks: Vec<i64>| shapes("Index", &[t([3, 4, 5]), ints(marks), ints([]), t([7, 1]), t([2])], &[], 1).unwrap();
    assert_eq!((pick(vec![0, 1, 1]), pick(vec![1, 0, 1])), ("[3,7,2]".to_owned(), "[7,2,4]".to_owned()));
}

#[test]
fn weights_that_lie_elsewhere_are_what_their_attributes_say() {
    let place = [("origin_shape", Attr::Ints(vec![64, 32])), ("dtype", Attr::Type(DataType::Float16))];
    assert_eq!(shapes("ConstPlaceHolder", &[], &place, 1).unwrap(), "[64,32]");
    assert_eq!(shapes("FileConstant", &[], &[("shape", Attr::Ints(vec![5]))], 1).unwrap(), "[5]");
}

#[test]
fn draws_bags_heads_and_factors() {
    assert_eq!(shapes("MultinomialWithReplacement", &[t([3, 9])], &[("numsamples", int(4))], 1).unwrap(), "[3,4]");
    assert_eq!(shapes("Svd", &[t([2, 5, 3])], &[], 3).unwrap(), "[2,3] [2,5,3] [2,3,3]");
    assert_eq!(shapes("Svd", &[t([5, 3])], &[("full_matrices", Attr::Bool(true))], 3).unwrap(), "[3] [5,5] [3,3]");
    let heads = shapes("TransformBiasRescaleQkv", &[t([2, 7, 96]), t([96])], &[("num_heads", int(4))], 2).unwrap();
    assert_eq!(heads, "[2,4,7,8] [2,4,7,8]");
    assert_eq!(shapes("PadV3Grad", &[t([4, 9]), ints([0, 0, 1, 2])], &[], 1).unwrap(), "[4,6]");
    assert!(shapes("PadV3Grad", &[t([4, 9]), ints([5, 0, 1, 2])], &[], 1).unwrap_err().contains("larger"));
    let bags = shapes("EmbeddingBag", &[t([100, 16]), t([20]), t([5])], &[], 4).unwrap();
    assert_eq!(bags, "[5,16] [20] [5] [5]");
    let marks = [("indices_mask", Attr::Ints(vec![0, 1]))];
    assert_eq!(shapes("IndexByTensor", &[t([3, 4]), t([6, 2])], &marks, 1).unwrap(), "[3,6,2]");
}

#[test]
fn diagonals_and_products_of_vectors() {
    assert_eq!(shapes("DiagFlat", &[t([2, 3])], &[("diagonal", int(-1))], 1).unwrap(), "[7,7]");
    assert_eq!(shapes("DiagV2", &[t([4, 6])], &[("diagonal", int(3))], 1).unwrap(), "[3]");
    assert_eq!(shapes("DiagV2", &[t([4, 6])], &[("diagonal", int(-3))], 1).unwrap(), "[1]");
    assert_eq!(shapes("MatrixDiag", &[t([2, 3])], &[], 1).unwrap(), "[2,3,3]");
    assert_eq!(shapes("Ger", &[t([4]), t([5])], &[], 1).unwrap(), "[4,5]");
    assert_eq!(shapes("CosineSimilarity", &[t([4, 5, 6]), t([1, 5, 6])], &[("dim", int(1))], 1).unwrap(), "[4,6]");
    assert_eq!(shapes("LogMatrixDeterminant", &[t([7, 3, 3])], &[], 2).unwrap(), "[7] [7]");
}

#[test]
fn slices_by_axes_and_of_the_last_axis() {
    let axes = [("axes", Attr::Ints(vec![2, 0]))];
    let cut = shapes("SliceWithAxes", &[t([8, 9, 10]), ints([4, 1]), ints([-1, 3])], &axes, 1);
    assert_eq!(cut.unwrap(), "[3,9,6]");
    let last = [("start", int(1)), ("end", int(-1)), ("stride", int(2))];
    assert_eq!(shapes("SliceLastDim", &[t([2, 10])], &last, 1).unwrap(), "[2,4]");
    assert!(shapes("SliceLastDim", &[t([2, 10])], &[("stride", int(0))], 1).unwrap_err().contains("stride"));
}

#[test]
fn losses_are_one_number_unless_nothing_is_reduced() {
    let none = [("reduction", Attr::Str("none".to_owned()))];
    assert_eq!(shapes("SoftMarginLoss", &[t([3, 4]), t([3, 4])], &[], 1).unwrap(), "[]");
    assert_eq!(shapes("SoftMarginLoss", &[t([3, 4]), t([3, 4])], &none, 1).unwrap(), "[3,4]");
}

#[test]
fn results_beside_an_input_have_its_sizes_and_the_type_asked_for() {
    let graph = |op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], outputs| {
        let mut graph = super::graph_of(op_type, inputs, attrs, outputs);
        infer(&mut graph).unwrap();
        let node = graph.node(graph.find("op").unwrap());
        node.outputs.iter().map(|desc| format!("{} {}", desc.dtype.name(), desc.shape)).collect::<Vec<_>>()
    };
    let rows = [t([2, 5, 64]), t([64])];
    assert_eq!(graph("RmsNormDynamicQuant", &rows, &[], 2), ["int8 [2,5,64]", "float32 [2,5]"]);
    let ids = [t([8, 5]), t([9, 5]), t([9])];
    let to_64 = [("dtype", Attr::Type(DataType::Int32))];
    assert_eq!(graph("SearchSorted", &ids[..2], &to_64, 1), ["int32 [9,5]"]);
    assert_eq!(graph("SearchSorted", &ids[..2], &[], 1), ["int64 [9,5]"]);
    let grads = [t([4, 6, 8]), t([4, 2]), t([4, 2]), t([4, 6, 8]), t([6])];
    assert_eq!(graph("GroupNormGrad", &grads, &[], 3), ["float32 [4,6,8]", "float32 [6]", "float32 [6]"]);
    let image = [("input_size", Attr::Ints(vec![1, 2, 3]))];
    assert_eq!(graph("UpsampleNearest1dGrad", &[t([1, 2, 6])], &image, 1), ["float32 [1,2,3]"]);
    assert_eq!(graph("TopKTopPSample", &[t([3, 100]), t([3]), t([3])], &[], 2), ["int64 [3]", "float32 [3,100]"]);
    let typed = [("dst_type", Attr::Type(DataType::Float8E5m2))];
    let scaled = graph("DynamicMxQuant", &[t([3, 100])], &typed, 2);
    assert_eq!(scaled, ["float8_e5m2 [3,100]", "float8_e8m0 [3,2,2]"]);
    let blocks = graph("DynamicBlockQuant", &[t([3, 300])], &typed, 2);
    assert_eq!(blocks, ["float8_e5m2 [3,300]", "float32 [3,3]"]);
}

#[test]
fn rows_go_to_experts_on_other_devices_and_come_back() {
    let world = [("ep_world_size", int(4)), ("moe_expert_num", int(32)), ("quant_mode", int(2))];
    let sent = shapes("MoeDistributeDispatchV2", &[t([16, 64]), t([16, 6])], &world, 7).unwrap();
    // 8 experts on each device, of which a row asks 6.
    assert_eq!(sent, "[384,64] [384] [49152] [8] [32] [1] [384]");
    // The first of two devices with two shared experts gets every row of its half of the world.
    let shared = [("shared_expert_rank_num", int(2)), ("shared_expert_num", int(1)), ("ep_rank_id", int(0))];
    let shared = [&world[..], &shared].concat();
    let sent = shapes("MoeDistributeDispatch", &[t([16, 64]), t([16, 6])], &shared, 5).unwrap();
    assert_eq!(sent, "[32,64] [32] [96] [1] [4]");
    let back = [t([384, 64]), t([16, 6]), t([96]), t([32]), t([16, 6])];
    assert_eq!(shapes("MoeDistributeCombine", &back, &[], 1).unwrap(), "[16,64]");
    let counts = [("recv_counts", Attr::Ints(vec![3, 4])), ("send_counts", Attr::Ints(vec![1, 1]))];
    let product = [t([7, 64]), t([2, 64, 32]), In::Absent, In::Absent, t([9, 64]), t([64, 8])];
    assert_eq!(shapes("AlltoAllvGroupedMatMul", &product, &counts, 3).unwrap(), "[7,32] [9,8] [7,64]");
    let scaled = [t([7, 64]), t([2, 64, 32]), t([1]), t([1]), In::Absent, In::Absent, t([9, 64]), t([64, 8])];
    assert_eq!(shapes("AlltoAllvQuantGroupedMatMul", &scaled, &counts, 3).unwrap(), "[7,32] [9,8] [7,64]");
    assert_eq!(shapes("QuantGroupedMatMulAlltoAllv", &scaled, &counts, 2).unwrap(), "[7,32] [9,8]");
    let routed = [("expert_num", int(8)), ("expert_tokens_num_type", int(2)), ("quant_mode", int(1))];
    let routed = shapes("MoeInitRoutingV3", &[t([10, 64]), t([10, 2])], &routed, 4).unwrap();
    assert_eq!(routed, "[20,64] [20] [8,2] [20]");
    let grad = shapes("MoeInitRoutingV2Grad", &[t([20, 64]), t([20])], &[("top_k", int(2))], 1).unwrap();
    assert_eq!(grad, "[10,64]");
}
