//! Rows sorted by expert, chosen keys, products that devices exchange.

use super::{In, list, one, refused, shapes, t, text};
use crate::{Attr, DataType};

fn all(op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], outputs: usize) -> String {
    shapes(op_type, inputs, attrs, outputs).unwrap()
}

fn int(name: &str, value: i64) -> (&str, Attr) {
    (name, Attr::Int(value))
}

#[test]
fn rows_are_sorted_by_expert_and_put_back() {
    let (tokens, indices) = (t([64, 512]), t([64, 4]));
    assert_eq!(all("MoeTokenPermute", &[tokens.clone(), indices.clone()], &[], 2), "[256,512] [256]");
    let asked = |rows| [int("num_out_tokens", rows)];
    assert_eq!(all("MoeTokenPermute", &[tokens.clone(), indices.clone()], &asked(200), 2), "[200,512] [256]");
    assert_eq!(all("MoeTokenPermute", &[tokens, indices], &asked(-6), 2), "[250,512] [256]");
    one("MoeTokenPermuteGrad", &[t([256, 512]), t([256])], &[int("num_topk", 4)], "[64,512]");
    refused("MoeTokenPermuteGrad", &[t([256, 512]), t([255])], &[int("num_topk", 4)], "255 places");
    one("MoeTokenUnpermute", &[t([256, 512]), t([256]), t([64, 4])], &[], "[64,512]");
    one("MoeTokenUnpermute", &[t([256, 512]), t([256])], &[], "[256,512]");
    let grad = [t([256, 512]), t([64, 512]), t([256]), t([64, 4])];
    assert_eq!(all("MoeTokenUnpermuteGrad", &grad, &[], 2), "[256,512] [64,4]");
}

#[test]
fn rows_are_sorted_by_a_map() {
    let inputs = [t([64, 512]), t([64, 8]), t([64, 8])];
    let rows = int("num_out_tokens", 130);
    // Two experts for each of 64 rows; two are left over.
    let permuted = all("MoeTokenPermuteWithRoutingMap", &inputs, std::slice::from_ref(&rows), 3);
    assert_eq!(permuted, "[128,512] [128] [128]");
    // 16 rows for each of 8 experts.
    let padded = [rows, ("drop_and_pad", Attr::Bool(true))];
    assert_eq!(all("MoeTokenPermuteWithRoutingMap", &inputs, &padded, 3), "[128,512] [128] [128]");
    let numbers = [int("tokens_num", 64), int("num_experts", 8)];
    let grad = [t([128, 512]), t([128]), t([128]), t([64, 8])];
    assert_eq!(all("MoeTokenPermuteWithRoutingMapGrad", &grad, &numbers, 2), "[64,512] [64,8]");
    let back = [t([128, 512]), t([128]), t([64, 8]), t([64, 8])];
    assert_eq!(all("MoeTokenUnpermuteWithRoutingMap", &back, &[], 4), "[64,512] [128] [128] [128]");
    let restored = [("restore_shape", list(&[60, 512]))];
    assert_eq!(all("MoeTokenUnpermuteWithRoutingMap", &back, &restored, 1), "[60,512]");
    let back = [t([64, 512]), t([128]), t([128]), t([64, 8]), t([128, 512]), t([64, 8])];
    assert_eq!(all("MoeTokenUnpermuteWithRoutingMapGrad", &back, &[], 2), "[128,512] [64,8]");
}

#[test]
fn attention_reads_chosen_keys() {
    let (query, keys) = (t([4, 2, 64, 128]), t([900, 128, 1, 128]));
    let values = [("return_values", Attr::Bool(true)), int("sparse_count", 1024)];
    let weights = t([4, 2, 64]);
    assert_eq!(all("LightningIndexer", &[query.clone(), keys.clone(), weights.clone()], &[], 2), "[4,2,1,2048] [?]");
    assert_eq!(all("LightningIndexer", &[query, keys, weights], &values, 2), "[4,2,1,1024] [4,2,1,1024]");
    let packed = [t([8, 64, 128]), t([900, 128, 1, 128]), t([8, 64])];
    one("QuantLightningIndexer", &packed, &[], "[8,1,2048]");
    let chosen = t([4, 2, 1, 2048]);
    let cache = t([900, 128, 1, 512]);
    let attention = [t([4, 2, 64, 512]), cache.clone(), cache.clone(), chosen.clone()];
    assert_eq!(all("SparseFlashAttention", &attention, &[], 1), "[4,2,64,512]");
    let turned = [t([4, 2, 64, 576]), cache.clone(), cache.clone(), chosen.clone()];
    one("KvQuantSparseFlashAttention", &turned, &[], "[4,2,64,512]");
    refused("KvQuantSparseFlashAttention", &[t([4, 2, 64, 32]), cache.clone(), cache, chosen], &[], "rope_head_dim");
    let selected = [t([1024, 64, 192]), t([2048, 4, 192]), t([2048, 4, 128]), t([1024, 4, 16])];
    let packed = [("input_layout", text("TND"))];
    assert_eq!(all("NsaSelectedAttention", &selected, &packed, 3), "[1024,64,8] [1024,64,8] [1024,64,128]");
    let blocks = [("input_layout", text("TND")), int("select_block_count", 16)];
    let sizes = "[1024,64,8] [1024,64,8] [1024,64,128] [1024,4,16]";
    assert_eq!(all("NsaCompressAttention", &selected[..3], &blocks, 4), sizes);
    let turned = [t([64, 8, 576]), t([900, 128, 1, 656]), t([900, 128, 1, 656]), t([64, 1, 2048])];
    one("KvQuantSparseFlashAttentionPioneer", &turned, &[("layout_query", text("TND"))], "[64,8,512]");
    one("NsaSelectedAttentionInfer", &selected, &[("input_layout", text("BSH"))], "[?]");
    let parts = [t([96]), t([96]), t([96, 128]), t([96, 128])];
    assert_eq!(all("AttentionUpdate", &parts, &[int("sp", 2)], 2), "[96,128] [96]");
}

#[test]
fn streams_of_each_row_are_mixed_into_one() {
    let sizes = "[2,64,4096] [2,64,4] [2,64,16] [2,64,4] [2,64,24] [2,64,1] [40,2,64,4] [40,2,64,4,4]";
    let inputs = [t([2, 64, 4, 4096]), t([24, 16384]), t([3]), t([24])];
    assert_eq!(all("MhcPreSinkhorn", &inputs, &[int("num_iters", 20)], 8), sizes);
    let forward = [("need_backward", Attr::Bool(false))];
    assert_eq!(all("MhcPreSinkhorn", &inputs, &forward, 4), "[2,64,4096] [2,64,4] [2,64,16] [?]");
    assert_eq!(all("MhcPreSinkhorn", &[t([64, 4, 512])], &[], 3), "[64,512] [64,4] [64,16]");
}

#[test]
fn a_gate_halves_what_is_quantised_by_blocks() {
    assert_eq!(all("SwigluMxQuant", &[t([2, 64])], &[], 2), "[2,32] [2,1,2]");
    assert_eq!(all("SwigluMxQuant", &[t([8, 100, 512])], &[int("activate_dim", -1)], 2), "[8,100,256] [8,100,4,2]");
    refused("SwigluMxQuant", &[t([2, 63])], &[], "cannot be halved");
}

#[test]
fn products_of_groups_are_summed_over_devices() {
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let places = (0..names.len() as i64).collect();
        [("_input_name_key", Attr::Strs(names)), ("_input_name_value", Attr::Ints(places))]
    };
    let op = "GroupedMatMulAllReduce";
    let pairs = [t([32, 256]), t([64, 128]), t([256, 32]), t([128, 64])];
    let both = named(&["x0", "x1", "weight0", "weight1"]);
    assert_eq!(all(op, &pairs, &both, 2), "[32,32] [64,64]");
    let alike = [t([32, 256]), t([64, 256]), t([256, 48]), t([256, 48])];
    assert_eq!(all(op, &alike, &both, 1), "[96,48]");
    let dealt = [t([96, 256]), t([256, 48]), t([256, 48])];
    let one_x = named(&["x0", "weight0", "weight1"]);
    assert_eq!(all(op, &dealt, &one_x, 1), "[96,48]");
    assert_eq!(all(op, &dealt, &one_x, 2), "[?,48] [?,48]");
    assert_eq!(all(op, &[t([8, 64]), t([64, 32])], &[], 1), "[8,32]");
    assert_eq!(all(op, &dealt, &[], 1), "[?]");
}

#[test]
fn parts_of_a_projection_go_to_their_caches() {
    let cache = t([300, 128, 128, 16]);
    let vector = || t([128]);
    let inputs =
        [t([48, 9216]), vector(), vector(), t([48, 128]), t([48, 128]), t([48]), t([48, 8192]), cache.clone(), cache];
    let attrs = [("qkv_size", list(&[48, 1, 72, 128])), ("head_nums", list(&[64, 4, 4]))];
    let caches = "[48,8192] [300,128,128,16] [300,128,128,16]";
    assert_eq!(all("QkvRmsNormRopeCache", &inputs, &attrs, 6), format!("{caches} [?] [?] [?]"));
    let asked = [attrs[0].clone(), attrs[1].clone(), ("is_output_qkv", Attr::Bool(true))];
    assert_eq!(all("QkvRmsNormRopeCache", &inputs, &asked, 6), format!("{caches} [48,8192] [48,512] [48,512]"));
}

#[test]
fn states_of_linear_attention_stay_as_they_are() {
    let inputs = [t([8, 16, 128]), t([8, 16, 128]), t([8, 32, 128]), t([8, 32]), t([4, 32, 128, 128]), t([4]), t([8])];
    assert_eq!(all("RecurrentGatedDeltaRule", &inputs, &[], 2), "[8,32,128] [4,32,128,128]");
    assert_eq!(all("ChunkGatedDeltaRule", &inputs[..6], &[], 2), "[8,32,128] [4,32,128,128]");
    let convolution = [t([8, 4096]), t([4, 4096]), t([10, 3, 4096])];
    for name in ["FusedCausalConv1d", "InplaceFusedCausalConv1d"] {
        assert_eq!(all(name, &convolution, &[], 2), "[10,3,4096] [8,4096]");
    }
}

#[test]
fn products_exchange_rows_and_columns() {
    let eight = [int("world_size", 8)];
    assert_eq!(all("AlltoAllMatmul", &[t([64, 128]), t([1024, 256])], &eight, 2), "[8,256] [8,1024]");
    refused("AlltoAllMatmul", &[t([63, 128]), t([1024, 256])], &eight, "63 cannot be shared among 8");
    one("MatmulAlltoAll", &[t([64, 128]), t([128, 256])], &eight, "[512,32]");
    let ranks = [int("rank_size", 8)];
    assert_eq!(all("AllGatherMatmulV2", &[t([16, 64]), t([64, 32])], &ranks, 2), "[128,32] [128,64]");
    refused("MatmulAlltoAll", &[t([2, 64, 128]), t([128, 256])], &eight, "input 0 has 3 axes, not 2");
    one("MatmulReduceScatterV2", &[t([16, 64]), t([64, 32])], &ranks, "[2,32]");
    let stack = [int("ep_world_size", 4), int("tp_world_size", 2)];
    one("AlltoAllAllGatherBatchMatMul", &[t([16, 10, 64]), t([4, 128, 96])], &stack, "[4,40,96]");
    refused("AlltoAllAllGatherBatchMatMul", &[t([4, 10, 64]), t([4, 128, 96])], &stack, "1 and 4");
    one("BatchMatMulReduceScatterAlltoAll", &[t([4, 40, 96]), t([4, 96, 128])], &stack, "[16,10,64]");
}

#[test]
fn gates_halve_the_columns_of_a_product_in_groups() {
    let (x, weight) = (In::Typed(DataType::Int8, vec![512, 1024]), In::Typed(DataType::Int8, vec![8, 1024, 4096]));
    let first = [x.clone(), weight.clone(), t([8, 4096]), t([512])];
    assert_eq!(all("GroupedMatmulSwigluQuant", &first, &[], 2), "[512,2048] [512]");
    let second = [x.clone(), t([512]), In::Typed(DataType::Int64, vec![8]), weight, t([8, 4096])];
    assert_eq!(all("GroupedMatmulSwigluQuantV2", &second, &[], 2), "[512,2048] [512]");
    one("QuantGroupedMatmulDequant", &[t([512, 1024]), t([8, 4096, 1024]), t([8, 4096])], &[], "[512,4096]");
    one("QuantMatmulDequant", &[t([512, 1024]), t([4096, 1024]), t([4096])], &[], "[512,4096]");
    let plain = [("transpose_weight", Attr::Bool(false))];
    one("QuantMatmulDequant", &[t([512, 1024]), t([1024, 4096]), t([4096])], &plain, "[512,4096]");
    // All axes of x but the last are rows, which the groups share.
    one("QuantGroupedMatmulDequant", &[t([4, 8, 16]), t([4, 32, 16]), t([4, 32])], &[], "[4,8,32]");
}

#[test]
fn a_context_stands_before_what_other_devices_send() {
    let attrs = [int("ep_world_size", 8), int("moe_expert_num", 64), int("ep_rank_id", 3)];
    let (x, chosen) = (t([16, 512]), t([16, 4]));
    let plain = all("MoeDistributeDispatchV2", &[x.clone(), chosen.clone()], &attrs, 7);
    assert_eq!(all("MoeDistributeDispatchV3", &[t([2052]), x, chosen.clone()], &attrs, 7), plain);
    let combined = [t([2052]), t([512, 512]), chosen];
    one("MoeDistributeCombineV3", &combined, &[], "[16,512]");
}
