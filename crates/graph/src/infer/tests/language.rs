//! Fused operators of language models.

use super::{In, add_input, graph_of, list, one, refused, shapes, t, text};
use crate::infer::infer;
use crate::{Attr, DataType, Graph, Node, TensorDesc};

fn typed(dtype: DataType, dims: &[i64]) -> In {
    In::Typed(dtype, dims.to_vec())
}

fn types(op_type: &str, inputs: &[In], attrs: &[(&str, Attr)], outputs: usize) -> Vec<DataType> {
    let mut graph = graph_of(op_type, inputs, attrs, outputs);
    infer(&mut graph).unwrap();
    graph.node(graph.find("op").unwrap()).outputs.iter().map(|desc| desc.dtype).collect()
}

#[test]
fn products_that_devices_share() {
    let group = ("group", text("hccl"));
    one("MatmulAllReduce", &[t([4, 128, 64]), t([64, 32])], std::slice::from_ref(&group), "[4,128,32]");
    let turned = [group.clone(), ("is_trans_b", Attr::Bool(true))];
    one("MatmulAllReduce", &[t([128, 64]), t([32, 64])], &turned, "[128,32]");
    refused("MatmulAllReduce", &[t([128, 64]), t([65, 32])], &[group], "inner sizes 64 and 65 differ");
    let ranks = [("rank_size", Attr::Int(8))];
    assert_eq!(shapes("AllGatherMatmul", &[t([16, 64]), t([64, 32])], &ranks, 2).unwrap(), "[128,32] [128,64]");
    one("MatmulReduceScatter", &[t([16, 64]), t([64, 32])], &ranks, "[2,32]");
    one("MatmulReduceScatter", &[t([16, 64]), t([64, 32])], &[], "[?]");
}

#[test]
fn quantised_and_transposed_products() {
    let (x, w) = (typed(DataType::Int8, &[16, 512]), typed(DataType::Int8, &[512, 256]));
    let dtype = [("dtype", Attr::Int(27))];
    one("QuantBatchMatmulV4", &[x.clone(), w.clone()], &dtype, "[16,256]");
    assert_eq!(types("QuantBatchMatmulV4", &[x, w], &dtype, 1), [DataType::Bfloat16]);
    // Words of eight numbers of 4 bits: the columns are not those of the shape.
    one("QuantBatchMatmulV4", &[typed(DataType::Int8, &[16, 512]), typed(DataType::Int32, &[512, 32])], &dtype, "[?]");
    let perms = [("perm_x1", list(&[1, 0, 2])), ("perm_x2", list(&[0, 1, 2])), ("perm_y", list(&[1, 0, 2]))];
    one("TransposeBatchMatMul", &[t([32, 16, 512]), t([16, 512, 128])], &perms, "[32,16,128]");
    refused(
        "TransposeBatchMatMul",
        &[t([32, 16, 512]), t([16, 512, 128])],
        &[("perm_x1", list(&[0, 0, 2]))],
        "perm_x1",
    );
}

#[test]
fn grouped_products_by_names_and_by_their_usual_form() {
    let split = [("split_item", Attr::Int(3)), ("group_type", Attr::Int(0))];
    one("GroupedMatmul", &[t([1024, 512]), t([8, 512, 256])], &split, "[1024,256]");
    one("GroupedMatmul", &[t([1024, 512])], &[], "[?]");
    let mut graph = Graph::new("named");
    let dims: [&[i64]; 4] = [&[10, 64], &[20, 64], &[64, 32], &[64, 48]];
    let mut node = Node::new("op", "GroupedMatmul").with_outputs(vec![TensorDesc::unknown(); 2]);
    for (index, dims) in dims.into_iter().enumerate() {
        node.inputs.push(add_input(&mut graph, &format!("in{index}"), &t(dims)));
    }
    let names = ["x0", "x1", "weight0", "weight1"].map(str::to_owned).to_vec();
    node.attrs.set("_input_name_key", Attr::Strs(names));
    node.attrs.set("_input_name_value", list(&[0, 1, 2, 3]));
    let id = graph.add(node).unwrap();
    infer(&mut graph).unwrap();
    let found: Vec<_> = graph.node(id).outputs.iter().map(|desc| desc.shape.to_string()).collect();
    assert_eq!(found, ["[10,32]", "[20,48]"]);
}

#[test]
fn experts_are_routed_and_put_together() {
    let index = |dims: &[i64]| typed(DataType::Int32, dims);
    let routed =
        shapes("MoeInitRouting", &[t([16, 64]), index(&[16, 4]), index(&[16, 4])], &[("active_num", Attr::Int(10))], 3);
    assert_eq!(routed.unwrap(), "[40,64] [64] [40]");
    let mode = |mode: i64| {
        let attrs = [("drop_pad_mode", mode), ("expert_num", 8), ("expert_capacity", 5)];
        attrs.map(|(name, value)| (name, Attr::Int(value)))
    };
    let inputs = [t([16, 64]), index(&[16, 4])];
    assert_eq!(shapes("MoeInitRoutingV2", &inputs, &mode(0), 4).unwrap(), "[64,64] [64] [8] [8]");
    assert_eq!(shapes("MoeInitRoutingV2", &inputs, &mode(1), 2).unwrap(), "[8,5,64] [64]");
    let k = [("k", Attr::Int(4))];
    assert_eq!(shapes("MoeGatingTopKSoftmax", &[t([16, 8])], &k, 3).unwrap(), "[16,4] [16,4] [16,4]");
    assert_eq!(shapes("MoeGatingTopK", &[t([16, 8])], &k, 3).unwrap(), "[16,4] [16,4] [16,8]");
    refused("MoeGatingTopK", &[t([16, 8])], &[], "`k` is missing");
    let parts = [t([64, 32]), t([16, 32]), In::Absent, t([8, 32]), t([16, 4]), index(&[64]), index(&[16, 4])];
    one("MoeFinalizeRouting", &parts, &[], "[16,32]");
    let parts = [t([64, 32]), index(&[64]), In::Absent, In::Absent, In::Absent, t([16, 4])];
    one("MoeFinalizeRoutingV2", &parts, &[], "[16,32]");
    one("FFN", &[t([4, 16, 64]), t([64, 256]), t([256, 64])], &[("activation", text("gelu"))], "[4,16,64]");
}

#[test]
fn caches_are_changed_in_place() {
    let kv = [
        t([8, 1, 2, 576]),
        t([512]),
        t([8, 1, 2, 64]),
        t([8, 1, 2, 64]),
        typed(DataType::Int64, &[16]),
        t([100, 128, 1, 64]),
        t([100, 128, 1, 512]),
    ];
    let found = shapes("KvRmsNormRopeCache", &kv, &[], 4).unwrap();
    assert_eq!(found, "[100,128,1,64] [100,128,1,512] [8,1,2,64] [8,1,2,512]");
    let mla = [
        t([8, 2, 7168]),
        t([7168, 1536]),
        t([1536, 6144]),
        t([32, 128, 512]),
        t([7168, 576]),
        t([1536]),
        t([512]),
        t([8, 2, 64]),
        t([8, 2, 64]),
        typed(DataType::Int64, &[8, 2]),
        t([16, 128, 1, 512]),
        t([16, 128, 1, 64]),
    ];
    let found = shapes("MlaProlog", &mla, &[], 4).unwrap();
    assert_eq!(found, "[8,2,32,512] [8,2,32,64] [16,128,1,512] [16,128,1,64]");
    // What no rule knows, its interface may tell: the output bears the input's name.
    one(
        "Scatter",
        &[t([8, 1024, 64]), typed(DataType::Int32, &[8]), t([8, 1, 64])],
        &[("reduce", text("update"))],
        "[8,1024,64]",
    );
    one("AttentionScore", &[t([8, 64]), t([8, 64])], &[], "[?]");
}

#[test]
fn rows_are_quantised_with_a_scale_each() {
    assert_eq!(shapes("DynamicQuantV2", &[t([4, 16, 64])], &[], 3).unwrap(), "[4,16,64] [4,16] [4,16]");
    assert_eq!(types("DynamicQuantV2", &[t([4, 64])], &[("dst_type", Attr::Int(29))], 3)[0], DataType::Int4);
    assert_eq!(shapes("SwiGluQuant", &[t([16, 64])], &[], 2).unwrap(), "[16,32] [16]");
    refused("SwiGluQuant", &[t([16, 63])], &[], "halved");
    let sum = [t([4, 16, 64]), t([4, 16, 64]), t([64])];
    let found = shapes("AddRmsNormDynamicQuant", &sum, &[], 5).unwrap();
    assert_eq!(found, "[4,16,64] [4,16,64] [4,16,64] [4,16] [4,16]");
    assert_eq!(shapes("AddRmsNormCast", &sum, &[], 4).unwrap(), "[4,16,64] [4,16,64] [4,16,1] [4,16,64]");
    assert_eq!(types("AddRmsNormQuant", &sum, &[], 3), [DataType::Int8, DataType::Int8, DataType::Float]);
}

#[test]
fn attention_of_inference_follows_its_layouts() {
    let heads = |layout: &str| [("num_heads", Attr::Int(4)), ("input_layout", text(layout))];
    let all = |layout: &str, dims: &[i64]| {
        let attrs = [heads(layout).to_vec(), vec![("softmax_lse_flag", Attr::Bool(true))]].concat();
        shapes("FusedInferAttentionScore", &[t(dims), t(dims), t(dims)], &attrs, 2).unwrap()
    };
    assert_eq!(all("BSH", &[2, 16, 64]), "[2,16,64] [2,4,16,1]");
    assert_eq!(all("BNSD", &[2, 4, 16, 8]), "[2,4,16,8] [2,4,16,1]");
    assert_eq!(all("BNSD_BSND", &[2, 4, 16, 8]), "[2,16,4,8] [2,4,16,1]");
    assert_eq!(all("TND", &[32, 4, 8]), "[32,4,8] [32,4,1]");
    let plain = shapes("FusedInferAttentionScore", &[t([2, 16, 64]), t([2, 16, 64]), t([2, 16, 64])], &heads("BSH"), 2);
    assert_eq!(plain.unwrap(), "[2,16,64] [0]");
}
