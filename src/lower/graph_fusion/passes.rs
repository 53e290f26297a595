//! The passes, in the order in which CANN runs them.

use super::Part::{self, A3, P310B, P310P, P910, P910B, P950};
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
pub(super) static PASSES: &[Pass] = &[
    pass("PadConv2dFusionPass", ALL, &["Conv2D", "Conv2DV2"], |f, id| f.pad_into_convolution(id)),
    pass("PadDepthwiseConv2dFusionPass", ALL, &["DepthwiseConv2D"], |f, id| f.pad_into_convolution(id)),
    pass("AABiasaddConvFusion", ALL, &["BiasAdd", "Bias"], |f, id| f.bias_of_convolution(id)),
    pass("ConvBatchnormFusionPass", ALL, NORMS, |f, id| f.scale_of_convolution(id)),
    pass("ConvScaleFusionPass", ALL, &["Scale"], |f, id| f.scale_of_convolution(id)),
    pass("AConv2dMulFusion", ALL, &["Mul"], |f, id| f.factor_of_convolution(id)),
    pass("Globalavgpoolpass", ALL, &["GlobalAveragePool"], |f, id| f.mean_of_image(id)),
    pass("GeluONNXFusionPass", ALL, &["Mul"], |f, id| f.gelu_of_erf(id)),
    pass("GeluFusionPass", &[P910, P310P, P910B, A3], &["Mul"], |f, id| f.gelu_of_tanh(id)),
    pass("MatMulBiasAddFusionPass", ALL, &["Add", "AddV2", "BiasAdd", "Bias"], |f, id| f.bias_of_product(id)),
    pass("MatMulReshapeBiasAddFusionPass", &[P910, P910B, A3, P950], &["Add", "AddV2", "BiasAdd"], |f, id| {
        f.bias_behind_view(id)
    }),
    pass("RealDiv2MulsFusionPass", &[P910, P310P, P910B], &["RealDiv", "Div"], |f, id| f.division_by_scalar(id)),
];

/// Normalisations at inference, whose statistics may be constant.
const NORMS: &[&str] = &["BatchNorm", "BatchNormV3", "BNInference", "BNInferenceD", "BNInfer"];
