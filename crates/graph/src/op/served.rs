//! The operators of language models that must be known: what torchair's converters of `torch_npu`'s functions make, and
//! what stands beside them in CANN's current operator headers.

use super::{prototype, shape_rule};

#[rustfmt::skip] // one name after another
const NAMES: &[&str] = &[
    // Products.
    "AllGatherMatmul", "AllGatherMatmulV2", "AlltoAllAllGatherBatchMatMul", "AlltoAllMatmul", "AlltoAllvGroupedMatMul",
    "AlltoAllvQuantGroupedMatMul", "QuantMatmulDequant",
    "BatchMatMulReduceScatterAlltoAll", "BatchMatMulV3", "FFN", "FusedMatMul", "FusedQuantMatMul",
    "GroupedMatMulAllReduce", "GroupedMatMulAlltoAllv", "GroupedMatmul", "GroupedMatmulFinalizeRouting",
    "GroupedMatmulSwigluQuant", "GroupedMatmulSwigluQuantV2", "MatMulV3", "MatmulAllReduce", "MatmulAllReduceAddRmsNorm",
    "MatmulAlltoAll", "MatmulReduceScatter", "MatmulReduceScatterV2", "QuantBatchMatmulInplaceAdd", "QuantBatchMatmulV3",
    "QuantBatchMatmulV4", "QuantGroupedMatMulAlltoAllv", "QuantGroupedMatmulDequant", "QuantGroupedMatmulInplaceAdd",
    "QuantMatmulReduceSum", "TransposeBatchMatMul", "TransposeQuantBatchMatMul", "WeightQuantBatchMatmulV2",
    // Experts.
    "MoeComputeExpertTokens", "MoeDistributeCombine", "MoeDistributeCombineAddRmsNorm", "MoeDistributeCombineV2",
    "MoeDistributeCombineV3", "MoeDistributeDispatch", "MoeDistributeDispatchV2", "MoeDistributeDispatchV3",
    "MoeFinalizeRouting", "MoeFinalizeRoutingV2", "MoeFinalizeRoutingV2Grad", "MoeGatingTopK", "MoeGatingTopKSoftmax",
    "MoeGatingTopKSoftmaxV2", "MoeInitRouting", "MoeInitRoutingQuant", "MoeInitRoutingQuantV2", "MoeInitRoutingV2",
    "MoeInitRoutingV2Grad", "MoeInitRoutingV3", "MoeReRouting", "MoeTokenPermute", "MoeTokenPermuteGrad",
    "MoeTokenPermuteWithRoutingMap", "MoeTokenPermuteWithRoutingMapGrad", "MoeTokenUnpermute", "MoeTokenUnpermuteGrad",
    "MoeTokenUnpermuteWithRoutingMap", "MoeTokenUnpermuteWithRoutingMapGrad", "MoeUpdateExpert", "AttentionToFFN",
    "AttentionWorkerCombine", "AttentionWorkerScheduler", "DistributeBarrier", "FFNToAttention", "FfnWorkerBatching",
    "FfnWorkerScheduler",
    // Attention and its caches.
    "AttentionUpdate", "ChunkGatedDeltaRule", "DequantRopeQuantKvcache", "FlashAttentionScore", "FlashAttentionScoreGrad",
    "FusedCausalConv1d", "InplaceFusedCausalConv1d", "FusedInferAttentionScore", "IncreFlashAttention", "KvQuantSparseFlashAttention",
    "KvQuantSparseFlashAttentionPioneer",
    "KvRmsNormRopeCache", "LightningIndexer", "MaskedCausalConv1d", "MlaProlog", "MlaPrologV2", "MlaPrologV3",
    "NsaCompressAttention", "NsaSelectedAttention", "NsaSelectedAttentionInfer", "PromptFlashAttention",
    "QkvRmsNormRopeCache", "QuantLightningIndexer", "RecurrentGatedDeltaRule", "RingAttentionUpdate", "GatherPaKvCache",
    "ScatterPaKvCache", "SparseFlashAttention",
    // Positions.
    "ApplyRotaryPosEmb", "InplacePartialRotaryMul", "InterleaveRope", "RopeWithSinCosCache", "RotaryMul",
    "RotaryPositionEmbedding", "RotaryPositionEmbeddingGrad",
    // Norms, activations, quantisation.
    "AddLayerNorm", "AddLayerNormQuant", "AddRmsNorm", "AddRmsNormCast", "AddRmsNormDynamicQuant", "AddRmsNormQuant",
    "AddRmsNormQuantV2", "AntiMxQuant", "AscendAntiQuantV2", "AscendDequant", "AscendQuantV2", "ClippedSwiglu", "DeepNorm",
    "DequantBias", "DequantSwigluQuant", "DynamicBlockMxQuant", "DynamicBlockQuant", "DynamicDualLevelMxQuant",
    "DynamicMxQuant", "DynamicMxQuantWithDualAxis", "DynamicQuant", "DynamicQuantV2", "FlatQuant", "GeGluV2", "GeluQuant",
    "GemmaRmsNorm", "GroupNormSilu", "GroupQuant", "GroupedDynamicBlockQuant", "GroupedDynamicMxQuant",
    "InplaceAddRmsNorm", "MaskedSoftmaxWithRelPosBias", "MhcPost", "MhcPreSinkhorn", "MhcSinkhorn", "QuantMax", "Quantize",
    "QuantUpdateScatter", "RmsNorm", "RmsNormDynamicMxQuant", "RmsNormGrad", "SwiGlu", "SwiGluGrad",
    "SwiGluQuant", "SwigluMxQuant", "TopKTopPSample", "TransQuantParamV2",
];

/// Whose results no public description gives sizes of, or whose sizes only a run tells.
const WITHOUT_SIZES: &[&str] = &["FfnWorkerBatching"];

#[test]
fn operators_of_language_models_have_interfaces_and_the_public_rules_of_their_shapes() {
    let missing: Vec<_> = NAMES.iter().filter(|name| prototype::prototype(name).is_none()).collect();
    assert!(missing.is_empty(), "no interface: {missing:?}");
    // Outputs that bear the name of an input are that tensor, changed in place; some have no output.
    let in_place = |name: &str| {
        let known = prototype::prototype(name).unwrap();
        let input = |output: &prototype::Slot| known.inputs.iter().any(|slot| slot.name == output.name);
        known.outputs.is_empty() || known.outputs.iter().any(input)
    };
    let told = |name: &str| shape_rule(name).is_some() || in_place(name);
    let untold: Vec<_> = NAMES.iter().copied().filter(|name| !told(name)).collect();
    assert_eq!(untold, WITHOUT_SIZES);
}
