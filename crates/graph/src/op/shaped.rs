//! Operator types whose results follow from public descriptions and whose kernels have no price yet: their shapes are
//! known, and reports name them as operators that nobody knows; `lower::Priced` says which of them count a time.

use crate::infer::{
    Rule, declared, detection, elementwise, experts, groups, image, language, movement, norm, pool, reduce, sparse,
    tokens, torch,
};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// One row: a rule and the operator types that it is for.
type Row = (Rule, &'static [&'static str]);

static ROWS: &[Row] = &[
    (language::init_routing, &["MoeInitRouting"]),
    (language::init_routing_v2, &["MoeInitRoutingV2"]),
    (language::gating, &["MoeGatingTopKSoftmax", "MoeGatingTopKSoftmaxV2", "MoeGatingTopK"]),
    (language::expert_tokens, &["MoeComputeExpertTokens"]),
    (language::finalize_routing, &["MoeFinalizeRouting"]),
    (language::finalize_routing_v2, &["MoeFinalizeRoutingV2"]),
    (language::rms_norm_rope_cache, &["KvRmsNormRopeCache"]),
    (language::mla_prolog, &["MlaProlog", "MlaPrologV2", "MlaPrologV3"]),
    (language::dynamic_quant, &["DynamicQuantV2"]),
    (language::gated_quant, &["SwiGluQuant", "DequantSwigluQuant"]),
    (language::add_rms_norm_cast, &["AddRmsNormCast"]),
    (language::add_rms_norm_quant, &["AddRmsNormQuant"]),
    (language::add_rms_norm_dynamic_quant, &["AddRmsNormDynamicQuant"]),
    (experts::init_routing_quant, &["MoeInitRoutingQuant"]),
    (experts::init_routing_quant_v2, &["MoeInitRoutingQuantV2"]),
    (experts::init_routing_v3, &["MoeInitRoutingV3"]),
    (experts::init_routing_grad, &["MoeInitRoutingV2Grad"]),
    (experts::finalize_routing_grad, &["MoeFinalizeRoutingV2Grad"]),
    (experts::exchanged_product, &["AlltoAllvGroupedMatMul", "GroupedMatMulAlltoAllv"]),
    (experts::exchanged_quant_product, &["AlltoAllvQuantGroupedMatMul", "QuantGroupedMatMulAlltoAllv"]),
    (experts::dispatch, &["MoeDistributeDispatch", "MoeDistributeDispatchV2"]),
    (experts::dispatch_in_context, &["MoeDistributeDispatchV3"]),
    (tokens::permute, &["MoeTokenPermute"]),
    (tokens::permute_grad, &["MoeTokenPermuteGrad"]),
    (tokens::unpermute, &["MoeTokenUnpermute"]),
    (tokens::unpermute_grad, &["MoeTokenUnpermuteGrad"]),
    (tokens::permute_mapped, &["MoeTokenPermuteWithRoutingMap"]),
    (tokens::permute_mapped_grad, &["MoeTokenPermuteWithRoutingMapGrad"]),
    (tokens::unpermute_mapped, &["MoeTokenUnpermuteWithRoutingMap"]),
    (tokens::unpermute_mapped_grad, &["MoeTokenUnpermuteWithRoutingMapGrad"]),
    (sparse::indexer, &["LightningIndexer", "QuantLightningIndexer"]),
    (sparse::quantised_attention, &["KvQuantSparseFlashAttention", "KvQuantSparseFlashAttentionPioneer"]),
    (sparse::compressed_attention, &["NsaCompressAttention"]),
    (sparse::mixed_streams, &["MhcPreSinkhorn"]),
    (groups::grouped_all_reduce, &["GroupedMatMulAllReduce"]),
    (sparse::selected_attention, &["NsaSelectedAttentionInfer"]),
    (sparse::selected_attention_training, &["NsaSelectedAttention"]),
    (sparse::update, &["AttentionUpdate"]),
    (sparse::cached_parts, &["QkvRmsNormRopeCache"]),
    (sparse::combined, &["AttentionWorkerCombine"]),
    (elementwise::glu, &["ClippedSwiglu", "SituGlu", "SwigluGroup"]),
    (
        elementwise::broadcast,
        &[
            "LogAddExp",
            "Heaviside",
            "Gcd",
            "NextAfter",
            "Xlog1py",
            "Igamma",
            "Igammac",
            "IgammaGradA",
            "Zeta",
            "Pows",
            "Betainc",
            "Normal",
        ],
    ),
    (elementwise::compare, &["IsClose"]),
    (norm::rms_norm, &["GemmaRmsNorm"]),
    (norm::add_norm, &["InplaceAddLayerNorm"]),
    (reduce::reduce, &["ReduceNansum", "ReduceStdWithMean", "ReduceMeanWithCount"]),
    (
        image::resize_to_size,
        &[
            "ResizeLinear",
            "ResizeTrilinear",
            "ResizeBicubicV2",
            "UpsampleNearest1d",
            "UpsampleNearest3d",
            "UpsampleTrilinear3d",
            "UpsampleNearestExact3d",
        ],
    ),
    (pool::pool, &["MaxPool3DWithArgmax", "MaxPool3DWithArgmaxV2"]),
    (pool::adaptive, &["AdaptiveMaxPool3d"]),
    (movement::pad, &["CircularPad"]),
    (
        torch::of_shape,
        &[
            "Empty",
            "FillV2",
            "RandomUniformV2",
            "RandomStandardNormalV2",
            "TruncatedNormalV2",
            "StatelessRandomNormalV2",
            "StatelessRandomUniformV2",
            "StatelessTruncatedNormalV2",
            "StatelessUniform",
            "StatelessNormal",
            "StatelessBernoulli",
            "StatelessRandomUniformFullInt",
            "StatelessRandomUniformFullIntV2",
        ],
    ),
    (torch::of_shape_between, &["StatelessRandomUniformInt", "StatelessRandomUniformIntV2"]),
    (torch::permutation, &["Randperm", "StatelessRandperm"]),
    (torch::lin_space, &["LinSpace", "LinSpaceD"]),
    (torch::bins, &["Histogram", "HistogramV2", "Bincount"]),
    (torch::intervals, &["BucketizeV2"]),
    (torch::loss, &["SoftMarginLoss", "PoissonNllLoss", "LpLoss", "KLDivV2"]),
    (torch::without_axis, &["CosineSimilarity"]),
    (torch::outer, &["Addr", "Ger"]),
    (torch::embedding, &["Embedding"]),
    (torch::repeated, &["RepeatInterleave"]),
    (torch::index, &["Index", "IndexByTensor"]),
    (torch::diagonal, &["Diag", "MatrixDiag", "DiagFlat", "DiagV2"]),
    (torch::drawn, &["Multinomial", "MultinomialWithReplacement"]),
    (torch::decomposed, &["Svd"]),
    (torch::heads_of, &["TransformBiasRescaleQkv"]),
    (torch::unpadded, &["PadV3Grad"]),
    (torch::bags, &["EmbeddingBag"]),
    (torch::slice_last, &["SliceLastDim"]),
    (torch::slice_axes, &["SliceWithAxes"]),
    (torch::mx_quant, &["DynamicMxQuant"]),
    (torch::gated_mx_quant, &["SwigluMxQuant"]),
    (torch::block_quant, &["DynamicBlockQuant"]),
    (torch::deformable_attention, &["MultiScaleDeformableAttnFunction"]),
    (torch::received, &["HcomReceive"]),
    (
        torch::each,
        &[
            "ForeachACos",
            "ForeachASin",
            "ForeachATan",
            "ForeachAbs",
            "ForeachAcos",
            "ForeachAddList",
            "ForeachAddScalarList",
            "ForeachAddcdivList",
            "ForeachAddcdivScalar",
            "ForeachAddcdivScalarList",
            "ForeachAddcmulList",
            "ForeachAddcmulScalar",
            "ForeachAddcmulScalarList",
            "ForeachAsin",
            "ForeachAtan",
            "ForeachCopy",
            "ForeachCos",
            "ForeachCosh",
            "ForeachDivList",
            "ForeachDivScalar",
            "ForeachDivScalarList",
            "ForeachErf",
            "ForeachErfc",
            "ForeachExp",
            "ForeachExpm1",
            "ForeachLerpList",
            "ForeachLerpScalar",
            "ForeachLog",
            "ForeachLog10",
            "ForeachLog1p",
            "ForeachLog2",
            "ForeachMaximumList",
            "ForeachMaximumScalar",
            "ForeachMaximumScalarList",
            "ForeachMinimumList",
            "ForeachMinimumScalar",
            "ForeachMinimumScalarList",
            "ForeachMulList",
            "ForeachMulScalarList",
            "ForeachNeg",
            "ForeachPowList",
            "ForeachPowScalar",
            "ForeachPowScalarList",
            "ForeachReciprocal",
            "ForeachRoundOffNumber",
            "ForeachSigmoid",
            "ForeachSign",
            "ForeachSin",
            "ForeachSinh",
            "ForeachSqrt",
            "ForeachSubList",
            "ForeachSubScalar",
            "ForeachSubScalarList",
            "ForeachTan",
            "ForeachTanh",
        ],
    ),
    (image::col2im, &["Col2im"]),
    (detection::aipp, &["Aipp"]),
    (detection::prior_box, &["PriorBox"]),
    (detection::prior_box_of, &["PriorBoxD", "PriorBoxDV2"]),
    (detection::pyramid, &["SPP"]),
    (detection::yolo, &["Yolo", "YoloPreDetection"]),
    (
        detection::yolo_boxes,
        &["YoloV2DetectionOutput", "YoloV2DetectionOutputD", "YoloV3DetectionOutput", "YoloV3DetectionOutputD"],
    ),
    (detection::yolo_boxes_in_rows, &["YoloV3DetectionOutputV2", "YoloV3DetectionOutputV2D"]),
    (detection::proposal, &["Proposal", "ProposalD"]),
    (detection::ssd_boxes, &["SSDDetectionOutput"]),
    (detection::fsr_boxes, &["FSRDetectionOutput"]),
    (language::like_first, &["InterleaveRope", "MaskedScatter"]),
];

static RULES: LazyLock<FxHashMap<&'static str, Rule>> = LazyLock::new(|| {
    let ruled = ROWS.iter().flat_map(|(rule, types)| types.iter().map(move |op_type| (*op_type, *rule)));
    ruled.chain(declared::types().map(|op_type| (op_type, declared::by_table as Rule))).collect()
});

/// The rule of such an operator type.
pub(super) fn rule(op_type: &str) -> Option<Rule> {
    RULES.get(op_type).copied()
}

#[cfg(test)]
mod tests {
    use super::{ROWS, declared};
    use crate::op;

    #[test]
    fn what_has_a_rule_here_has_an_interface_and_no_family() {
        let mut seen = std::collections::BTreeSet::new();
        let ruled = ROWS.iter().flat_map(|(_, types)| types.iter().copied());
        for op_type in ruled.chain(declared::types()) {
            assert!(op::prototype::prototype(op_type).is_some(), "{op_type} has no line in prototypes.txt");
            assert!(
                op::family(op_type).is_none(),
                "{op_type} has a row in table.rs: take it out of ROWS here, or of TABLE in infer/declared.rs"
            );
            assert!(seen.insert(op_type), "{op_type} has two rules");
        }
    }
}
