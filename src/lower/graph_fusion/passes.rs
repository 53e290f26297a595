//! The passes, in the order in which CANN runs them.

use super::Part::{self, A3, P310B, P310P, P910, P910B, P950};
use super::bias::{PLAIN, PRODUCTS};
use super::confusion::TRANSPOSES;
use super::rewrite::Fusion;
use crate::graph::NodeId;

/// One pass.
pub(super) struct Pass {
    /// CANN's name.
    pub name: &'static str,
    /// The parts that have it.
    pub parts: &'static [Part],
    /// Types of the node at which its pattern ends.
    pub anchors: &'static [&'static str],
    /// Looks at such a node, whose inputs are up to date: `None` where the pattern is not there, else whether the graph
    /// was changed.
    pub apply: fn(&mut Fusion<'_>, NodeId) -> Option<bool>,
}

const ALL: &[Part] = &[P910, P310P, P310B, P910B, A3, P950];
const BEFORE_950: &[Part] = &[P910, P310P, P310B, P910B, A3];
const SUMS: &[&str] = &["Add", "AddV2"];
const BIASES: &[&str] = &["Add", "AddV2", "BiasAdd"];

const fn pass(
    name: &'static str,
    parts: &'static [Part],
    anchors: &'static [&'static str],
    apply: fn(&mut Fusion<'_>, NodeId) -> Option<bool>,
) -> Pass {
    Pass { name, parts, anchors, apply }
}

/// Every pass, by CANN's priorities (facts: the order in its configuration); those without a number stand where their
/// patterns are still whole. There may be 64 of them.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is of one lifetime, not of any")]
pub(super) static PASSES: &[Pass] = &[
    pass("PadConv2dFusionPass", ALL, &["Conv2D", "Conv2DV2"], |f, id| f.pad_into_convolution(id)),
    pass("PadDepthwiseConv2dFusionPass", ALL, &["DepthwiseConv2D"], |f, id| f.pad_into_convolution(id)),
    pass("AABiasaddConvFusion", ALL, &["BiasAdd", "Bias"], |f, id| f.bias_of_convolution(id)),
    pass("ConvBatchnormFusionPass", ALL, NORMS, |f, id| f.scale_of_convolution(id)),
    pass("ADepthwiseFusionPass", ALL, &["Conv2D"], |f, id| f.depthwise(id)),
    pass("ConvScaleFusionPass", ALL, &["Scale"], |f, id| f.scale_of_convolution(id)),
    pass("AConv2dMulFusion", ALL, &["Mul"], |f, id| f.factor_of_convolution(id)),
    // Once more: what was a normalisation of the convolution's result, or a factor, is out of the way now.
    pass("AABiasaddConvFusion", ALL, &["Add", "AddV2"], |f, id| f.summand_of_convolution(id)),
    pass("ConvToFullyConnectionFusionPass", BEFORE_950, &["Conv2D"], |f, id| f.convolution_of_all(id)),
    pass("Globalavgpoolpass", ALL, &["GlobalAveragePool"], |f, id| f.mean_of_image(id)),
    pass("BatchNormBnInferFusionPass", BEFORE_950, &["BatchNorm"], |f, id| f.norm_at_inference(id)),
    pass("ConstToAttrPass", BEFORE_950, REDUCTIONS, |f, id| f.input_to_attribute(id, "axes")),
    pass("ConstToAttrStridedSliceFusion", BEFORE_950, &["StridedSlice"], |f, id| f.slice_to_attributes(id)),
    pass("ConstToAttrStridedSliceV2Fusion", BEFORE_950, &["StridedSliceV2"], |f, id| f.slice_to_attributes(id)),
    pass("TileConstToAttrFusion", &[P310P, P310B, P910B, A3], &["Tile"], |f, id| f.input_to_attribute(id, "multiples")),
    pass("GroupNormFusionPass", &[P910, P310P, P910B, A3], SUMS, |f, id| f.group_norm(id)),
    pass("GeluONNXFusionPass", ALL, &["Mul"], |f, id| f.gelu_of_erf(id)),
    pass("GeluFusionPass", BEFORE_950, &["Mul"], |f, id| f.gelu_of_tanh(id)),
    pass("LayerNormONNXFusionPass", ALL, &["RealDiv", "Div", "Mul", "Add", "AddV2"], |f, id| f.layer_norm_of_onnx(id)),
    pass("LayerNormFusionPass", &[P910B], SUMS, |f, id| f.layer_norm_of_rsqrt(id)),
    pass("ZSplitFusionPass", BEFORE_950, &["Split"], |f, id| f.split_to_attributes(id)),
    pass("ZSplitVFusionPass", BEFORE_950, &["SplitV"], |f, id| f.split_to_attributes(id)),
    pass("BatchMatMulFusionPass", BEFORE_950, PRODUCTS, |f, id| f.transpose_into_product(id)),
    pass("BatchMatMulTransposeFusionPass", &[P950], PRODUCTS, |f, id| f.transpose_into_product(id)),
    pass("MatMulBiasAddFusionPass", ALL, &["Add", "AddV2", "BiasAdd", "Bias"], |f, id| f.bias_of_product(id)),
    pass("MatMulReshapeBiasAddFusionPass", &[P910, P910B, A3, P950], BIASES, |f, id| f.bias_behind_view(id)),
    // Before the biases by its number; behind them, because in CANN's banks of BERT the products have them all.
    pass("AddLayerNormFusionPass", &[P910B, P950], &["LayerNorm", "LayerNormV3", "LayerNormV4"], |f, id| {
        f.sum_before_norm(id)
    }),
    pass("AddRmsNormFusionGraphPass", &[P910B, A3, P950], &["RmsNorm"], |f, id| f.sum_before_rms_norm(id)),
    pass("InplaceAddRmsNormFusionPass", &[P310P, P910B, A3, P950], &["AddRmsNorm"], |f, id| f.rms_norm_in_place(id)),
    pass("RealDiv2MulsFusionPass", &[P910, P310P, P310B, P910B], &["RealDiv", "Div"], |f, id| f.division_by_scalar(id)),
    // On the 910B a later pass of CANN (ZZConfusionTransposeNd) turns what these make back into transposes.
    pass("ReshapeTransposeFusionPass", &[P910, P310P], TRANSPOSES, |f, id| f.view_before_transpose(id)),
    pass("TransposeReshapeFusionPass", &[P910, P310P], &["Reshape"], |f, id| f.view_behind_transpose(id)),
    pass("BatchMatMulV2ReshapeFusionPass", &[P910, P310B, P910B, A3], &["BatchMatMulV2"], |f, id| {
        f.stack_of_few_rows(id)
    }),
    pass("BatchMatMul2TransposeBatchMatMulFusionPass", &[P910B, A3], TRANSPOSES, |f, id| {
        f.product_between_transposes(id)
    }),
    pass("BatchMatMul2MulFusionPass", &[P910B, A3], PRODUCTS, |f, id| f.product_of_one_term(id)),
    // On the 950 this one leaves batched products alone.
    pass("BatchMatMul2MulFusionPass", &[P950], PLAIN, |f, id| f.product_of_one_term(id)),
    pass("GeGluV2FusionPass", &[P910B, A3, P310P], &["Mul"], |f, id| f.gated_gelu(id)),
    pass("ZZMatMulToMatmulV3FusionPass", &[P910B], &["MatMulV2"], |f, id| f.third_version(id)),
    pass("MatMulToMatmulV3FusionPass", &[P950], &["MatMul", "MatMulV2"], |f, id| f.third_version(id)),
    pass("BatchMatMulToBatchMatmulV3FusionPass", &[P950], &["BatchMatMul", "BatchMatMulV2"], |f, id| {
        f.third_version(id)
    }),
    pass("Conv2dToConv2dV2FusionPass", &[P950], &["Conv2D"], |f, id| f.second_version(id)),
    // On the 950 only for sizes that are not known, and those are no networks to tune.
    pass("Conv3dToConv3dV2FusionPass", &[P910B, A3], &["Conv3D"], |f, id| f.second_version(id)),
];

/// Reductions whose kernel has its axes as an attribute.
const REDUCTIONS: &[&str] =
    &["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceAll", "ReduceAny"];

/// Normalisations at inference, whose statistics may be constant.
const NORMS: &[&str] = &["BatchNorm", "BatchNormV3", "BNInference", "BNInferenceD", "BNInfer"];
